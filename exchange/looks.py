"""Who looked at what: written into the trail once in a while, since a page asks again with every click."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict

from judge.domain import StorageError
from storage.store import Store

ONCE_IN = 3600.0  # seconds in which the same look of the same person is one
MOST_KNOWN = 10_000


class Looks:
    """Writes down what somebody who signed in was shown; without accounts nobody has a name to write."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: OrderedDict[tuple[str, ...], float] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, kind: str, study: str, by: str, **details: str) -> None:
        """Add a line to the study's trail, unless this person's last such look was a moment ago."""
        if not by or not self._is_new((kind, study, by, *details.values())):
            return
        with contextlib.suppress(StorageError):  # a database that can only be read can still be looked at
            self.store.record_event(kind, study, **details, by=by)

    def _is_new(self, look: tuple[str, ...]) -> bool:
        now = time.monotonic()
        with self._lock:
            if now - self._known.get(look, float("-inf")) < ONCE_IN:
                return False
            self._known[look] = now
            self._known.move_to_end(look)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return True
