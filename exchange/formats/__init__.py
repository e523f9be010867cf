"""Formats: foreign files become rows in the interchange shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exchange.formats import accord, argilla, label_studio, llm_comparator, mt_bench, prometheus, table, wildbench
from exchange.formats.conversion import Converter


@dataclass(frozen=True, slots=True)
class Format:
    """A shape that files come in: how it is told, and how its rows become ours."""

    name: str
    description: str
    recognise: Callable[[Any], bool]
    convert: Converter


_ALL = (
    Format("accord", "Accord's interchange format: one item a line.", accord.recognise, accord.convert),
    Format(
        "wildbench",
        "WildBench: the data set with model outputs, pairwise results or score results.",
        wildbench.recognise,
        wildbench.convert,
    ),
    Format(
        "prometheus",
        "Prometheus: rows with instruction, responses, reference and rubric.",
        prometheus.recognise,
        prometheus.convert,
    ),
    Format(
        "mt-bench",
        "MT-Bench and Chatbot Arena: pairwise judgments with both conversations.",
        mt_bench.recognise,
        mt_bench.convert,
    ),
    Format(
        "llm-comparator",
        "LLM Comparator: its JSON file of two models' answers and scores.",
        llm_comparator.recognise,
        llm_comparator.convert,
    ),
    Format("argilla", "Argilla: exported records of pairwise projects.", argilla.recognise, argilla.convert),
    Format(
        "label-studio",
        "Label Studio: the JSON export of pairwise projects.",
        label_studio.recognise,
        label_studio.convert,
    ),
    Format("csv", "A table with one column a field: CSV, TSV, Parquet or flat JSON.", table.recognise, table.convert),
)
FORMATS: dict[str, Format] = {each.name: each for each in _ALL}


def detect(value: Any, *, is_table: bool = False) -> str | None:
    """Return the name of the format that a file's first row is in, if it is one of ours.

    A line of a text table (`is_table`) may bear the names of the interchange format without being in it:
    all its cells are text, and some carry the quotation mark that a table's reader has to take off.
    A JSON object that bears them is meant to be in it, so that what is wrong with it is said and not guessed away.
    """
    found = next((each.name for each in _ALL if each.recognise(value)), None)
    if not isinstance(value, dict):
        return found
    if is_table and found == "accord" and all(isinstance(cell, str | None) for cell in value.values()):
        return "csv"
    if not is_table and found == "csv" and accord.is_meant(value):
        return "accord"
    return found
