"""Agreement beyond chance needs two common items: below that there is no number, and a mean leaves the pair out."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_studies import EDGES, check_estimates, estimates_in, human, item, judged, label_of, put

from exchange.agreeing import agree
from exchange.panel import Options
from storage.store import Store

pytestmark = pytest.mark.one_database
FEW = "fewer than two common items"
SCORES = ("1", "2", "3", "4", "5")
CORRECTED = ("kappa", "kappa_linear", "kappa_quadratic", "ac1", "ac2", "scott_pi", "pabak")


def crowd() -> list[dict[str, Any]]:
    """Return items of six people of whom most pairs share one item, and two share sixty more."""
    rng = np.random.default_rng(9)
    drawn = [[str(rng.choice(["A+", "B+"])) for _ in range(3)] for _ in range(15)]
    few = [
        [human(a, x), human(b, y), judged(z)]
        for (a, b), (x, y, z) in zip(combinations("abcdef", 2), drawn, strict=True)
    ]
    much = []
    for _ in range(60):
        label = str(rng.choice(["A+", "B+"]))
        much.append([human("a", label), human("b", label if rng.random() < 0.9 else "B+"), judged(label)])
    return [item(n, verdicts) for n, verdicts in enumerate(few + much)]


def test_pairs_with_one_common_item_have_no_kappa_and_are_not_in_the_ceiling(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, crowd())
    value = agree(store, "s", Options(resamples=300))
    check_estimates(value)
    people = [pair for pair in value["pairs"] if pair["kinds"] == ["human", "human"]]
    once = [pair for pair in people if pair["n"] == 1]
    assert len(once) == 14
    for pair in once:
        assert {pair[name]["value"] for name in CORRECTED} == {None}
        assert {pair[name]["why"] for name in CORRECTED} == {FEW}
        assert pair["exact"]["value"] in (0.0, 1.0)
    known = next(pair for pair in people if pair["n"] > 1)
    judge = value["judges"][0]
    for name, made in judge["ceilings"].items():
        assert made["human_human"]["value"] == pytest.approx(known[name]["value"])
        for part in ("human_human", "human_judge", "gap"):
            assert made[part]["low"] <= made[part]["value"] <= made[part]["high"]
    own = [pair["kappa_quadratic"]["value"] for pair in value["pairs"] if pair["kinds"] == ["human", "judge"]]
    assert judge["leave_one_out"]["value"] == pytest.approx(np.mean(own))


def test_one_item_gives_no_agreement_beyond_chance_and_no_gap(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, EDGES["one item"])
    value = agree(store, "s", Options(resamples=100, two_way=True))
    for made in (value["pairs"][0], *(value["groups"][name] for name in ("humans", "all"))):
        for name in ("kappa", "ac1", "ac2", "fleiss_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval"):
            if name in made:
                assert (made[name]["value"], made[name]["why"]) == (None, FEW)
    judge = value["judges"][0]
    for part in ("gap", "human_ceiling", "leave_one_out"):
        assert (judge[part]["value"], judge[part]["why"]) == (None, FEW)
    assert "gap" not in value["sentence"]
    told = [where for where, made in estimates_in(value) if "kappa" in where and made["value"] is not None]
    assert told == []


def test_a_person_with_two_scores_never_enters_the_ceiling_through_a_resample(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        rest = [human("eva", str(5 - n % 5))] if n < 2 else []
        return [
            human("ana", SCORES[n % 5]),
            human("ben", SCORES[(n + n % 3 % 2) % 5]),
            *rest,
            judged(SCORES[(n + n % 2) % 5]),
        ]

    items = [{"id": f"q{n}", "instruction": f"Q{n}?", "response": "x", "rubric": "helpfulness"} for n in range(30)]
    put(
        store,
        tmp_path,
        [one | {"verdicts": verdicts(n)} for n, one in enumerate(items)],
        protocol="prometheus-direct-no-reference",
    )
    judge = agree(store, "s", Options(resamples=300))["judges"][0]
    for part in ("human_ceiling", "leave_one_out", "gap"):
        assert judge[part]["low"] <= judge[part]["value"] <= judge[part]["high"]


def test_more_than_twelve_people_on_one_item_have_no_ceiling_either(store: Store, tmp_path: Path) -> None:
    people = [human(f"p{at:02d}", label_of(at)) for at in range(14)]
    put(store, tmp_path, [item(0, [*people[:2], judged("A+")]), *(item(n + 1, [one]) for n, one in enumerate(people))])
    judge = agree(store, "s", Options(resamples=100))["judges"][0]
    for part in ("gap", "human_ceiling", "leave_one_out"):
        assert (judge[part]["value"], judge[part]["why"]) == (None, FEW)
