"""How requests travel: over aiohttp, and into the private network only where that is allowed.

openai's client can use aiohttp for its connections, which costs a third of the processor time of its usual ones.
"""

from __future__ import annotations

from typing import Any

import httpx2
from openai import DefaultAioHttpClient

from judge.addresses import BlockedAddressError, Resolver

MOST_CONNECTIONS = 10_000  # a run has its own limit


def make_http_client(*, private: bool, proxied: bool) -> httpx2.AsyncClient:
    """Return a client for one endpoint, which waits for as long as its caller does.

    A client that keeps out of the private network asks no proxy: only the proxy would know where a request ends.
    """
    outer: dict[str, Any] = {"timeout": None, "follow_redirects": True}
    limits = httpx2.Limits(max_connections=MOST_CONNECTIONS)
    if private:
        return DefaultAioHttpClient(limits=limits, trust_env=proxied, **outer)
    inner = DefaultAioHttpClient(limits=limits, trust_env=False, timeout=None, follow_redirects=False)
    return httpx2.AsyncClient(transport=PublicTransport(inner), **outer)


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
        except BlockedAddressError as error:
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
