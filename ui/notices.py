"""Small pieces of markup that several panels share: what went wrong or well, moments, ways to other pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from ui.display import escape

NUMBER = re.compile(r"[\d,.]+( %)?|–")


def show_failure(message: str, *, lead: str = "") -> str:
    """Return what went wrong and what to do about it."""
    head = f"<strong>{escape(lead)}</strong> " if lead else ""
    return f'<div class="notice problem" role="alert">{head}{escape(as_sentence(message))}</div>'


def show_success(message: str) -> str:
    """Return what has been done."""
    return f'<div class="notice done" role="status">{escape(as_sentence(message))}</div>'


def show_hint(message: str) -> str:
    """Return what to do next where there is nothing to show."""
    return f'<p class="hint">{escape(message)}</p>'


def show_empty(message: str, offer: str) -> str:
    """Return what to do next where there is no study, with a button that loads the example studies."""
    button = f'<button type="button" class="button" data-examples>{escape(offer)}</button>'
    return f'{show_hint(message)}<p>{button} <span class="hint" role="status"></span></p>'


def offer_studies(names: Sequence[str], path: str, words: str) -> str:
    """Return the studies a page can be opened for; where there is none, how to begin."""
    if not names:
        return show_empty(
            "There is no study yet. Make one on the Studies page, or load the examples.", "Load the example studies"
        )
    links = "".join(f"<li><bdi>{show_link(name, path, study=name)}</bdi></li>" for name in names)
    return f'{show_hint(words)}<ul class="offers">{links}</ul>'


def show_moment(moment: datetime | None) -> str:
    """Return a moment for the reader's own time zone, which the page's script knows."""
    if moment is None:
        return '<span class="muted">never</span>'
    return f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M} UTC</time>'


def show_link(text: str, path: str, **asked: str) -> str:
    """Return a way to another page, whose address the page's script completes."""
    return f'<a data-path="{escape(path)}"{_data(asked)}>{escape(text)}</a>'


def show_address(path: str, **asked: str) -> str:
    """Return a whole address to be read and copied, which the page's script completes."""
    return f'<code data-path="{escape(path)}"{_data(asked)}></code>'


def send_to(path: str, **asked: str) -> str:
    """Return markup that takes the visitor to another page."""
    return f'<span data-go="{escape(path)}"{_data(asked)}></span>'


def show_table(heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], name: str) -> str:
    """Return a table; a head is a title and what it means, a cell is markup. Columns of numbers end alike."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(heads)
    kinds = [' class="number"' if column and all(map(NUMBER.fullmatch, column)) else "" for column in columns]
    titles = "".join(
        f'<th scope="col" title="{escape(told)}"{kind}>{escape(title)}</th>'
        for (title, told), kind in zip(heads, kinds, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-head="{escape(title)}"{kind}>{cell}</td>'
            for (title, _), kind, cell in zip(heads, kinds, cells, strict=True)
        )
        + "</tr>"
        for cells in rows
    )
    return (
        f'<div class="table" role="region" aria-label="{escape(name)}" tabindex="0">'
        f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def show_bar(done: int, wanted: int, told: str) -> str:
    """Return how far something is, as a bar with its numbers beside it."""
    share = min(done / wanted, 1) if wanted else 0
    return (
        f'<span class="gauge" role="img" aria-label="{escape(told)}"><span style="width: {share:.1%}"></span></span>'
        f" <span>{escape(told)}</span>"
    )


def as_sentence(text: str) -> str:
    """Return text with a capital and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.rstrip().endswith((".", "?", "…")) else ".")


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 item`, `1,200 items`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _data(asked: dict[str, str]) -> str:
    return "".join(f' data-{name}="{escape(value)}"' for name, value in asked.items())
