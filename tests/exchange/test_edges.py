"""The edge table: where there is nothing to count, JSON, page and report say why, and none of them breaks."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from small_studies import EDGES, LABELS, check_estimates, human, judged, label_of, many, put, write_protocol

from exchange.agreeing import agree
from exchange.panel import Options
from exchange.report import write_report
from exchange.tables import tell_all
from judge.domain import Study
from judge.protocol import find_protocol
from storage.store import Store
from ui.agreement import Agreement

pytestmark = pytest.mark.one_database
QUICK = Options(resamples=200)
PAIR = {"a", "b", "n", "exact", "kappa", "kappa_linear", "kappa_quadratic", "ac1", "ac2", "confusion"}
PAIR |= {"spearman", "kendall", "pearson", "mae", "bias"}
JUDGE = {"name", "vs_consensus", "leave_one_out", "human_ceiling", "swap_consistency", "first_position_rate"}
JUDGE |= {"longer_preferred_rate", "alt_test", "corrected_win_rate", "left_out"}
RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"


class Cells(HTMLParser):
    """The texts of a page's table cells, and everything else that is read."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = False
        self.cells: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag == "td":
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "td"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.inside:
            self.cells[-1] += data


def read(page: str) -> Cells:
    found = Cells()
    found.feed(page)
    return found


@pytest.mark.parametrize("name", EDGES)
def test_every_number_that_there_is_not_has_a_reason_in_json_report_and_page(
    name: str, store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, EDGES[name])
    value = json.loads(json.dumps(agree(store, "s", QUICK), allow_nan=False))
    check_estimates(value)
    assert value["sentence"]
    assert all(pair.keys() >= PAIR for pair in value["pairs"])
    assert all(judge.keys() >= JUDGE for judge in value["judges"])
    report = write_report(value)
    assert "<svg" in report
    seen = read(report)
    for cell in seen.cells:
        # A dash alone says nothing: behind it stands the number of its reason.
        assert not cell.startswith("–") or cell.strip("–" + RAISED) == ""
        assert cell != "–"
    for told in (seen.text, tell_all(value)):
        assert not re.search(rf"[{RAISED}] undefined", told)
        assert "None" not in told
        assert "nan" not in re.sub(r"[a-z]*nan[a-z]+|[a-z]+nan[a-z]*", "", told)
    assert value["sentence"] in tell_all(value)
    check_page(Agreement(store).show(gr.Request(query_params={"study": "s", "resamples": "200"})))


def as_score(one: dict[str, Any]) -> dict[str, Any]:
    """Return an item of the edge table as one response with scores; what a judge said in order BA is another's."""

    def scored(verdict: dict[str, Any]) -> dict[str, Any]:
        label, rater = verdict["label"], "k" if verdict.get("order") == "BA" else verdict["rater"]
        return {**verdict, "label": label and str(5 - LABELS.index(label)), "order": None, "rater": rater}

    kept = {key: one[key] for key in ("id", "instruction", "model_a")}
    return {**kept, "response": one["response_a"], "verdicts": [scored(verdict) for verdict in one["verdicts"]]}


@pytest.mark.parametrize("name", EDGES)
def test_scores_say_so_too(name: str, store: Store, tmp_path: Path) -> None:
    scale = write_protocol(tmp_path, "five", {str(n): n for n in range(1, 6)}, kind="direct")
    put(store, tmp_path, [as_score(one) for one in EDGES[name]], protocol=scale)
    value = json.loads(json.dumps(agree(store, "s", QUICK), allow_nan=False))
    check_estimates(value)
    for told in (read(write_report(value)).text, tell_all(value)):
        assert "None" not in told
    check_page(Agreement(store).show(gr.Request(query_params={"study": "s", "resamples": "200"})))


def check_page(shown: str) -> None:
    assert 'role="alert"' not in shown
    assert "None" not in read(shown).text
    for cell in read(shown).cells:
        assert not cell.startswith("–") or re.fullmatch(r"– undefined: (?!undefined).+", cell), cell


@pytest.mark.parametrize("name", [*EDGES, "no items"])
def test_the_other_view_and_the_parts_say_so_too(name: str, store: Store, tmp_path: Path) -> None:
    if name in EDGES:
        put(store, tmp_path, EDGES[name])
    else:
        store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    page = Agreement(store)
    for asked in ({"view": "disagreements"}, {"part": "test"}, {"levels": "2", "two_way": "yes"}):
        shown = page.show(gr.Request(query_params={"study": "s", "resamples": "100", **asked}))
        assert 'role="alert"' not in shown
        assert "None" not in read(shown).text


EDGE_REASONS = {
    "one category": lambda v: (
        v["pairs"][0]["kappa"]["value"] is None and v["groups"]["humans"]["alpha_ordinal"]["value"] is None
    ),
    "constant raters": lambda v: any("zero variance" in w for w in v["pairs"][0]["kappa"]["warnings"]),
    "no overlap": lambda v: "no item in common" in v["sentence"] and v["flow"]["overlapping"] == 0,
    "all unreadable": lambda v: (
        v["judges"][0]["left_out"]["unreadable"] == 12
        and v["judges"][0]["vs_consensus"]["n"] == 0
        and v["sentence"] == "No verdict of j could be read, so nothing can be said of agreement with people."
    ),
    "a judge with one order": lambda v: "one order only" in v["judges"][0]["swap_consistency"]["why"],
    "two raters only": lambda v: v["judges"] == [] and v["groups"]["humans"]["raters"] == 2,
    "disconnected models": lambda v: "groups not joined" in v["models"][0]["bradley_terry"]["why"],
    "no humans": lambda v: v["judges"][0]["vs_consensus"]["kappa"]["why"] == "no person has given a verdict",
    "no verdicts": lambda v: v["raters"] == [] and "no verdict yet" in v["sentence"],
}


@pytest.mark.parametrize("name", EDGE_REASONS)
def test_edges_say_what_is_the_matter(name: str, store: Store, tmp_path: Path) -> None:
    assert EDGE_REASONS[name](agree(store, put(store, tmp_path, EDGES[name]), QUICK))


def test_a_study_without_items_has_no_numbers(store: Store) -> None:
    from judge.domain import Study

    store.create_study(Study("empty", find_protocol("wildbench-pairwise").version))
    value = agree(store, "empty", QUICK)
    assert (value["items"], value["pairs"], value["models"]) == (0, [], [])
    check_estimates(value)
    write_report(value)


def test_every_p_bound_and_standard_error_that_there_is_not_has_a_reason(store: Store, tmp_path: Path) -> None:
    reasons = {}
    for name in ("one category", "no humans", "a judge with one order"):
        value = agree(store, put(store, tmp_path, EDGES[name], study=name), QUICK)
        check_estimates(value)
        reasons[name] = value["judges"][0]
    assert reasons["one category"]["vs_consensus"]["table"]["kappa_standard_error_why"].startswith("both raters stay")
    assert reasons["one category"]["swap"]["p_why"] == "no verdict moved"
    assert "not independent" in reasons["one category"]["position"]["p_why"]
    assert reasons["no humans"]["left_out"]["bounds_why"] == "no person has given a verdict"
    assert "one order only" in reasons["a judge with one order"]["swap"]["p_why"]
    assert "not drawn at random" in reasons["a judge with one order"]["position"]["p_why"]


def test_domains_with_few_items_say_so(store: Store, tmp_path: Path) -> None:
    people = ("ana", "ben", "eva")
    items = many(lambda n: [*(human(name, label_of(n)) for name in people), judged(label_of(n))], 40)
    put(store, tmp_path, [{**one, "tags": ["often" if n < 32 else "rare"]} for n, one in enumerate(items)])
    value = agree(store, "s", QUICK)
    check_estimates(value)
    rates = {one["domain"]: one for one in value["judges"][0]["alt_test"]["domains"]}
    assert rates["often"]["why"] is None
    assert "no person has 30 items" in rates["rare"]["why"]


def test_the_two_order_effects_say_how_they_were_made(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        if n % 3 == 0:
            return [judged(label_of(n), "AB" if n % 2 else "BA")]
        return [judged(label_of(n)), judged(label_of(n + 1), "BA")]

    put(store, tmp_path, many(verdicts))
    judge = agree(store, "s", QUICK)["judges"][0]
    paired, unpaired = judge["swap"]["order_effect"], judge["position"]["order_effect"]
    assert paired["n"] == 8
    assert paired["value"] != unpaired["value"]
    assert "items that have both" in paired["note"]
    assert "all verdicts in order AB" in unpaired["note"]


def test_a_first_answer_without_a_label_stays_missing_and_it_is_said(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        first = judged(None if n < 3 else "A+", raw="?")
        return [human("ana", "A+"), first, judged("B+", raw="?"), judged(None, "BA", raw="?")]

    put(store, tmp_path, many(verdicts))
    value = agree(store, "s", Options(resamples=20, combine="first"))
    judge = value["judges"][0]
    assert judge["vs_consensus"]["n"] == 9
    assert judge["vs_consensus"]["exact"]["value"] == 1.0
    assert judge["left_out"]["later_label"] == 3
    assert any("3 times the first of several answers has no verdict" in warning for warning in value["warnings"])


def test_a_judge_that_nobody_can_read_and_no_people_are_told_as_that(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, many(lambda _: [judged(None)]))
    assert agree(store, "s", QUICK)["sentence"] == "No verdict of j could be read, and no person has given one."


def test_a_wide_gap_without_an_interval_is_not_told_as_none(store: Store, tmp_path: Path) -> None:
    ends = ("A++", "B++")
    opposed = many(lambda n: [human("ana", ends[n % 2]), human("ben", ends[1 - n % 2]), judged(ends[n % 2])], 60)
    protocol = write_protocol(tmp_path, "scores", {str(n): n for n in range(1, 6)}, kind="direct")
    put(store, tmp_path, [as_score(one) for one in opposed], "s", protocol)
    value = agree(store, "s", QUICK)
    assert value["judges"][0]["gap"]["low"] is None
    assert "agrees with people perhaps more than people agree with each other: gap 1.00" in value["sentence"]


def test_two_judges_that_no_item_tells_apart_have_no_p_and_a_reason(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, many(lambda n: [human("ana", label_of(n)), *(judged(label_of(n), name=j) for j in "jk")]))
    value = agree(store, "s", QUICK)
    [pair] = value["comparisons"]
    assert (pair["mcnemar_p"], pair["mcnemar_p_why"]) == (None, "on no item is exactly one of the two right")
    assert pair["mcnemar_p_why"] in write_report(value)


def test_few_items_behind_the_first_sentence_are_warned_of_where_there_is_no_consensus(
    store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, many(lambda n: [human("ana", label_of(n)), human("ben", label_of(n + 1)), judged("A+")]))
    value = agree(store, "s", QUICK)
    assert value["judges"][0]["gap"]["value"] is not None
    [few] = [warning for warning in value["warnings"] if warning.startswith("fewer than 30 items")]
    assert "j beside people's agreement (12)" in few
