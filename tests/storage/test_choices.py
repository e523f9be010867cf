"""What a study's verdicts can be chosen by, on both databases."""

from __future__ import annotations

import random
from string import ascii_letters

import pytest

from judge.domain import LONGEST_NAME, GivenVerdict, InputError, Item, Study, StudyError, Turn
from judge.protocol import find_protocol
from storage.choices import Choices
from storage.imports import prepare

# Longer than a key of PostgreSQL's can be, and nothing that it could make shorter.
LONG = "".join(random.Random(0).choices(ascii_letters, k=12_000))


def item(name: str, *tags: str, models: tuple[str | None, str | None] = ("m1", "m2")) -> Item:
    return Item(name, (Turn("user", "Why?"),), "left", "right", *models, tags=tags)


@pytest.fixture
def empty(store):
    for name in ("s", "other"):
        store.create_study(Study(name, find_protocol("wildbench-pairwise").version))
    return store


def test_every_tag_model_and_rater_can_be_chosen_whenever_they_came(empty) -> None:
    zoe, judge = GivenVerdict("zoe", "human", "A+"), GivenVerdict("j", "judge", "B+", order="AB")
    empty.add_prepared("s", [prepare(item("q1", "y", "x"), [zoe, judge])])
    empty.add_prepared("other", [prepare(item("q1", "elsewhere", models=("m3", "m4")))])
    assert empty.choices("s") == Choices(("x", "y"), ("m1", "m2"), ("zoe",), ("j",))
    ana = GivenVerdict("ana", "human", "A+")
    empty.add_prepared("s", [prepare(item("q2", "y", "z", models=("m0", None)), [ana]), prepare(item("q3"))])
    assert empty.choices("s") == Choices(("x", "y", "z"), ("m0", "m1", "m2"), ("ana", "zoe"), ("j",))
    with pytest.raises(StudyError):
        empty.choices("nonesuch")


def test_a_tag_and_a_model_of_one_name_are_two_things(empty) -> None:
    empty.add_prepared("s", [prepare(item("q1", "m1"))])
    assert empty.choices("s") == Choices(("m1",), ("m1", "m2"), (), ())


def test_a_name_may_be_as_long_as_a_text(empty) -> None:
    empty.add_prepared("s", [prepare(item("q1", LONG, models=(LONG, "m2")))])
    assert empty.choices("s") == Choices((LONG,), (LONG, "m2"), (), ())


def test_an_import_that_is_refused_leaves_nothing_to_choose(empty) -> None:
    empty.add_prepared("s", [prepare(item("q1", "x"))])
    nobody = GivenVerdict("a" * (LONGEST_NAME + 1), "human", "A+")
    with pytest.raises(InputError):
        empty.add_prepared("s", [prepare(item("q2", "y"), [nobody])])
    assert empty.choices("s").tags == ("x",)
