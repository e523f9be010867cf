"""Addresses of servers: which are none, and which a server that others use may not send requests to: its neighbours."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import time
from urllib.parse import urlsplit

from judge.domain import InputError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
KEPT = 60.0  # seconds for which an address that was found good is used again

# What `ipaddress` calls global varies with Python's version, and includes some that lead to the neighbours.
_NEAR = [
    ipaddress.IPv4Network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
        *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # of Azure: the machine's own keeper
    )
]
# Of IPv6 only this part is given out; taken out of it are examples, and tunnels in which an IPv4 address hides.
_WORLD = ipaddress.IPv6Network("2000::/3")
_NOT_WORLD = [ipaddress.IPv6Network(part) for part in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")]
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # how a machine without IPv4 reaches it


class BlockedAddressError(ValueError):
    """A name or number leads to an address that may not be asked."""


class UnknownHostError(OSError):
    """Nothing is known under a name for the moment, so nothing can be looked at or asked."""


def is_private(address: Address) -> bool:
    """Say whether an address belongs to the network around: private, link-local, and all that is nobody's."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return not address.is_loopback and not _is_of_the_world(address)


def _is_of_the_world(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not any(address in network for network in _NEAR)
    if address in _NAT64:
        return _is_of_the_world(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and address in _WORLD and not any(address in network for network in _NOT_WORLD)


def numeric_addresses(host: str) -> list[Address]:
    """Return the address that a host is when it is written as a number, in whatever form; nobody is asked."""
    return _look_up(host, socket.AI_NUMERICHOST)


def _look_up(host: str, flags: int = 0) -> list[Address]:
    bare = host.partition("%")[0]  # after it stands which of this machine's networks is meant
    try:
        found = socket.getaddrinfo(bare, None, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


def refuse_private(host: str, found: list[Address]) -> None:
    """Refuse a host if any of its addresses may not be asked."""
    if any(is_private(address) for address in found):
        raise BlockedAddressError(f"{host} is an address of the private network, which may not be asked from here")


class Resolver:
    """Finds a host's address and looks at it before anything is sent there; what it found is what is connected to."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, str]] = {}

    async def address_of(self, host: str) -> str:
        """Return the address to connect to instead of a host; refuse one that leads into the private network.

        A name under which nothing is found is refused too: whoever looked next might find something else.
        """
        until, address = self._known.get(host, (0.0, ""))
        if time.monotonic() < until:
            return address
        found = await asyncio.to_thread(_look_up, host)
        if not found:
            raise UnknownHostError(f"there is no server under the name {host}: check the address, or try again later")
        refuse_private(host, found)
        # A server on this machine often listens on only one of the two kinds: its older one is the safer guess.
        address = str(min(found, key=lambda each: each.version))
        self._known[host] = time.monotonic() + KEPT, address
        return address


def check_base_url(base_url: str) -> None:
    """Refuse what cannot be the address of a server, before a connection fails on it in words of its own."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
        if ":" in host:
            ipaddress.IPv6Address(host.partition("%")[0])
        else:
            host.encode("idna")  # no part of a name is empty or too long
    except ValueError as error:
        raise InputError(f"{base_url!r} is not the address of a server: {error}") from error
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[^\s<>\"'^`{|}\\]+", host) or port == 0:
        why = "it must begin with http:// or https:// and a server's name, such as http://localhost:8000/v1"
        raise InputError(f"{base_url!r} is not the address of a server: {why}")
