"""Where requests go: connections in small groups, and none into the private network unless that is allowed.

The pool below looks at every connection for every request: 64 of them in one pool take a third of the client's time.
"""

from __future__ import annotations

import httpx2

from judge.addresses import BlockedAddressError, Resolver

GROUPS = 32


class PublicTransport(httpx2.AsyncBaseTransport):
    """Send no request into the private network, wherever a name or a redirect leads.

    The address that was looked at is the one that is connected to: a name cannot mean another one a moment later.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
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
            return await self._inner.handle_async_request(request)
        # A copy, so that a redirect to a path still belongs to the name; the Host header and the certificate do too.
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return await self._inner.handle_async_request(pinned)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()


class GroupedTransport(httpx2.AsyncBaseTransport):
    """Give each request to the group of connections that has the least to do."""

    def __init__(self, groups: int = GROUPS) -> None:
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        trust = httpx2.create_ssl_context()  # made once: it takes longer than a request
        self._groups = [httpx2.AsyncHTTPTransport(verify=trust, limits=limits) for _ in range(groups)]
        self._busy = [0] * groups

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the group counts as busy until its answer begins."""
        at = min(range(len(self._groups)), key=self._busy.__getitem__)
        self._busy[at] += 1
        try:
            return await self._groups[at].handle_async_request(request)
        finally:
            self._busy[at] -= 1

    async def aclose(self) -> None:
        """Close every connection."""
        for group in self._groups:
            await group.aclose()
