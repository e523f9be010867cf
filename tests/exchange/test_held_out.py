"""The held-out part: divided once and for all, and a count of what was tried on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import gradio as gr
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchange.agreeing import agree
from exchange.panel import Options
from exchange.report import write_report
from exchange.tables import tell_all
from judge.domain import GivenVerdict, InputError, Item, Study, Turn
from judge.protocol import find_protocol
from storage.facts import Coded
from storage.held_out import choose_part, is_test
from storage.imports import prepare
from storage.parts import Draws
from storage.ratings import Filters
from storage.runs import Ended, RunSettings
from storage.store import Store
from storage.verdicts import Submission
from ui.agreement import Agreement

WILDBENCH, PROMETHEUS = (
    find_protocol(name).version for name in ("wildbench-pairwise", "prometheus-pairwise-no-reference")
)


def rules(part: str = "all", share: float = 0.5, resamples: int = 100) -> Options:
    return Options(resamples=resamples, filters=Filters(part=part, test_share=share))  # type: ignore[arg-type]


def item(n: int) -> Item:
    """Return an item; every two items ask one question."""
    return Item(f"q{n}", (Turn("user", f"Question {n // 2}?"),), f"left {n}", f"right {n}", "m1", "m2")


def fill(store: Store, study: Study, numbers: Sequence[int], judges: dict[str, Sequence[int]]) -> None:
    """Make a study with two people on every item, and judges on some."""
    store.create_study(study)
    ends = study.protocol.scale.labels[0], study.protocol.scale.labels[-1]
    made = []
    for n in numbers:
        given = [GivenVerdict(name, "human", ends[n % 3 == at]) for at, name in enumerate(("ana", "ben"))]
        given += [GivenVerdict(name, "judge", ends[n % 2], order="AB") for name, own in judges.items() if n in own]
        made.append(prepare(item(n), given))
    store.add_prepared(study.name, made)


def question(n: int) -> str:
    return prepare(item(n)).facts["question_hash"]


@given(st.text(), st.integers(0, 2**62), st.floats(0.01, 0.99))
def test_a_question_is_in_one_part_and_a_larger_share_takes_no_question_back(name, seed, share):
    parts = [choose_part([name], part, seed, share) for part in ("development", "test", "all")]
    assert sorted(map(len, parts)) == [0, 1, 1]
    assert not is_test(name, seed, share) or is_test(name, seed, share + 0.005)


@given(st.lists(st.text(), min_size=1, unique=True), st.integers(0, 2**62), st.floats(0, 1))
def test_items_are_divided_as_their_questions_are(names, seed, share):
    question = Coded(tuple(names), np.arange(len(names))[::-1])
    for part in ("development", "test"):
        chosen = Draws.of(question.names, seed).choose(question, part, share)
        assert {names[code] for code in question.codes[chosen]} == choose_part(names, part, seed, share)


def test_the_share_is_about_what_was_asked_for_and_another_seed_divides_otherwise():
    names = [f"question {n}" for n in range(4000)]
    for share in (0.2, 0.5, 0.8):
        assert len(choose_part(names, "test", 7, share)) / 4000 == pytest.approx(share, abs=0.03)
    assert choose_part(names, "test", 7, 0.5) != choose_part(names, "test", 8, 0.5)


def test_a_part_gives_what_a_study_of_its_items_alone_gives(store):
    everyone = range(60)
    fill(store, Study("s", WILDBENCH, seed=3), everyone, {"j": everyone, "only in development": []})
    tested = [n for n in everyone if is_test(question(n), 3, 0.3)]
    assert len({n // 2 for n in tested}) * 2 == len(tested)  # no question is divided
    fill(store, Study("alone", WILDBENCH, seed=3), tested, {"j": tested})
    value, alone = agree(store, "s", rules("test", 0.3)), agree(store, "alone", rules())
    assert value["split"]["items"] == {"development": 60 - len(tested), "test": len(tested)}
    for key in ("items", "raters", "pairs", "groups", "judges", "models", "flow"):
        assert value[key] == alone[key]
    assert value["sentence"] == f"On the test part: {alone['sentence']}"
    other = agree(store, "s", rules("development", 0.3))
    assert other["items"] + value["items"] == 60


def test_items_stay_in_their_part_when_others_are_added(store):
    fill(store, Study("s", WILDBENCH), range(20), {})
    before = agree(store, "s", rules("test"))["items"]
    store.add_prepared("s", [prepare(item(n)) for n in range(20, 60)])
    added = sum(is_test(question(n), 0, 0.5) for n in range(20, 60))
    assert agree(store, "s", rules("test"))["items"] == before + added


def test_what_was_set_aside_is_counted_in_its_own_part(store):
    fill(store, Study("s", WILDBENCH, wanted=5, claim_seconds=600), range(40), {})
    while (claim := store.claim_next("s", "eva")) and hasattr(claim, "token"):
        store.save_verdict(claim.token, Submission("A+"))
        store.undo_verdict(claim.token)
        store.skip_item(claim.token, "enough")
    parts = [agree(store, "s", rules(part))["flow"]["reasons"].get("withdrawn", 0) for part in ("development", "test")]
    assert sum(parts) == agree(store, "s", rules())["flow"]["reasons"].get("withdrawn", 0) > 0
    assert all(parts)


def test_every_variant_with_a_verdict_on_a_test_question_counts_in_whatever_study(store):
    everyone = range(40)
    development = [n for n in everyone if not is_test(question(n), 0, 0.5)]
    fill(store, Study("s", WILDBENCH), everyone, {"j": everyone, "tuned": development})
    one = agree(store, "s", rules("test"))
    assert (one["split"]["variants"], one["split"]["warnings"]) == (1, [])
    assert [rater["name"] for rater in one["raters"] if rater["kind"] == "judge"] == ["j"]
    # Another prompt is another study of the same questions; the same judge is another variant there.
    fill(store, Study("other prompt", PROMETHEUS, seed=9), everyone, {"j": everyone, "tuned": development})
    fill(store, replace(Study("a copy", WILDBENCH)), everyone, {"j": everyone})
    store.create_study(Study("elsewhere", WILDBENCH))
    apart = Item("x", (Turn("user", "Something else?"),), "a", "b")
    store.add_prepared("elsewhere", [prepare(apart, [GivenVerdict("k", "judge", "A+", order="AB")])])
    value = agree(store, "s", rules("test"))
    split = value["split"]
    assert [(tried["judge"], tried["protocol"], tried["studies"]) for tried in split["tried"]] == [
        ("j", PROMETHEUS.name, ["other prompt"]),
        ("j", WILDBENCH.name, ["s", "a copy"]),
    ]
    assert value["warnings"][0].startswith("the test part has been used for 2 variants")
    assert "used for 2 variants" in write_report(value)
    assert "Tried on the test part" in tell_all(value)
    untouched = agree(store, "s", rules("development"))
    assert (untouched["split"]["variants"], untouched["split"]["warnings"]) == (2, [])
    json.dumps(value, allow_nan=False)


def test_other_settings_are_another_variant(store):
    fill(store, Study("s", WILDBENCH), range(10), {})
    for name, temperature in (("cold", 0), ("warm", 1)):
        run = store.open_run("s", RunSettings(name, "gpt-x", {"temperature": temperature}))
        taken = store.take_stretch(run)
        assert taken is not None
        store.keep_calls(run, [Ended(wanted, "ok", "A+") for wanted in taken[1]], [taken[0]])
    settings = [one["settings"]["request"] for one in agree(store, "s", rules("test"))["split"]["tried"]]
    assert settings == [{"temperature": 0}, {"temperature": 1}]


def test_a_share_that_holds_nothing_out_is_refused_and_a_part_without_items_says_so(store):
    fill(store, Study("s", WILDBENCH), [0, 1], {"j": [0, 1]})
    with pytest.raises(InputError, match="between 0 and 1"):
        agree(store, "s", rules("test", 0))
    empty = "development" if is_test(question(0), 0, 0.5) else "test"
    value = agree(store, "s", rules(empty))
    assert (value["items"], value["raters"]) == (0, [])
    assert value["sentence"] == f"On the {empty} part: The study has 0 items and no verdict yet."
    write_report(value)


@pytest.mark.one_database
def test_the_page_filters_by_part_and_lists_what_was_tried(store):
    everyone = range(40)
    fill(store, Study("s", WILDBENCH), everyone, {"j": everyone, "k": everyone})
    page = Agreement(store)
    shown = page.show(gr.Request(query_params={"study": "s", "resamples": "100", "part": "test"}))
    assert agree(store, "s", rules("test"))["sentence"].split(":")[0] in shown
    assert "used for 2 variants" in shown
    assert "Held out: 2 variants tried on the test part" in shown
    assert '<option value="test" selected>' in shown
    fill(store, Study("other prompt", PROMETHEUS), everyone, {"j": everyone})
    again = page.show(gr.Request(query_params={"study": "s", "resamples": "100", "part": "test"}))
    assert "used for 3 variants" in again
    assert 'id="card-held-out"' not in page.show(gr.Request(query_params={"study": "s", "resamples": "100"}))
