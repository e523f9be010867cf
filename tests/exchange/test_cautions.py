"""What a reader must beware of reaches the list that page, report and JSON show, for people as for judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from exchange.agreeing import agree
from exchange.panel import Options
from judge.domain import GivenVerdict, Item, Turn
from storage.imports import prepare


@pytest.fixture
def database(sqlite_database: str) -> str:
    return sqlite_database


@pytest.fixture
def told(store, make_study) -> Callable[..., list[str]]:
    """Return the warnings of a study of two people, and a judge where there are labels of one."""

    def agreed(labels: list[tuple[str, ...]], clusters: int = 0, resamples: int = 200) -> list[str]:
        make_study(0)
        raters = (("ana", "human"), ("bob", "human"), ("j", "judge"))
        items = []
        for n, row in enumerate(labels):
            given = [GivenVerdict(name, kind, label) for (name, kind), label in zip(raters, row, strict=False)]
            tied: dict[str, Any] = {"cluster": f"c{n % clusters}"} if clusters else {}
            items.append(prepare(Item(f"q{n}", (Turn("user", f"Q{n}"),), "a", "b", **tied), given))
        store.add_prepared("s", items)
        return agree(store, "s", Options(resamples=resamples))["warnings"]

    return agreed


def sentence(warnings: list[str], start: str) -> str:
    [found] = [warning for warning in warnings if warning.startswith(start)]
    return found


MIXED = [("A", "A"), ("B", "B"), ("tie", "A"), ("B", "tie")]


def test_few_items_of_people_are_told(told) -> None:
    assert sentence(told(MIXED * 2), "fewer than 30 items") == "fewer than 30 items: all people (8), ana and bob (8)"


def test_enough_items_that_vary_are_not_warned_of(told) -> None:
    warnings = told(MIXED * 10)
    assert warnings == ["only 2 annotators: what is said of people is said of no more than that"]


def test_few_clusters_are_told_of_people_and_of_corrected_rates(told) -> None:
    found = sentence(told([(*row, row[0]) for row in MIXED * 10], clusters=10), "fewer than 20 clusters")
    for name in ("all people", "ana and bob", "j and the consensus", "rates corrected by j"):
        assert f"{name} (10)" in found


def test_skew_among_people_is_told_with_the_paradox_it_makes(told) -> None:
    warnings = told([("A", "A")] * 56 + [("A", "B"), ("B", "A"), ("tie", "A"), ("A", "tie")])
    assert "ana and bob (97 % of 60)" in sentence(warnings, "one label has more than 80 %")
    assert "ana and bob (kappa −0.03, AC1 0.93)" in sentence(warnings, "kappa and AC may tell different stories")


def test_a_person_who_never_varies_is_told(told) -> None:
    assert "ana and bob" in sentence(told([("A", "A"), ("A", "B")] * 20), "zero variance")


def test_estimates_that_few_resamples_define_are_told(told) -> None:
    warnings = told([("A", "A")] * 39 + [("B", "B")])
    assert "ana and bob (scott pi, kappa" in sentence(warnings, "fewer than 90 % of the resamples are defined")


def test_many_pairs_make_one_sentence(store, make_study) -> None:
    make_study(0)
    people = [[GivenVerdict(f"p{at}", "human", "AB"[(n * at) % 2])] for n in range(9) for at in range(6)]
    items = [Item(f"q{n}", (Turn("user", "Q"),), "a", "b") for n in range(9) for _ in range(6)]
    store.add_prepared("s", [prepare(item, given) for item, given in zip(items, people, strict=True)])
    warnings = agree(store, "s", Options(resamples=50))["warnings"]
    assert sentence(warnings, "fewer than 30 items").endswith("and 11 more")
