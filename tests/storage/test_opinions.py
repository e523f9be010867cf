"""What a researcher looks for between people and judges, on both databases."""

from __future__ import annotations

import pytest

from judge.domain import GivenVerdict, InputError, Item, Study, StudyError, Turn
from judge.protocol import find_protocol
from storage.desk import Remark
from storage.imports import prepare
from storage.opinions import Cause
from storage.verdicts import Submission

WILDBENCH = find_protocol("wildbench-pairwise").version
KINDS = ("judge wrong", "truly ambiguous")


def item(name, *tags, models=("m1", "m2")):
    return Item(name, (Turn("user", "Why?"),), "left", "right", *models, tags=tags)


@pytest.fixture
def filled(store):
    store.create_study(Study("s", WILDBENCH))
    given = [GivenVerdict("zoe", "human", "A+"), GivenVerdict("j", "judge", "B+", order="AB", confidence=2)]
    others = [GivenVerdict("ana", "human", "A+"), GivenVerdict("j", "judge", "B+", order="AB")]
    store.add_prepared(
        "s", [prepare(item("q1", "x", "y"), given), prepare(item("q2", "y", models=("m2", None)), others)]
    )
    return store


def test_the_mark_of_a_studys_verdicts_changes_with_every_verdict(filled):
    before, anywhere = filled.mark_verdicts("s"), filled.mark_verdicts(None)
    assert before == filled.mark_verdicts("s")
    filled.save_verdict(filled.claim_next("s", "eva").token, Submission("A+"))
    assert filled.mark_verdicts("s") != before
    assert filled.mark_verdicts(None) != anywhere
    filled.create_study(Study("empty", WILDBENCH))
    assert filled.mark_verdicts("empty") not in (before, filled.mark_verdicts("s"))


def test_how_sure_a_judge_was_is_known_where_it_said_so(filled):
    assert {at: known.confidence for at, known in filled.judge_certainty("s", "j").items()} == {0: 2}
    assert filled.judge_certainty("s", "zoe") == {}


def test_of_a_persons_causes_on_an_item_the_newest_counts(filled):
    for cause in ("truly ambiguous", "judge wrong"):
        filled.remark_on_item("s", "q1", "rita", Remark(cause, "j"))
    filled.remark_on_item("s", "q1", "omar", Remark("truly ambiguous", "j"))
    filled.remark_on_item("s", "q2", "rita", Remark("judge wrong", "another"))
    filled.remark_on_item("s", "q2", "rita", Remark("flag"))
    assert filled.causes("s", "j", KINDS) == [
        Cause("q1", "judge wrong", "rita", ("x", "y")),
        Cause("q1", "truly ambiguous", "omar", ("x", "y")),
    ]
    assert [each.rater for each in filled.item_detail("s", "q1").remarks] == ["rita", "rita", "omar"]


def test_a_remark_on_nothing_or_by_nobody_is_refused(filled):
    with pytest.raises(StudyError, match="no item 'q9'"):
        filled.remark_on_item("s", "q9", "rita", Remark("judge wrong", "j"))
    with pytest.raises(InputError, match="needs a name"):
        filled.remark_on_item("s", "q1", " ", Remark("judge wrong", "j"))
    assert filled.causes("s", "j", KINDS) == []
