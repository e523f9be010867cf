"""What statistics ask of a study's items, as columns of numbers: no item's texts are read for it."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from storage.schema import facts, items

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CODED = ("cluster", "question", "model_a", "model_b", "tags")
_COLUMNS = ("position", "cluster", "question_hash", "model_a", "model_b", "tags", "length_a", "length_b")


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of texts as numbers: the distinct texts, and the place of each row's in them (-1 for none)."""

    names: tuple[Any, ...]
    codes: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known of the items, in the order of the import; a missing second length is NaN."""

    position: Ints
    cluster: Coded
    question: Coded
    model_a: Coded
    model_b: Coded
    tags: Coded
    length_a: Floats
    length_b: Floats

    def __len__(self) -> int:
        return int(self.position.size)


def code_texts(values: Sequence[Hashable], known: Sequence[Hashable] = ()) -> Coded:
    """Return texts as numbers, each text known by the place where it first stands, after those known; None is -1."""
    names = [name for name in dict.fromkeys(chain(known, values)) if name is not None]
    place: dict[Hashable, int] = {name: at for at, name in enumerate(names)}
    place[None] = -1
    return Coded(tuple(names), np.fromiter(map(place.__getitem__, values), np.int64, len(values)))


def make_facts(rows: Sequence[Sequence[Any]], known: Facts | None = None) -> Facts:
    """Return the facts from rows of position, cluster, question, model_a, model_b, tags, length_a, length_b.

    What is known already stands before them, and keeps its codes.
    """
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * 8
    position, cluster, question, model_a, model_b, tags, length_a, length_b = columns
    distinct = {text: tuple(json.loads(text)) for text in dict.fromkeys(tags)}
    coded = (cluster, question, model_a, model_b, [distinct[text] for text in tags])
    before = _BLANK if known is None else known

    def follow(name: str, values: Sequence[Hashable]) -> Coded:
        old: Coded = getattr(before, name)
        new = code_texts(values, old.names)
        return Coded(new.names, np.concatenate([old.codes, new.codes]))

    return Facts(
        np.concatenate([before.position, np.asarray(position, dtype=np.int64)]),
        **{name: follow(name, values) for name, values in zip(CODED, coded, strict=True)},
        length_a=np.concatenate([before.length_a, np.asarray(length_a, dtype=np.float64)]),
        length_b=np.concatenate([before.length_b, np.array(length_b, dtype=np.float64)]),  # None becomes NaN
    )


_NONE = np.zeros(0, dtype=np.int64)
_BLANK = Facts(_NONE, **{name: Coded((), _NONE) for name in CODED}, length_a=np.zeros(0), length_b=np.zeros(0))


def take_facts(known: Facts, kept: NDArray[np.bool_]) -> Facts:
    """Return the facts of some items, coded as if there were no others."""
    places = np.flatnonzero(kept)  # by numbers, some of many are sooner taken than by yes and no
    coded = {name: _code_again(getattr(known, name), places) for name in CODED}
    return Facts(known.position[places], **coded, length_a=known.length_a[places], length_b=known.length_b[places])


def _code_again(column: Coded, places: Ints) -> Coded:
    """Return some rows of a column, each text known by the place where it first stands among them."""
    codes = column.codes[places]
    first = np.full(len(column.names) + 1, codes.size)
    first[codes[::-1]] = np.arange(codes.size)[::-1]  # of several, the first is written last
    used = np.flatnonzero(first[:-1] < codes.size)
    used = used[np.argsort(first[used])]
    onto = np.full(first.size, -1)
    onto[used] = np.arange(used.size)
    return Coded(tuple(column.names[code] for code in used.tolist()), onto[codes])


def read_facts(connection: Connection, study_id: int, known: tuple[Ints, Facts] | None) -> tuple[Ints, Facts]:
    """Return the items' numbers in the database and their facts, from what is known and whatever was added since.

    Items never change, and positions are given out in the order in which imports become visible.
    """
    first = 0 if known is None else known[0].size
    # Two stretches of two indexes: to join them row by row takes twice as long.
    numbered = select(items.c.id).where(items.c.study_id == study_id, items.c.position >= first)
    listed = select(*(facts.c[name] for name in _COLUMNS)).where(
        facts.c.study_id == study_id, facts.c.position >= first
    )
    numbers = connection.execute(numbered.order_by(items.c.position)).cursor.fetchall()
    if known is not None and not numbers:
        return known
    ids = np.fromiter(chain.from_iterable(numbers), np.int64, len(numbers))
    rows = connection.execute(listed.order_by(facts.c.position)).cursor.fetchall()
    if known is None:
        return ids, make_facts(rows)
    return np.concatenate([known[0], ids]), make_facts(rows, known[1])
