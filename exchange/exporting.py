"""Exporting a study: the interchange format, or one row a verdict as CSV or Parquet with a codebook."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from exchange.formulas import neutralised
from judge.domain import GivenVerdict
from storage.codec import encode, verdict_to_json
from storage.store import Store

StoredRecord = tuple[str, list[GivenVerdict]]  # an item's JSON text with its current verdicts

COLUMNS: dict[str, str] = {
    "study": "The study's name.",
    "item": "The item's id, as imported.",
    "cluster": "What ties items together (one prompt, one pair); empty when the item stands alone.",
    "model_a": "The model that wrote response A.",
    "model_b": "The model that wrote response B; empty under a direct protocol.",
    "tags": "The item's tags, separated by a vertical bar.",
    "length_a": "Characters of response A.",
    "length_b": "Characters of response B.",
    "rater": "Who gave the verdict.",
    "kind": "human or judge.",
    "label": "The verdict, un-swapped: what it says of response A as imported. Empty when there is none.",
    "soft_score": "The mean of the scale's values under the judge's label probabilities, un-swapped as the label is. "
    "Empty when its server told none.",
    "status": "ok; or unreadable, refused, cut_off or failed for a judge's reply without a verdict.",
    "order": "How the sides were shown: AB as imported, BA exchanged. Empty when unknown.",
    "reask": "How many times the judge was asked again before this reply; empty when it was the first.",
    "repeat": "true for an item shown again to the same person with the sides exchanged.",
    "confidence": "The rater's own, from 0 to 100.",
    "seconds": "How long the item was shown.",
    "comment": "The rater's comment.",
    "created": "When the verdict was given, in UTC.",
    "prompt_hash": "The hash of the rendered prompt the verdict is about.",
    "guideline_version": "The version of the guidelines it was given under.",
    "after_reveal": "true when it was given after the judge's verdict or the models were shown.",
}
_NUMBERS = {"length_a", "length_b", "confidence", "guideline_version", "reask"}
_MEASURES = {"seconds", "soft_score"}
_FLAGS = {"repeat", "after_reveal"}


def interchange_lines(store: Store, study: str) -> Iterator[str]:
    """Yield the study in the interchange format, one item a line, in the order of the import."""
    return lines_of(store.records(study))


def lines_of(records: Iterable[StoredRecord]) -> Iterator[str]:
    """Yield stored items with their current verdicts in the interchange format."""
    for body, given in records:
        if not given:
            yield body + "\n"
            continue
        value = json.loads(body)
        value["verdicts"] = [verdict_to_json(verdict) for verdict in given]
        yield encode(value) + "\n"


def long_rows(store: Store, study: str) -> Iterator[dict[str, Any]]:
    """Yield one row a verdict, with what is known of its item."""
    return rows_of(study, store.records(study))


def rows_of(study: str, records: Iterable[StoredRecord]) -> Iterator[dict[str, Any]]:
    """Yield one row a verdict of stored items, with what is known of the item."""
    for body, given in records:
        item = json.loads(body)
        about = {
            "study": study,
            "item": item["id"],
            "cluster": item.get("cluster"),
            "model_a": item.get("model_a"),
            "model_b": item.get("model_b"),
            "tags": "|".join(item.get("tags", ())) or None,
            "length_a": len(item["response_a"]),
            "length_b": len(item["response_b"]) if "response_b" in item else None,
        }
        for verdict in given:
            described = verdict_to_json(verdict)
            described["status"] = verdict.status
            yield {name: about.get(name, described.get(name)) for name in COLUMNS}


def csv_lines(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a table for spreadsheets; a cell that one would run as a formula is made inert, and import undoes it."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")  # a cell with either of the two is then put in quotes
    for values in _with_header(rows):
        writer.writerow([neutralised(_cell(value)) for value in values])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _with_header(rows: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    yield list(COLUMNS)
    for row in rows:
        yield list(row.values())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_parquet(rows: Iterable[dict[str, Any]], target: IO[bytes]) -> None:
    """Write the table as Parquet, with the meaning of every column in its metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {name: pa.string() for name in COLUMNS} | dict.fromkeys(_NUMBERS, pa.int64())
    kinds |= dict.fromkeys(_FLAGS, pa.bool_()) | dict.fromkeys(_MEASURES, pa.float64())
    fields = [pa.field(name, kinds[name], metadata={"description": told}) for name, told in COLUMNS.items()]
    schema = pa.schema(fields, metadata={"codebook": encode(COLUMNS)})
    with parquet.ParquetWriter(target, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in rows:
            batch.append(row)
            if len(batch) == 5000:
                writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
                batch = []
        writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))


def codebook() -> str:
    """Return what every column means, as a table in Markdown."""
    lines = ["| column | meaning |", "|---|---|", *(f"| `{name}` | {told} |" for name, told in COLUMNS.items())]
    return "\n".join(lines) + "\n"
