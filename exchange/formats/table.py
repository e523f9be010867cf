"""Tables: CSV, TSV, Parquet, or any flat rows, one column a field.

A row is an item, or an item with one verdict (`label`, and who gave it), or an item with a column for
each rater, which a mapping names `label:RATER`, or `judge:RATER` where the rater is a model. Rows with
the same id, or in a table without ids with the same content, are one item with several verdicts. A row
without an id is named by its number.

Everything is text: `007` stays `007`. Our own export puts a quotation mark before cells that a
spreadsheet would run as formulas; it is taken off again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from exchange.formats import accord, prometheus
from exchange.formats.cells import WRITTEN, cell_text, fits, listed, parsed_turns, rubric_of, structure
from exchange.formats.columns import FIELDS, fill_mapping, guess_mapping, plain_name
from exchange.formats.conversion import Gathering, Numbering, Outcome, present
from exchange.formats.fields import mapping_of
from exchange.formats.preferences import preference, side_names
from exchange.rows import Row
from judge.domain import InputError, content_hash

PER_RATER, PER_JUDGE = "label:", "judge:"
_PLAIN = ("model_a", "model_b", "model", "reference_answer", "cluster")
_GIVEN = ("kind", "status", "order", "comment", "created", "raw")


def recognise(value: Any) -> bool:
    """Say whether a row is a line of a table with a question and a response."""
    if not isinstance(value, dict) or not all(isinstance(found, str | int | float | None) for found in value.values()):
        return False
    found = guess_mapping(column for column in value if isinstance(column, str))
    complete = "instruction" in found and ("response_a" in found or "response" in found)
    return complete and not accord.recognise(value) and not prometheus.recognise(value)


def convert(rows: Iterable[Row]) -> Iterator[Outcome]:
    """Return the items of tables whose columns are told by their names."""
    return _convert(rows, _Guess({}).mapping)


class _Guess:
    """What was said of columns, filled up by the names of the others where they hold such values.

    A column holds them on every line or on none: taken line by line, a judge whose kind is written otherwise would
    become a person.
    """

    def __init__(self, said: Mapping[str, str]) -> None:
        self.said = said
        self.held: dict[str, bool] = {}

    def mapping(self, row: Row) -> dict[str, str]:
        value = mapping_of(row)
        found = fill_mapping(self.said, (column for column in value if isinstance(column, str)))
        return {field: name for field, name in found.items() if field in self.said or self._holds(field, name, row)}

    def _holds(self, field: str, column: str, row: Row) -> bool:
        cell = row.value[column]
        if cell_text(cell) in (None, ""):
            return self.held.get(column, True)
        found = fits(field, cell)
        if self.held.setdefault(column, found) != found:
            told = f"{cell_text(cell)!r} is {'' if found else 'not '}{WRITTEN[field]}, unlike the cells before it"
            raise row.refuse(f"{column}: {told}: write all of them so, leave the cell empty, or rename the column")
        return found


def convert_table(rows: Iterable[Row], mapping: Mapping[str, str], *, guess_rest: bool = False) -> Iterator[Outcome]:
    """Return the items of tables whose columns are named: `{"instruction": "Prompt", "label:ana": "Ana", …}`.

    Fields that the mapping leaves out are told from the names of the other columns where that is asked for.
    """
    for field in mapping:
        if field not in FIELDS and (not _of_rater(field) or field in (PER_RATER, PER_JUDGE)):
            known = ", ".join(sorted(FIELDS))
            yield InputError(f"mapping: {field!r} is not a field; known: {known}, label:RATER, judge:RATER")
            return
    yield from _convert(rows, _Guess(mapping).mapping if guess_rest else (lambda _: mapping))


def _of_rater(field: str) -> bool:
    return field.startswith((PER_RATER, PER_JUDGE))


def _convert(rows: Iterable[Row], mapping_for: Callable[[Row], Mapping[str, str]]) -> Iterator[Outcome]:
    gathering, numbering = Gathering(), Numbering()
    contents: dict[str, str] = {}
    for row in rows:
        try:
            line = _Line(row, mapping_for(row))
            item, details = line.item(), line.details()
            verdicts = line.verdicts()
            name = line.text("id") or numbering.name(row.source, row.line)
            if line.judged:
                if "id" not in line.mapping:
                    name = contents.setdefault(content_hash("row", repr(item)), name)
                gathering.add(row, {"id": name, **item}, verdicts, details)
                continue
        except InputError as error:
            yield error
        else:
            metadata = present({"metadata": {**item.get("metadata", {}), **details}})
            yield Row(row.source, row.line, {"id": name, **item, **metadata})
    yield from gathering.rows()


class _Line:
    """A row of a table, read through a mapping."""

    def __init__(self, row: Row, mapping: Mapping[str, str]) -> None:
        self.row = row
        self.value = mapping_of(row)
        self.mapping = mapping
        if missing := [column for column in mapping.values() if column not in self.value]:
            raise row.refuse(f"{missing[0]}: there is no such column; there are: {', '.join(map(str, self.value))}")
        if "instruction" not in mapping or not {"response", "response_a"} & mapping.keys():
            wanted = "instruction" if "instruction" not in mapping else "response_a"
            raise row.refuse(
                f"{wanted}: no column is known to hold it; there are: {', '.join(map(str, self.value))}; "
                "rename one, or name it in the mapping"
            )
        listed_verdicts = self.value.get("verdicts")
        if isinstance(listed_verdicts, list) and listed_verdicts:
            raise row.refuse("verdicts: a table's verdicts are columns: import the file with --format accord")
        # A table of verdicts stays one where a cell is empty: its rows may still be of one item.
        self.judged = any(field == "label" or _of_rater(field) for field in mapping)

    def cell(self, field: str) -> Any:
        return self.value[self.mapping[field]] if field in self.mapping else None

    def text(self, field: str) -> str | None:
        """Return a cell's text; an empty cell is missing."""
        return self._text(field) or None

    def _text(self, field: str) -> str | None:
        found = cell_text(self.cell(field))
        if found is None and isinstance(self.cell(field), list | dict):
            raise self.row.refuse(f"{self.mapping[field]}: must be text")
        return found

    def item(self) -> dict[str, Any]:
        return present(
            {
                "conversation": self._conversation(),
                **self._responses(),
                **{field: self.text(field) for field in _PLAIN},
                "checklist": listed(self.cell("checklist"), "\n"),
                "rubric": rubric_of({field: self.cell(field) for field in self.mapping}),
                "tags": listed(self.cell("tags"), ";"),
                "metadata": self._metadata(),
            }
        )

    def _conversation(self) -> list[dict[str, Any]]:
        turns = parsed_turns(self.cell("instruction"))
        if turns is None:
            question = self.text("instruction")
            if question is None:
                raise self.row.refuse(f"{self.mapping['instruction']}: is empty: an item needs its question")
            turns = [{"role": "user", "content": question}]
        system = self.text("system")
        return [{"role": "system", "content": system}, *turns] if system else turns

    def _responses(self) -> dict[str, str | None]:
        """Return the responses; an empty cell is an empty response, but on side B only if a model wrote it."""
        if "response_a" not in self.mapping:
            return {"response": self._text("response")}
        second = self._text("response_b")
        if second == "" and self.text("model_b") is None:
            second = None
        return {"response_a": self._text("response_a"), "response_b": second}

    def _metadata(self) -> Any:
        cell = self.cell("metadata")
        found = structure(cell)
        if not isinstance(found, dict) and cell not in (None, ""):
            raise self.row.refuse(f"{self.mapping['metadata']}: must be a JSON object")
        return found

    def details(self) -> dict[str, Any]:
        """Return the columns that no field was found for."""
        used = set(self.mapping.values())
        rest = {str(column): found for column, found in self.value.items() if column not in used}
        texts = {
            column: found if isinstance(found, list | dict) else cell_text(found) for column, found in rest.items()
        }
        return {column: found for column, found in texts.items() if found not in (None, "")}

    def verdicts(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for field in filter(_of_rater, self.mapping):
            if (label := self._label(field)) is not None:
                kind, _, rater = field.partition(":")
                found.append({"rater": rater, "label": label, **({"kind": "judge"} if kind == "judge" else {})})
        label = self._label("label")
        if label is not None or (self.text("status") or "ok").lower() != "ok":
            found.append(present({"rater": self._rater(), "label": label, **self._given()}))
        return found

    def _label(self, field: str) -> str | None:
        """Return the label in a cell: what stands there and is no known word is left to the scale to refuse."""
        value = self.cell(field)
        if value is None or isinstance(value, str):
            return self._preferred(self.text(field))
        label = self._preferred(value) or cell_text(value)
        if label is None and isinstance(value, list | dict):
            raise self.row.refuse(f"{self.mapping[field]}: must be a label of the scale")
        return label

    def _preferred(self, value: Any) -> str | None:
        if "response_b" not in self.mapping:
            return preference(value, {}) if not isinstance(value, str) else value.strip() or None
        sides = ([self.mapping.get(f"{kind}_{side}") for kind in ("response", "model")] for side in "ab")
        models = (self.text(f"model_{side}") for side in "ab")
        names = side_names(*([*columns, model] for columns, model in zip(sides, models, strict=True)))
        return preference(value, names)

    def _rater(self) -> str:
        """Return who gave the verdict; in a table without such a column, the verdict column's own name."""
        if "rater" not in self.mapping:
            return self.mapping.get("label", "label")
        rater = self.text("rater")
        if rater is None:
            raise self.row.refuse(f"{self.mapping['rater']}: is empty: who gave this verdict")
        return rater

    def _given(self) -> dict[str, Any]:
        given: dict[str, Any] = {field: self.text(field) for field in _GIVEN}
        given |= {field: said.lower() for field in ("kind", "status") if (said := given[field])}
        if given["kind"] is None and plain_name(self.mapping.get("rater", "")).startswith("judge"):
            given["kind"] = "judge"
        if seconds := self.text("seconds"):
            try:
                given["seconds"] = float(seconds)
            except ValueError as error:
                raise self.row.refuse(f"{self.mapping['seconds']}: must be a number of seconds") from error
        if repeat := self.text("repeat"):
            if not fits("repeat", repeat):
                raise self.row.refuse(f"{self.mapping['repeat']}: must be {WRITTEN['repeat']}")
            given["repeat"] = repeat.lower() == "true"
        if confidence := self.text("confidence"):
            given["confidence"] = int(confidence) if confidence.isdecimal() else confidence
        return given
