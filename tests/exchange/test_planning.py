"""Plans: from a pilot's own tables, or from what is expected."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path

import pytest

from agreement.planning import items_for_correlation, items_for_difference, items_for_kappa, items_for_mean
from exchange.agreeing import agree
from exchange.panel import Options
from exchange.plan_told import tell_plan
from exchange.planning import Wishes, plan_from_pilot
from judge.domain import GivenVerdict, InputError, Item, Rubric, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare

LABELS = ("A", "tie", "B")
DATA = Path(__file__).parents[3] / "shared" / "data"


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
    assert "only 10 % of the items" in value["two_judges"]["why"]


def test_a_plan_needs_no_study(accord) -> None:
    done = accord("plan", "--kappa", "0.6", "--width", "0.1", "--labels", "3")
    assert done.returncode == 0
    assert b"From what you expect" in done.stdout


def test_a_pilot_without_two_raters_is_refused(store, make_study) -> None:
    make_study(2)
    with pytest.raises(InputError, match="no two raters"):
        plan_from_pilot(store, "s", Wishes())


def test_the_order_rule_of_the_pilot_can_be_chosen(store, make_study, accord) -> None:
    make_study(0)
    made = []
    for n in range(60):
        orders = (("AB", LABELS[(n + (n % 5 == 0)) % 3]), ("BA", LABELS[(n + (n % 4 == 0)) % 3]))
        judge = [GivenVerdict("j", "judge", label, order=order) for order, label in orders]
        made.append(
            prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", "b"), [GivenVerdict("h", "human", LABELS[n % 3]), *judge])
        )
    store.add_prepared("s", made)
    for levels, combine in (("full", "first"), ("2", "drop")):
        told = json.loads(accord("plan", "--study", "s", "--levels", levels, "--combine", combine, "--json").stdout)
        pair = agree(store, "s", Options(levels, combine, resamples=20))["judges"][0]["vs_consensus"]
        [planned] = told["kappa"]
        for name in ("kappa", "kappa_linear", "kappa_quadratic"):
            assert planned[name] == pytest.approx(pair[name]["value"])
        assert told["options"] == {"levels": levels, "combine": combine}


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not here")
def test_the_pilot_figures_of_autoj_are_reached(store, accord) -> None:
    protocol = DATA / "preference-3way.md"
    accord("import", DATA / "autoj.jsonl", "--study", "autoj", "--protocol", protocol)
    [found] = json.loads(accord("plan", "--study", "autoj", "--combine", "first", "--json").stdout)["kappa"]
    assert (found["kappa"], found["kappa_quadratic"]) == pytest.approx((0.373, 0.523), abs=5e-4)
    assert [need["items"] for need in found["needed"]] == [168, 672, 1865]
    assert [need["items_for_kappa_quadratic"] for need in found["needed"]] == [248, 990, 2748]


def test_more_people_per_item_save_items_and_cost_verdicts(accord) -> None:
    value = json.loads(accord("plan", "--annotators", "4", "--json").stdout)
    rows = value["by_annotators"]
    assert [row["annotators"] for row in rows] == [2, 3, 4, 5]
    items, verdicts = ([row["needed"][0][name] for row in rows] for name in ("items", "verdicts"))
    assert items == sorted(items, reverse=True)
    assert verdicts == sorted(verdicts)
    assert {row["annotators"]: row["alt_test"]["power"] for row in rows}[4] == value["alt_test"]["power"]


def test_a_pilot_plans_for_fewer_people_than_it_has_and_says_that_it_has_no_more(store, pilot) -> None:
    value = plan_from_pilot(store, pilot, Wishes())
    two, three, five = value["by_annotators"]
    assert two["alt_test"]["power"] != three["alt_test"]["power"] == value["alt_test"]["power"]
    assert five["alt_test"]["why"] == "the pilot has only 3 people"
    assert five["needed"][0]["items"] < three["needed"][0]["items"] < two["needed"][0]["items"]
    asked = plan_from_pilot(store, pilot, Wishes(annotators=4))["by_annotators"]
    assert [row["annotators"] for row in asked] == [2, 3, 4, 5]
    assert "5: " in tell_plan(value)


def test_scores_are_planned_as_means_and_correlations(store) -> None:
    protocol = find_protocol("prometheus-direct-no-reference").version
    store.create_study(Study("scores", protocol))
    rubric = Rubric("Good?", ("a", "b", "c", "d", "e"))
    made = []
    for n in range(40):
        said = [GivenVerdict("ana", "human", str(n % 5 + 1)), GivenVerdict("j", "judge", str((n + n % 2) % 5 + 1))]
        made.append(prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", rubric=rubric), said))
    store.add_prepared("scores", made)
    value = plan_from_pilot(store, "scores", Wishes())
    mean, [pair], powered = value["mean_score"], value["kappa"], value["prediction_powered"]
    assert mean["sd"] == pytest.approx(statistics.stdev([n % 5 + 1 for n in range(40)]))
    assert [need["items"] for need in mean["needed"]] == [items_for_mean(mean["sd"], w) for w in (0.1, 0.05, 0.03)]
    found = agree(store, "scores", Options(resamples=20))["judges"][0]["vs_consensus"]["pearson"]["value"]
    assert pair["correlation"] == powered["correlation"] == pytest.approx(found)
    assert pair["needed"][0]["items_for_correlation"] == items_for_correlation(found, 0.1)
    assert powered["of"] == "mean score"
    assert powered["needed"][0]["labels_without_judge"] == mean["needed"][0]["items"]
    told = tell_plan(value)
    assert "win rate" not in told
    assert "± 0.1 points" in told


def test_people_who_never_met_are_not_the_pilot_for_people_with_each_other(store, make_study) -> None:
    make_study(0)
    made = []
    for n in range(60):
        two = ("ana", "eva") if n % 3 else ("ben", "eva")  # ana and ben have no item in common
        people = [GivenVerdict(name, "human", LABELS[(n + (n % (4 + at) == 0)) % 3]) for at, name in enumerate(two)]
        made.append(prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", "b"), people))
    store.add_prepared("s", made)
    [found] = plan_from_pilot(store, "s", Wishes())["kappa"]
    pairs = {(one["a"], one["b"]): one for one in agree(store, "s", Options(resamples=20))["pairs"]}
    assert (found["of"], found["kappa"]) == ("people with each other", pairs["ana", "eva"]["kappa"]["value"])
    assert pairs["ana", "eva"]["n"] == 40


def test_where_no_two_people_met_nothing_is_said_of_people_with_each_other(store, make_study) -> None:
    make_study(0)
    made = []
    for n in range(40):
        said = [GivenVerdict(f"h{n % 2}", "human", LABELS[n % 3]), GivenVerdict("j", "judge", LABELS[n % 5 % 3])]
        made.append(prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", "b"), said))
    store.add_prepared("s", made)
    assert [one["of"] for one in plan_from_pilot(store, "s", Wishes())["kappa"]] == ["j with people"]


def test_a_judge_who_says_the_opposite_saves_no_labels(accord) -> None:
    powered = json.loads(accord("plan", "--correlation", "-0.6", "--json").stdout)["prediction_powered"]
    assert [need["labels"] for need in powered["needed"]] == [
        need["labels_without_judge"] for need in powered["needed"]
    ]


def test_a_kappa_that_cannot_be_is_refused(accord) -> None:
    done = accord("plan", "--kappa", "-0.5")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.strip() == b"error: kappa cannot be below -0.25 on 5 labels that are used equally often"
    assert accord("plan", "--kappa", "-0.5", "--labels", "3").returncode == 0


@pytest.mark.parametrize("option", ["width", "epsilon", "cluster-size"])
def test_what_is_not_a_number_plans_nothing(accord, option: str) -> None:
    done = accord("plan", f"--{option}", "nan", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"--{option}".encode() in done.stderr


def test_a_pilot_in_which_all_agree_does_not_ask_for_no_items_at_all(store, make_study) -> None:
    make_study(0)
    made = []
    for n in range(40):
        raters = (("ana", "human"), ("ben", "human"), ("j", "judge"))
        said = [GivenVerdict(name, kind, LABELS[n % 3]) for name, kind in raters]
        made.append(prepare(Item(f"q{n}", (Turn("user", "Q"),), "a", "b"), said))
    store.add_prepared("s", made)
    value = plan_from_pilot(store, "s", Wishes())
    for made in value["kappa"]:
        assert (made["kappa"], made["agreement"]) == (1, 1)
        assert {need[key] for need in made["needed"] for key in need if key != "half_width"} == {None}
    assert {need["items"] for row in value["by_annotators"] for need in row["needed"]} == {None}
    assert {need["labels"] for need in value["prediction_powered"]["needed"]} == {None}
    told = tell_plan(value)
    assert " 0 items" not in told
    assert "None" not in told
    assert "it cannot be told for agreement" in told


def test_a_judge_whom_people_never_met_does_not_stand_before_one_they_did(store, pilot) -> None:
    alone = plan_from_pilot(store, pilot, Wishes())
    before = prepare(Item("other", (Turn("user", "Q"),), "a", "b"), [GivenVerdict("a judge", "judge", "A")])
    store.add_prepared(pilot, [before])
    assert [rater["name"] for rater in agree(store, pilot, Options(resamples=20))["judges"]] == ["a judge", "j"]
    assert plan_from_pilot(store, pilot, Wishes()) == alone
