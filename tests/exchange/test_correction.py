"""People's means sharpened by a judge, where the labelled items were chosen with known chances."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from small_studies import check_estimates, human, item, judged, put

from exchange.agreeing import agree
from exchange.bundle import write_bundle
from exchange.panel import Options
from exchange.report import write_report
from exchange.tables import list_tables
from exchange.verifying import verify_bundle
from judge.domain import InputError
from storage.store import Store
from ui.agreement import Agreement
from ui.agreement_rules import read_rules, read_words

pytestmark = pytest.mark.one_database
CHANCES = Options(resamples=100, chosen="label_chance")


def draw(count: int = 400) -> list[dict[str, Any]]:
    """Return items of which A wins half; people label mostly those where the judge, who loves A, says B."""
    dice = random.Random(3)
    found = []
    for n in range(count):
        truth = dice.choice(("A+", "B+"))
        said = "A+" if truth == "A+" or dice.random() < 0.3 else "B+"
        chance = 0.2 if said == "A+" else 0.8
        people = [human("ana", truth)] if dice.random() < chance else []
        found.append(item(n, [*people, judged(said)], label_chance=chance))
    return found


def test_chances_from_a_field_undo_how_items_were_chosen(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, draw())
    naive, right = agree(store, "s", Options(resamples=100)), agree(store, "s", CHANCES)
    check_estimates(right)
    for value, holds in ((naive, False), (right, True)):
        made = value["judges"][0]["corrected_win_rate"]["human_only"]
        assert (made["low"] < 0.5 < made["high"]) is holds
    made = right["judges"][0]["corrected_win_rate"]
    assert made["low"] < 0.5 < made["high"]
    assert made["selection"] == "known chances"
    assert made["effective"] < made["labelled"]
    model = next(model for model in right["models"] if model["name"] == "m1")["by"]["j"]
    assert model["corrected_win_rate"]["value"] == pytest.approx(made["value"])
    # On A+ and B+ alone the reward is a half of twice the win rate less one.
    assert model["corrected_wb_reward"]["value"] == pytest.approx(made["value"] - 0.5)
    assert any(table.title.startswith("Models' win rates, corrected") for table in list_tables(right))
    assert "Labelled items were chosen: label_chance." in write_report(right)


def test_a_choice_by_doubt_is_refused_and_a_bad_field_named(store: Store, tmp_path: Path) -> None:
    items = draw(40)
    next(one for one in items if len(one["verdicts"]) == 2)["label_chance"] = "often"
    put(store, tmp_path, items)
    doubt = agree(store, "s", Options(resamples=100, chosen="doubt"))["judges"][0]["corrected_win_rate"]
    assert doubt["value"] is None
    assert "judge's doubt" in doubt["why"]
    broken = agree(store, "s", CHANCES)["judges"][0]["corrected_win_rate"]
    assert "1 of " in broken["why"]
    assert "no chance above 0" in broken["why"]
    with pytest.raises(InputError, match="--chosen weight: no item has such a field"):
        agree(store, "s", Options(resamples=100, chosen="weight"))


def test_the_page_says_what_is_assumed_and_an_address_names_the_field(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, draw(80))
    assert read_rules(read_words("chosen=label_chance")).chosen == "label_chance"
    page = Agreement(store)
    asked = {"study": "s", "resamples": "100"}
    plain = page.show(gr.Request(query_params=asked))
    assert "Assumed: the labelled items are a random sample of all items." in plain
    assert "WB-Reward</th>" in plain
    weighted = page.show(gr.Request(query_params={**asked, "chosen": "label_chance"}))
    assert "of equal chance" in weighted
    assert "each item had a known chance above 0 of being labelled" in weighted
    refused = page.show(gr.Request(query_params={**asked, "chosen": "doubt"}))
    assert "There is no corrected number: the labelled items were chosen by the judge" in refused


def test_corrected_numbers_are_computed_again_from_a_bundle(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, draw(60))
    with (tmp_path / "s.zip").open("wb") as file:
        write_bundle(store, "s", file)
    assert verify_bundle(tmp_path / "s.zip")["problems"] == []
