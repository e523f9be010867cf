"""Verdicts: saved once, un-swapped, revised by new rows, and never by the wrong person."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from judge.domain import Claim, ClaimError
from storage.schema import verdicts
from storage.store import Store
from storage.verdicts import Submission


@pytest.fixture
def held(store: Store, make_study) -> Claim:
    make_study(4)
    found = store.claim_next("s", "ana")
    assert isinstance(found, Claim)
    return found


def rows(store: Store) -> list:
    with store.reading() as connection:
        return list(connection.execute(select(verdicts).order_by(verdicts.c.id)))


def current(store: Store) -> list:
    return [given for _, all_given in store.records("s") for given in all_given]


def test_a_saved_verdict_is_stored_with_all_that_belongs_to_it(store, held) -> None:
    saved = store.save_verdict(held.token, Submission("A", "clear", 31.5, 80, "prompt:abc"))
    [row] = rows(store)
    assert (row.id, row.stored, row.created) == (saved.verdict, saved.at, saved.at)
    assert row.created.tzinfo is not None
    assert (row.comment, row.seconds, row.confidence, row.prompt_hash) == ("clear", 31.5, 80, "prompt:abc")
    assert (row.order, row.guideline_version, row.after_reveal, row.repeat) == (held.order, 1, False, False)


def test_labels_are_stored_unswapped(store, make_study) -> None:
    make_study(6)
    told = {}
    while isinstance(found := store.claim_next("s", "ana"), Claim):
        store.save_verdict(found.token, Submission("A"))
        told[found.item.id] = "A" if found.order == "AB" else "B"
    assert set(told.values()) == {"A", "B"}
    stored = {body.split('"')[3]: given[0].label for body, given in store.records("s")}
    assert stored == told


def test_sending_the_same_again_changes_nothing(store, held) -> None:
    first = store.save_verdict(held.token, Submission("A", "x"))
    assert store.save_verdict(held.token, Submission("A", "x")) == first
    assert len(rows(store)) == 1
    assert store.progress("s")["ana"].done == 1


def test_another_label_is_a_revision_that_supersedes(store, held) -> None:
    first = store.save_verdict(held.token, Submission("A"))
    second = store.save_verdict(held.token, Submission("B"))
    assert (first.revision, second.revision) == (1, 2)
    assert [row.supersedes for row in rows(store)] == [None, first.verdict]
    assert len(current(store)) == 1
    assert store.progress("s")["ana"].done == 1


def test_undo_is_a_revision_and_the_item_can_be_answered_again(store, held) -> None:
    store.save_verdict(held.token, Submission("A"))
    undone = store.undo_verdict(held.token)
    assert (undone.label, undone.revision) == (None, 2)
    assert current(store) == []
    assert store.progress("s")["ana"].done == 0
    assert store.claim_next("s", "ana").token == held.token
    assert store.save_verdict(held.token, Submission("tie")).revision == 3
    assert [given.label for given in current(store)] == ["tie"]
    with pytest.raises(ClaimError, match="no verdict to undo"):
        store.undo_verdict(store.claim_next("s", "ana").token)


def test_a_verdict_changed_after_the_reveal_says_so(store, held) -> None:
    with pytest.raises(ClaimError, match="only after your verdict"):
        store.reveal(held.token)
    store.save_verdict(held.token, Submission("A"))
    store.reveal(held.token)
    store.reveal(held.token)
    store.save_verdict(held.token, Submission("B"))
    assert [row.after_reveal for row in rows(store)] == [False, True]
    assert [event["kind"] for event in store.events("s")] == ["study_created", "reveal"]


@pytest.mark.parametrize("label", ["C", "", "a", "A++", "tie "])
def test_a_label_off_the_scale_is_refused_and_nothing_stored(store, held, label: str) -> None:
    with pytest.raises(ClaimError, match="nothing was stored"):
        store.save_verdict(held.token, Submission(label))
    assert rows(store) == []


def test_an_unknown_claim_and_somebody_elses_are_refused(store, held) -> None:
    for token, rater in (("no such claim", "ana"), (held.token, "ben")):
        with pytest.raises(ClaimError, match="nothing was stored"):
            store.save_verdict(token, Submission("A"), rater)
        with pytest.raises(ClaimError):
            store.skip_item(token, "", rater)
    assert rows(store) == []


def test_a_skipped_item_may_still_be_answered(store, held) -> None:
    store.skip_item(held.token, "later")
    store.save_verdict(held.token, Submission("A"))
    assert (store.progress("s")["ana"].done, store.progress("s")["ana"].skipped) == (1, 0)
    with pytest.raises(ClaimError, match="undo it first"):
        store.skip_item(held.token, "")


def test_verdicts_record_the_guidelines_they_were_given_under(store, held) -> None:
    assert store.change_guidelines("s", "Look twice.") == 2
    store.save_verdict(held.token, Submission("A"))
    store.save_verdict(store.claim_next("s", "ana").token, Submission("A"))
    assert [row.guideline_version for row in rows(store)] == [1, 2]


def test_no_verdict_can_be_superseded_twice(store, held) -> None:
    for label in ("A", "B", "tie", "A"):
        store.save_verdict(held.token, Submission(label))
    with store.reading() as connection:
        superseded = connection.execute(select(func.count(verdicts.c.supersedes.distinct()))).scalar()
    assert superseded == 3
