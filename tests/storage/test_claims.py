"""Claims: each item gets exactly N different raters, and a rater is told why there is nothing to do."""

from __future__ import annotations

import os
import socket
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from judge.domain import Claim, ClaimError, InputError, NothingToDo, StudyError
from storage.runs import RunSettings
from storage.schema import items, leases
from storage.shuffle import shuffle_key, shuffled
from storage.store import Store
from storage.verdicts import Submission

START = datetime(2026, 1, 5, 10, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock(store: Store) -> Clock:
    store.clock = Clock()
    return store.clock


def claim(store: Store, rater: str) -> Claim:
    found = store.claim_next("s", rater)
    assert isinstance(found, Claim)
    return found


def why(store: Store, rater: str) -> str:
    found = store.claim_next("s", rater)
    assert isinstance(found, NothingToDo)
    return found.why


def finish(store: Store, rater: str) -> list[Claim]:
    """Answer everything a rater is given and return the claims in order."""
    done = []
    while isinstance(found := store.claim_next("s", rater), Claim):
        store.save_verdict(found.token, Submission("A"))
        done.append(found)
    return done


def test_a_rater_gets_every_item_once_and_is_then_finished(store, make_study) -> None:
    make_study(7)
    assert sorted(found.item.id for found in finish(store, "ana")) == [f"q{n}" for n in range(7)]
    assert why(store, "ana") == "finished"


def test_an_item_goes_to_exactly_the_wanted_number_of_raters(store, make_study) -> None:
    make_study(6, wanted=2)
    given = Counter(found.item.id for rater in ("ana", "ben", "eva", "zoe") for found in finish(store, rater))
    assert given == {f"q{n}": 2 for n in range(6)}


def test_asking_again_gives_the_item_already_held(store, make_study) -> None:
    make_study()
    assert claim(store, "ana").token == claim(store, "ana").token


def test_the_next_item_is_foreseen_and_nothing_is_taken(store, make_study) -> None:
    make_study(5, wanted=1)
    assert store.foresee_next("s", "ana") is None  # who has not begun is not known yet
    held = claim(store, "ana")
    for _ in range(4):
        foreseen = store.foresee_next("s", "ana")
        assert foreseen is not None
        store.save_verdict(held.token, Submission("A"))
        held = claim(store, "ana")
        assert held.item == foreseen
    assert store.foresee_next("s", "ana") is None


def test_a_place_held_by_one_is_not_given_to_another(store, make_study) -> None:
    make_study(1, wanted=1)
    claim(store, "ana")
    assert why(store, "ben") == "all items are held by others"


def test_a_closed_study_gives_nothing_but_takes_what_is_held(store, make_study) -> None:
    make_study()
    held = claim(store, "ana")
    store.close_study("s")
    assert why(store, "ben") == "study is closed"
    assert store.save_verdict(held.token, Submission("B")).verdict
    store.reopen_study("s")
    assert claim(store, "ben")


def test_an_expired_claim_returns_to_the_queue(store, make_study, clock) -> None:
    make_study(1, wanted=1, claim_seconds=60)
    claim(store, "ana")
    clock.pass_seconds(61)
    assert claim(store, "ben").item.id == "q0"


def test_a_late_verdict_is_taken_while_the_place_is_free_and_refused_when_it_is_not(store, make_study, clock) -> None:
    make_study(1, wanted=1, claim_seconds=60)
    late = claim(store, "ana")
    clock.pass_seconds(61)
    other = claim(store, "ben")
    with pytest.raises(ClaimError, match="gone to somebody else"):
        store.save_verdict(late.token, Submission("A"))
    store.skip_item(other.token, "not my field")
    assert store.save_verdict(late.token, Submission("A")).revision == 1
    assert why(store, "zoe") == "finished"


def test_an_expired_claim_that_nobody_took_is_still_good(store, make_study, clock) -> None:
    make_study(1, wanted=1, claim_seconds=60)
    late = claim(store, "ana")
    clock.pass_seconds(3600)
    assert store.save_verdict(late.token, Submission("A")).revision == 1


def test_asking_renews_what_is_held(store, make_study, clock) -> None:
    make_study(1, wanted=1, claim_seconds=60)
    claim(store, "ana")
    clock.pass_seconds(50)
    claim(store, "ana")
    clock.pass_seconds(50)
    assert why(store, "ben") == "all items are held by others"


def test_a_clock_that_jumps_back_loses_nothing(store, make_study, clock) -> None:
    make_study(2, wanted=1, claim_seconds=60)
    held = claim(store, "ana")
    clock.pass_seconds(-86_400)
    assert claim(store, "ana").token == held.token
    store.save_verdict(held.token, Submission("A"))
    assert len(finish(store, "ben")) == 1


def test_a_claim_from_before_the_clock_was_put_back_runs_out_after_the_usual_time(store, make_study, clock) -> None:
    make_study(1, wanted=1, claim_seconds=60)
    left = claim(store, "ana")
    clock.pass_seconds(-86_400)
    assert store.claim_next("s", "ben").why == "all items are held by others"
    clock.pass_seconds(61)
    assert claim(store, "ben").item == left.item


def test_a_judges_part_from_before_the_clock_was_put_back_is_free_for_others(store, make_study, clock) -> None:
    make_study(3)
    run = store.open_run("s", RunSettings("m", "m", {}))
    store.take_stretch(run)
    with store.writing() as connection:  # it was a process of another machine, of which one cannot know if it lives
        connection.execute(update(leases).values(owner="elsewhere:1"))
    assert store.take_stretch(run) is None
    clock.pass_seconds(-86_400)
    assert store.take_stretch(run)[0] == 0


@pytest.mark.parametrize(
    ("owner", "free"),
    [
        (f"{socket.gethostname()}:{os.getpid()}:0", True),  # as after the restart of a container
        (f"{socket.gethostname()}:{os.getppid()}:0", True),
        (f"{socket.gethostname()}:{os.getppid()}", False),  # as an older version wrote it
        (f"{socket.gethostname()}:999999999:0", True),
        (f"elsewhere:{os.getpid()}:0", False),
    ],
    ids=["this number", "another's number", "an older version", "no such number", "another machine"],
)
def test_a_judges_part_is_free_when_its_process_is_gone_though_another_has_its_number(
    store, make_study, owner, free
) -> None:
    make_study(3)
    run = store.open_run("s", RunSettings("m", "m", {}))
    store.take_stretch(run)
    with store.writing() as connection:
        connection.execute(update(leases).values(owner=owner))
    assert store.list_runs("s")[0].active is not free
    assert (store.take_stretch(run) is not None) is free


def test_a_skip_frees_the_place_for_others_and_is_not_offered_again(store, make_study) -> None:
    make_study(1, wanted=1)
    skipped = claim(store, "ana")
    store.skip_item(skipped.token, "I know the author")
    store.skip_item(skipped.token, "twice")
    assert why(store, "ana") == "finished"
    assert claim(store, "ben").item.id == "q0"
    [made, event] = store.events("s")
    assert made["kind"] == "study_created"
    assert (event["kind"], event["rater"], event["reason"]) == ("skip", "ana", "I know the author")


def test_raters_are_shuffled_each_their_own_way_and_always_the_same_way(store, make_study, database) -> None:
    make_study(40, wanted=5)
    ana, ben = ([found.item.id for found in finish(store, rater)] for rater in ("ana", "ben"))
    assert ana != ben
    assert ana != sorted(ana, key=lambda name: int(name[1:]))
    key = shuffle_key(0, "s", "ana")
    assert ana == [f"q{shuffled(rank, 40, key)}" for rank in range(40)]


def test_sides_are_balanced_within_each_rater(store, make_study) -> None:
    make_study(41, wanted=5)
    for rater in ("ana", "ben", "eva"):
        orders = [found.order for found in finish(store, rater)]
        assert abs(orders.count("AB") - orders.count("BA")) <= 1
        assert orders not in (["AB", "BA"] * 20 + ["AB"], ["BA", "AB"] * 20 + ["BA"])


def test_the_same_item_is_shown_the_same_way_round_again(store, make_study, clock) -> None:
    make_study(1, claim_seconds=60)
    first = claim(store, "ana")
    clock.pass_seconds(61)
    claim(store, "ben")
    again = claim(store, "ana")
    assert again.token != first.token
    assert again.order == first.order


def test_hidden_repeats_come_later_with_the_sides_exchanged_and_take_no_place(store, make_study) -> None:
    make_study(40, wanted=1, repeat_share=0.25)
    done = finish(store, "ana")
    shown = Counter(found.item.id for found in done)
    repeated = [name for name, times in shown.items() if times == 2]
    assert len(done) == 40 + len(repeated)
    assert 5 <= len(repeated) <= 10
    for name in repeated:
        (first, before), (second, after) = [
            (index, found.order) for index, found in enumerate(done) if found.item.id == name
        ]
        assert {before, after} == {"AB", "BA"}
        assert second - first >= 10
    assert why(store, "ben") == "finished"


def test_items_added_later_are_given_too(store, make_study, add_items) -> None:
    make_study(5)
    finish(store, "ana")
    add_items(5, first=5)
    assert sorted(found.item.id for found in finish(store, "ana")) == [f"q{n}" for n in range(5, 10)]


def test_wanting_more_opens_places_and_wanting_fewer_closes_them(store, make_study) -> None:
    make_study(3, wanted=1)
    finish(store, "ana")
    assert why(store, "ben") == "finished"
    store.change_wanted("s", 2)
    assert len(finish(store, "ben")) == 3
    store.change_wanted("s", 1)
    assert why(store, "eva") == "finished"


def test_the_last_free_items_of_a_large_study_are_found(store, make_study) -> None:
    make_study(3000, wanted=1)
    with store.writing() as connection:  # as if others had done all but three
        connection.execute(update(items).where(items.c.name.not_in(["q7", "q1500", "q2999"])).values(free=0))
    assert {found.item.id for found in finish(store, "ana")} == {"q7", "q1500", "q2999"}


def test_unknown_studies_and_nameless_raters_are_refused(store, make_study) -> None:
    with pytest.raises(StudyError, match="no study named 'x'; there is none yet"):
        store.claim_next("x", "ana")
    make_study()
    with pytest.raises(StudyError, match="there are: s"):
        store.claim_next("x", "ana")
    with pytest.raises(InputError, match="name"):
        store.claim_next("s", "  ")


@given(total=st.integers(1, 3000), key=st.integers(0, 2**64 - 1))
def test_a_shuffle_is_a_permutation(total: int, key: int) -> None:
    assert sorted(shuffled(rank, total, key) for rank in range(total)) == list(range(total))


def test_shuffles_leave_no_place_more_likely_than_another() -> None:
    places = Counter(shuffled(0, 10, shuffle_key(seed)) for seed in range(5000))
    assert len(places) == 10
    assert all(400 < count < 600 for count in places.values())
