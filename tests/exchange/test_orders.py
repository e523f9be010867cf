"""A judge's orders become one label: asked in one, in either or in both, under every rule."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from small_studies import check_estimates, human, item, judged, label_of, many, put

import app
from agreement.combine import Rule
from exchange.agreeing import agree
from exchange.panel import Options
from storage.store import Store

pytestmark = pytest.mark.one_database
RULES: tuple[Rule, ...] = get_args(Rule)
WORTH = {"A++": 1.0, "A+": 0.5, "A=B": 0.0, "B+": -0.5, "B++": -1.0}


def under(store: Store, rule: Rule = "strict", **more: Any) -> dict[str, Any]:
    value = agree(store, "s", Options(resamples=100, combine=rule, **more))
    check_estimates(value)
    return value


@pytest.mark.parametrize("rule", RULES)
def test_a_judge_asked_once_an_item_in_either_order_counts_on_every_item(
    rule: Rule, store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, many(lambda n: [human("ana", label_of(n)), judged(label_of(n), "AB" if n % 2 else "BA")], 40))
    value = under(store, rule)
    judge = value["judges"][0]
    assert (judge["orders"], judge["vs_consensus"]["n"], judge["vs_consensus"]["exact"]["value"]) == (
        "one an item",
        40,
        1.0,
    )
    reward = value["models"][0]["by"]["j"]["wb_reward"]
    assert reward["value"] == pytest.approx(sum(WORTH[label_of(n)] for n in range(40)) / 40)
    assert reward["over_all_items"] == pytest.approx(reward["value"])
    assert "on 100 % " in value["sentence"]
    assert not any("left out" in warning for warning in value["warnings"])
    assert "one order only" in judge["swap_consistency"]["why"]
    assert judge["first_position_rate"]["value"] is not None  # sides were drawn, so it can be tested against one half
    assert judge["position"]["p"] is not None


@pytest.mark.parametrize("rule", RULES)
def test_beside_items_asked_in_both_orders_one_asked_in_one_is_taken_as_it_is_and_counted(
    rule: Rule, store: Store, tmp_path: Path
) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        both = [judged("A+"), judged("A+" if n % 2 else "A++", "BA")]
        return [human("ana", "A+"), *(both if n < 20 else [judged("A+", "AB" if n % 2 else "BA")])]

    put(store, tmp_path, many(verdicts, 30))
    judge = under(store, rule)["judges"][0]
    assert (judge["orders"], judge["combined"]["one_order_only"], judge["swap"]["n"]) == ("both", 10, 20)
    assert judge["vs_consensus"]["n"] == (20 if rule == "drop" else 30)
    assert judge["vs_consensus"]["confusion"][3][3] == {"strict": 20, "drop": 20, "mean": 30, "first": 30}[rule]


def test_an_item_whose_other_order_was_asked_and_is_unreadable_is_left_out_and_said(
    store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, many(lambda n: [human("ana", "A+"), judged("A+"), judged("A+" if n % 4 else None, "BA")], 40))
    for rule in ("strict", "drop", "mean"):
        value = under(store, rule)
        assert value["judges"][0]["left_out"]["by_rule"]["one_order"] == 10
        assert value["judges"][0]["combined"]["one_order_only"] == 0
        assert "j: 10 items left out because the other order was asked and has no verdict" in value["warnings"]
    assert under(store, "first")["judges"][0]["vs_consensus"]["n"] == 40


def test_a_reward_of_no_verdict_is_no_number_over_all_items_either(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, many(lambda n: [judged(None), judged("A+", "BA")], 6))
    reward = under(store)["models"][0]["wb_reward"]
    assert (reward["value"], reward["over_all_items"], reward["why"]) == (None, None, "no readable verdict")


def test_where_the_rules_leave_nothing_to_compare_the_sentence_does_not_speak_of_other_items(
    store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, many(lambda n: [human("ana", "A+"), judged("A=B")]))
    assert under(store)["sentence"].startswith("j gives the same label as people on 0 %")
    told = under(store, levels="2")["sentence"]
    assert told == "No item has both a judge's label and a consensus of people under these rules."


def one_step_apart(n: int) -> list[dict[str, Any]]:
    both = (("A++", "A+"), ("A+", "A+"), ("A+", "A=B"), ("A+", "B+"), ("B++", "B+"))[n % 5]
    return [human("ana", both[0]), judged(both[0]), judged(both[1], "BA")]


def test_on_three_levels_two_strengths_of_one_side_agree(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, many(one_step_apart, 40))
    full, three, two = (under(store, levels=levels)["judges"][0] for levels in ("full", "3", "2"))
    assert full["combined"]["made_ties"] == 32
    assert (three["combined"]["made_ties"], three["vs_consensus"]["exact"]["value"]) == (16, 24 / 40)
    for judge in (full, three):
        assert judge["combined"]["made_ties"] == round(judge["swap"]["turned_to_tie"]["value"] * judge["swap"]["n"])
    assert (two["vs_consensus"]["n"], two["vs_consensus"]["exact"]["value"]) == (24, 1.0)
    assert two["left_out"]["by_rule"] == {"tie": 16}
    dropped = under(store, "drop", levels="3")["judges"][0]
    assert (dropped["vs_consensus"]["n"], dropped["left_out"]["by_rule"]) == (24, {"orders_differ": 16})


@pytest.mark.parametrize("levels", ["full", "3", "2"])
@pytest.mark.parametrize("rule", RULES)
def test_the_table_of_rules_has_what_the_rule_in_force_gives(
    rule: Rule, levels: str, store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, many(lambda n: one_step_apart(n + n // 9), 45))
    # Where all agree, as here on two levels, nothing varies in resamples: Wilson's interval stands there too.
    for limit in (None, 100):
        judge = under(store, rule, levels=levels, length_k=limit)["judges"][0]
        policies = {(one["levels"], one["combine"], one["length_k"]): one for one in judge["policies"]}
        policy, found = policies[levels, rule, limit], judge["vs_consensus"]
        assert policy["n"] == found["n"]
        for name, end in product(("exact", "kappa"), ("value", "low", "high")):
            assert policy[name][end] == found[name][end]


def test_the_length_rule_acts_on_each_order_before_they_are_combined(store: Store, tmp_path: Path) -> None:
    long = {"response_a": "x" * 900, "response_b": "y"}
    slight = [item(n, [human("ana", "A=B"), judged("A+"), judged("A=B", "BA")], **long) for n in range(10)]
    clear = [item(n + 10, [human("ana", "A++"), judged("A++"), judged("A++", "BA")], **long) for n in range(10)]
    put(store, tmp_path, slight + clear)
    judge = under(store, length_k=500)["judges"][0]
    assert judge["combined"] == {"rule": "strict", "made_ties": 0, "one_order_only": 0, "ruled_by_length": 10}
    assert (judge["vs_consensus"]["exact"]["value"], judge["swap_consistency"]["value"]) == (1.0, 1.0)
    assert under(store)["judges"][0]["combined"]["made_ties"] == 10


def test_a_length_that_is_no_number_of_characters_is_refused(store: Store, tmp_path: Path, capfd, monkeypatch) -> None:
    put(store, tmp_path, many(one_step_apart, 5))
    monkeypatch.chdir(tmp_path)
    for limit, told in (("-5", "0 or more"), ("nan", "not a number"), ("inf", "not a number")):
        with pytest.raises(SystemExit) as ended:
            app.main(["agreement", "--study", "s", f"--length-k={limit}"])
        assert ended.value.code == 2
        assert told in capfd.readouterr().err


def test_on_three_levels_a_model_wins_where_both_orders_take_its_side(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, many(lambda n: [judged("A++"), judged("A+", "BA")], 10))
    for levels, rate in (("full", 0.5), ("3", 1.0), ("2", 1.0)):
        value = under(store, levels=levels)
        assert value["models"][0]["win_rate"]["value"] == rate
        assert value["models"][0]["wb_reward"]["value"] == 0.0  # strengths count there, and the orders differ in them


def test_a_run_that_stopped_in_its_second_order_shows_no_position_bias_that_is_not_there(
    store: Store, tmp_path: Path
) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        label = "A+" if n % 5 else "B+"  # the same in either order
        return [judged(label), *([judged(label, "BA")] if n < 40 else [])]

    put(store, tmp_path, many(verdicts, 100))
    position = under(store)["judges"][0]["position"]
    assert (position["first_position_rate"]["value"], position["order_effect"]["value"]) == (0.5, 0.0)
    assert (position["left_out"], position["first_position_rate"]["n"]) == (60, 80)
    assert "of items that have both" in position["order_effect"]["note"]


def test_replies_that_cannot_be_read_in_one_order_leave_no_favourites_first(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, many(lambda n: [judged("A+"), judged("A+" if n < 4 else None, "BA")], 40))
    position = under(store)["judges"][0]["position"]
    assert (position["first_position_rate"]["value"], position["left_out"], position["missing"]) == (0.5, 36, 36)
    put(store, tmp_path, many(lambda n: [judged("A+"), judged(None, "BA")], 40), study="t")
    none = agree(store, "t", Options(resamples=50))["judges"][0]
    assert "not drawn at random" in none["first_position_rate"]["why"]


def test_both_order_effects_are_one_where_every_item_has_both_orders(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        again = [judged(label_of(n + 2)), judged(label_of(n + 3), "BA")] if n % 3 else []  # only first answers count
        return [judged(label_of(n)), judged(label_of(n + n % 3), "BA"), *again]

    put(store, tmp_path, [item(n, verdicts(n), response_a="x" * (40 * n)) for n in range(40)])
    for limit in (None, 0, 500):
        judge = under(store, length_k=limit)["judges"][0]
        effects = judge["swap"]["order_effect"]["value"], judge["position"]["order_effect"]["value"]
        assert effects[0] == pytest.approx(effects[1])
        assert judge["first_position_rate"]["n"] == 80
