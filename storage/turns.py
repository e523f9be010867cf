"""A lock that is given in the order it was asked for, so that nobody waits while others go twice."""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType


class FairLock:
    """Hand the lock to whoever has waited longest; Python's own lock may keep a thread waiting for seconds."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False

    def __enter__(self) -> None:
        with self._mutex:
            if not self._held:
                self._held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()  # it stays held, by the next one
            else:
                self._held = False
