"""The report: one HTML file that loads nothing, runs nothing and prints well."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

from agreement.prediction_powered import ASSUMPTIONS
from exchange.charts import (
    ceiling_chart,
    confusion_chart,
    corrected_chart,
    curve_chart,
    flow_chart,
    length_chart,
    position_chart,
    strength_chart,
)
from exchange.figures import write_percent
from exchange.glossary import words_in
from exchange.grid import Table, add_notes, all_as_latex, all_as_markdown
from exchange.panel import SELECTIONS
from exchange.sentences import count_undecided
from exchange.tables import list_tables

STYLE = """
:root { color-scheme: light dark; --side-a: #2f6fd6; --side-b: #b35a00; --muted: #5b6472; --line: #d5dae1; }
@media (prefers-color-scheme: dark) {
  :root { --side-a: #7db0ff; --side-b: #f2a65a; --muted: #9aa5b4; --line: #3a4350; }
  body { background: #14181d; color: #e6e9ed; }
}
body { font: 16px/1.55 "IBM Plex Sans", system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere; }
h1 { font-size: 1.1rem; color: var(--muted); font-weight: 400; }
.sentence { font-size: 1.5rem; line-height: 1.35; margin: .5rem 0 1.5rem; }
h2 { font-size: 1.1rem; margin-top: 2.5rem; }
h3 { font-size: .95rem; margin: 1.5rem 0 .25rem; }
figure { margin: 1rem 0; break-inside: avoid; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
tbody th { font-weight: 400; }
pre { font: 12px/1.4 "IBM Plex Mono", monospace; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem; }
dt { font-weight: 700; } dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
.words { columns: 18rem; column-gap: 2rem; font-size: .85rem; }
.words div { break-inside: avoid; }
figcaption { font-size: .75rem; color: var(--muted); margin-top: .25rem; }
@media screen and (max-width: 700px) { svg.chart { min-width: 40rem; } }
@media (max-width: 700px) { th, td { white-space: normal; overflow-wrap: break-word; vertical-align: top; } }
@media print {
  :root { color-scheme: light; --side-a: #2f6fd6; --side-b: #b35a00; --muted: #444; --line: #bbb; }
  @page { margin: 15mm; }
  body { max-width: none; margin: 0; padding: 0; background: none; color: #000; font-size: 10.5pt; }
  .sentence { font-size: 15pt; }
  details, .copies { display: none; }
  h2, h3 { break-after: avoid; }
  figure { overflow: visible; }
  figure:has(table) { break-inside: auto; }
  table { width: 100%; font-size: 7.5pt; }
  th, td { white-space: normal; overflow-wrap: break-word; padding: .15rem .4rem .15rem 0; vertical-align: top; }
  thead { display: table-header-group; }
  tr, li, dt { break-inside: avoid; }
  dt { break-after: avoid; }
  svg.chart { max-height: 16cm; }
}
"""
LONG_WORD = 20
COMBINED = {
    "strict": "where they differ the item is a tie, or left out on a scale without one",
    "drop": "where they differ the item is left out",
    "mean": "the label nearest to their mean",
    "first": "the first order alone",
}
PLACES = re.compile(r"[^\w\s]+|\w{16}(?=\w)|_+")


def write_report(value: dict[str, Any]) -> str:
    """Return the report of a study's agreement, as `agree` gives it."""
    body = "".join(_sections(value))
    name = escape(value["study"])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Agreement in {name}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>Agreement in the study {name}</h1>"
        f'<p class="sentence">{escape(value["sentence"])}</p>{body}</body></html>\n'
    )


def _sections(value: dict[str, Any]) -> Iterator[str]:
    if value["warnings"]:
        listed = "".join(f"<li>{escape(warning)}</li>" for warning in value["warnings"])
        yield f"<h2>Beware</h2><ul>{listed}</ul>"
    for title, charts in list_charts(value).items():
        yield f"<h2>{escape(title)}</h2>" + "".join(f"<figure>{chart}</figure>" for _, chart in charts)
    tables = list_tables(value)
    yield "<h2>Numbers</h2>"
    for table in tables:
        yield _table(table)
    yield _words(tables)
    yield _methods(value)
    yield '<h2 class="copies">Tables to copy</h2>'
    for name, write in (("Markdown", all_as_markdown), ("LaTeX", all_as_latex)):
        yield f"<details><summary>{name}</summary><pre>{escape(write(tables))}</pre></details>"


def list_charts(value: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """Return every chart that there are numbers for: sections, each a list of (name, SVG)."""
    judges, found = value["judges"], {"Flow": [("flow", flow_chart(value["flow"]))]}
    pairwise = value["kind"] == "pairwise"
    if any(judge["leave_one_out"]["value"] is not None for judge in judges):
        found["The human ceiling"] = [("ceiling", ceiling_chart(judges))]
    if judges:
        tables = [judge for judge in judges if judge["vs_consensus"]["n"]]
        found["Confusion with the people's consensus"] = [
            (
                f"confusion-{at}",
                confusion_chart(
                    value["scale"], judge["vs_consensus"]["confusion"], ("● consensus", f"◆ {judge['name']}")
                ),
            )
            for at, judge in enumerate(tables)
        ]
    if pairwise and any(rater["position"]["first_position_rate"]["value"] is not None for rater in value["raters"]):
        found["Position"] = [("position", position_chart(value["raters"]))]
    if judges:
        if pairwise and any(judge["length"]["judge"]["value"] is not None for judge in judges):
            found["Length"] = [("length", length_chart(judges))]
        if any(point["winning_rate"] is not None for judge in judges for point in judge["alt_test"]["curve"]):
            found["May the judge stand in for a person?"] = [("alt-test", curve_chart(judges))]
        found["Corrected by people's labels"] = [
            (f"corrected-{at}", corrected_chart(judge, percent=pairwise)) for at, judge in enumerate(judges)
        ]
    if pairwise and any(model["bradley_terry"]["value"] is not None for model in value["models"]):
        found["Models"] = [("strength", strength_chart(value["models"]))]
    return {title: charts for title, charts in found.items() if charts}


def _table(table: Table) -> str:
    def row(first: str, *rest: str) -> str:
        cells = "".join(f"<td>{_breakable(cell)}</td>" for cell in rest)
        return f'<tr><th scope="row">{_breakable(first)}</th>{cells}</tr>'

    noted, notes = add_notes(table)
    body = "".join(row(*cells) for cells in noted.rows)
    caption = f"<h3>{escape(table.title)}</h3>"
    below = f"<figcaption>{'<br>'.join(map(escape, notes))}</figcaption>" if notes else ""
    head = "".join(f'<th scope="col">{_breakable(cell)}</th>' for cell in table.head)
    return f"{caption}<figure><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</figure>"


def _breakable(text: str) -> str:
    """Return a cell's text with places to break in names that have none, so that no column is wider than the paper."""
    words = (PLACES.sub(r"\g<0>\n", word) if len(word) > LONG_WORD else word for word in text.split(" "))
    return escape(" ".join(words)).replace("\n", "<wbr>")


def _words(tables: list[Table]) -> str:
    """Return what the words of the tables mean."""
    listed = "".join(
        f"<div><dt>{escape(word)}</dt><dd>{escape(meant)}.</dd></div>" for word, meant in words_in(tables).items()
    )
    return f'<h2>Words</h2><dl class="words">{listed}</dl>' if listed else ""


def _methods(value: dict[str, Any]) -> str:
    """Return how every number was made: raters, protocol, rules, seed."""
    rules = value["options"]
    people = sum(rater["kind"] == "human" for rater in value["raters"])
    chosen = "; ".join(f"{name}: {found}" for name, found in rules["filters"].items()) or "none"
    unit = "items" if value["clusters"] == value["items"] else f"{value['clusters']} clusters ({rules['cluster']})"
    facts = {
        "Raters": f"{people} annotators and {len(value['judges'])} judges; only verdicts given before any reveal "
        "count, and of several revisions the last of those.",
        "Protocol": f"{value['protocol']}, {value['protocol_hash']}; labels {' '.join(value['declared_scale'])}.",
        "Scale in force": f"{' '.join(value['scale'])} (levels: {rules['levels']}).",
        "A judge's two orders": f"{rules['combine']}: {COMBINED[rules['combine']]}. An item asked in one order only is "
        "taken as it is.",
        "Length rule": _length_rule(rules["length_k"]),
        "Consensus": f"{value['consensus']['rule']}{_undecided(value)}; no judge is ever part of it. Scores, win "
        "rates, rewards and corrections are held against the mean of an item's people instead, on every item that a "
        "person has labelled.",
        "Missing": "A reply that could not be read, a refusal and a failure are missing: never a tie, never a zero.",
        "Intervals": f"95 %, {value['resamples']} resamples of {unit}, seed {value['seed']}, or the jackknife where "
        "there are so many that it says the same, for fewer than 20 clusters, and for Pearson's r between models; each "
        "number names its method in agreement.json. Numbers about models resample questions, unless clusters are "
        "named. They speak of other items, for these raters.",
        "Human ceiling": "Each person against each other person, and the judge against each person, on the items that "
        "have the judge and two people; nobody is compared with themselves.",
        "Alternative annotator test": f"Calderon, Reichart and Dror 2025, ε = {rules['epsilon']:g}, "
        "Benjamini–Yekutieli at 0.05.",
        "Correction": f"Prediction-powered (PPI++). Labelled items were chosen: {rules['chosen']}. It assumes: "
        f"{ASSUMPTIONS[SELECTIONS.get(rules['chosen'], 'known chances')]}.",
        "Held-out part": _split(value["split"]),
        "Filters": chosen,
    }
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    return f"<h2>Methods</h2><dl>{listed}</dl>"


def _length_rule(limit: float | None) -> str:
    if limit is None:
        return "none."
    return f"a judge's slight win is a tie if the winner is longer by more than {limit:g} characters."


def _undecided(value: dict[str, Any]) -> str:
    """Return what becomes of the items on which people have no majority."""
    if value["consensus"].get("undecided") == "tie":
        return ", more than half of an item's votes; an item without is a tie"
    if value["consensus"]["rule"] == "majority":
        return f", more than half of an item's votes; items without are left out ({count_undecided(value)})"
    return ""


def _split(split: dict[str, Any]) -> str:
    if split["part"] == "all":
        return "none: all items are counted."
    sizes = split["items"]
    return (
        f"the {split['part']} part. Questions are divided by the study's seed ({split['seed']}), about "
        f"{write_percent(split['test_share'])} of them to the test part: {sizes['development']} items in development, "
        f"{sizes['test']} in test. Variants (judge, protocol and settings) with verdicts on the test part: "
        f"{split['variants']}."
    )
