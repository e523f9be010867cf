"""What is said of the models: WildBench's task groups, its length rule and its baselines, in JSON, page and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from small_studies import check_estimates, human, item, judged, put

from agreement.wildbench import GROUP_WEIGHTS
from exchange.agreeing import agree
from exchange.panel import Options
from exchange.report import write_report
from storage.store import Store
from ui.agreement import Agreement

pytestmark = pytest.mark.one_database
QUICK = Options(resamples=100)
TAGS = (["Math", "Coding & Debugging"], ["Math", "Data Analysis"], ["Editing"], ["unheard of"])
WORTH = {"A++": 1.0, "A+": 0.5, "A=B": 0.0, "B+": -0.5, "B++": -1.0}


def told(n: int) -> str:
    return ("A++", "A+", "A=B", "B+", "A+", "B++", "A+")[n % 7]


def tagged(count: int = 56) -> list[dict[str, Any]]:
    def verdicts(n: int) -> list[dict[str, Any]]:
        return [human("ana", told(n)), judged(told(n)), judged(told(n + n % 2), "BA")]

    return [
        item(
            n,
            verdicts(n),
            tags=TAGS[n % 4],
            model_b=("base", "other")[n % 2],
            response_a="x" * (700 if n % 3 else 10),
            response_b="y" * 20,
        )
        for n in range(count)
    ]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def by_hand(items: list[dict[str, Any]], length_k: float | None = None, tag: str | None = None) -> float:
    """Return m1's WB-Reward by ana, or by the judge in order AB, from the labels themselves."""
    worth = []
    for one in items:
        value = WORTH[one["verdicts"][0]["label"]]
        ahead = len(one["response_a"]) - len(one["response_b"])
        if length_k is not None and abs(value) == 0.5 and (ahead if value > 0 else -ahead) > length_k:
            value = 0.0
        if tag is None or tag in one["tags"]:
            worth.append(value)
    return mean(worth)


def first_model(store: Store, options: Options = QUICK) -> dict[str, Any]:
    value = agree(store, "s", options)
    check_estimates(value)
    return next(model for model in value["models"] if model["name"] == "m1")


def by_judge(store: Store, limit: float | None = None) -> dict[str, Any]:
    return first_model(store, Options(resamples=100, combine="first", length_k=limit))["by"]["j"]


def test_rewards_by_task_group_follow_the_length_rule(store: Store, tmp_path: Path) -> None:
    items = tagged()
    put(store, tmp_path, items)
    for limit in (None, 0, 500, 5000):
        tasks = by_judge(store, limit)["tasks"]
        maths, coding = (tasks["groups"][name] for name in ("Math & Data Analysis", "Coding & Debugging"))
        # Two tags of one group count an item once, tags of two groups once in each.
        assert maths["value"] == pytest.approx(by_hand(items, limit, "Math"))
        assert (maths["n"], coding["n"]) == (28, 14)
        assert tasks["groups"]["Planning & Reasoning"]["value"] is None
        assert tasks["left_out"] == 14
        held = {name: made["value"] for name, made in tasks["groups"].items() if made["value"] is not None}
        weighted = sum(GROUP_WEIGHTS[name] * found for name, found in held.items())
        assert tasks["macro"]["value"] == pytest.approx(weighted / sum(GROUP_WEIGHTS[name] for name in held))
        assert tasks["macro"]["low"] < tasks["macro"]["value"] < tasks["macro"]["high"]


def test_the_curve_over_length_rules_does_not_depend_on_the_rule_in_force(store: Store, tmp_path: Path) -> None:
    items = tagged()
    put(store, tmp_path, items)
    plain, ruled = by_judge(store), by_judge(store, 500)
    for point in plain["length_curve"]:
        assert point["value"] == pytest.approx(by_hand(items, point["length_k"]))
    assert [point["length_k"] for point in plain["length_curve"]] == [0, 100, 500, 1000, 1500, None]
    assert ruled["length_curve"] == plain["length_curve"]
    at = [point["length_k"] for point in plain["length_curve"]].index(500)
    assert ruled["wb_reward"]["value"] == ruled["length_curve"][at]["value"] != plain["wb_reward"]["value"]


def test_the_length_rule_leaves_people_s_verdicts_as_they_are(store: Store, tmp_path: Path) -> None:
    items = tagged()
    put(store, tmp_path, items)
    plain, ruled = (first_model(store, Options(resamples=100, length_k=limit)) for limit in (None, 0))
    assert plain["source"] == "humans"
    assert ruled["by"]["humans"] == plain["by"]["humans"]
    assert plain["wb_reward"]["value"] == pytest.approx(by_hand(items))
    assert plain["length_curve"] == []
    assert ruled["by"]["j"]["wb_reward"] != plain["by"]["j"]["wb_reward"]


def test_where_people_differ_their_mean_speaks_of_the_models_and_no_item_is_lost(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        third = [human("eva", "A++")] if n % 3 == 0 else []
        return [human("ana", "A++"), human("ben", "B+" if n % 2 else "A=B"), *third, judged("A+")]

    put(store, tmp_path, [item(n, verdicts(n)) for n in range(24)])
    labels = [[one["label"] for one in verdicts(n) if one["kind"] == "human"] for n in range(24)]
    rewards = [mean([WORTH[label] for label in given]) for given in labels]
    wins = [mean([(1 + (WORTH[label] > 0) - (WORTH[label] < 0)) / 2 for label in given]) for given in labels]
    model = first_model(store)
    assert (model["n"], model["wb_reward"]["value"]) == (24, pytest.approx(mean(rewards)))
    assert model["win_rate"]["value"] == pytest.approx(mean(wins))
    corrected = model["by"]["j"]["corrected_win_rate"]
    assert (corrected["labelled"], corrected["human_only"]["value"]) == (24, pytest.approx(mean(wins)))
    assert model["by"]["j"]["corrected_wb_reward"]["human_only"]["value"] == pytest.approx(mean(rewards))
    judge = agree(store, "s", QUICK)["judges"][0]["corrected_win_rate"]
    assert (judge["labelled"], judge["human_only"]["value"]) == (24, pytest.approx(mean(wins)))
    strength = model["bradley_terry"]["value"]
    assert 1 / (1 + np.exp(-2 * strength)) == pytest.approx(mean(wins))


def test_rewards_against_each_baseline_and_their_mean(store: Store, tmp_path: Path) -> None:
    items = tagged()
    put(store, tmp_path, items)
    found = first_model(store)["baselines"]
    apart = {name: by_hand([one for one in items if one["model_b"] == name]) for name in ("base", "other")}
    assert {name: made["value"] for name, made in found["against"].items()} == pytest.approx(apart)
    assert found["mix"]["value"] == pytest.approx(mean(list(apart.values())))
    assert found["mix"]["low"] is not None


def test_under_the_rule_mean_a_reward_is_that_of_both_orders(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [item(n, [judged("A++"), judged("A+", "BA")]) for n in range(4)])
    assert first_model(store, Options(resamples=100, combine="mean"))["wb_reward"]["value"] == 0.75


def test_items_with_an_empty_response_are_reported_apart(store: Store, tmp_path: Path) -> None:
    items = tagged(20)
    for one in items[:5]:
        one["response_b"] = ""
    put(store, tmp_path, items)
    reward = first_model(store)["wb_reward"]
    assert reward["empty_responses"] == 5
    assert reward["without_empty"]["value"] == pytest.approx(by_hand(items[5:]))


def test_page_and_report_show_tasks_rules_and_baselines_and_leave_out_what_there_is_not(
    store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, tagged())
    value = agree(store, "s", QUICK)
    report = write_report(value)
    for title in ("WB-Reward by task group, by people", "WB-Reward by length rule", "WB-Reward against each model"):
        assert title in report
    page = Agreement(store)
    shown = page.show(gr.Request(query_params={"study": "s", "resamples": "100"}))
    for name in ("tasks", "length-rules", "baselines"):
        assert f'id="card-{name}"' in shown
    assert "Length rule: no rule. Verdicts on items without such a tag: " in shown
    put(store, tmp_path, [item(0, [human("ana", "A+")], tags=["none of them"])], "bare")
    bare = page.show(gr.Request(query_params={"study": "bare", "resamples": "100"}))
    for name in ("tasks", "baselines"):
        assert f'id="card-{name}"' not in bare
    assert (
        agree(store, "bare", QUICK)["models"][0]["tasks"]["macro"]["why"] == "no item has one of WildBench's task tags"
    )


def met(n: int, label: str, models: int) -> dict[str, Any]:
    """Return an item on which one model meets the next but n // models."""
    pair = n % models, (n + 1 + n // models) % models
    return item(n, [human("ana", label)], model_a=f"m{pair[0]}", model_b=f"m{pair[1]}")


def test_more_models_than_can_be_resampled_have_strengths_without_intervals(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [met(n, ("A+", "B+", "A=B")[n % 3], 61) for n in range(183)])
    value = agree(store, "s", Options(resamples=10))
    check_estimates(value)
    for model in value["models"]:
        strength = model["bradley_terry"]
        assert strength["value"] is not None
        assert (strength["low"], strength["rank"]) == (None, None)
        assert "more than 60 models" in strength["why"]
    assert sum(model["bradley_terry"]["value"] for model in value["models"]) == pytest.approx(0, abs=1e-9)
    assert [warning for warning in value["warnings"] if "Bradley" in warning] == [
        "Bradley-Terry: strengths of more than 60 models are fitted without intervals, which would take too long"
    ]
    assert "Bradley" in write_report(value)


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ({"model_b": "m1"}, "only one model is named"),
        ({"model_a": None}, "no two models met on an item with a verdict"),
    ],
)
def test_why_there_are_no_strengths_is_true(store: Store, tmp_path: Path, models: dict[str, Any], why: str) -> None:
    put(store, tmp_path, [item(n, [human("ana", told(n))], **models) for n in range(4)] + [item(9, [], model_b="m1")])
    value = agree(store, "s", QUICK)
    assert value["ranking"]["why"] == why
    assert {model["bradley_terry"]["why"] for model in value["models"]} == {why}
    assert f"Bradley-Terry: {why}" in value["warnings"]


def test_scores_are_not_warned_of_for_want_of_pairs(store: Store, tmp_path: Path) -> None:
    scored = [{**item(n, [human("ana", str(n % 5 + 1))]), "response_b": None, "model_b": None} for n in range(8)]
    rubric = {"criteria": "Good?", **{f"score{score}_description": "x" for score in range(1, 6)}}
    kept = [{**{k: v for k, v in one.items() if v is not None}, "rubric": rubric} for one in scored]
    put(store, tmp_path, kept, protocol="prometheus-direct-no-reference")
    value = agree(store, "s", QUICK)
    assert value["ranking"]["why"] == "the protocol shows one response at a time"
    assert not [warning for warning in value["warnings"] if "Bradley" in warning]


def test_a_judge_that_is_called_like_the_people_does_not_speak_for_them(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [item(n, [human("ana", "A++"), judged("B++", name="humans")]) for n in range(8)])
    by = first_model(store)["by"]
    assert by["humans"]["wb_reward"]["value"] == 1.0
    assert by["humans (judge)"]["wb_reward"]["value"] == -1.0


def judged_by_all(n: int) -> dict[str, Any]:
    """Return an item of four models, on the last of which nobody but the judge has a verdict."""
    pair = n % 4, (n + 1 + n // 4 % 3) % 4
    said = [] if 3 in pair else [human("ana", ("A+", "B+", "A=B")[n % 3]), human("ben", ("B+", "A=B", "A+")[n % 3])]
    both = [judged(told(n)), judged(told(n), "BA")]
    sizes = {"response_a": "x" * (n % 5 + 1), "response_b": "y" * (n % 7 + 1)}
    return item(n, [*said, *both], model_a=f"m{pair[0]}", model_b=f"m{pair[1]}", **sizes)


def test_a_model_that_nobody_has_a_verdict_on_is_undefined_alone(store: Store, tmp_path: Path) -> None:
    items = [judged_by_all(n) for n in range(72)]
    put(store, tmp_path, items)
    put(store, tmp_path, [one for one in items if "m3" not in (one["model_a"], one["model_b"])], "three")
    value, three = (agree(store, study, QUICK) for study in ("s", "three"))
    check_estimates(value)
    assert [model["bradley_terry"] for model in value["models"][:3]] == [
        model["bradley_terry"] for model in three["models"]
    ]
    last = value["models"][3]
    why = "no verdict sets it against another model"
    strength = last["bradley_terry"]
    assert (strength["value"], strength["why"], strength["n"], strength["rank_why"]) == (None, why, 0, why)
    assert (last["win_rate"]["value"], last["wb_reward"]["value"]) == (None, None)
    assert last["by"]["j"]["bradley_terry"]["rank"]
    ranking = value["ranking"]
    assert (ranking["why"], ranking["components"], ranking["without_games"]) == (None, [["m0", "m1", "m2"]], ["m3"])
    assert [row[:3] for row in ranking["win_probability"][:3]] == three["ranking"]["win_probability"]
    assert ranking["win_probability"][3] == [None] * 4
    assert ranking["davidson"]["strengths"] == [*three["ranking"]["davidson"]["strengths"], None]
    lengths = [found["ranking"]["by"]["humans"]["terms"]["length"] for found in (value, three)]
    assert lengths[0]["value"] == pytest.approx(lengths[1]["value"])
    alike = ranking["agreement"]["j"]
    assert 0 < abs(alike["kendall"]["value"]) <= abs(alike["value"]) <= 1
    assert "Kendall tau-b of strengths" in write_report(value)
    assert "no strength without a verdict against another model: m3" in value["warnings"]
    assert why in write_report(value)
    assert why in Agreement(store).show(gr.Request(query_params={"study": "s", "resamples": "100"}))


def test_side_and_length_are_told_where_the_models_fall_into_groups(store: Store, tmp_path: Path) -> None:
    def apart(n: int) -> dict[str, Any]:
        pair = {"model_a": f"m{2 * (n % 2)}", "model_b": f"m{2 * (n % 2) + 1}"}
        return item(n, [judged(told(n)), judged(told(n + n % 3), "BA")], **pair)

    put(store, tmp_path, [apart(n) for n in range(40)])
    ranking = agree(store, "s", QUICK)["ranking"]
    assert "2 groups" in ranking["why"]
    assert ranking["by"]["j"]["terms"]["side"]["low"] is not None
