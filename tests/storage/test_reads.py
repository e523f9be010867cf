"""Finding one item of a study again."""

from dataclasses import replace

import pytest

from judge.domain import Item, Rubric, StudyError, Turn
from storage.imports import prepare


def test_an_item_comes_back_as_it_was_imported(store, make_study):
    make_study(2)
    whole = Item(
        "whole \u202e<b>",
        (Turn("user", "q"), Turn("assistant", "r\r\n"), Turn("user", "s")),
        "a\u00a0",
        "b",
        model_a="one",
        reference_answer="ref",
        checklist=("x", "y\nz"),
        rubric=Rubric("c", ("1", "2", "3", "4", "5")),
        tags=("t",),
        metadata={"deep": {"list": [1, None]}},
        cluster="k",
    )
    store.add_prepared("s", [prepare(whole)])
    assert store.item("s", whole.id) == whole


def test_an_item_belongs_to_its_study(store, make_study):
    make_study(2)
    store.create_study(replace(store.study("s"), name="other"))
    with pytest.raises(StudyError, match="the study has no item 'q1'"):
        store.item("other", "q1")
    with pytest.raises(StudyError, match="nowhere"):
        store.item("nowhere", "q1")


def test_the_first_names_come_in_the_order_of_the_import(store, make_study):
    make_study(12)
    assert store.item_names("s", 11) == [f"q{n}" for n in range(11)]
    assert store.item_names("s", 100) == [f"q{n}" for n in range(12)]


def test_names_come_in_the_order_of_the_positions_and_an_item_that_is_gone_is_told(store, make_study):
    make_study(3)
    assert store.names_at("s", [2, 0]) == ["q2", "q0"]
    assert store.names_at("s", []) == []
    with pytest.raises(StudyError, match="the item in place 4 of the study is no longer there"):
        store.names_at("s", [0, 3])
