"""Every vote counted: MT-Bench's setups with and without ties, over all items that a person has labelled."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from small_studies import EDGES, check_estimates, human, item, judged, label_of, put

from exchange.agreeing import MOST_PAIRS, agree
from exchange.panel import Options
from exchange.report import write_report
from storage.store import Store
from ui.agreement import Agreement

pytestmark = pytest.mark.one_database
SIDES = ("A+", "A=B", "B+")


def voted(people: int = 8, count: int = 90) -> list[tuple[list[str], list[str], str]]:
    """Return for each item who voted, what they said, and what the judge said."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(count):
        truth = rng.integers(3)
        who = [f"p{at:02d}" for at in sorted(rng.choice(people, rng.choice([1, 1, 2, 3]), replace=False))]
        said = [SIDES[truth if rng.random() < 0.7 else rng.integers(3)] for _ in range(len(who) + 1)]
        found.append((who, said[1:], said[0]))
    return found


def as_items(votes: list[tuple[list[str], list[str], str]]) -> list[dict[str, Any]]:
    return [
        item(n, [*(human(name, label) for name, label in zip(who, said, strict=True)), judged(judge)])
        for n, (who, said, judge) in enumerate(votes)
    ]


def test_votes_with_and_without_ties_are_counted_as_mt_bench_does(store: Store, tmp_path: Path) -> None:
    votes = voted()
    put(store, tmp_path, as_items(votes))
    value = agree(store, "s", Options(resamples=200, levels="3"))
    check_estimates(value)
    with_judge = [(label, judge) for _, said, judge in votes for label in said]
    together = [pair for _, said, _ in votes for pair in combinations(said, 2)]
    for found, pairs, items in (
        (value["judges"][0]["vs_humans"], with_judge, len(votes)),
        (value["groups"]["humans"]["pooled_pairs"], together, sum(len(said) > 1 for _, said, _ in votes)),
    ):
        decided = [(one, two) for one, two in pairs if "A=B" not in (one, two)]
        assert (found["n"], found["n_items"], found["exact"]["n"]) == (len(pairs), items, items)
        assert found["exact"]["value"] == pytest.approx(np.mean([one == two for one, two in pairs]))
        assert found["without_ties"]["value"] == pytest.approx(np.mean([one == two for one, two in decided]))
        assert found["tie_coverage"]["value"] == pytest.approx(len(decided) / len(pairs))
        assert found["exact"]["low"] < found["exact"]["value"] < found["exact"]["high"]
        assert found["exact"]["clusters"] == items
    one, two = zip(*with_judge, strict=True)
    assert value["judges"][0]["vs_humans"]["kappa"]["value"] == pytest.approx(cohen_kappa_score(one, two))
    both = [*together, *((two, one) for one, two in together)]
    mirrored = zip(*both, strict=True)
    assert value["groups"]["humans"]["pooled_pairs"]["kappa"]["value"] == pytest.approx(cohen_kappa_score(*mirrored))
    assert "Every person&#x27;s vote counted" in write_report(value)
    assert 'id="card-votes"' in Agreement(store).show(gr.Request(query_params={"study": "s", "resamples": "100"}))


def test_of_one_person_every_vote_is_the_pair(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, [item(n, [human("ana", label_of(n)), judged(label_of(n + n % 2))]) for n in range(40)])
    value = agree(store, "s", Options(resamples=100))
    votes, pair = value["judges"][0]["vs_humans"], value["pairs"][0]
    assert {key: votes[key] for key in pair if key not in ("a", "kinds")} == {
        key: found for key, found in pair.items() if key not in ("a", "kinds")
    }


def test_several_votes_on_one_item_are_no_agreement_beyond_chance(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, EDGES["one item"])
    votes = agree(store, "s", Options(resamples=100))["judges"][0]["vs_humans"]
    assert (votes["n"], votes["n_items"]) == (2, 1)
    assert votes["kappa"]["why"] == "fewer than two common items"


def test_where_not_every_pair_is_listed_people_with_judges_come_first(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, as_items(voted(people=30, count=60)))
    value = agree(store, "s", Options(resamples=20))
    people = sum(rater["kind"] == "human" for rater in value["raters"])
    assert len(value["pairs"]) == MOST_PAIRS
    assert [pair["kinds"] for pair in value["pairs"][:people]] == [["human", "judge"]] * people
    assert any("people with judges first" in warning for warning in value["warnings"])
