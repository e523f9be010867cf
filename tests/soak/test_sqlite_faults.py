"""The real server over SQLite when it is killed, its disk fills or can only be read, and its clock is put back.

What was acknowledged is there, people are told what is wrong, and the work goes on.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import httpx2
import pytest
from annotating import PASSWORD, Annotator, Crowd, check_kept, make_study, name_of
from disks import filled, read_only, small_disk
from processes import Server
from size import FULL

from storage.store import Store

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the disk is mounted and its files are barred as on Linux"
)
PEOPLE, KILLS, THINK, ITEMS = (30, 20, 1.0, 4000) if FULL else (3, 1, 0.05, 500)
WANTED = 3
A_DAY = 86_400


@pytest.fixture(scope="module")
def installation(tmp_path_factory):
    """Return a server whose clock a file can put wrong, its store, who works there, and the disk it is on."""
    folder = tmp_path_factory.mktemp("faults")
    wrong_by = folder / "wrong-by"
    wrong_by.write_text("0")
    with small_disk(folder) as disk:
        database = f"sqlite:///{disk / 'accord.db'}"
        store = Store.open(database)
        make_study(store, ITEMS, PEOPLE, wanted=WANTED)
        script = Path(__file__).parent / "clocked_server.py"
        with Server(database, folder, script, ACCORD_WRONG_BY=str(wrong_by)) as server:
            crowd = Crowd([server.address], PEOPLE, THINK)
            yield server, store, crowd, disk
            crowd.close()
        store.close()


def check_whole(server, store, crowd):
    check_kept(store, crowd, WANTED)
    with closing(sqlite3.connect(server.database.removeprefix("sqlite:///"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_killed_server_has_kept_every_acknowledged_verdict(installation):
    server, store, crowd, _ = installation
    chance = random.Random(0)
    with crowd:
        for _ in range(KILLS):
            crowd.go_on()
            time.sleep(chance.uniform(0, 0.5))
            server.kill()
            check_kept(store, crowd, WANTED)
            server.start()
        crowd.go_on(2)
    check_whole(server, store, crowd)
    assert set(crowd.troubles) == {"no answer"}
    print(f"\nserver killed {KILLS} times under {PEOPLE} people: {crowd.saved} acknowledged verdicts, all kept")


def test_on_a_full_disk_people_are_told_and_go_on_when_there_is_room(installation):
    server, store, crowd, disk = installation
    with crowd:
        crowd.go_on()
        with filled(disk):
            crowd.stumble("the disk under the database is full")
            signing = httpx2.post(f"{server.address}/login", data={"name": "ann0", "password": PASSWORD})
            assert (signing.status_code, "disk under the database is full" in signing.text) == (503, True)
            assert httpx2.get(f"{server.address}/health").status_code == 200  # it can be read
        crowd.go_on(2)
    check_whole(server, store, crowd)
    assert all("the disk under the database is full" in told for told in crowd.troubles), crowd.troubles


def test_a_database_that_can_only_be_read_is_told_and_taken_up_again(installation):
    server, store, crowd, disk = installation
    with crowd:
        crowd.go_on()
        with read_only(disk / "accord.db", disk / "accord.db-wal"):
            crowd.stumble("the database can only be read")
        crowd.go_on(2)
    check_whole(server, store, crowd)
    told = ("the disk under the database does not work", "the database can only be read")
    assert all(any(words in each for words in told) for each in crowd.troubles), crowd.troubles


def test_a_clock_put_back_by_a_day_loses_nothing_and_holds_nothing_for_a_day(installation):
    server, store, _, disk = installation
    make_study(store, 10, 0, study="clock", wanted=1, claim_seconds=5)
    idle = Annotator([server.address], name_of(0), 0, study="clock")
    idle.sign_in()
    taken = idle.open()["item"]
    (disk.parent / "wrong-by").write_text(str(-A_DAY))
    try:
        others = Crowd([server.address], 3, 0.05, study="clock")  # quick enough that no claim of theirs runs out
        others.people = others.people[1:]
        with others:
            others.wait_for(lambda: others.saved == 10)
    finally:
        (disk.parent / "wrong-by").write_text("0")
    assert others.troubles == {}
    assert check_kept(store, others, 1, study="clock") == {1: 10}
    assert taken in {item for person in others.people for item, _ in person.acknowledged}
    others.close()
    idle.client.close()
