"""What stands between the server and its visitors: proxies, the names it is asked under, and the path it is under."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from judge.domain import InputError

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def _networks(environment: Mapping[str, str], name: str) -> Networks:
    listed = environment.get(name, "").replace(",", " ").split()
    try:
        return tuple(ipaddress.ip_network(each) for each in listed)
    except ValueError as error:
        raise InputError(f"{name}: {error}: write addresses with commas between them") from error


def _is_in(address: str, networks: Networks) -> bool:
    try:
        peer = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(peer in network for network in networks)


def is_loopback(name: str) -> bool:
    """Say whether a name or address is one of this machine's own, which nobody else reaches."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name.rstrip(".").lower() == "localhost"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that signs people in: the header that names them, and the addresses it is believed from."""

    header: str
    addresses: Networks

    @classmethod
    def named(cls, environment: Mapping[str, str]) -> Proxy | None:
        """Return the proxy that ACCORD_PROXY_HEADER and ACCORD_PROXY_ADDRESSES name; both or neither."""
        header = environment.get("ACCORD_PROXY_HEADER", "").strip()
        addresses = _networks(environment, "ACCORD_PROXY_ADDRESSES")
        if not header and not addresses:
            return None
        if not header or not addresses:
            raise InputError("ACCORD_PROXY_HEADER and ACCORD_PROXY_ADDRESSES go together: set both, or neither")
        return cls(header, addresses)

    def trusts(self, address: str) -> bool:
        """Say whether a request comes from this proxy."""
        return _is_in(address, self.addresses)


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names under which the server may be asked; none of them means any.

    A page of another site can give its own name this machine's address, and would then be one of ours to the browser.
    """

    names: frozenset[str] = frozenset()

    @classmethod
    def named(cls, environment: Mapping[str, str], bound: str) -> Hosts:
        """Return what ACCORD_HOSTS lists; without it, a server that only this machine reaches has only its names."""
        listed = environment.get("ACCORD_HOSTS", "").replace(",", " ").lower().split()
        if wrong := next((name for name in listed if "/" in name or name.startswith(":")), None):
            raise InputError(f"ACCORD_HOSTS: {wrong!r} is no name of a host: write names such as accord.example.org")
        return cls(frozenset({*listed, bound.lower()}) if listed or is_loopback(bound) else frozenset())

    def include(self, header: str) -> bool:
        """Say whether a request with this Host header is for us; this machine's own names always are."""
        if not self.names:
            return True
        try:
            parts = urlsplit(f"//{header}")
        except ValueError:
            return False
        name = (parts.hostname or "").rstrip(".") if parts.netloc == header and "@" not in header else ""
        return name in self.names or is_loopback(name)


@dataclass(frozen=True, slots=True)
class Front:
    """All that stands before the server; without any of it, visitors come to it themselves."""

    proxy: Proxy | None = None
    trusted: Networks = ()  # proxies that are believed when they say for whom they ask
    hosts: Hosts = Hosts()
    root_path: str = ""

    @classmethod
    def named(cls, environment: Mapping[str, str], bound: str, root_path: str) -> Front:
        """Return what the environment says of a server that listens at an address."""
        proxy = Proxy.named(environment)
        trusted = _networks(environment, "ACCORD_TRUSTED_PROXIES") + (proxy.addresses if proxy else ())
        return cls(proxy, trusted, Hosts.named(environment, bound), root_path)

    @property
    def root(self) -> str:
        """Return what comes before every path of ours, in the addresses that visitors see."""
        return self.root_path.rstrip("/")

    def own_path(self, path: str) -> str:
        """Return a path without the one we are under, which a proxy may have left on it; gradio would take it off."""
        under = urlsplit(self.root).path.rstrip("/")
        while under and f"{path}/".startswith(f"{under}/"):
            path = path[len(under) :] or "/"
        return path

    def address_of(self, scope: Scope) -> str:
        """Return where a request comes from: the nearest address that is none of our proxies'."""
        said = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
        nearest = peer_of(scope)
        for address in map(str.strip, reversed(said)):
            if not _is_in(nearest, self.trusted) or not _is_address(address):
                break
            nearest = address
        return nearest


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def peer_of(scope: Scope) -> str:
    """Return the address at the other end of the connection."""
    return str((scope.get("client") or ("",))[0])
