"""What lies under a client's requests: whom they trust, and the way that keeps out of the private network."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import cached_property
from typing import Any

import httpx2

from judge.addresses import BlockedAddressError, Resolver, UnknownHostError

MOST_CONNECTIONS = 10_000  # a run has its own limit


class LateTrust(ssl.SSLContext):
    """The certificates that are trusted, read when a server first shows its own: most judges on this machine show none.

    To read them takes longer than to ask. Whatever does not come by here trusts nobody.
    """

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        return httpx2.create_ssl_context()

    def wrap_bio(self, *words: Any, **named: Any) -> ssl.SSLObject:
        """Begin to speak with a server in private."""
        return self._trusted.wrap_bio(*words, **named)


class PublicTransport(httpx2.AsyncBaseTransport):
    """Send no request into the private network, wherever a name or a redirect leads.

    The address that was looked at is the one that is connected to: a name cannot mean another one a moment later.
    """

    def __init__(self, inner: httpx2.AsyncClient) -> None:
        self._inner = inner
        self._resolver = Resolver()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Look where a request goes, then send it there."""
        host = request.url.host
        try:
            address = await self._resolver.address_of(host)
        except (BlockedAddressError, UnknownHostError) as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        if address == host:
            return await self._inner.send(request, stream=True)
        # A copy, so that a redirect to a path still belongs to the name; the Host header and the certificate do too.
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._inner.send(pinned, stream=True)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


def make_http_client(
    aiohttp_client: Callable[..., httpx2.AsyncClient], *, private: bool, proxied: bool
) -> httpx2.AsyncClient:
    """Return the connections of one endpoint, which wait for as long as their caller does.

    aiohttp, which openai's client can use, takes a third of the processor time of its usual ones. A client that
    keeps out of the private network asks no proxy: only the proxy would know where a request ends.
    """
    outer: dict[str, Any] = {"timeout": None, "follow_redirects": True}
    inner: dict[str, Any] = {
        "limits": httpx2.Limits(max_connections=MOST_CONNECTIONS),
        "verify": LateTrust(ssl.PROTOCOL_TLS_CLIENT),
    }
    if private:
        return aiohttp_client(trust_env=proxied, **inner, **outer)
    connections = aiohttp_client(trust_env=False, timeout=None, follow_redirects=False, **inner)
    return httpx2.AsyncClient(transport=PublicTransport(connections), **outer)
