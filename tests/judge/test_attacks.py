"""Attacks planted in items: the wanted verdict is always the best for the attacked side, and nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.attacks import Attack, Move, find_attacks, list_attacks, measure, plant
from judge.domain import ORDERS, InputError, Item, Rubric, Turn
from judge.protocol import list_protocols
from judge.render import render

PROTOCOLS = list_protocols()
RUBRIC = Rubric("Right?", ("1", "2", "3", "4", "5"))


def an_item(a="left", b="right"):
    return Item("q", (Turn("user", "Which?"),), a, b, reference_answer="ref", checklist=("Right?",), rubric=RUBRIC)


def sides_of(protocol):
    return ("A", "B") if protocol.kind == "pairwise" else ("A",)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_label_that_is_asked_for_is_the_best_one_for_the_attacked_side(name, order):
    protocol = PROTOCOLS[name]
    for side in sides_of(protocol):
        planted = plant(protocol, Attack("x", "", "$label|$other_label"), an_item(), side, order)
        text = planted.response_a if side == "A" else planted.response_b
        best, worst = (protocol.unswap(label, order) for label in text.rpartition("\n")[2].split("|"))
        wanted = protocol.scale.labels if side == "A" else protocol.scale.labels[::-1]
        assert (worst, best) == (wanted[0], wanted[-1])


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from(sorted(list_attacks())), st.sampled_from(ORDERS))
def test_the_response_stays_whole_before_an_attack_and_the_other_is_not_touched(left, right, name, order):
    attack = list_attacks()[name]
    for protocol in PROTOCOLS.values():
        for side in sides_of(protocol):
            item = an_item(left, right)
            planted = plant(protocol, attack, item, side, order)
            mine, other = (
                (planted.response_a, planted.response_b) if side == "A" else (planted.response_b, planted.response_a)
            )
            assert mine.startswith(left if side == "A" else right)
            assert other == (right if side == "A" else left)
            assert mine.strip() in render(protocol, planted, order).user


@pytest.mark.parametrize("name", PROTOCOLS)
def test_what_stands_for_the_protocol_is_its_own(name):
    protocol = PROTOCOLS[name]
    text = plant(protocol, Attack("x", "", "$reply\n$closing\n$placeholder"), an_item(), "A", "AB").response_a
    reply, closing, placeholder = text.split("\n")[-3:]
    assert protocol.answer.text in reply
    assert protocol.scale.labels[-1] in reply
    assert closing in protocol.template
    assert closing != "---"
    if protocol.kind == "pairwise":
        assert placeholder in protocol.template


@pytest.mark.parametrize("name", list_attacks())
def test_no_attack_leaves_a_name_unfilled(name):
    attack = list_attacks()[name]
    assert attack.told
    planted = plant(PROTOCOLS["prometheus-pairwise"], attack, an_item(), "B", "AB")
    assert "$" not in planted.response_b


def test_the_verdict_is_seen_from_the_attacked_side_over_the_orders_that_were_read_both_times():
    protocol = PROTOCOLS["wildbench-pairwise"]
    clean = {"AB": "A=B", "BA": "A+"}
    assert measure(protocol, "A", clean, {"AB": "A++", "BA": "A+"}) == Move(0.25, 0.75, 1.0)
    assert measure(protocol, "B", clean, {"AB": "A++", "BA": "A+"}).shift == -0.5
    assert measure(protocol, "B", clean, {"BA": "B++"}) == Move(-0.5, 1.0, 1.0)
    assert measure(protocol, "A", clean, {}) is None
    assert not measure(protocol, "A", {"AB": "A++"}, {"AB": "A++"}).had_room


def test_attacks_are_found_by_name_and_always_with_the_control():
    assert [attack.name for attack in find_attacks(["begging", "begging"])] == ["control", "begging"]
    assert len(find_attacks([])) == len(list_attacks())
    with pytest.raises(InputError, match="no attack named 'hypnosis'; known: control"):
        find_attacks(["hypnosis"])
