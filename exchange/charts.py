"""Charts as inline SVG: pure functions from numbers to markup, for the report and for the page.

Ink is currentColor and the two sides are CSS variables with fallbacks, so a chart follows the theme it stands in and
still has its colours when it is saved. Every chart carries a title and a description that says its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from exchange.drawing import (
    NARROW,
    ROW,
    WIDE,
    Frame,
    draw_chart,
    draw_line,
    draw_text,
    shorten,
    shorten_names,
    width_of,
)
from exchange.figures import write_percent, write_ranks
from exchange.sentences import NAMES, told

SIDE_A = "var(--side-a,#2f6fd6)"
SIDE_B = "var(--side-b,#b35a00)"
TOP, BOTTOM = 6, 42
AXIS_ROOM = 20  # on either side of an axis: its last number stands half outside
SQUAT = 0.62  # of a cell's width is its height
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
DASHES = ("none", "6 4", "2 3", "8 3 2 3", "12 4", "1 6")
STROKES = (2, 4, 1)  # their widths, when there are more judges than dashes


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an interval chart: a name, who it speaks of, an estimate as JSON has it, and what stands beside.

    A line may have a reference of its own, where it is not the same for all.
    """

    name: str
    kind: Literal["human", "judge", "none"]
    estimate: Mapping[str, Any]
    note: str = ""
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it is written: its name, its number, and what stands behind that."""

    name: str
    number: str
    note: str

    @property
    def beside(self) -> str:
        """Return the number and what stands behind it."""
        return f"{self.number} {self.note}".rstrip()


@dataclass(frozen=True, slots=True)
class Place:
    """Where things stand across a chart: where names end, a value is, numbers begin, and the notes behind them."""

    names: float
    x: Callable[[float], float]
    numbers: float
    notes: float


def interval_chart(
    title: str,
    rows: Sequence[Row],
    *,
    reference: float | None = None,
    percent: bool = False,
    frame: Frame = WIDE,
) -> str:
    """Return points with intervals on one axis, a dashed line at the reference; what is undefined is a dash."""
    ends = _domain(rows, reference)
    height = TOP + frame.row * len(rows) + BOTTOM
    lines = _write_lines(rows, frame, percent=percent)
    place = _arrange(lines, ends, frame)
    parts = [_axis(ends, height, place.x, percent), _counted(rows, height, frame)]
    described = []
    for at, (row, line) in enumerate(zip(rows, lines, strict=True)):
        why = row.estimate.get("why") or ""
        said = [f"{row.name}: {line.number}{f' ({why})' if why else ''}", row.note, f"n = {row.estimate.get('n', 0):,}"]
        described.append(", ".join(filter(None, said)))
        y = TOP + frame.row * (at + 0.5)
        parts.append(_reference(reference if row.reference is None else row.reference, y, place, frame))
        parts.append(f"<g><title>{escape(described[-1])}</title>{_row(row, line, (y, place), frame)}</g>")
    return draw_chart(title, "; ".join(described), height, "".join(parts), frame.width)


def _domain(rows: Sequence[Row], reference: float | None) -> tuple[float, float]:
    known = [row.estimate[key] for row in rows for key in ("value", "low", "high") if row.estimate[key] is not None]
    known += [each for each in (reference, *(row.reference for row in rows)) if each is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = (high - low) * 0.06 or 0.5
    return low - room, high + room


def _write_lines(rows: Sequence[Row], frame: Frame, *, percent: bool) -> list[Line]:
    names = shorten_names([row.name for row in rows], frame.name - 2)
    lines = []
    for row, short in zip(rows, names, strict=True):
        name = f"{_MARKS[row.kind]}{short}"
        undefined = row.estimate["value"] is None
        note = row.estimate.get("why") or "" if undefined else row.note
        line = Line(name, told(dict(row.estimate), percent=percent), note)
        room = frame.beside + (frame.name - len(name) if frame.stacked else 0)
        # Half a reason says less than none; the whole is in the tip.
        lines.append(line if len(line.beside) <= room else Line(name, line.number, ""))
    return lines


def _arrange(lines: Sequence[Line], ends: tuple[float, float], frame: Frame) -> Place:
    """Return where things stand: names and numbers take the room they need, the axis has the rest."""
    left, right = float(AXIS_ROOM), float(frame.width - AXIS_ROOM)
    noted = [line for line in lines if line.note and line.number != "–"]
    if not frame.stacked:
        left = 20 + width_of([line.name for line in lines], frame.name)
        right -= width_of([line.beside for line in lines], frame.beside) + (12 if noted else 0)
    (low, high), numbers = ends, right + AXIS_ROOM
    return Place(
        left - 12,
        lambda value: left + (right - left) * (value - low) / (high - low),
        numbers,
        numbers + width_of([line.number for line in noted], frame.beside) + 12,
    )


def _reference(value: float | None, y: float, place: Place, frame: Frame) -> str:
    """Return a line's piece of the reference; pieces at one value make one line."""
    if value is None:
        return ""
    # Beside the point alone where numbers stand between the lines: it would run through them.
    top, end = (y, y + 20) if frame.stacked else (y - ROW / 2, y + ROW / 2)
    return draw_line(place.x(value), top, place.x(value), end, "stroke-dasharray:4 3.5;opacity:.6")


def _row(row: Row, line: Line, where: tuple[float, Place], frame: Frame) -> str:
    made, (y, place) = row.estimate, where
    middle = y + 10 if frame.stacked else y
    parts = []
    if made["low"] is not None and made["high"] is not None:
        parts.append(draw_line(place.x(made["low"]), middle, place.x(made["high"]), middle, "stroke-width:2"))
    if made["value"] is not None:
        parts.append(_point(row.kind, place.x(made["value"]), middle))
    if frame.stacked:
        parts.append(draw_text(0, y - 6, line.name, small=True))
        parts.append(draw_text(frame.width, y - 6, line.beside, "end", small=True))
    else:
        parts.append(draw_text(place.names, y + 5, line.name, "end"))
        parts.append(draw_text(place.numbers, y + 5, line.number if made["value"] is not None else line.beside))
        if line.note and made["value"] is not None:
            parts.append(draw_text(place.notes, y + 5, line.note))
    return "".join(parts)


_MARKS = {"human": "● ", "judge": "◆ ", "none": ""}


def _point(kind: str, x: float, y: float) -> str:
    if kind == "judge":
        return f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z" style="fill:currentColor"/>'
    if kind == "human":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" style="fill:currentColor"/>'
    # What speaks of no rater has neither's mark.
    return draw_line(x, y - 7, x, y + 7, "stroke-width:4")


def _counted(rows: Sequence[Row], height: float, frame: Frame) -> str:
    """Return how many the numbers are from: a chart that was taken away has no numbers behind it."""
    known = (row.estimate for row in rows if row.estimate["value"] is not None)
    counts = sorted({int(made["n"]) for made in known if "n" in made})
    if not counts:
        return ""
    most = f" to {counts[-1]:,}" if len(counts) > 1 else ""
    return draw_text(frame.width, height - 4, f"n = {counts[0]:,}{most}", "end", small=True)


def ceiling_chart(judges: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return people with each other on top and each judge with people below, the gap at the right."""
    if not judges:
        return interval_chart("People with each other, and judges with people", [])
    widest = max(judges, key=lambda judge: judge["human_ceiling"]["n"])["human_ceiling"]
    rows = [Row("people with each other", "human", widest, reference=widest["value"])]
    for judge in judges:
        gap = told(judge["gap"])
        note = f"gap {gap}" if gap != "–" and frame is WIDE else ""
        # People are held against the judge on its own items, which may be others than another judge's.
        own = judge["human_ceiling"]["value"]
        rows.append(Row(judge["name"], "judge", judge["leave_one_out"], note, own))
    name = NAMES[judges[0]["statistic"]]
    title = f"{name[0].upper()}{name[1:]}"
    if frame is WIDE:
        title += ": people with each other (dashed: on the judge's items), and judges with people"
    return interval_chart(title, rows, frame=frame)


def position_chart(raters: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return how often the response shown first wins, for people and judges of whom it is known, against one half."""
    found = [(rater, rater["position"]["first_position_rate"]) for rater in raters if rater.get("position")]
    rows = [Row(rater["name"], rater["kind"], made) for rater, made in found if made["value"] is not None]
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
    known = [(model, write_ranks(model["bradley_terry"].get("rank"))) for model in sorted(models, key=_strongest_first)]
    rows = [Row(model["name"], "none", model["bradley_terry"], f"rank {rank}" if rank else "") for model, rank in known]
    source = models[0]["source"]
    by = f"{_MARKS['human']}people" if source == "humans" else f"{_MARKS['judge']}{source}"
    return interval_chart(f"Bradley–Terry strengths by {by}", rows, reference=0.0, frame=frame)


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
    order = show_order(labels)
    for down, row in enumerate(order):
        name, total = labels[row], sum(counts[row])
        y = top + cell * SQUAT * down
        parts.append(draw_text(left - 10, y + cell * SQUAT / 2 + 5, name, "end", colour=_side(name)))
        parts.append(draw_text(left + cell * (down + 0.5), top - 12, name, "middle", colour=_side(name)))
        for across, column in enumerate(order):
            count = counts[row][column]
            share = count / total if total else 0.0
            tip = f"{names[0]} {name}, {names[1]} {labels[column]}: {count:,} ({write_percent(share)} of the row)"
            described.append(tip)
            parts.append(_cell((left + cell * across, y, cell), (row, column), (count, share), (tip, links)))
    title = f"{names[0]} (rows) against {names[1]} (columns), n = {sum(map(sum, counts)):,}"
    if frame.stacked:
        title = f"{names[0]} ↓ {shorten(names[1], 18)} →"
    whole = draw_chart(title, "; ".join(described), height, "".join(parts), math.ceil(width))
    # An image has nothing inside that could be pressed; a group may.
    return whole.replace('role="img"', 'role="group"', 1) if links else whole


def show_order(labels: Sequence[str]) -> list[int]:
    """Return the places of a scale's labels in the order of reading: A before B, as on Review, and scores upwards."""
    order = list(range(len(labels)))
    return order[::-1] if labels and _side(labels[0]) == SIDE_B else order


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
        f"{draw_text(x + cell / 2, y + cell * SQUAT / 2 - 3, f'{count:,}', 'middle')}"
        f"{draw_text(x + cell / 2, y + cell * SQUAT / 2 + 13, write_percent(share), 'middle', small=True)}</g>"
    )


def _side(label: str) -> str:
    """Return the colour of the side that a label prefers; ties and scores are ink."""
    if label.rstrip("+") in ("A", "B"):
        return SIDE_A if label[0] == "A" else SIDE_B
    return "currentColor"


def curve_chart(judges: Sequence[Mapping[str, Any]], frame: Frame = WIDE) -> str:
    """Return the alternative annotator test's winning rate over its margin, with one half as what passes."""
    height = 240
    left, right = (28, frame.width - 8) if frame.stacked else (60, frame.width - 260)
    described, parts = [], [draw_line(left, height - 40, right, height - 40), draw_line(left, 20, left, height - 40)]

    def point(epsilon: float, rate: float) -> tuple[float, float]:
        return left + (right - left) * epsilon / 0.3, height - 40 - (height - 60) * rate

    parts += [draw_text(left - 8, point(0, rate)[1] + 5, f"{rate:g}", "end", small=True) for rate in (0.0, 0.5, 1.0)]
    parts += [draw_text(point(at, 0)[0], height - 22, f"{at:g}", "middle", small=True) for at in (0.0, 0.1, 0.2, 0.3)]
    axis = "ε, what the judge's cheapness is worth"
    parts.append(draw_text((left + right) / 2, height - 4, axis, "middle", small=True))
    parts.append(draw_line(left, point(0, 0.5)[1], right, point(0, 0.5)[1], "stroke-dasharray:4 4;opacity:.6"))
    named: list[str] = []
    for judge in judges:
        known = [(p["epsilon"], p["winning_rate"]) for p in judge["alt_test"]["curve"] if p["winning_rate"] is not None]
        told_as = ", ".join(f"ε {e:g}: {rate:.2f}" for e, rate in known) or judge["alt_test"]["why"] or "undefined"
        described.append(f"{judge['name']}: {told_as}")
        if known:
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y in (point(*one) for one in known))
            # Curves often run into each other: where two do, ink is darker and both can be seen.
            style = f"fill:none;stroke:currentColor;stroke-opacity:.6;{_stroke(len(named))}"
            tip = escape(described[-1])
            parts.append(f'<g><title>{tip}</title><polyline points="{way}" style="{style}"/></g>')
            named.append(judge["name"])
    parts.append(_legend(named, (8, height + 16) if frame.stacked else (right + 20, 24), frame))
    title = "Alternative annotator test: share of people the judge may replace"
    if frame.stacked:
        title, height = "Share of people it may replace", height + 10 + 20 * len(named)
    return draw_chart(title, "; ".join(described), height, "".join(parts), frame.width)


def _stroke(at: int) -> str:
    width = STROKES[at // len(DASHES) % len(STROKES)]
    return f"stroke-width:{width};stroke-dasharray:{DASHES[at % len(DASHES)]}"


def _legend(names: Sequence[str], corner: tuple[float, float], frame: Frame) -> str:
    """Return the names of the judges whose lines are drawn, each behind a piece of its line."""
    (x, y), parts = corner, []
    for at, name in enumerate(shorten_names(names, 34 if frame.stacked else 20)):
        middle = y + 20 * at
        parts.append(draw_line(x, middle, x + 32, middle, _stroke(at)))
        parts.append(draw_text(x + 40, middle + 5, f"{_MARKS['judge']}{name}"))
    return "".join(parts)


def flow_chart(flow: Mapping[str, Any], frame: Frame = WIDE) -> str:
    """Return how many items are left at each step from sampled to overlapping."""
    steps = ("sampled", "judged", "readable", "labelled", "overlapping")
    most, left = max([int(flow[step]) for step in steps] + [1]), 96 if frame.stacked else 108
    parts = []
    for place, step in enumerate(steps):
        y, width = 10 + 26 * place, (frame.width - left - 90) * flow[step] / most
        parts.append(draw_text(left - 12, y + 16, step, "end"))
        style = "fill:currentColor;fill-opacity:.25"
        parts.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="20" rx="4" style="{style}"/>')
        parts.append(draw_text(left + width + 8, y + 16, f"{flow[step]:,}"))
    described = ", ".join(f"{step} {flow[step]:,}" for step in steps)
    return draw_chart("Items at each step", described, 10 + 26 * len(steps), "".join(parts), frame.width)


def _axis(ends: tuple[float, float], height: float, x: Any, percent: bool) -> str:
    y, (low, high) = height - BOTTOM, ends
    parts = [draw_line(x(low), y, x(high), y, "opacity:.5")]
    for value in _ticks(low, high):
        places = 0 if math.isclose(100 * value, round(100 * value), abs_tol=1e-6) else 1
        label = write_percent(value, places) if percent else f"{value:.3g}".replace("-", "−")
        parts.append(draw_line(x(value), y, x(value), y + 5, "opacity:.5"))
        parts.append(draw_text(x(value), y + 20, label, "middle", small=True))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between the ends, about five of them."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in STEPS if power * factor >= rough * 0.999)
    return [round(at * step, 10) for at in range(math.ceil(low / step), math.floor(high / step) + 1)]
