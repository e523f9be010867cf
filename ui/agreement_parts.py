"""What the agreement page is made of: a number with its reason, a table, a card with a chart to take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exchange.drawing import NARROW, PHONE, Frame
from exchange.figures import write_decimal
from exchange.glossary import words_in
from exchange.grid import Table
from exchange.sentences import Told, told
from ui.display import escape

SIGNS = {"human": "●", "judge": "◆"}


def show_number(made: Mapping[str, Any], *, percent: bool = False) -> str:
    """Return an estimate with its interval; a dash carries its reason, on hover and for screen readers."""
    why = made.get("why") or ""
    if made["value"] is None:
        return show_dash(why or "undefined")
    about = "; ".join(part for part in (f"n = {made['n']:,}" if "n" in made else "", why) if part)
    return f'<span title="{escape(about)}">{escape(told(dict(made), percent=percent))}{_say(why)}</span>'


def _say(why: str) -> str:
    """Return why a number has no interval, for screen readers; others see it on hover."""
    return f'<span class="unseen"> ({escape(why)})</span>' if why else ""


def show_dash(why: str) -> str:
    """Return the dash that stands for a number there is none of."""
    return f'<span class="none" title="{escape(why)}">–<span class="unseen"> undefined: {escape(why)}</span></span>'


def show_rater(kind: str, name: str) -> str:
    """Return a rater's name behind the mark of their kind."""
    return f"{show_sign(kind, 'person' if kind == 'human' else 'judge')} <bdi>{escape(name)}</bdi>"


def show_sign(kind: str, said: str = "") -> str:
    """Return the mark of a kind of rater, and what screen readers say for it where no word beside it does."""
    heard = f'role="img" aria-label="{said}"' if said else 'aria-hidden="true"'
    return f'<span class="sign" {heard}>{SIGNS[kind]}</span>'


def cell(markup: str, value: float | str | None = None) -> str:
    """Return a table's cell; the value is what it is sorted by and what a CSV file has."""
    kept = "" if value is None else f' data-value="{escape(str(value))}"'
    return f"<td{kept}>{markup}</td>"


def count_cell(number: int) -> str:
    """Return a cell with how many there are."""
    return cell(f"{number:,}", number)


def estimate_cell(made: Mapping[str, Any], *, percent: bool = False, counted: bool = False) -> str:
    """Return a cell with an estimate, sorted by its value; a CSV file has its ends as well.

    `counted` is for tables whose cells are from different numbers of items.
    """
    shown = show_number(made, percent=percent)
    if made["value"] is None:
        return _exact_cell(shown, "", made)  # undefined sorts last, whichever way
    many = f' <span class="meant">(n {made["n"]:,})</span>' if counted else ""
    return _exact_cell(shown + many, made["value"], made)


def _exact_cell(markup: str, value: float | str, made: Mapping[str, Any]) -> str:
    ends = "".join(f' data-{end}="{made[end]}"' for end in ("low", "high") if made[end] is not None)
    return cell(markup, value).replace("<td", f"<td{ends}", 1)


def show_cells(name: str, heads: Sequence[tuple[str, str]], rows: Sequence[str], *, sorts: bool = False) -> str:
    """Return a table from rows of cells, each headed by its first; a column's head is a title and what it means."""
    titles = "".join(
        f'<th scope="col" title="{escape(meant)}">'
        + (f'<button type="button" data-sort>{escape(title)}</button>' if sorts else f"<bdi>{escape(title)}</bdi>")
        + "</th>"
        for title, meant in heads
    )
    return (
        f'<div class="table" role="region" aria-label="{escape(name)}" tabindex="0"><table><thead><tr>{titles}</tr>'
        f"</thead><tbody>{''.join(map(_row, rows))}</tbody></table></div>"
    )


def _row(cells: str) -> str:
    head = cells.replace("<td", '<th scope="row"', 1).replace("</td>", "</th>", 1)
    return f"<tr>{head}</tr>"


def show_texts(name: str, table: Table) -> str:
    """Return a table of the report as the page has it, its dashes with their reasons, to be taken away as CSV."""

    def shown(text: str) -> str:
        why = text.why if isinstance(text, Told) else ""
        if text == "–":
            return cell(show_dash(why or "undefined"))
        markup = (
            f'<span title="{escape(why)}">{escape(text)}{_say(why)}</span>' if why else f"<bdi>{escape(text)}</bdi>"
        )
        made = text.estimate if isinstance(text, Told) else None
        return cell(markup) if made is None else _exact_cell(markup, made["value"], made)

    rows = ["".join(map(shown, row)) for row in table.rows]
    meanings = words_in([table])
    heads = [(head, meanings.get(head, "")) for head in table.head]
    return show_listing(name, show_cells(table.title, heads, rows), meanings=meanings)


def show_estimates(name: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return the numbers behind a chart: each estimate with its ends and how many it is from."""
    heads = [("what", ""), ("value", ""), ("low", "2.5 %"), ("high", "97.5 %"), ("n", "")]
    cells = []
    for title, made in rows:
        why = made.get("why") or "undefined"
        narrow = made["low"] is not None and made["high"] is not None and made["high"] - made["low"] < 0.01
        places = 4 if narrow else 3  # one more than beside the chart, where there is less room
        ends = (
            cell(show_dash(why)) if made[key] is None else cell(write_decimal(made[key], places), made[key])
            for key in ("value", "low", "high")
        )
        cells.append(f"{cell(title)}{''.join(ends)}{count_cell(made.get('n', 0))}")
    return show_cells(name, heads, cells)


def show_card(name: str, title: str, meant: str, body: str, *, wide: bool = False) -> str:
    """Return a card: its title, one sentence on what it shows, and what is in it."""
    return (
        f'<section class="card{" wide" if wide else ""}" id="card-{name}" aria-labelledby="title-{name}">'
        f'<h3 id="title-{name}">{escape(title)}</h3><p class="meant">{escape(meant)}</p>{body}</section>'
    )


def show_glossary(meanings: Mapping[str, str]) -> str:
    """Return what words mean, folded; nothing where there is nothing to explain."""
    if not meanings:
        return ""
    listed = "".join(f"<dt>{escape(word)}</dt><dd>{escape(meant)}.</dd>" for word, meant in meanings.items())
    return f'<details class="glossary"><summary>What are these?</summary><dl>{listed}</dl></details>'


def show_both(draw: Callable[[Frame], str], broad: Frame = NARROW) -> str:
    """Return a chart as a card has room for it, and as a phone has; the stylesheet shows one of them."""
    return f'<div class="broad">{draw(broad)}</div><div class="slim">{draw(PHONE)}</div>'


def show_figure(name: str, chart: str, numbers: str, of: str = "") -> str:
    """Return a chart with its numbers behind a toggle and the ways to take it away."""
    takes = "".join(
        f'<button type="button" data-take="{kind}" data-name="{escape(name)}" aria-label="Download {kind.upper()}: '
        f'{escape(name)}">{kind.upper()}</button>'
        for kind in ("svg", "png", "csv")
    )
    return (
        f'<div class="figure"{of}>'
        f'<figure tabindex="0" role="region" aria-label="Chart: {escape(name)}">{chart}</figure>'
        f'<div class="under"><details class="numbers"><summary>Numbers</summary>{numbers}</details>'
        f'<p class="takes">{takes}</p></div></div>'
    )


def show_reasons(numbers: str, why: str) -> str:
    """Return why there is no chart, before the numbers that it would have shown."""
    told_why = f'<p class="hint">There is no answer yet: {escape(why or "undefined")}.</p>'
    return f'{told_why}<details class="numbers"><summary>Numbers</summary>{numbers}</details>'


def show_listing(name: str, table: str, of: str = "", meanings: Mapping[str, str] | None = None) -> str:
    """Return a table that can be taken away as CSV, with what its words mean behind a toggle."""
    take = (
        f'<button type="button" data-take="csv" data-name="{escape(name)}" aria-label="Download CSV: {escape(name)}">'
        "CSV</button>"
    )
    under = f'<div class="under">{show_glossary(meanings or {})}<p class="takes">{take}</p></div>'
    return f'<div class="figure"{of}>{table}{under}</div>'
