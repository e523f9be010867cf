"""What the tests of the pages share."""

import pytest


@pytest.fixture
def database(tmp_path):
    """Pages do the same over either database, whose own tests hold that: one is enough here."""
    return f"sqlite:///{tmp_path / 'accord.db'}"
