"""The real server over PostgreSQL when that is killed, stopped, cut off or can only be read.

What was acknowledged is there, people are told what is wrong, and the work goes on, a judge's too.
"""

from __future__ import annotations

import json
import random
import time

import httpx2
import pytest
from annotating import Crowd, check_kept, make_study
from openai_server import served_apart
from processes import Postgres, Server, command
from sqlalchemy.engine import make_url

from storage.store import Store

pytestmark = pytest.mark.soak

PEOPLE, KILLS, CUTS, THINK, ITEMS, JUDGED = 30, 20, 50, 1.0, 4000, 400
WANTED = 3
AWAY = "the database cannot be reached"
REPLY = json.dumps({"reason": "Clearer.", "choice": "A+"})


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """Return a server, its store, who works there, and the PostgreSQL behind it."""
    with Postgres() as postgres:
        database = postgres.new_database()
        store = Store.open(database)
        make_study(store, ITEMS, PEOPLE, wanted=WANTED)
        with Server(database, tmp_path_factory.mktemp("faults")) as server:
            crowd = Crowd([server.address], PEOPLE, THINK)
            yield server, store, crowd, postgres
            crowd.close()
        store.close()


def test_a_killed_postgresql_has_kept_every_acknowledged_verdict(installation):
    _, store, crowd, postgres = installation
    chance = random.Random(0)
    with crowd:
        for _ in range(KILLS):
            crowd.go_on()
            time.sleep(chance.uniform(0, 0.5))
            postgres.kill()
            crowd.stumble(AWAY)
            postgres.start()
            check_kept(store, crowd, WANTED)
        crowd.go_on(2)
    check_kept(store, crowd, WANTED)
    assert all(AWAY in told for told in crowd.troubles), crowd.troubles
    print(f"\nPostgreSQL killed {KILLS} times under {PEOPLE} people: {crowd.saved} acknowledged verdicts, all kept")


def test_while_postgresql_is_stopped_everybody_is_told_and_a_judge_waits(installation):
    server, store, crowd, postgres = installation
    with served_apart(0.05, REPLY) as url, crowd:
        order = ("--model", "m", "--base-url", url, "--limit", JUDGED, "--concurrency", 2)
        judge = command(server.database, "judge", "--study", "s", *order)
        crowd.wait_for(lambda: _judged(store) > 0)
        postgres.stop()
        crowd.stumble(AWAY)
        cookies = dict(crowd.people[0].client.cookies)
        page = httpx2.get(server.address, headers={"Accept": "text/html"}, cookies=cookies)
        health = httpx2.get(f"{server.address}/health")
        postgres.start()
        crowd.go_on(2)
        _, problems = judge.communicate(timeout=600)
    assert (page.status_code, page.headers["content-type"]) == (503, "text/plain; charset=utf-8")
    assert page.text == f"Accord: {AWAY}: wait a moment and try again. What was saved before is kept."
    assert (health.status_code, health.json()["database"]) == (503, "cannot be reached")
    assert judge.returncode == 0, problems
    assert _judged(store) == 2 * JUDGED
    check_kept(store, crowd, WANTED)
    assert all(AWAY in told for told in crowd.troubles), crowd.troubles


def test_lost_connections_are_made_anew(installation):
    server, store, crowd, postgres = installation
    with crowd:
        for _ in range(CUTS):
            postgres.cut_connections(server.database)
            crowd.go_on()
    check_kept(store, crowd, WANTED)
    assert all(AWAY in told for told in crowd.troubles), crowd.troubles


def test_a_database_that_can_only_be_read_is_told_and_taken_up_again(installation):
    server, store, crowd, postgres = installation
    name = make_url(server.database).database
    with crowd:
        crowd.go_on()
        postgres.tell(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        postgres.cut_connections(server.database)
        crowd.stumble("the database can only be read")
        postgres.tell(f"ALTER DATABASE {name} SET default_transaction_read_only = off")
        postgres.cut_connections(server.database)
        crowd.go_on(2)
    check_kept(store, crowd, WANTED)
    told = (AWAY, "the database can only be read")
    assert all(any(words in each for words in told) for each in crowd.troubles), crowd.troubles


def _judged(store):
    return sum(each.rater == "m" for _, given in store.records("s") for each in given)
