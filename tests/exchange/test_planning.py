"""Plans: from a pilot's own tables, or from what is expected."""

from __future__ import annotations

import json

import pytest

from agreement.planning import items_for_kappa
from exchange.agreeing import agree
from exchange.panel import Options
from exchange.planning import Wishes, plan_from_pilot, tell_plan
from judge.domain import GivenVerdict, InputError, Item, Turn
from storage.imports import prepare

LABELS = ("A", "tie", "B")


@pytest.fixture
def database(tmp_path) -> str:
    return f"sqlite:///{tmp_path / 'accord.db'}"


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


def test_a_plan_needs_no_study(accord) -> None:
    done = accord("plan", "--kappa", "0.6", "--width", "0.1", "--labels", "3")
    assert done.returncode == 0
    assert b"From what you expect" in done.stdout


def test_a_pilot_without_two_raters_is_refused(store, make_study) -> None:
    make_study(2)
    with pytest.raises(InputError, match="no two raters"):
        plan_from_pilot(store, "s", Wishes())
