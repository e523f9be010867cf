"""A process that runs `judge` against a server until it is killed or done."""

from __future__ import annotations

import sys

import app

if __name__ == "__main__":
    database, url, *more = sys.argv[1:]
    words = ["judge", "--study", "s", "--model", "m", "--base-url", url, *more]
    app.main([*words, "--database", database, "--json"])
