"""A table of texts and the ways of writing it: plain text, Markdown and LaTeX; a dash is followed by its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from exchange.sentences import Told

MOST_COLUMNS = 7
_MARKDOWN = re.compile(r"[\\`*_<|]")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of texts, the first row being its head."""

    title: str
    head: list[str]
    rows: list[list[str]]


def fit(table: Table) -> Table:
    """Return a table with many columns and few rows turned on its side, so that it fits a page or a phone."""
    if len(table.head) < MOST_COLUMNS or len(table.rows) >= len(table.head):
        return table
    columns = [list(column) for column in zip(table.head, *table.rows, strict=True)]
    return Table(table.title, columns[0], columns[1:])


def add_notes(table: Table) -> tuple[Table, list[str]]:
    """Return the table with a raised number behind each cell that has no value or no interval, and the reasons."""
    numbered: dict[str, int] = {}

    def noted(cell: str) -> str:
        why = cell.why if isinstance(cell, Told) else ""
        return f"{cell}{_raised(numbered.setdefault(why, len(numbered) + 1))}" if why else cell

    rows = [[noted(cell) for cell in row] for row in table.rows]
    return Table(table.title, table.head, rows), [f"{_raised(number)} {why}" for why, number in numbered.items()]


def _raised(number: int) -> str:
    return str(number).translate(_RAISED)


def as_text(table: Table) -> str:
    """Return a table with aligned columns, for a terminal."""
    noted, notes = add_notes(table)
    lines = [noted.head, *noted.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(noted.head))]
    aligned = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
    return "\n".join([*aligned, *notes])


def as_markdown(table: Table) -> str:
    """Return a table in Markdown."""
    noted, notes = add_notes(table)

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(map(_plain, cells))} |"

    listed = [line(noted.head), f"|{'---|' * len(noted.head)}", *map(line, noted.rows)]
    return "\n".join(listed + (["", *map(_plain, notes)] if notes else [])) + "\n"


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is: a name is neither emphasis, nor code, nor a tag."""
    return _MARKDOWN.sub(r"\\\g<0>", text)


def all_as_markdown(tables: Sequence[Table]) -> str:
    """Return tables in Markdown, each under its title."""
    return "\n".join(f"{_plain(table.title)}\n\n{as_markdown(table)}" for table in tables)


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "–": "--",
    "×": r"$\times$",
    "●": r"$\bullet$",
    "◆": r"$\blacklozenge$",
    "ω": r"$\omega$",
    "ρ": r"$\rho$",
    "ε": r"$\epsilon$",
    "<": "$<$",
    ">": "$>$",
    **{_raised(digit): f"$^{digit}$" for digit in range(10)},
}


def as_latex(table: Table) -> str:
    """Return a table in LaTeX (booktabs; the judge's mark needs amssymb)."""
    noted, notes = add_notes(table)

    def line(cells: Sequence[str]) -> str:
        # A bracket or star that begins a row would be read as belonging to the line break before it.
        guard = "{}" if cells[0].startswith(("[", "*")) else ""
        return guard + " & ".join(map(_escape, cells)) + r" \\"

    head = [rf"\begin{{tabular}}{{{'l' * len(noted.head)}}}", r"\toprule", line(noted.head), r"\midrule"]
    below = [r"\par\footnotesize " + "; ".join(map(_escape, notes))] if notes else []
    return "\n".join([*head, *map(line, noted.rows), r"\bottomrule", r"\end{tabular}", *below]) + "\n"


def _escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def all_as_latex(tables: Sequence[Table]) -> str:
    """Return tables in LaTeX, each under its title, and what they need."""
    needed = "% In the preamble: \\usepackage{booktabs,amssymb}\n\n"
    return needed + "\n".join(f"{_escape(table.title)}\n\n{as_latex(table)}" for table in tables)
