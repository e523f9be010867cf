"""Scales of one's own, through the same door as the built-in ones: other numbers, many labels, scores with a point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from small_studies import check_estimates, human, item, judged, put
from small_studies import write_protocol as write

from exchange.agreeing import agree, list_disagreements
from exchange.importing import ImportRequest, import_files
from exchange.panel import Options
from exchange.planning import Wishes, plan_from_pilot
from exchange.report import write_report
from judge.domain import InputError
from judge.protocol import find_protocol
from storage.store import Store
from ui.agreement import Agreement

pytestmark = pytest.mark.one_database
QUICK = Options(resamples=200)


def preferences() -> list[dict[str, Any]]:
    def verdicts(n: int) -> list[dict[str, Any]]:
        said = [("B", "tie", "A")[(n * step) % 3] for step in (1, 2, 4, 5)]
        return [human("ana", said[0]), human("ben", said[1]), judged(said[2]), judged(said[3], "BA")]

    return [item(n, verdicts(n), model_a=f"m{n % 3}", model_b=f"m{(n + 1) % 3}") for n in range(30)]


def without_values(value: dict[str, Any]) -> dict[str, Any]:
    """Return what does not depend on the unit of the values: counts, shares, kappas and strengths."""
    kept = [
        {key: pair[key] for key in ("n", "exact", "kappa", "kappa_quadratic", "ac2", "within_one", "confusion")}
        for pair in value["pairs"]
    ]
    models = [{key: model[key] for key in ("name", "win_rate", "bradley_terry")} for model in value["models"]]
    judge = value["judges"][0]
    told = {key: judge[key] for key in ("longer_preferred_rate", "corrected_win_rate", "gap", "policies")}
    return {"pairs": kept, "models": models, **told, "first": judge["first_position_rate"]["value"]}


@pytest.mark.parametrize("levels", ["full", "3", "2"])
@pytest.mark.parametrize("values", [(0, 0.5, 1), (1, 2, 3), (-3, -2, -1)])
def test_preferences_count_from_the_middle_of_their_scale(
    levels: Any, values: tuple[float, ...], store: Store, tmp_path: Path
) -> None:
    usual, other = (
        write(tmp_path, name, dict(zip(("B", "tie", "A"), numbers, strict=True)), tie="tie")
        for name, numbers in (("usual", (-1, 0, 1)), ("other", values))
    )
    put(store, tmp_path, preferences(), "usual", usual)
    put(store, tmp_path, preferences(), "other", other)
    rules = Options(levels=levels, resamples=200)
    found = agree(store, "other", rules)
    check_estimates(found)
    assert without_values(found) == without_values(agree(store, "usual", rules))


def test_a_reward_is_counted_from_the_tie(store: Store, tmp_path: Path) -> None:
    scale = write(tmp_path, "one-to-seven", {str(n): n for n in range(1, 8)}, tie="4")
    put(store, tmp_path, [item(n, [human("ana", str(n % 7 + 1))]) for n in range(21)], "s", scale)
    model = next(model for model in agree(store, "s", QUICK)["models"] if model["name"] == "m1")
    assert (model["wb_reward"]["value"], model["win_rate"]["value"]) == pytest.approx((0, 0.5))


def test_a_scale_from_0_to_100_is_told(store: Store, tmp_path: Path) -> None:
    scale = write(tmp_path, "percent", {str(n): n for n in range(101)}, kind="direct")

    def verdicts(n: int) -> list[dict[str, Any]]:
        people = [human(name, str((37 * n + 3 * at) % 101)) for at, name in enumerate(("ana", "ben"))]
        return [*people, judged(str((37 * n + n % 9) % 101))]

    items = [{"id": f"q{n}", "instruction": "?", "response": "!", "verdicts": verdicts(n)} for n in range(40)]
    put(store, tmp_path, items, "s", scale)
    value = agree(store, "s", Options(resamples=20))
    check_estimates(value)
    assert value["judges"][0]["ceilings"]["kappa_quadratic"]["gap"]["value"] is not None


@pytest.mark.parametrize("names", [("1", "1.5", "2"), ("1.0", "1.5", "2.0")])
def test_a_score_may_be_written_as_any_number_that_is_the_same(
    names: tuple[str, str, str], store: Store, tmp_path: Path
) -> None:
    scale = write(tmp_path, "halves", dict(zip(names, (1, 1.5, 2), strict=True)), kind="direct")
    scores = (1, "1.0", 1.5, "1.50", 2.0, "2")
    items = [
        {"id": f"q{n}", "instruction": "?", "response": "!", "verdicts": [{"rater": "ana", "label": score}]}
        for n, score in enumerate(scores)
    ]
    put(store, tmp_path, items, "s", scale)
    assert agree(store, "s", QUICK)["raters"][0]["labels"] == [2, 2, 2]


def test_a_table_may_hold_scores_with_a_point_and_a_column_of_a_judge(store: Store, tmp_path: Path) -> None:
    scale = write(tmp_path, "halves", {"1": 1, "1.5": 1.5, "2": 2}, kind="direct")
    path = tmp_path / "scores.csv"
    path.write_text("id,instruction,response,ana,gpt\na,?,!,1.0,1.5\nb,?,!,,2\nc,?,!,2.0,\n", encoding="utf-8")
    columns = {name: name for name in ("id", "instruction", "response")} | {"label:ana": "ana", "judge:gpt-x": "gpt"}
    request = ImportRequest([str(path)], "s", find_protocol(scale), mapping=columns)
    import_files(store, request, lambda _: None)
    found = [(rater["name"], rater["kind"], rater["labels"]) for rater in agree(store, "s", QUICK)["raters"]]
    assert found == [("ana", "human", [1, 0, 1]), ("gpt-x", "judge", [0, 1, 1])]


@pytest.mark.parametrize("score", [1.25, True, "1.25", "1_0", "٢"])
def test_a_number_that_is_no_label_is_refused(score: Any, store: Store, tmp_path: Path) -> None:
    scale = write(tmp_path, "halves", {"1": 1, "1.5": 1.5, "2": 2}, kind="direct")
    bad = {"id": "q", "instruction": "?", "response": "!", "verdicts": [{"rater": "ana", "label": score}]}
    with pytest.raises(InputError, match=r"verdicts\[0\]\.label"):
        put(store, tmp_path, [bad], "s", scale)


TOPICS = ("maths", "law", "art", "other")


def put_topics(store: Store, folder: Path, study: str = "s", *, nominal: bool = True) -> None:
    """Put a study of topics, by three people and a judge, on a scale with or without an order."""
    points = [{"label": label} | ({} if nominal else {"value": at}) for at, label in enumerate(TOPICS)]
    head = {"title": "Topics", "kind": "direct", "placeholder": "{$name}", "scale": points, "answer": {"json": "topic"}}
    protocol = folder / "topics.md"
    protocol.write_text(
        f"---\n{json.dumps(head | {'nominal': nominal})}\n---\n{{$user_query}} {{$model_output}}\n", encoding="utf-8"
    )

    def verdicts(n: int) -> list[dict[str, Any]]:
        said = [TOPICS[(n * 7 + (n % step == 0)) % 4] for step in (5, 3, 4, 2)]
        return [*map(human, ("ana", "ben", "eva"), said[:3]), {**judged(said[3]), "order": None}]

    items = [{"id": f"q{n}", "instruction": f"{n}?", "response": "!", "verdicts": verdicts(n)} for n in range(60)]
    put(store, folder, items, study, str(protocol))


def test_labels_without_an_order_have_no_statistic_that_needs_one(store: Store, tmp_path: Path) -> None:
    put_topics(store, tmp_path)
    value = agree(store, "s", Options(resamples=100, two_way=True))
    check_estimates(value)
    assert value["nominal"]
    judge, people = value["judges"][0], value["groups"]["humans"]
    against, pair = judge["vs_consensus"], value["pairs"][0]
    undefined = [pair[name] for name in ("kappa_linear", "kappa_quadratic", "ac2", "within_one", "spearman", "bias")]
    undefined += [people["alpha_ordinal"], people["alpha_interval"], people["alpha_two_way"], people["icc"]["icc_2_1"]]
    undefined += [against["pearson"], judge["corrected_win_rate"], judge["ceilings"]["kappa_quadratic"]["gap"]]
    assert {(made["value"], made["why"]) for made in undefined} == {(None, "the scale's labels have no order")}
    assert (judge["statistic"], judge["alt_test"]["measure"]) == ("kappa", "match")
    assert "in Cohen's kappa" in value["sentence"]
    report = write_report(value)
    assert "the scale&#x27;s labels have no order" in report or "the scale's labels have no order" in report
    shown = Agreement(store).show(gr.Request(query_params={"study": "s", "resamples": "50"}))
    assert 'role="alert"' not in shown
    assert {entry["distance"] for entry in list_disagreements(store, "s", QUICK, "j")} == {1.0}


def test_what_needs_no_order_is_the_same_with_and_without_one(store: Store, tmp_path: Path) -> None:
    put_topics(store, tmp_path, "free")
    put_topics(store, tmp_path, "ordered", nominal=False)
    free, ordered = (agree(store, study, QUICK) for study in ("free", "ordered"))
    for one, two in zip(free["pairs"], ordered["pairs"], strict=True):
        assert [one[name] for name in ("exact", "kappa", "ac1")] == [two[name] for name in ("exact", "kappa", "ac1")]
    assert free["groups"]["humans"]["alpha_nominal"] == ordered["groups"]["humans"]["alpha_nominal"]


def test_a_plan_from_labels_without_an_order_has_no_means(store: Store, tmp_path: Path) -> None:
    put_topics(store, tmp_path)
    plan = plan_from_pilot(store, "s", Wishes())
    assert (plan["mean_score"], plan["prediction_powered"]["why"]) == (None, "the scale's labels have no order")
    assert all(made["kappa_quadratic"] == made["kappa"] and "correlation" not in made for made in plan["kappa"])
