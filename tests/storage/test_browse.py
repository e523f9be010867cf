"""Looking a study over: overviews, people, and the items browser, on both databases."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.domain import GivenVerdict, Item, Study, StudyError, Turn
from judge.protocol import find_protocol, load_protocol
from storage import browse
from storage.browse import Search
from storage.desk import Remark
from storage.imports import prepare
from storage.overviews import Annotator, Places
from storage.store import Store
from storage.verdicts import Submission

PREFERENCE = load_protocol(Path(__file__).parents[1] / "judge" / "protocols" / "preference-3way.md").version

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "100% of _it_",
    'say "hi"',
    "back\\slash",
    "line\nbreak",
    "ÉCOLE",
    "${x}",
    "日本",
]


def item(name, question="Why?", **more):
    return Item(name, (Turn("user", question),), more.pop("a", "left"), more.pop("b", "right"), **more)


def human(rater, label, **more):
    return GivenVerdict(rater, "human", label, **more)


def names(store, start=0, **search):
    return [found.item.id for found in store.browse_items("s", Search(**search), start).found]


@pytest.fixture
def add(store):
    """Make a study with these items and verdicts."""

    def make(*entries, **changes):
        store.create_study(replace(Study("s", PREFERENCE), **changes))
        store.add_prepared("s", [prepare(entry[0], entry[1:]) for entry in entries])
        return store

    return make


def test_overviews_count_people_judges_and_what_is_wanted(add):
    judged = GivenVerdict("gpt", "judge", "A", order="AB", raw="A")
    store = add((item("q1"), human("ana", "A"), human("ben", "B"), judged), (item("q2"), human("ana", "B")), wanted=2)
    store.create_study(Study("empty", PREFERENCE))
    empty, full = store.overviews()
    assert (empty.study.name, empty.given, empty.wanted, empty.people, empty.judges) == ("empty", 0, 0, 0, 0)
    assert (full.given, full.wanted, full.people, full.judges) == (3, 4, 2, 1)
    assert store.overview("s") == full


def test_a_person_is_described_by_their_latest_verdicts(add):
    # Shown as A: the first (A in AB) and the second (B in BA); the third prefers the other one, the tie none.
    given = [
        (item("q1"), human("ana", "A", order="AB", seconds=10)),
        (item("q2"), human("ana", "B", order="BA", seconds=20)),
        (item("q3"), human("ana", "B", order="AB", seconds=60)),
        (item("q4"), human("ana", "tie", order="AB")),
    ]
    [ana], places = add(*given, (item("q5"),)).annotators("s")
    assert (ana.name, ana.done, ana.skipped, ana.seconds, ana.leaning) == ("ana", 4, 0, 20, pytest.approx(2 / 3))
    assert ana.last is not None
    assert places == Places(items=5, held=0)


def test_somebody_who_only_skipped_is_seen_too(store, make_study):
    make_study(3)
    store.skip_item(store.claim_next("s", "ana").token, "unclear")
    store.claim_next("s", "ana")
    [ana], places = store.annotators("s")
    assert (ana.done, ana.skipped, ana.seconds, ana.leaning) == (0, 1, None, None)
    assert ana.last is not None
    assert places.held == 1


def test_a_direct_study_tells_the_mean_score(store):
    store.create_study(Study("s", find_protocol("prometheus-direct").version))
    store.add_prepared("s", [prepare(item(f"q{n}", b=None), [human("ana", label)]) for n, label in enumerate("24")])
    [ana], _ = store.annotators("s")
    assert isinstance(ana, Annotator)
    assert ana.leaning == 3


def test_pages_follow_each_other_and_cover_every_item_once(store, make_study):
    make_study(2 * browse.PAGE + 3)
    start, seen = 0, []
    while start is not None:
        page = store.browse_items("s", Search(), start)
        seen.append([found.item.id for found in page.found])
        start = page.next_start
    assert list(map(len, seen)) == [browse.PAGE, browse.PAGE, 3]
    assert list(chain(*seen)) == [f"q{n}" for n in range(2 * browse.PAGE + 3)]


def test_a_search_that_takes_long_stops_and_can_be_gone_on_with(store, make_study, monkeypatch):
    monkeypatch.setattr(browse, "STRETCH", 4)
    make_study(10)
    assert names(store, text="Question 9") == ["q9"]
    monkeypatch.setattr(browse, "PATIENCE", 0)
    page = store.browse_items("s", Search(text="Question 9"), 0)
    assert (page.found, page.next_start) == ((), 4)
    page = store.browse_items("s", Search(text="Question 9"), 8)
    assert ([found.item.id for found in page.found], page.next_start) == (["q9"], None)


def test_a_page_that_fills_exactly_at_the_end_has_no_next(store, make_study):
    make_study(browse.PAGE)
    assert store.browse_items("s", Search(), 0).next_start is None


def test_text_is_found_as_written_wherever_it_stands(add):
    made = {
        text: [item(f"id {text}"), *(item(f"{place}{n}", **{place: f"before {text} after"}) for place in places)]
        for n, text in enumerate(HOSTILE)
        for places in [("question", "a", "b")]
    }
    store = add((item("miss"),), *((found,) for group in made.values() for found in group))
    for text, group in made.items():
        assert names(store, text=text) == [found.id for found in group]


def test_search_disregards_case_and_reads_no_names_of_fields_or_models(add):
    store = add((item("q1", "Über ALLES", model_a="gpt-x"),), (item("q2"),))
    assert names(store, text="über alles") == ["q1"]
    assert names(store, text="ÜBER") == ["q1"]
    assert names(store, text="gpt-x") == []
    assert names(store, text="response_a") == []
    assert names(store, text="q_") == []


@pytest.fixture(scope="module")
def filling(tmp_path_factory):
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('filling') / 'accord.db'}")
    store.create_study(Study("s", PREFERENCE))
    yield store
    store.close()


@settings(max_examples=60)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8))
def test_any_text_is_found(filling, text):
    position = filling.study("s").items
    filling.add_prepared("s", [prepare(item(f"item {position}", a=f"-{text}-"))])
    assert names(filling, position, text=text) == [f"item {position}"]


def test_a_tag_is_the_whole_tag(add):
    store = add((item("q1", tags=("code", "hard")),), (item("q2", tags=("code golf",)),), (item("q3", "the code"),))
    assert names(store, tag="code") == ["q1"]
    assert names(store, tag="CODE") == ["q1"]
    assert store.choices("s").tags == ("code", "code golf", "hard")


def test_states_follow_a_study_from_no_verdict_to_complete(store, make_study):
    make_study(3, wanted=2)
    assert names(store, state="none") == ["q0", "q1", "q2"]
    claim = store.claim_next("s", "ana")
    assert names(store, state="progress") == [claim.item.id]
    store.save_verdict(claim.token, Submission("A"))
    assert names(store, state="progress") == [claim.item.id]
    assert claim.item.id not in names(store, state="none")
    while isinstance(other := store.claim_next("s", "ben"), type(claim)):
        store.save_verdict(other.token, Submission("A"))
    assert names(store, state="complete") == [claim.item.id]
    assert len(names(store, state="progress")) == 2


def test_an_item_whose_last_place_is_held_is_not_complete(store, make_study):
    make_study(1, wanted=1)
    claim = store.claim_next("s", "ana")
    assert (names(store, state="complete"), names(store, state="progress")) == ([], ["q0"])
    store.save_verdict(claim.token, Submission("A"))
    assert (names(store, state="complete"), names(store, state="progress")) == (["q0"], [])


def test_disagreement_is_of_current_labels(add):
    judged = GivenVerdict("gpt", "judge", "A", order="AB", raw="A")
    store = add(
        (item("same"), human("ana", "A"), human("ben", "A")),
        (item("people"), human("ana", "A"), human("ben", "B")),
        (item("judge"), human("ana", "B"), human("ben", "B"), judged),
        (item("open"),),
    )
    assert names(store, state="people disagree") == ["people"]
    assert names(store, state="raters disagree") == ["people", "judge"]
    claim = store.claim_next("s", "cho")
    wanted = {"same": "A", "people": "A", "judge": "B", "open": "A"}[claim.item.id]
    first = "B" if wanted == "A" else "A"
    swap = {"A": "B", "B": "A"} if claim.order == "BA" else {"A": "A", "B": "B"}
    before = names(store, state="people disagree")
    store.save_verdict(claim.token, Submission(swap[first]))
    store.save_verdict(claim.token, Submission(swap[wanted]))
    assert names(store, state="people disagree") == before


def test_a_flag_counts_until_whoever_set_it_takes_it_off(store, make_study):
    make_study(2)
    ana, ben = store.claim_next("s", "ana"), store.claim_next("s", "ben")
    store.add_remark(ana.token, Remark("flag", comment="odd"))
    assert names(store, state="flagged") == [ana.item.id]
    [remark] = store.item_detail("s", ana.item.id).remarks
    assert (remark.rater, remark.kind, remark.judge, remark.comment) == ("ana", "flag", None, "odd")
    store.add_remark(ben.token, Remark("unflag"))
    assert names(store, state="flagged") == [ana.item.id]
    store.add_remark(ana.token, Remark("unflag"))
    assert names(store, state="flagged") == []
    store.add_remark(ana.token, Remark("flag"))
    assert names(store, state="flagged") == [ana.item.id]


def test_filters_work_together(add):
    store = add(
        (item("q1", "red", tags=("x",)), human("ana", "A")),
        (item("q2", "red", tags=("y",)),),
        (item("q3", "red", tags=("x",)),),
        (item("q4", "blue", tags=("x",)),),
    )
    assert names(store, text="red", tag="x", state="none") == ["q3"]


def test_marks_show_people_and_judges_with_what_they_said(add):
    refused = GivenVerdict("gpt", "judge", None, "refused", raw="no")
    store = add((item("q1"), human("ben", "B"), human("ana", "A"), refused))
    [found] = store.browse_items("s", Search()).found
    assert [(mark.rater, mark.kind, mark.label, mark.status) for mark in found.marks] == [
        ("ana", "human", "A", "ok"),
        ("ben", "human", "B", "ok"),
        ("gpt", "judge", None, "refused"),
    ]


def test_detail_gives_every_current_verdict_with_its_reply(add):
    store = add(
        (item("q1", model_a="m"), human("ana", "A", comment="clear"), GivenVerdict("gpt", "judge", "B", raw="B!"))
    )
    detail = store.item_detail("s", "q1")
    assert (detail.item.model_a, detail.position) == ("m", 0)
    assert [(given.rater, given.comment, given.raw) for given in detail.verdicts] == [
        ("ana", "clear", None),
        ("gpt", None, "B!"),
    ]
    with pytest.raises(StudyError, match="no item 'q2' in the study 's'"):
        store.item_detail("s", "q2")
