"""Scales of one's own, through the same door as the built-in ones: other numbers, many labels, scores with a point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_studies import check_estimates, human, item, judged, put
from small_studies import write_protocol as write

from exchange.agreeing import agree
from exchange.importing import ImportRequest, import_files
from exchange.panel import Options
from judge.domain import InputError
from judge.protocol import find_protocol
from storage.store import Store

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
