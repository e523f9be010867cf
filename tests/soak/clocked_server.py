"""`python app.py …` with a clock that can be put back: a file says by how many seconds it is wrong.

ACCORD_WRONG_BY=FILE python clocked_server.py serve …
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import app
from storage import database

FILE = Path(os.environ["ACCORD_WRONG_BY"])


class WrongClock(datetime):
    """The one place where the app takes the time asks this."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + timedelta(seconds=float(FILE.read_text()))


if __name__ == "__main__":
    database.datetime = WrongClock
    app.main()
