"""Importing: every row is checked before anything is stored, then what is new is stored in short transactions."""

from __future__ import annotations

import itertools
import pickle
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import IO, TypeVar

from exchange.formats import FORMATS, detect
from exchange.formats.cells import WRITTEN, fits
from exchange.formats.columns import fill_mapping
from exchange.formats.table import convert_table
from exchange.interchange import FieldError, Record, record_from_json
from exchange.readiness import MANY_VERDICTS, make_ready
from exchange.rows import Row
from exchange.sources import has_mojibake, is_table, read_rows, repair_mojibake
from judge.domain import InputError, ItemError, Scale, Study, StudyError
from judge.protocol import Protocol, find_protocol, load_version
from judge.render import check_item
from storage.imports import Added, Prepared, prepare
from storage.store import Store

Thing = TypeVar("Thing")

NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?")
BATCH = 400  # items stored in one transaction: few enough that nobody notices the wait
SHOWN_ERRORS = 20
PREVIEWED_ERRORS = 200
PREVIEWED_ITEMS = 3
TOLD_EVERY = 10_000
_MISSING = frozenset({".", "-", "na", "n/a", "nan", "null", "none"})  # as other programs write what nobody said
_SAID_NOTHING = ": leave the cell empty, or the verdict out, where nobody said anything"


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import, and how to take it."""

    locations: Sequence[str]
    study: str
    protocol: Protocol | None = None
    format: str = "auto"
    mapping: dict[str, str] = field(default_factory=dict)
    repair_text: bool = False
    dry_run: bool = False
    wanted: int = 3
    seed: int = 0
    new_study: Study | None = None  # all settings of a study that is to be made, instead of these two
    by: str = ""  # who imports, for the trail
    guess_rest: bool = False  # whether fields that the mapping leaves out are told from the columns' names


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import found, and what of it was new."""

    study: str
    protocol: str
    format: str
    items: int
    verdicts: int
    added: Added
    dry_run: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What an import would bring, found without storing anything; with errors it would bring nothing."""

    protocol: str | None
    format: str
    items: int
    verdicts: int
    known: int  # how many of the items are in the study already
    first: tuple[Record, ...]
    errors: tuple[str, ...]
    wrong: int
    columns: tuple[str, ...] = ()  # of a table
    mapping: Mapping[str, str] = field(default_factory=dict)  # which column is taken for each field
    mangled: str | None = None  # where a text looks like UTF-8 read as Windows-1252


class BadRowsError(InputError):
    """A file with errors: none of it was imported."""

    def __init__(self, errors: Sequence[InputError], count: int) -> None:
        more = f"\n… and {count - len(errors)} more" if count > len(errors) else ""
        listed = "\n".join(map(str, errors))
        super().__init__(f"nothing was imported: {count} bad {'line' if count == 1 else 'lines'}\n{listed}{more}")


def import_files(store: Store, request: ImportRequest, tell: Callable[[str], None]) -> ImportOutcome:
    """Import files into a study, which is made if it is new; a file with errors imports nothing."""
    check = _Check(store, request, tell)
    with closing(check.seen.file), tempfile.TemporaryFile() as spool:
        for batch in _batches(check.prepared()):
            pickle.dump(batch, spool)
        if check.wrong:
            raise BadRowsError(check.errors, check.wrong)
        if not check.items:
            raise InputError(_no_items(request))
        if not request.dry_run:
            _store(store, request, check, spool, tell)
    return check.outcome()


def preview_files(store: Store, request: ImportRequest) -> Preview:
    """Check files as an import would, store nothing, and tell what was found, errors too."""
    check = _Check(store, request, lambda _: None, PREVIEWED_ERRORS)
    with closing(check.seen.file):
        for _ in check.prepared():
            pass
    if not check.items and not check.wrong:
        raise InputError(_no_items(request))
    return check.preview()


def _no_items(request: ImportRequest) -> str:
    return f"{', '.join(request.locations)}: no items found: nothing was imported"


def _batches(stream: Iterator[Thing]) -> Iterator[list[Thing]]:
    while batch := list(itertools.islice(stream, BATCH)):
        yield batch


def _store(store: Store, request: ImportRequest, check: _Check, spool: IO[bytes], tell: Callable[[str], None]) -> None:
    if check.study is None:
        usual = Study(request.study, check.protocol.version, wanted=request.wanted, seed=request.seed)
        made = replace(request.new_study or usual, name=request.study, protocol=check.protocol.version)
        store.create_study(made, request.by)
    spool.seek(0)
    stored = 0
    while stored < check.items:
        batch: list[Prepared] = pickle.load(spool)  # noqa: S301 (our own file, with no name, written above)
        check.added += store.add_prepared(request.study, batch)
        store.give_way()
        told, stored = stored // TOLD_EVERY, stored + len(batch)
        if stored // TOLD_EVERY > told:
            tell(f"stored {stored} of {check.items} items")
    if check.added != Added():
        added = {"items": check.added.items, "verdicts": check.added.verdicts, "format": check.format}
        store.record_event("import", request.study, **added, by=request.by)
    if check.added.verdicts >= MANY_VERDICTS:
        make_ready(store, request.study, tell)


class _Check:
    """One pass over the rows, in which everything that may be wrong is found."""

    def __init__(
        self, store: Store, request: ImportRequest, tell: Callable[[str], None], shown_errors: int = SHOWN_ERRORS
    ) -> None:
        self.store = store
        self.request = request
        self.tell = tell
        self.study = store.find_study(request.study)
        self.known_protocol = self._known_protocol()
        self.format = request.format
        self.errors: list[InputError] = []
        self.shown_errors = shown_errors
        self.wrong = 0
        self.known = 0
        self.first: list[Record] = []
        self.columns: tuple[str, ...] = ()
        self.mapping: dict[str, str] = {}
        self.items = 0
        self.verdicts = 0
        self.added = Added()
        self.notes: list[str] = []
        self.mangled: str | None = None
        self.seen = _Seen()

    def _known_protocol(self) -> Protocol | None:
        if self.study is None:
            return self.request.protocol
        kept = load_version(self.study.protocol)
        if self.request.protocol is not None and self.request.protocol.hash != kept.hash:
            raise StudyError(
                f"study {self.study.name!r} asks by {kept.name} ({kept.hash[:21]}…), not by "
                f"{self.request.protocol.name} as it is now: import into a new study"
            )
        return kept

    @property
    def protocol(self) -> Protocol:
        """Return the protocol that was named, that the study has, or that suits the first item."""
        if self.known_protocol is None:
            raise InputError("no protocol is known yet")
        return self.known_protocol

    def outcome(self) -> ImportOutcome:
        """Say what was found."""
        if self.mangled:
            self.notes.append(
                f"{self.mangled}: texts look like UTF-8 read as Windows-1252 (é as Ã©): --repair-text puts them right"
            )
        return ImportOutcome(
            self.request.study,
            self.protocol.name,
            self.format,
            self.items,
            self.verdicts,
            self.added,
            self.request.dry_run,
            tuple(self.notes),
        )

    def preview(self) -> Preview:
        """Say what would be imported, and what is in the way."""
        return Preview(
            self.known_protocol.name if self.known_protocol else None,
            self.format,
            self.items,
            self.verdicts,
            self.known,
            tuple(self.first),
            tuple(map(str, self.errors)),
            self.wrong,
            self.columns,
            self.mapping,
            self.mangled,
        )

    def prepared(self) -> Iterator[Prepared]:
        """Yield what may be stored; what may not is kept as an error."""
        for batch in _batches(self._converted()):
            ready = [(row, item) for row in batch for item in self._prepare(row)]
            known = self._known([item.name for _, item in ready])
            seen = self.seen.add([item for _, item in ready])
            self.known += len(known)
            for row, item in ready:
                if seen[item.name] != item.hash:
                    self._refuse(row.refuse(f"id: {item.name!r} stands twice in the files, with different content"))
                elif known.get(item.name, item.hash) != item.hash:
                    self._refuse(row.refuse(f"id: {item.name!r} is in the study with other content"))
                elif not self.wrong:
                    yield item

    def _refuse(self, error: InputError) -> None:
        self.wrong += 1
        if len(self.errors) < self.shown_errors:
            self.errors.append(error)

    def _known(self, names: list[str]) -> dict[str, str]:
        return self.store.known_hashes(self.request.study, names) if self.study is not None and names else {}

    def _converted(self) -> Iterator[Row]:
        rows = self._rows()
        first = next(rows, None)
        if first is None:
            return
        tables = is_table(self.request.locations[0])
        if self.format == "auto":
            self.format = detect(first.value, is_table=tables) or ("csv" if tables else "accord")
        chained = itertools.chain([first], rows)
        if self.format == "csv" and isinstance(first.value, dict):
            self.columns = tuple(map(str, first.value))
            said, rest = self.request.mapping, self.request.guess_rest
            filled = fill_mapping(said, self.columns) if rest or not said else said
            self.mapping = {name: at for name, at in filled.items() if name in said or fits(name, first.value.get(at))}
            shown = ", ".join(f"{name}={column}" for name, column in self.mapping.items())
            self.notes.append(f"columns taken as {shown} (--map FIELD=COLUMN says otherwise)")
            if others := [f"{at} ({WRITTEN[name]})" for name, at in filled.items() if name not in self.mapping]:
                self.notes.append(
                    f"columns kept as metadata, for they do not hold what their name says: {', '.join(others)}"
                )
        if self.request.mapping:
            converted = convert_table(chained, self.request.mapping, guess_rest=self.request.guess_rest)
        else:
            converted = FORMATS[self.format].convert(chained)
        for outcome in converted:
            if isinstance(outcome, InputError):
                self._refuse(outcome)
            else:
                yield outcome

    def _rows(self) -> Iterator[Row]:
        for location in self.request.locations:
            for row in read_rows(location):
                if isinstance(row, InputError):
                    self._refuse(row)
                elif self.request.repair_text:
                    yield replace(row, value=repair_mojibake(row.value))
                else:
                    yield row

    def _prepare(self, row: Row) -> Iterable[Prepared]:
        try:
            record = record_from_json(row.value)
        except FieldError as error:
            self._refuse(row.place_of(error.field).refuse(str(error)))
            return
        if self.known_protocol is None:
            self.known_protocol = _suited(record)
            self.notes.append(f"no protocol was named: {self.known_protocol.name} suits the first item")
        try:
            for part in split_pair(record, self.protocol):
                yield self._counted(self._checked(part), row)
        except FieldError as error:
            self._refuse(row.place_of(error.field).refuse(str(error)))
        except ItemError as error:
            self._refuse(row.refuse(str(error)))

    def _checked(self, record: Record) -> Record:
        """Return a record that suits the protocol, its labels written as the scale writes them."""
        check_item(self.protocol, record.item)
        scale = self.protocol.scale
        if all(verdict.label is None or verdict.label in scale.labels for verdict in record.verdicts):
            return record
        given = []
        for index, verdict in enumerate(record.verdicts):
            label = None if verdict.label is None else find_label(verdict.label, scale)
            if verdict.label is not None and label is None:
                raise FieldError(
                    f"verdicts[{index}].label",
                    f"{verdict.label!r} is not a label of {self.protocol.name} ({' '.join(scale.labels)})"
                    f"{_SAID_NOTHING if verdict.label.casefold() in _MISSING else ''}",
                )
            given.append(replace(verdict, label=label))
        return replace(record, verdicts=tuple(given))

    def _counted(self, record: Record, row: Row) -> Prepared:
        item = prepare(record.item, record.verdicts)
        if len(self.first) < PREVIEWED_ITEMS:
            self.first.append(record)
        self.items += 1
        self.verdicts += len(record.verdicts)
        if self.mangled is None and not item.body.isascii() and has_mojibake(item.body):
            self.mangled = f"{row.source}:{row.line}"
        if self.items % TOLD_EVERY == 0:
            self.tell(f"checked {self.items} items")
        return item


class _Seen:
    """The content hashes of the ids met so far, in a temporary file: millions of them must not fill the memory."""

    def __init__(self) -> None:
        self.file = sqlite3.connect("")
        self.file.execute("CREATE TABLE seen (name TEXT PRIMARY KEY, hash TEXT) WITHOUT ROWID")

    def add(self, batch: Sequence[Prepared]) -> dict[str, str]:
        """Remember a batch and return, for each of its ids, the hash it was first met with."""
        self.file.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", [(item.name, item.hash) for item in batch])
        marks = ", ".join("?" * len(batch))
        found = self.file.execute(
            f"SELECT name, hash FROM seen WHERE name IN ({marks})",  # noqa: S608 (question marks only)
            [item.name for item in batch],
        )
        return dict(found.fetchall())


def _suited(record: Record) -> Protocol:
    item = record.item
    family = "prometheus" if item.rubric is not None or item.response_b is None else "wildbench"
    return find_protocol(f"{family}-{'pairwise' if item.response_b is not None else 'direct'}")


def find_label(text: str, scale: Scale) -> str | None:
    """Return the label that is meant: the text itself, or the same number written otherwise, as in 4.0 for 4."""
    if text in scale.labels:
        return text
    if not NUMBER.fullmatch(text):
        return None
    same = [label for label in scale.labels if NUMBER.fullmatch(label) and float(label) == float(text)]
    return same[0] if len(same) == 1 else None


def split_pair(record: Record, protocol: Protocol) -> list[Record]:
    """Return the record, or under a direct protocol a pair's two responses as two items of one cluster."""
    item = record.item
    if protocol.kind == "pairwise" or item.response_b is None:
        return [record]
    if record.verdicts:
        raise FieldError("verdicts", f"a pair becomes two items under {protocol.name}: import its verdicts with those")
    shared = replace(item, response_b=None, model_b=None, cluster=item.cluster or item.id)
    return [
        Record(replace(shared, id=f"{item.id}/a")),
        Record(replace(shared, id=f"{item.id}/b", response_a=item.response_b, model_a=item.model_b)),
    ]
