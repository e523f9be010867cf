"""Charts as inline SVG: pure functions from numbers to markup, for the report and for the page.

Ink is currentColor and the two sides are CSS variables with fallbacks, so a chart follows the theme it stands in and
still has its colours when it is saved. Every chart carries a title and a description that says its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from exchange.figures import write_percent
from exchange.sentences import NAMES, told

SIDE_A = "var(--side-a,#2f6fd6)"
SIDE_B = "var(--side-b,#b35a00)"
ROW, TALL_ROW = 30, 50
TOP, BOTTOM = 6, 34
HEADING = 28
SQUAT = 0.62  # of a cell's width is its height
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Frame:
    """The width of a chart, the room for names and for what stands beside, and how many characters fit in each.

    In a stacked chart names and numbers stand above what they speak of, not beside it.
    """

    width: int = 960
    left: int = 200
    right: int = 390
    name: int = 24
    beside: int = 50
    stacked: bool = False

    @property
    def row(self) -> int:
        """Return the height of a line."""
        return TALL_ROW if self.stacked else ROW


WIDE = Frame()
NARROW = Frame(620, 182, 206, 24, 29)  # for a card that shares its row
PHONE = Frame(330, 12, 12, 26, 20, stacked=True)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an interval chart: a name, who it speaks of, an estimate as JSON has it, and what stands beside."""

    name: str
    kind: Literal["human", "judge", "none"]
    estimate: Mapping[str, Any]
    note: str = ""


def interval_chart(
    title: str,
    rows: Sequence[Row],
    *,
    reference: float | None = None,
    percent: bool = False,
    frame: Frame = WIDE,
) -> str:
    """Return points with intervals on one axis, a dashed line at the reference; what is undefined is a dash."""
    low, high = _domain(rows, reference)
    height = TOP + frame.row * len(rows) + BOTTOM
    across = frame.width - frame.left - frame.right

    def x(value: float) -> float:
        return frame.left + across * (value - low) / (high - low)

    parts = [_axis((low, high), height, x, percent)]
    if reference is not None and low <= reference <= high:
        # Beside each point alone where numbers stand between the lines: it would run through them.
        middles = [TOP + frame.row * (place + 0.5) + 10 for place in range(len(rows))] if frame.stacked else []
        ends = [(middle - 10, middle + 10) for middle in middles] or [(TOP, height - BOTTOM)]
        parts += [_line(x(reference), top, x(reference), end, "stroke-dasharray:4 4;opacity:.6") for top, end in ends]
    described = []
    for place, row in enumerate(rows):
        y = TOP + frame.row * (place + 0.5)
        shown = told(dict(row.estimate), percent=percent)
        why = row.estimate.get("why") or ""
        described.append(f"{row.name}: {shown}{f' ({why})' if row.estimate['value'] is None else ''}")
        parts.append(_row(row, (x, y), (shown, why), frame))
    return _svg(title, "; ".join(described), height, "".join(parts), frame)


def _domain(rows: Sequence[Row], reference: float | None) -> tuple[float, float]:
    known = [row.estimate[key] for row in rows for key in ("value", "low", "high") if row.estimate[key] is not None]
    known += [] if reference is None else [reference]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = (high - low) * 0.06 or 0.5
    return low - room, high + room


def _row(row: Row, place: tuple[Any, float], told_as: tuple[str, str], frame: Frame) -> str:
    made, (x, y), (shown, why) = row.estimate, place, told_as
    name = f"{_MARKS[row.kind]}{row.name}"
    above, y = y - 6, y + 10 if frame.stacked else y  # where the texts of a stacked line stand
    if frame.stacked:
        parts = [_text(0, above, name, "start", limit=frame.name, small=True)]
    else:
        parts = [_text(frame.left - 12, y + 5, name, "end", limit=frame.name)]
    tip = escape(f"{row.name}: {shown}{f' ({why})' if why else ''}, n = {made.get('n', 0)}")
    if made["value"] is not None:
        inner = ""
        if made["low"] is not None and made["high"] is not None:
            inner += _line(x(made["low"]), y, x(made["high"]), y, "stroke-width:2")
        inner += _point(row.kind, x(made["value"]), y)
        parts.append(f"<g><title>{tip}</title>{inner}</g>")
    beside = f"{shown} {row.note or (why if made['value'] is None else '')}"
    if made["value"] is None and len(beside) > frame.beside:
        beside = shown  # half a reason says less than none; the whole is in the tip
    if frame.stacked:
        text = _text(
            frame.width, above, shown if made["value"] is not None else beside, "end", limit=frame.beside, small=True
        )
    else:
        text = _text(frame.width - frame.right + 12, y + 5, beside, "start", limit=frame.beside)
    parts.append(f"<g><title>{tip}</title>{text}</g>")
    return "".join(parts)


_MARKS = {"human": "● ", "judge": "◆ ", "none": ""}


def _point(kind: str, x: float, y: float) -> str:
    if kind == "judge":
        return f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" style="fill:currentColor"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" style="fill:currentColor"/>'


def ceiling_chart(judges: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return people with each other on top and each judge with people below, the gap at the right."""
    if not judges:
        return interval_chart("People with each other, and judges with people", [])
    first = judges[0]
    rows = [Row("people with each other", "human", first["human_ceiling"])]
    for judge in judges:
        gap = told(judge["gap"])
        note = f"gap {gap}" if gap != "–" and frame is WIDE else ""
        rows.append(Row(judge["name"], "judge", judge["leave_one_out"], note))
    reference = first["human_ceiling"]["value"]
    name = NAMES[first["statistic"]]
    title = f"{name[0].upper()}{name[1:]}"
    if frame is WIDE:
        title += ": people with each other, and judges with people"
    return interval_chart(title, rows, reference=reference, frame=frame)


def position_chart(raters: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return how often the response shown first wins, for people and judges alike, against one half."""
    rows = [Row(r["name"], r["kind"], r["position"]["first_position_rate"]) for r in raters if r.get("position")]
    return interval_chart("The response shown first wins", rows, reference=0.5, percent=True, frame=frame)


def length_chart(judges: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return how often the longer response wins, each judge above the people on the same items."""
    rows = []
    for judge in judges:
        difference = told(judge["length"]["difference"], percent=True)
        note = f"gap {difference}" if frame is WIDE else ""
        rows.append(Row(judge["name"], "judge", judge["length"]["judge"], note))
        rows.append(Row("people, same items", "human", judge["length"]["human"]))
    return interval_chart("The longer response wins", rows, reference=0.5, percent=True, frame=frame)


def corrected_chart(judge: Mapping[str, Any], percent: bool = True, frame: Frame = WIDE) -> str:
    """Return the corrected win rate (or mean score) beside the people's and the judge's own."""
    made = judge["corrected_win_rate"]
    rows = [
        Row("corrected", "none", made),
        Row("people only", "human", made["human_only"]),
        Row("judge only (biased)", "judge", made["judge_only"]),
    ]
    return interval_chart(f"{judge['name']}: {made['of']}", rows, percent=percent, frame=frame)


def strength_chart(models: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return Bradley-Terry strengths, strongest first, with their intervals of ranks."""
    known = sorted(models, key=_strongest_first)

    def rank(model: Mapping[str, Any]) -> str:
        found = model["bradley_terry"].get("rank")
        return f"rank {found[0]}–{found[1]}" if found else ""

    rows = [Row(model["name"], "none", model["bradley_terry"], rank(model)) for model in known]
    return interval_chart("Bradley–Terry strengths", rows, reference=0.0, frame=frame)


def _strongest_first(model: Mapping[str, Any]) -> tuple[bool, float]:
    strength = model["bradley_terry"]["value"]
    return strength is None, -(strength or 0.0)


def confusion_chart(
    labels: Sequence[str],
    counts: Sequence[Sequence[int]],
    names: tuple[str, str],
    links: bool = False,
    frame: Frame = NARROW,
) -> str:
    """Return a matrix of counts and shares of each row, darker for more; with `links` each cell can be clicked.

    A clickable cell is an element with class `cell` and data-row, data-column: the page listens for them.
    """
    size, top = len(labels), 32
    left = 52 if frame.stacked else 120
    cell = min(74.0, (frame.width - left - 4) / size) if frame.stacked else 74.0
    width, height = max(left + cell * size + 4, frame.width), top + cell * size * SQUAT + 6
    parts = []
    described = []
    for row, name in enumerate(labels):
        total = sum(counts[row])
        y = top + cell * SQUAT * row
        parts.append(_text(left - 10, y + cell * SQUAT / 2 + 5, name, "end", colour=_side(name)))
        parts.append(_text(left + cell * (row + 0.5), top - 12, name, "middle", colour=_side(name)))
        for column, count in enumerate(counts[row]):
            share = count / total if total else 0.0
            tip = f"{names[0]} {name}, {names[1]} {labels[column]}: {count} ({write_percent(share)} of the row)"
            described.append(tip)
            parts.append(_cell((left + cell * column, y, cell), (row, column), (count, share), (tip, links)))
    title = f"{names[0]} (rows) against {names[1]} (columns)"
    whole = _svg(title, "; ".join(described), height, "".join(parts), replace(frame, width=math.ceil(width)))
    # An image has nothing inside that could be pressed; a group may.
    return whole.replace('role="img"', 'role="group"', 1) if links else whole


def _cell(
    box: tuple[float, float, float], place: tuple[int, int], number: tuple[int, float], told_as: tuple[str, bool]
) -> str:
    (x, y, cell), (row, column), (count, share), (tip, links) = box, place, number, told_as
    outline = ";stroke:currentColor;stroke-opacity:.6" if row == column else ""
    marks = f' class="cell" tabindex="0" role="button" data-row="{row}" data-column="{column}"' if links else ""
    return (
        f"<g{marks}><title>{escape(tip)}</title>"
        f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{cell - 2:.1f}" height="{cell * SQUAT - 2:.1f}" rx="4" '
        f'style="fill:currentColor;fill-opacity:{0.03 + 0.3 * share:.2f}{outline}"/>'
        f"{_text(x + cell / 2, y + cell * SQUAT / 2 - 3, str(count), 'middle')}"
        f"{_text(x + cell / 2, y + cell * SQUAT / 2 + 13, write_percent(share), 'middle', small=True)}</g>"
    )


def _side(label: str) -> str:
    """Return the colour of the side that a label prefers; ties and scores are ink."""
    if label.rstrip("+") in ("A", "B"):
        return SIDE_A if label[0] == "A" else SIDE_B
    return "currentColor"


def curve_chart(judges: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return the alternative annotator test's winning rate over its margin, with one half as what passes."""
    height, dashes = 240, ("", "6 4", "2 3", "8 3 2 3")
    left, right = (28, frame.width - 8) if frame.stacked else (60, frame.width - frame.right)
    described, parts = [], [_line(left, height - 40, right, height - 40), _line(left, 20, left, height - 40)]

    def point(epsilon: float, rate: float) -> tuple[float, float]:
        return left + (right - left) * epsilon / 0.3, height - 40 - (height - 60) * rate

    parts += [_text(left - 8, point(0, rate)[1] + 5, f"{rate:g}", "end", small=True) for rate in (0.0, 0.5, 1.0)]
    parts += [_text(point(at, 0)[0], height - 22, f"{at:g}", "middle", small=True) for at in (0.0, 0.1, 0.2, 0.3)]
    parts.append(_text((left + right) / 2, height - 4, "ε, what the judge's cheapness is worth", "middle", small=True))
    parts.append(_line(left, point(0, 0.5)[1], right, point(0, 0.5)[1], "stroke-dasharray:4 4;opacity:.6"))
    for at, judge in enumerate(judges):
        known = [(p["epsilon"], p["winning_rate"]) for p in judge["alt_test"]["curve"] if p["winning_rate"] is not None]
        told_as = ", ".join(f"ε {e:g}: {rate:.2f}" for e, rate in known) or judge["alt_test"]["why"] or "undefined"
        described.append(f"{judge['name']}: {told_as}")
        if known:
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y in (point(*one) for one in known))
            style = f"fill:none;stroke:currentColor;stroke-width:2;stroke-dasharray:{dashes[at % 4] or 'none'}"
            tip = escape(described[-1])
            parts.append(f'<g><title>{tip}</title><polyline points="{way}" style="{style}"/></g>')
            parts.append(_curve_name(f"◆ {judge['name']}", point(*known[-1]), (at, len(judges)), frame))
    title = "Alternative annotator test: share of people the judge may replace"
    if frame.stacked:
        title = "Share of people the judge may replace"
    return _svg(title, "; ".join(described), height, "".join(parts), frame)


def _curve_name(name: str, end: tuple[float, float], place: tuple[int, int], frame: Frame) -> str:
    """Return a curve's name behind its end; where there is no room for that, below the curve and to the right."""
    at, many = place
    if frame.stacked:
        y = 190 - 18 * at if end[1] < 120 else 24 + 18 * at
        return _text(end[0], y, name, "end", limit=30)
    return _text(end[0] + 8, 24 + 18 * at if many > 1 else end[1] + 5, name, "start", limit=frame.beside)


def flow_chart(flow: Mapping[str, Any], frame: Frame = WIDE) -> str:
    """Return how many items are left at each step from sampled to overlapping."""
    steps = ("sampled", "judged", "readable", "labelled", "overlapping")
    most, left = max([int(flow[step]) for step in steps] + [1]), 96 if frame.stacked else frame.left
    parts = []
    for place, step in enumerate(steps):
        y, width = 10 + 26 * place, (frame.width - left - 90) * flow[step] / most
        parts.append(_text(left - 12, y + 16, step, "end"))
        style = "fill:currentColor;fill-opacity:.25"
        parts.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="20" rx="4" style="{style}"/>')
        parts.append(_text(left + width + 8, y + 16, str(flow[step]), "start"))
    described = ", ".join(f"{step} {flow[step]}" for step in steps)
    return _svg("Items at each step", described, 10 + 26 * len(steps), "".join(parts), frame)


def _axis(ends: tuple[float, float], height: float, x: Any, percent: bool) -> str:
    y, (low, high) = height - BOTTOM, ends
    parts = [_line(x(low), y, x(high), y, "opacity:.5")]
    for value in _ticks(low, high):
        places = 0 if math.isclose(100 * value, round(100 * value), abs_tol=1e-6) else 1
        label = write_percent(value, places) if percent else f"{value:.3g}".replace("-", "−")
        parts.append(_line(x(value), y, x(value), y + 5, "opacity:.5"))
        parts.append(_text(x(value), y + 20, label, "middle", small=True))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between the ends, about five of them."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in STEPS if power * factor >= rough * 0.999)
    return [round(at * step, 10) for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _line(x1: float, y1: float, x2: float, y2: float, style: str = "") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="stroke:currentColor;{style}"/>'


def _text(  # noqa: PLR0913 (what a text in a chart has)
    x: float, y: float, text: str, anchor: str, *, limit: int = 0, small: bool = False, colour: str = "currentColor"
) -> str:
    shown = f"{text[: limit - 1]}…" if limit and len(text) > limit else text
    size = 12 if small else 14
    style = f"font-size:{size}px;fill:{colour}"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{style}">{escape(shown)}</text>'


def _svg(title: str, described: str, height: float, inside: str, frame: Frame) -> str:
    whole, width = height + HEADING, frame.width
    limit = frame.width // 8
    shown = f"{title[: limit - 1]}…" if len(title) > limit else title
    heading = f'<text x="0" y="16" style="font-size:14px;font-weight:700;fill:currentColor">{escape(shown)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox="0 0 {width:.0f} {whole:.0f}" '
        f'style="max-width:{width:.0f}px;width:100%;font-family:inherit">'
        f"<title>{escape(title)}</title><desc>{escape(described)}</desc>{heading}"
        f'<g transform="translate(0 {HEADING})">{inside}</g></svg>'
    )
