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
NAT64 = ipaddress.ip_network("64:ff9b::/96")
KEPT = 60.0  # seconds for which an address that was found good is used again


class BlockedAddressError(ValueError):
    """A name or number leads to an address that may not be asked."""


def is_private(address: Address) -> bool:
    """Say whether an address belongs to the network around: private, link-local, and all that is nobody's."""
    inner = _inner(address)
    return not inner.is_loopback and (not inner.is_global or inner.is_multicast)


def _inner(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else address)


def numeric_addresses(host: str) -> list[Address]:
    """Return the address that a host is when it is written as a number, in whatever form; nobody is asked."""
    return _look_up(host, socket.AI_NUMERICHOST)


def _look_up(host: str, flags: int = 0) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
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
        """Return the address to connect to instead of a host; refuse one that leads into the private network."""
        until, address = self._known.get(host, (0.0, ""))
        if time.monotonic() < until:
            return address
        found = await asyncio.to_thread(_look_up, host)
        refuse_private(host, found)
        if not found:
            return host
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
