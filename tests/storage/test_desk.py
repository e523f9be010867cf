"""An annotator's desk: what they hold, what they said, how quick they are, what they remark."""

from __future__ import annotations

import pytest

from judge.domain import ClaimError
from storage.desk import Remark
from storage.verdicts import Submission


def answer(store, rater, label="A", **more):
    claim = store.claim_next("s", rater)
    store.save_verdict(claim.token, Submission(label, **more))
    return claim


def test_a_claim_shows_what_its_rater_said_in_the_frame_they_saw(store, make_study):
    make_study(6)
    seen = set()
    for _ in range(6):
        claim = answer(store, "ana", "A", comment="why", confidence=2)
        held = store.held(claim.token, "ana")
        assert (held.state, held.verdict.label, held.verdict.comment, held.verdict.confidence) == (
            "done",
            "A",
            "why",
            2,
        )
        assert held.claim.item == claim.item
        seen.add(claim.order)
    assert seen == {"AB", "BA"}


def test_a_withdrawn_verdict_is_not_shown(store, make_study):
    make_study(1)
    claim = answer(store, "ana")
    store.undo_verdict(claim.token)
    held = store.held(claim.token)
    assert (held.state, held.verdict) == ("open", None)


def test_one_moves_back_and_on_through_ones_own_items_only(store, make_study):
    make_study(4)
    mine = [answer(store, "ana").token]
    answer(store, "bea")
    mine.append(answer(store, "ana").token)
    skipped = store.claim_next("s", "ana")
    store.skip_item(skipped.token, "")
    mine.append(store.claim_next("s", "ana").token)
    on = [store.neighbour(token, "ana", "on") for token in mine]
    back = [store.neighbour(token, "ana", "back") for token in mine]
    assert [held and held.claim.token for held in on] == [*mine[1:], None]
    assert [held and held.claim.token for held in back] == [None, *mine[:-1]]


def test_an_item_is_found_again_by_its_name_for_who_has_it(store, make_study):
    make_study(1)
    claim = answer(store, "ana")
    assert store.find_held("s", "ana", "q0").claim.token == claim.token
    assert store.find_held("s", "bea", "q0") is None
    assert store.find_held("s", "ana", "q7") is None


def test_somebody_elses_claim_is_not_shown(store, make_study):
    make_study(1)
    claim = answer(store, "ana")
    for ask in (lambda: store.held(claim.token, "eve"), lambda: store.neighbour(claim.token, "eve", "on")):
        with pytest.raises(ClaimError, match="not yours"):
            ask()


def test_a_pace_is_the_median_of_the_last_verdicts_and_counts_the_team(store, make_study):
    make_study(5, wanted=2)
    assert store.pace(store.study("s"), "nobody").seconds is None
    for seconds in (10, 30, 20):
        answer(store, "ana", seconds=seconds)
    answer(store, "bea", seconds=500)
    pace = store.pace(store.study("s"), "ana")
    assert (pace.seconds, pace.given, pace.wanted) == (20, 4, 10)


def test_a_flag_is_kept_and_taken_back_and_both_stay_in_the_record(store, make_study):
    make_study(1)
    claim = store.claim_next("s", "ana")
    assert store.held(claim.token).flagged is False
    store.add_remark(claim.token, Remark("flag"), "ana")
    assert store.held(claim.token).flagged is True
    store.add_remark(claim.token, Remark("unflag"), "ana")
    assert store.held(claim.token).flagged is False
    with pytest.raises(ClaimError, match="not yours"):
        store.add_remark(claim.token, Remark("flag"), "eve")


def test_remarks_are_found_again_with_who_said_what_of_which_judge(store, make_study):
    make_study(1)
    claim = answer(store, "ana")
    store.add_remark(claim.token, Remark("judge wrong", "gpt-x", "it missed the point"), "ana")
    (found,) = store.remarks("s")
    assert {name: found[name] for name in ("rater", "judge", "item", "kind", "comment")} == {
        "rater": "ana",
        "judge": "gpt-x",
        "item": "q0",
        "kind": "judge wrong",
        "comment": "it missed the point",
    }
