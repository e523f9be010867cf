"""The example studies: the leaning that was put into the simulated raters is what the statistics report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from exchange.agreeing import agree
from exchange.examples import EXAMPLES, JUDGES, PEOPLE, RATERS, Example, load_examples, read_example
from exchange.simulating import SimulatedRater, label_chances, simulate_verdicts
from judge.domain import InputError, Item
from judge.protocol import find_protocol
from storage.imports import Added
from storage.store import Store

WILDBENCH, PAIRS, SCORES = EXAMPLES
FIRST, LONG = JUDGES
# Of twelve pairs without a tie the judge that looks at length takes the same side twice: there is no interval to test.
BOTH_ORDERS = [(WILDBENCH, FIRST), (WILDBENCH, LONG), (PAIRS, FIRST)]
FAIR = SimulatedRater("fair", "judge", noise=0.4)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('examples') / 'accord.db'}")
    load_examples(store)
    yield store
    store.close()


@pytest.fixture(scope="module")
def found(loaded: Store) -> dict[str, dict[str, Any]]:
    return {example.name: agree(loaded, example.name) for example in EXAMPLES}


def judge_in(value: dict[str, Any], rater: SimulatedRater) -> dict[str, Any]:
    return next(judge for judge in value["judges"] if judge["name"] == rater.name)


def items_of(example: Example) -> list[Item]:
    return list(read_example(example, find_protocol(example.protocol)))


def chances_of(example: Example, rater: SimulatedRater) -> tuple[np.ndarray, np.ndarray]:
    version = find_protocol(example.protocol).version
    both = [[label_chances(rater, item, version, order) for item in items_of(example)] for order in ("AB", "BA")]
    return np.array(both[0]), np.array(both[1])


def values_of(example: Example) -> np.ndarray:
    return np.array([point.value for point in find_protocol(example.protocol).scale.points])


def holds(made: dict[str, Any], truth: float) -> bool:
    return bool(made["low"] <= truth <= made["high"])


@pytest.mark.parametrize(("example", "rater"), BOTH_ORDERS)
def test_the_order_effect_reported_is_the_one_put_in(found, example: Example, rater: SimulatedRater) -> None:
    forth, back = chances_of(example, rater)
    truth = float(((forth - back) @ values_of(example) / 2).mean())
    swap = judge_in(found[example.name], rater)["swap"]
    assert holds(swap["order_effect"], truth)
    assert (truth > 0.1) == (rater is FIRST)


def test_position_bias_is_found_where_it_was_put_and_nowhere_else(found) -> None:
    first, long = (judge_in(found[WILDBENCH.name], rater)["swap"] for rater in JUDGES)
    assert first["order_effect"]["low"] > 0
    assert first["p"] < 0.01
    assert holds(long["order_effect"], 0.0)


@pytest.mark.parametrize(("example", "rater"), BOTH_ORDERS)
def test_the_consistency_reported_is_the_one_put_in(found, example: Example, rater: SimulatedRater) -> None:
    forth, back = chances_of(example, rater)
    assert holds(judge_in(found[example.name], rater)["swap_consistency"], float((forth * back).sum(axis=1).mean()))


def test_how_often_the_longer_response_wins_is_what_was_put_in(found) -> None:
    forth, back = chances_of(WILDBENCH, LONG)
    both, signs = forth * back, np.sign(values_of(WILDBENCH))
    longer = np.array([np.sign(len(item.response_a) - len(item.response_b or "")) for item in items_of(WILDBENCH)])
    wins = (both * (signs[None, :] * longer[:, None] > 0)).sum()
    decided = (both * (signs[None, :] != 0) * (longer[:, None] != 0)).sum()
    assert holds(judge_in(found[WILDBENCH.name], LONG)["longer_preferred_rate"], float(wins / decided))


def test_length_bias_is_found_where_it_was_put_and_nowhere_else(found) -> None:
    first, long = (judge_in(found[WILDBENCH.name], rater)["length"] for rater in JUDGES)
    assert long["difference"]["low"] > 0
    assert first["difference"]["value"] <= 0
    assert judge_in(found[SCORES.name], LONG)["length"]["preference"]["low"] > 0


def test_at_equal_strength_of_the_models_each_judge_leans_as_it_was_made_to(found) -> None:
    told = {source: ranked["terms"] for source, ranked in found[WILDBENCH.name]["ranking"]["by"].items()}
    assert told[FIRST.name]["side"]["low"] > 0
    assert told[LONG.name]["length"]["low"] > 0
    assert told[FIRST.name]["length"]["low"] <= 0
    assert all(holds(told[source]["side"], 0.0) for source in ("humans", LONG.name))


def test_the_scores_of_the_strict_judge_are_lower_by_what_was_taken_off(found) -> None:
    version = find_protocol(SCORES.protocol).version
    means = [
        np.mean([label_chances(rater, item, version) @ values_of(SCORES) for item in items_of(SCORES)])
        for rater in (FIRST, PEOPLE[0])
    ]
    pair = next(p for p in found[SCORES.name]["pairs"] if {p["a"], p["b"]} == {PEOPLE[0].name, FIRST.name})
    sign = 1 if pair["b"] == FIRST.name else -1
    low, high = sorted((sign * pair["bias"]["low"], sign * pair["bias"]["high"]))
    assert low <= means[0] - means[1] <= high < 0


def test_people_repeat_themselves_the_more_the_less_noise_they_have(found) -> None:
    raters = {rater["name"]: rater for rater in found[WILDBENCH.name]["raters"]}
    assert all(raters[person.name]["verdicts"] >= 24 for person in PEOPLE)
    pairs = {frozenset((p["a"], p["b"])): p["kappa_quadratic"]["value"] for p in found[WILDBENCH.name]["pairs"]}
    ana, ben, eva = (person.name for person in PEOPLE)
    assert pairs[frozenset((ana, ben))] > pairs[frozenset((ana, eva))]


def test_over_many_seeds_the_order_effect_is_unbiased() -> None:
    version, values = find_protocol(WILDBENCH.protocol).version, values_of(WILDBENCH)
    labels = list(version.scale.labels)
    items = items_of(WILDBENCH)
    forth, back = chances_of(WILDBENCH, FIRST)
    truth = float(((forth - back) @ values / 2).mean())
    effects = []
    for seed in range(60):
        given = simulate_verdicts(items, version, [FIRST], seed)
        worth = [{verdict.order: values[labels.index(str(verdict.label))] for verdict in each} for each in given]
        effects.append(np.mean([(one["AB"] - one["BA"]) / 2 for one in worth]))
    assert np.mean(effects) == pytest.approx(truth, abs=4 * np.std(effects) / np.sqrt(len(effects)))


def test_loading_again_adds_nothing_and_keeps_what_people_did(store: Store) -> None:
    added = load_examples(store)
    assert added.items == 24 + 12 + 24
    claim = store.claim_next(WILDBENCH.name, "me")
    assert claim.token  # two places per item are left for whoever looks
    assert load_examples(store) == Added()
    assert store.overview(WILDBENCH.name).judges == len(JUDGES)


def test_everything_simulated_says_so() -> None:
    assert all(rater.name.startswith("simulated-") for rater in RATERS)
    assert all(example.name.startswith("Example: ") for example in EXAMPLES)


def test_items_without_a_quality_cannot_be_simulated(item: Item) -> None:
    with pytest.raises(InputError, match="quality_a"):
        label_chances(FAIR, item, find_protocol(WILDBENCH.protocol).version)
