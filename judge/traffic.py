"""When requests may leave: as often as the limit a minute allows, and none after a stop."""

from __future__ import annotations

import asyncio
import time

SLICE = 0.1  # seconds after which somebody who waits notices a stop


class Traffic:
    """The way out for the requests of one run, first tries and further ones alike; any thread may stop it."""

    def __init__(self, per_minute: int | None = None) -> None:
        self.stopped = False
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next_start = 0.0

    def stop(self) -> None:
        """Let nothing more leave, and nobody wait for it."""
        self.stopped = True

    async def sleep(self, seconds: float) -> None:
        """Wait for so long, or until a stop."""
        end = time.monotonic() + seconds
        # An event would belong to one event loop, and a page stops a run from a thread of its own.
        while not self.stopped and (left := end - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left, SLICE))

    async def turn(self) -> bool:
        """Wait until one more request may leave; say whether it still may."""
        if self._gap:
            now = time.monotonic()
            start = max(self._next_start, now)
            self._next_start = start + self._gap
            await self.sleep(start - now)
        return not self.stopped
