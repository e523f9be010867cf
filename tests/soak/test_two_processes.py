"""Two processes of the app over one PostgreSQL: one study, exactly N, and sessions that both know."""

from __future__ import annotations

import pytest
from annotating import Crowd, check_kept, make_study
from processes import Server

from storage.store import Store

pytestmark = pytest.mark.soak

ITEMS, WANTED, PEOPLE = 400, 3, 30


def test_two_processes_share_a_study_and_every_item_gets_exactly_n(new_postgresql, tmp_path):
    database = new_postgresql()
    store = Store.open(database)
    make_study(store, ITEMS, PEOPLE, wanted=WANTED)
    with Server(database, tmp_path) as one, Server(database, tmp_path) as other:
        # Everybody turns to one and the other in turn.
        with Crowd([one.address, other.address], PEOPLE, 0.02) as crowd:
            crowd.wait_for(lambda: crowd.saved == ITEMS * WANTED, 600)
        assert crowd.troubles == {}
    assert check_kept(store, crowd, WANTED) == {WANTED: ITEMS}
    store.close()
    crowd.close()
    for server in (one, other):  # a request to end is obeyed, without a word
        assert (server.process.returncode, server.said.read_text()) == (0, "")
    print(f"\ntwo processes, {PEOPLE} people: {ITEMS} items with exactly {WANTED} verdicts each")
