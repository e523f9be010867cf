"""Opening files of any kind we take and giving their rows one by one, with the line each came from.

What cannot be read comes as an `InputError` in place of its row, so that a caller can list every bad line.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from exchange.rows import Row
from judge.domain import InputError

Stream = IO[bytes] | io.BufferedReader

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

LONGEST_LINE = 50_000_000  # bytes
LARGEST_DOCUMENT = 500_000_000  # bytes of one JSON document, which has to be held whole
_BOMB_SIZE, _BOMB_RATIO = 8_000_000, 200
_FEW = 20  # rows of a Parquet file that are made at a time
_TABLES = (".csv", ".tsv", ".parquet")
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")
# What may be sent to a server that others use; a spreadsheet may, to be told what to do with it.
ENDINGS = (".jsonl", ".ndjson", ".json", ".txt", *_TABLES, *_SPREADSHEETS)
# UTF-8 read as Windows-1252: é has become Ã©, a typographic apostrophe â€™.
_MOJIBAKE = re.compile("Ã[\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]|â€[œ™˜\u009d“”¦¢]|ð\u0178")


def read_rows(location: str) -> Iterator[Row | InputError]:
    """Yield the rows of one file: JSON Lines, a JSON document, or a table, compressed or not."""
    try:
        with _opened(location) as stream:
            suffix = Path(location.removesuffix(".gz")).suffix.lower()
            if suffix in _SPREADSHEETS:
                yield InputError(f"{location}: is a spreadsheet: save it as CSV (UTF-8) and import that")
            elif suffix == ".parquet":
                yield from _parquet_rows(location, stream)
            elif suffix in (".csv", ".tsv"):
                yield from _table_rows(location, stream, "\t" if suffix == ".tsv" else ",")
            else:
                yield from _json_rows(location, stream)
    except InputError as error:
        yield error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        yield InputError(f"{location}: is not a complete gzip file: {error}")
    except OSError as error:
        yield InputError(f"{location}: cannot be read: {error.strerror or error}")


def is_data(name: str) -> bool:
    """Say whether a file's name is one of data that can be imported."""
    return name.lower().removesuffix(".gz").endswith(ENDINGS)


def is_table(location: str) -> bool:
    """Say whether a file holds a table, whose columns have to be given a meaning."""
    return location.removesuffix(".gz").lower().endswith(_TABLES)


@contextmanager
def _opened(location: str) -> Iterator[Stream]:
    with _open(location) as stream:
        yield io.BufferedReader(_Unpacked(location, stream)) if location.endswith(".gz") else stream


def _open(location: str) -> IO[bytes]:
    if not location.startswith("hf://"):
        return Path(location).open("rb")
    # Imported here because only a data set on the hub needs it, and it is slow to load.
    import httpx2
    from huggingface_hub import HfFileSystem

    try:
        return HfFileSystem().open(location, "rb")  # type: ignore[no-any-return]
    except (httpx2.HTTPError, OSError) as error:
        raise InputError(f"{location}: cannot be fetched from the hub: {error}") from error


class _Unpacked(io.RawIOBase):
    """The content of a gzip file; a bomb is refused before it goes off."""

    def __init__(self, location: str, packed: IO[bytes]) -> None:
        self.location = location
        self.packed = packed
        self.content = gzip.GzipFile(fileobj=packed)
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        size = self.content.readinto(buffer)
        self.size += size
        _refuse_bomb(self.location, self.size, self.packed.tell())
        return size


def _refuse_bomb(location: str, size: int, packed: int) -> None:
    if size > _BOMB_SIZE and size > _BOMB_RATIO * max(1, packed):
        raise InputError(f"{location}: unpacks to {_BOMB_RATIO} times its size and more: unpack it yourself first")


def _lines(location: str, stream: Stream) -> Iterator[tuple[int, bytes | InputError]]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            yield (
                number,
                InputError(f"{location}:{number}: is longer than {LONGEST_LINE // 1_000_000} MB: split the file"),
            )
            return
        yield number, line


def _json_rows(location: str, stream: Stream) -> Iterator[Row | InputError]:
    lines = _lines(location, stream)
    head: list[tuple[int, bytes | InputError]] = []
    for number, line in lines:
        head.append((number, line))
        if isinstance(line, InputError) or line.strip(b"\xef\xbb\xbf \t\r\n"):
            break
    if not head:
        yield InputError(f"{location}: is empty")
        return
    number, first = head[-1]
    if isinstance(first, InputError):
        yield first
    elif (problem := _not_text(location, first)) is not None:
        yield problem
    elif not first.strip(b"\xef\xbb\xbf \t\r\n"):
        yield InputError(f"{location}: is empty")
    elif _is_json_line(first):
        yield from _line_rows(location, [(number, first)], lines)
    else:
        yield from _document_rows(location, first, number, stream)


def _not_text(location: str, first: bytes) -> InputError | None:
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        return InputError(f"{location}:1: is UTF-16 text: save it as UTF-8")
    if b"\0" in first[:4096]:
        return InputError(f"{location}: is a binary file, not JSON: name a .jsonl, .json, .csv, .tsv or .parquet file")
    return None


def _is_json_line(line: bytes) -> bool:
    text = line.strip(b"\xef\xbb\xbf \t\r\n")
    return text[:1] == b"{" and (text[-1:] == b"}" or text.count(b'"') > 4)


def _line_rows(
    location: str, head: Iterable[tuple[int, bytes]], rest: Iterable[tuple[int, bytes | InputError]]
) -> Iterator[Row | InputError]:
    for source in (head, rest):
        for number, line in source:
            if isinstance(line, InputError):
                yield line
            elif line.strip():
                yield _parsed(location, number, line)


def _parsed(location: str, number: int, data: bytes) -> Row | InputError:
    try:
        return Row(location, number, _DECODER.decode(data.decode().removeprefix("\ufeff")))
    except UnicodeDecodeError as error:
        return InputError(f"{location}:{number}: is not UTF-8 at byte {error.start}: save the file as UTF-8")
    except json.JSONDecodeError as error:
        line = number + error.lineno - 1
        return InputError(f"{location}:{line}: is not JSON at character {error.colno}: {error.msg}")
    except RecursionError:
        return InputError(f"{location}:{number}: is nested too deeply")
    except ValueError as error:
        return InputError(f"{location}:{number}: is not JSON that can be taken: {error}")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value: use null")


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object each of whose keys stands once: of two, the first would be lost without a word."""
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"{twice!r} stands twice in one object")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)


def _document_rows(location: str, first: bytes, number: int, stream: Stream) -> Iterator[Row | InputError]:
    data = first + stream.read(LARGEST_DOCUMENT + 1 - len(first))
    if len(data) > LARGEST_DOCUMENT:
        yield InputError(f"{location}: is one JSON document of more than 500 MB: make it JSON Lines, one item a line")
        return
    whole = _parsed(location, number, data)
    if isinstance(whole, InputError) or not isinstance(whole.value, list):
        yield whole
        return
    if not whole.value:
        yield InputError(f"{location}: holds an empty list")
    for index, value in enumerate(whole.value, 1):
        yield Row(f"{location}[{index}]", number, value)


def _table_rows(location: str, stream: Stream, separator: str) -> Iterator[Row | InputError]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    csv.field_size_limit(LONGEST_LINE)
    line, reader = 0, None
    try:
        head = text.readline(LONGEST_LINE)
        reader = csv.DictReader(itertools.chain([head], text), delimiter=_separator(head, separator), strict=True)
        if not reader.fieldnames:
            yield InputError(f"{location}: is empty: the first line must name the columns")
            return
        named = [name for name in reader.fieldnames if name.strip()]
        if twice := [name for at, name in enumerate(named) if name in named[:at]]:
            yield InputError(f"{location}:1: {twice[0]}: two columns have this name: rename one")
            return
        for values in reader:
            line = reader.line_num
            yield _table_row(location, line, values)
    except UnicodeDecodeError as error:
        # All whole lines before the piece that cannot be read were handed out, whether or not they made a row.
        handed = reader.reader.line_num if reader else 0
        bad = handed + error.object[: error.start].count(b"\n") + 1
        yield InputError(f"{location}:{bad}: is not UTF-8: save the file as UTF-8")
    except csv.Error as error:
        yield InputError(f"{location}:{line + 1}: is not a table: {error}")
    finally:
        text.detach()


def _separator(head: str, usual: str) -> str:
    """Return what stands between cells: a semicolon where the first line has one and no comma, as in half of Europe."""
    return ";" if usual == "," and "," not in head and ";" in head else usual


def _table_row(location: str, line: int, values: dict[str | Any, Any]) -> Row | InputError:
    if None in values:
        return InputError(f"{location}:{line}: has more cells than the first line has columns")
    if any(value is None for value in values.values()):
        return InputError(f"{location}:{line}: has fewer cells than the first line has columns")
    return Row(location, line, values)


def _parquet_rows(location: str, stream: Stream) -> Iterator[Row | InputError]:
    # Imported here because only a Parquet file needs it, and it is slow to load.
    import pyarrow as pa
    from pyarrow import parquet

    try:
        packed = stream.seek(0, io.SEEK_END)
        about = parquet.ParquetFile(stream).metadata
        groups = (about.row_group(group) for group in range(about.num_row_groups))
        columns = (group.column(place) for group in groups for place in range(about.num_columns))
        _refuse_bomb(location, sum(column.total_uncompressed_size for column in columns), packed)
        number, size = 0, 0
        for rows in _few_rows(parquet, stream):
            size += _text_size(rows)
            _refuse_bomb(location, size, packed)
            for values in rows:
                number += 1
                yield Row(location, number, values)
    except (pa.ArrowException, OSError) as error:
        yield InputError(f"{location}: is not a Parquet file: {error}")


def _few_rows(parquet: Any, stream: Stream) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows in small lists; a text that stands in many rows is kept once until they are made."""
    about = parquet.ParquetFile(stream).metadata.schema
    leaves = [about.column(place) for place in range(len(about))]
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    for batch in parquet.ParquetFile(stream, read_dictionary=texts).iter_batches(batch_size=500):
        for start in range(0, batch.num_rows, _FEW):
            yield batch.slice(start, _FEW).to_pylist()


def _text_size(value: Any) -> int:
    """Return the characters in a value, and some for each of its parts: rows of nothing are rows too."""
    if isinstance(value, list):
        return len(value) + sum(map(_text_size, value))
    if isinstance(value, dict):
        return len(value) + sum(map(_text_size, value.values()))
    return len(value) if isinstance(value, str | bytes) else 0


def has_mojibake(text: str) -> bool:
    """Say whether a text looks like UTF-8 that was read as Windows-1252."""
    return not text.isascii() and _MOJIBAKE.search(text) is not None


def repair_mojibake(value: Any) -> Any:
    """Return a JSON value with every such text put right; a text that does not fit is left as it is."""
    if isinstance(value, str):
        return _repaired(value) if has_mojibake(value) else value
    if isinstance(value, list):
        return [repair_mojibake(entry) for entry in value]
    if isinstance(value, dict):
        return {repair_mojibake(key): repair_mojibake(entry) for key, entry in value.items()}
    return value


def _repaired(text: str) -> str:
    try:
        # Five bytes have no character in Windows-1252 and come through as themselves.
        data = b"".join(
            bytes([ord(character)]) if "\x80" <= character <= "\x9f" else character.encode("cp1252")
            for character in text
        )
        return data.decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text
