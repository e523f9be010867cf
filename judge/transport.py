"""Connections in small groups.

The pool below looks at every connection for every request: 64 of them in one pool take a third of the client's time.
"""

from __future__ import annotations

import httpx2

GROUPS = 32


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
