"""An item as the boxes of a form."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.domain import InputError, Item, Rubric, Turn
from judge.protocol import list_protocols
from judge.rubrics import list_rubrics
from ui.item_form import BOXES, anonymous, parse_item, print_item, write_item

LABELS = [box.label for box in BOXES]
EMPTY = Item("mine", (Turn("user", ""),), "", "")
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["USER: x", "a\n\nASSISTANT: b", "1: one", "\n", " ", "honesty", "\r\n"]
)
ITEMS = st.builds(
    Item,
    st.just("i"),
    st.lists(st.builds(Turn, st.sampled_from(["user", "assistant", "critic"]), TEXT), min_size=1, max_size=3).map(
        tuple
    ),
    TEXT,
    response_b=st.none() | TEXT,
    model_a=st.none() | st.just("secret"),
    reference_answer=st.none() | TEXT,
    checklist=st.lists(TEXT, max_size=2).map(tuple),
    rubric=st.none() | st.builds(Rubric, TEXT, st.tuples(TEXT, TEXT, TEXT, TEXT, TEXT)),
)


def fill(item, **changes):
    """Return what a person leaves in the boxes who changes some of them."""
    shown = [box.show(item) for box in BOXES]
    for label, text in changes.items():
        shown[LABELS.index(label.replace("_", " "))] = text
    return shown


@given(ITEMS)
def test_boxes_that_nobody_touched_change_nothing(item):
    text = print_item(item)
    assert parse_item(text) == item
    assert write_item(text, fill(item)) == text


@given(ITEMS, TEXT, st.sampled_from(LABELS))
def test_typing_into_one_box_leaves_the_others_alone(item, typed, label):
    box = BOXES[LABELS.index(label)]
    shown = fill(item)
    shown[LABELS.index(label)] = typed
    after = parse_item(write_item(print_item(item), shown))
    if not box.holds(item):
        assert after == item
    for other in BOXES:
        if other is not box:
            assert other.show(after) == other.show(item)
    assert (after.id, after.model_a) == (item.id, item.model_a)


def test_the_form_fills_an_empty_item():
    filled = fill(
        EMPTY,
        Earlier_turns="USER: Hello\n\nASSISTANT: Hi.\n\nHow are you?",
        Question="What is 2 + 2?",
        Response_A="4",
        Response_B="5",
        Reference_answer="4",
        Checklist="Is it right?\n\nIs it short?",
        Rubric="Is it right?\n1: no\n3: partly\n5: yes",
    )
    assert parse_item(write_item(print_item(EMPTY), filled)) == Item(
        "mine",
        (Turn("user", "Hello"), Turn("assistant", "Hi.\n\nHow are you?"), Turn("user", "What is 2 + 2?")),
        "4",
        "5",
        reference_answer="4",
        checklist=("Is it right?", "Is it short?"),
        rubric=Rubric("Is it right?", ("no", "", "partly", "", "yes")),
    )


def test_a_rubric_is_picked_by_its_name():
    after = parse_item(write_item(print_item(EMPTY), fill(EMPTY, Rubric=" honesty\n")))
    assert after.rubric == list_rubrics()["honesty"]


def test_emptied_boxes_leave_nothing_behind():
    full = replace(
        EMPTY, reference_answer="r", checklist=("c",), rubric=Rubric("x"), conversation=(Turn("user", "q"),) * 2
    )
    empty = fill(full, Earlier_turns="", Reference_answer="", Checklist="", Rubric="")
    assert json.loads(write_item(print_item(full), empty)).keys() == {"id", "conversation", "response_a", "response_b"}


@pytest.mark.parametrize(
    ("item", "closed"),
    [
        (replace(EMPTY, conversation=(Turn("user", "see\n\nUSER: no"), Turn("user", "q"))), "Earlier turns"),
        (replace(EMPTY, conversation=(Turn("critic", "hm"), Turn("user", "q"))), "Earlier turns"),
        (replace(EMPTY, checklist=("one\ntwo",)), "Checklist"),
        (replace(EMPTY, rubric=Rubric("c\n2: not a score")), "Rubric"),
    ],
)
def test_a_box_that_would_lose_something_is_closed(item, closed):
    assert [box.label for box in BOXES if not box.holds(item)] == [closed]
    assert write_item(print_item(item), fill(item, **{closed.replace(" ", "_"): "other"})) == print_item(item)


def test_each_protocol_asks_for_the_boxes_it_shows():
    wanted = {name: [box.label for box in BOXES if box.wanted(found)] for name, found in list_protocols().items()}
    assert wanted["wildbench-pairwise"] == ["Earlier turns", "Question", "Response A", "Response B", "Checklist"]
    assert wanted["prometheus-direct"] == ["Earlier turns", "Question", "Response A", "Reference answer", "Rubric"]


def test_what_no_judge_is_shown_is_left_out():
    item = replace(EMPTY, model_a="m", model_b="n", tags=("t",), metadata={"winner": "a"}, cluster="c")
    assert anonymous(item) == EMPTY


def test_a_text_that_is_no_item_cannot_be_filled():
    with pytest.raises(InputError, match="line 1"):
        write_item("{", fill(EMPTY))
