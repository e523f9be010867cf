"""Plans: from a pilot's own tables, or from what is expected."""

from __future__ import annotations

import json
import math

import pytest

from agreement.planning import items_for_difference, items_for_kappa
from exchange.agreeing import agree
from exchange.panel import Options
from exchange.planning import Wishes, plan_from_pilot, tell_plan
from judge.domain import GivenVerdict, InputError, Item, Turn
from storage.imports import prepare

LABELS = ("A", "tie", "B")


@pytest.fixture
def database(sqlite_database) -> str:
    return sqlite_database


@pytest.fixture
def pilot(store, make_study) -> str:
    make_study(0)
    made = []
    for n in range(60):
        people = [GivenVerdict(f"h{at}", "human", LABELS[(n + (n % (3 + at) == 0)) % 3]) for at in range(3)]
        judge = GivenVerdict("j", "judge", LABELS[(n + (n % 5 == 0)) % 3], order="AB")
        made.append(prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", "b"), [*people, judge]))
    store.add_prepared("s", made)
    return "s"


def test_a_pilot_gives_the_items_for_every_width(store, pilot, accord) -> None:
    told = json.loads(accord("plan", "--study", pilot, "--width", "0.07", "--json").stdout)
    table = agree(store, pilot, Options(resamples=50))["judges"][0]["vs_consensus"]["confusion"]
    judge = next(one for one in told["kappa"] if one["of"] == "j with people")
    import numpy as np

    assert {need["half_width"]: need["items"] for need in judge["needed"]} == {
        width: items_for_kappa(table, np.eye(3), width) for width in (0.1, 0.07, 0.05, 0.03)
    }
    assert [one["items"] for one in told["alt_test"]["power"]] == [30, 50, 75, 100, 150, 200, 300, 500]
    assert "± 0.07" in tell_plan(told)


def test_a_pilot_tells_how_two_judges_differ_and_how_many_labels_a_judge_saves(store, pilot) -> None:
    alone = plan_from_pilot(store, pilot, Wishes(discordance=0.3))
    assert alone["two_judges"]["discordance"] == 0.3  # there is one judge: two of them are what is expected
    given = GivenVerdict("k", "judge", "A", order="AB")
    store.add_prepared(pilot, [prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", "b"), [given]) for n in range(60)])
    value = plan_from_pilot(store, pilot, Wishes(cluster_size=4, cluster_correlation=0.5))
    judges = {one["name"]: one["vs_consensus"] for one in agree(store, pilot, Options(resamples=50))["judges"]}
    two = value["two_judges"]
    assert value["design_effect"] == 2.5
    assert two["items"] == items_for_difference(0.05, two["discordance"], effect=2.5)
    right = {name: judges[name]["exact"]["value"] for name in ("j", "k")}
    assert abs(right["j"] - right["k"]) <= two["discordance"] <= sum(1 - share for share in right.values())
    powered = value["prediction_powered"]
    for need in powered["needed"]:
        saved = 1 - powered["correlation"] ** 2
        assert need["labels"] == math.ceil(need["labels_without_judge"] * saved - 1e-9)
    assert "2.50 times" in tell_plan(value)


def test_judges_who_hardly_differ_cannot_be_told_apart_by_more_than_they_do(accord) -> None:
    value = json.loads(accord("plan", "--difference", "0.2", "--discordance", "0.1", "--json").stdout)
    assert value["two_judges"]["items"] is None
    assert "only 10% of the items" in value["two_judges"]["why"]


def test_a_plan_needs_no_study(accord) -> None:
    done = accord("plan", "--kappa", "0.6", "--width", "0.1", "--labels", "3")
    assert done.returncode == 0
    assert b"From what you expect" in done.stdout


def test_a_pilot_without_two_raters_is_refused(store, make_study) -> None:
    make_study(2)
    with pytest.raises(InputError, match="no two raters"):
        plan_from_pilot(store, "s", Wishes())
