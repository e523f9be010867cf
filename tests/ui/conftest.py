"""What the tests of the pages share."""

import pytest


@pytest.fixture
def database(sqlite_database):
    """Pages do the same over either database, whose own tests hold that: one is enough here."""
    return sqlite_database
