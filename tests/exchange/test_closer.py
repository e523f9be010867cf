"""What looks closer than kappa: scales checked against each other, other raters, domains, pooling, two labels."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from small_studies import check_estimates, human, item, judged, label_of, many, put

from agreement.prediction_powered import rogan_gladen
from exchange.agreeing import agree
from exchange.panel import Options
from exchange.report import write_report
from exchange.tables import list_tables
from judge.domain import InputError
from storage.store import Store
from ui.agreement import Agreement

pytestmark = pytest.mark.one_database
QUICK = Options(resamples=100)


def shown(store: Store, **asked: str) -> str:
    return Agreement(store).show(gr.Request(query_params={"study": "s", "resamples": "100", **asked}))


def titles(value: dict[str, Any]) -> list[str]:
    return [table.title for table in list_tables(value)]


def put_both_scales(store: Store, folder: Path) -> None:
    """Make a study of pairs and one of scores on their responses, two items of which nobody scored."""
    put(store, folder, many(lambda n: [human("ana", label_of(n)), judged("A+")], 30))
    values = {"A++": (5, 1), "A+": (4, 3), "A=B": (3, 3), "B+": (2, 3), "B++": (1, 5)}
    scored = [
        {"id": f"q{n}/{side}", "instruction": "Q", "response": "x", "rubric": "helpfulness", "cluster": f"q{n}",
         "verdicts": [human("ana", str(values[label_of(n)][at]))] if n < 28 else []}
        for n in range(30) for at, side in enumerate("ab")
    ]  # fmt: skip
    put(store, folder, scored, "scores", "prometheus-direct-no-reference")


def test_preferences_are_checked_against_scores_in_json_page_and_report(store: Store, tmp_path: Path) -> None:
    put_both_scales(store, tmp_path)
    value = agree(store, "s", Options(resamples=100, scores="scores"))
    check_estimates(value)
    people = value["cross_scale"]["raters"][0]
    assert (people["rater"], people["n"], people["left_out"], people["exact"]["value"]) == ("humans", 28, 2, 1.0)
    assert people["values_spearman"]["value"] > 0.9
    other = agree(store, "s", Options(resamples=100, seed=1, scores="scores"))["cross_scale"]["raters"][0]
    assert other["values_pearson"]["low"] != people["values_pearson"]["low"]  # the seed asked for is the one used
    assert "Preferences against differences of scores (scores)" in titles(value)
    assert "Preferences against differences of scores (scores)" in write_report(value)
    assert 'id="card-scales"' in shown(store, scores="scores")
    assert 'id="card-scales"' not in shown(store)
    with pytest.raises(InputError, match="a study of scores"):
        agree(store, "s", Options(scores="s"))
    assert "a study of scores" in shown(store, scores="s")


def test_intervals_over_other_raters_are_shown_where_asked_for(store: Store, tmp_path: Path) -> None:
    people = [f"p{n}" for n in range(8)]
    put(
        store,
        tmp_path,
        many(lambda n: [human(name, label_of(n + (n + at) % 3)) for at, name in enumerate(people)], 20),
    )
    value = agree(store, "s", Options(resamples=100, two_way=True))
    made = value["groups"]["humans"]["alpha_two_way"]
    assert made["low"] < made["value"] < made["high"]
    assert "alpha ordinal, raters drawn too" in write_report(value)
    assert "other raters drawn too</span></th>" in shown(store, two_way="yes")
    assert "other raters drawn too</span></th>" not in shown(store)


def test_the_alternative_annotator_test_is_run_by_first_tag_too(store: Store, tmp_path: Path) -> None:
    items = [
        item(
            n,
            [*(human(name, label_of(n)) for name in ("ana", "ben", "eva")), judged(label_of(n + n % 2 * (n % 3 > 0)))],
            tags=["maths" if n % 2 else "coding"] if n < 80 else [],
        )
        for n in range(90)
    ]
    put(store, tmp_path, items)
    value = agree(store, "s", QUICK)
    found = {one["domain"]: one["winning_rate"] for one in value["judges"][0]["alt_test"]["domains"]}
    assert found == {"coding": 1.0, "maths": 0.0, "no tag": None}
    assert "Alternative annotator test by first tag" in write_report(value)
    assert 'id="card-domains"' in shown(store)
    assert "no person has 30 items there" in shown(store)


def test_scores_are_pooled_in_three_ways(store: Store, tmp_path: Path) -> None:
    dice = random.Random(0)
    items = []
    for n in range(60):
        score = dice.randint(1, 5)
        near = min(5, max(1, score + dice.choice((-1, 0, 0, 1))))
        people = [human(name, str(score)) for name in ("ana", "ben")]
        items.append(
            {"id": f"d{n}", "instruction": f"Q{n // 4}?", "response": "x" * (n + 1), "rubric": "helpfulness",
             "model_a": f"m{n % 4}", "verdicts": [*people, judged(str(near))]}
        )  # fmt: skip
    put(store, tmp_path, items, protocol="prometheus-direct-no-reference")
    value = agree(store, "s", QUICK)
    check_estimates(value)
    against = value["judges"][0]["vs_consensus"]
    within = against["pooled"]["within_prompts"]
    assert within["prompts"] == 15
    assert 0.5 < within["value"] <= 1
    assert against["pooled"]["between_models"]["value"] is not None
    assert "Spearman within prompts" in write_report(value)
    assert 'id="card-scores"' in shown(store)
    assert value["models"][0]["wb_score"]["why"] == "WB-Score is of scores from 1 to 10"


def test_two_labels_have_their_own_indices_and_correction(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        return [*([human("ana", "AB"[n % 3 == 0])] if n < 60 else []), judged("AB"[n % 12 in (0, 3, 8)])]

    items = [item(n, verdicts(n), rubric="helpfulness") for n in range(120)]
    put(store, tmp_path, items, protocol="prometheus-pairwise-no-reference")
    value = agree(store, "s", QUICK)
    check_estimates(value)
    judge = value["judges"][0]
    table = judge["vs_consensus"]["confusion"]
    assert judge["vs_consensus"]["prevalence_index"]["value"] == pytest.approx((table[0][0] - table[1][1]) / 60)
    assert judge["vs_consensus"]["bias_index"]["value"] == pytest.approx((table[0][1] - table[1][0]) / 60)
    assert judge["corrected_win_rate"]["rogan_gladen"]["value"] == rogan_gladen((90, 120), table).value
    assert "Rogan–Gladen" in write_report(value)
    assert "Rogan–Gladen" in shown(store)


def test_what_the_labels_are_used_for_is_told_in_report_and_page(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        said = [human(name, label_of(n + (n % 5 == at))) for at, name in enumerate(("ana", "ben", "eva"))]
        return [*said, judged(label_of(n + (n % 4 == 0)))]

    models = (("m0", "m1"), ("m1", "m2"), ("m2", "m0"))
    put(
        store,
        tmp_path,
        [item(n, verdicts(n), model_a=models[n % 3][0], model_b=models[n % 3][1]) for n in range(60)],
    )
    value = agree(store, "s", Options(resamples=100, consensus="dawid-skene"))
    tables = {table.title.split(" (")[0]: table for table in list_tables(value)}
    found = value["judges"][0]["vs_consensus"]["table"]
    balance = tables["Which labels the judges give, beside the consensus"]
    cells = {row[0]: row[1] for row in balance.rows}  # of one judge, so it stands on its side
    assert cells["Stuart–Maxwell p"] == f"{found['homogeneity']['p']:.3f}"
    assert cells["macro F1"].startswith(f"{100 * found['macro_f1']['value']:.0f} %")
    people = tables["What people say by the true label"]
    assert len(people.rows) == 3 * len(value["scale"])
    elo = value["models"][0]["bradley_terry"]["elo"]["value"]
    assert any(row[1].startswith(f"{elo:.2f}") for row in tables["Strengths, told otherwise, by people"].rows)
    report, page = write_report(value), shown(store, consensus="dawid-skene")
    for title in ("Which labels the judges give", "What people say by the true label", "Strengths, told otherwise"):
        assert title in report
    assert 'id="card-balance"' in page
    assert 'id="card-reliability"' in page
    assert 'id="card-reliability"' not in shown(store)
