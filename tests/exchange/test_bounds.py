"""No interval reaches beyond what is possible: one from t, of a few clusters or labels, knows no bounds of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from small_studies import check_estimates, estimates_in, human, item, judged, label_of, put

from exchange.agreeing import agree
from exchange.panel import Options
from storage.store import Store

pytestmark = pytest.mark.one_database
SHARES = (
    "exact|within_one|three_way|without_ties|tie_coverage|judge_decisive|macro_precision|macro_recall|macro_f1|"
    "consistency|consistency_three_way|turned_to_tie|joint|accuracy_ab|accuracy_ba|first_position_rate|"
    "longer_preferred_rate|swap_consistency|early|late|win_rate|length_controlled_win_rate|ranking_accuracy|baseline"
)
AROUND_0 = (
    "kappa|kappa_linear|kappa_quadratic|scott_pi|pabak|ac1|alpha_nominal|alpha_ordinal|alpha_interval|pearson|spearman|"
    "kendall|ccc|fairness|order_effect|difference|leave_one_out|human_ceiling|human_human|human_judge|within_prompts|"
    "between_models|wb_reward|corrected_wb_reward|mix"
)
MEANS = r"(mean_score|corrected_win_rate(\.\w+)?|tasks\.macro|tasks\.groups\.[^.]+)$"
WINS = r"corrected_win_rate(\.\w+)?$"
REWARDS = r"(corrected_wb_reward\.\w+|length_curve\[\d\]|tasks\.macro|tasks\.groups\.[^.]+|against\.\w+)$"


def bounds_of(where: str, kind: str) -> tuple[float, float] | None:
    if where.startswith(".comparisons"):
        return (-1, 1) if where.endswith(".exact") else (-2, 2)
    if kind == "direct" and re.search(MEANS, where):
        return 1, 5
    if re.search(rf"\.({SHARES})$", where) or re.search(rf"length\.(judge|human)$|{WINS}", where):
        return 0, 1
    return (-1, 1) if re.search(rf"\.({AROUND_0})$|{REWARDS}", where) else None


def check_bounds(value: dict[str, Any]) -> None:
    check_estimates(value)
    seen = 0
    for where, made in estimates_in(value):
        if made["low"] is not None and (bounds := bounds_of(where, value["kind"])):
            assert bounds[0] <= made["low"] <= made["value"] <= made["high"] <= bounds[1], where
            seen += bounds == (made["low"], made["high"]) or made["low"] == bounds[0] or made["high"] == bounds[1]
    assert seen > 20  # of a few clusters many intervals would reach beyond


def pair(number: int) -> dict[str, Any]:
    said = label_of(number * number + number // 3)
    near = label_of(number * number + number // 3 + (number % 4 == 0))
    people = [human("ana", said, order="AB"), human("ben", near, order="BA"), human("eva", said, order="BA")]
    judges = [judged(near), judged(said, "BA"), judged(said, name="k"), judged(near, "BA", name="k")]
    models = (("m1", "m2"), ("m2", "m3"), ("m3", "m1"))[number % 3]
    tags = [("Math", "Editing")[number % 2], "Planning"]
    made = item(number, (people if number % 5 else []) + judges, model_a=models[0], model_b=models[1], tags=tags)
    return made | {"instruction": f"Question {number % 3}?"}


def test_preferences_of_three_questions_stay_within_their_scale(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [pair(number) for number in range(24)])
    for levels in ("full", "3", "2"):
        check_bounds(agree(store, "s", Options(resamples=50, cluster="prompt", levels=levels)))


def test_scores_of_three_questions_stay_within_their_scale(store: Store, tmp_path: Path) -> None:
    def score(number: int) -> dict[str, Any]:
        right, near = str(1 + number * 7 % 5), str(1 + (number * 7 + (number % 3 == 0)) % 5)
        said = [human("ana", right), human("ben", near), human("eva", right)] if number % 4 else []
        judges = [judged(near), judged(right, name="k")]
        made = {"id": f"q{number}", "instruction": f"Q{number % 3}?", "response": "x" * number, "rubric": "helpfulness"}
        return made | {"model_a": f"m{number % 4}", "tags": ["Math"], "verdicts": said + judges}

    put(store, tmp_path, [score(number) for number in range(24)], protocol="prometheus-direct-no-reference")
    check_bounds(agree(store, "s", Options(resamples=50, cluster="prompt")))


def test_a_win_rate_corrected_by_a_few_labels_is_no_more_than_everything(store: Store, tmp_path: Path) -> None:
    def verdicts(number: int) -> list[dict[str, Any]]:
        said = "B+" if number == 7 else "A+"
        return [*([human("ana", said)] if number < 30 else []), judged("B+" if number % 17 == 7 else "A+")]

    put(store, tmp_path, [item(number, verdicts(number)) for number in range(90)])
    found = agree(store, "s", Options(resamples=50))["judges"][0]["corrected_win_rate"]
    assert 0.9 < found["value"] < 1
    assert (found["human_only"]["high"], found["high"]) == (1.0, 1.0)
