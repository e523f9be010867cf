"""What charts are drawn with: lines, texts that fit their room, and the frame around them, as inline SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import takewhile

ROW, TALL_ROW = 30, 50
HEADING = 28
# The width of letters of 14 px in a broad font: the report and a chart that was taken away do not bring ours along.
LETTER, SLIM, BROAD = 8.6, 5.2, 12.5
SLIM_ONES, BROAD_ONES = frozenset(" .,:;'|!()[]ijlt"), frozenset("%−@mwMW…●◆")


@dataclass(frozen=True, slots=True)
class Frame:
    """The width of a chart, and how many characters of a name and of what stands beside it there is room for.

    In a stacked chart names and numbers stand above what they speak of, not beside it.
    """

    width: int = 960
    name: int = 36
    beside: int = 46
    stacked: bool = False

    @property
    def row(self) -> int:
        """Return the height of a line."""
        return TALL_ROW if self.stacked else ROW


WIDE = Frame()
NARROW = Frame(620, 24, 34)  # for a card that shares its row
PHONE = Frame(330, 26, 26, stacked=True)


def width_of(texts: Sequence[str], most: int) -> float:
    """Return the room that texts take, none of them longer than this many characters."""

    def one(text: str) -> float:
        return sum(SLIM if sign in SLIM_ONES else BROAD if sign in BROAD_ONES else LETTER for sign in text[:most])

    return max(map(one, texts), default=0.0)


def shorten(text: str, limit: int) -> str:
    """Return a text cut in its middle: names of models differ at their ends."""
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[head + 1 - limit :]}"


def shorten_names(names: Sequence[str], limit: int) -> list[str]:
    """Return names cut to a length, different ones to different texts where that can be."""
    cut = [shorten(name, limit) for name in names]
    if len(set(cut)) == len(set(names)):
        return cut
    long = [name for name in names if len(name) > limit]
    common = len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*long, strict=False))))
    return [shorten(f"…{name[common:]}", limit) if len(name) > limit else name for name in names]


def draw_line(x1: float, y1: float, x2: float, y2: float, style: str = "") -> str:
    """Return a line in ink."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="stroke:currentColor;{style}"/>'


def draw_text(  # noqa: PLR0913 (what a text in a chart has)
    x: float, y: float, text: str, anchor: str = "start", *, small: bool = False, colour: str = "currentColor"
) -> str:
    """Return a text that begins at a place, ends there or has it in its middle."""
    style = f"font-size:{12 if small else 14}px;fill:{colour}"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{style}">{escape(text)}</text>'


def draw_chart(title: str, described: str, height: float, inside: str, width: float) -> str:
    """Return a chart under its title, with what it says for those who do not see it."""
    whole = height + HEADING
    shown = escape(shorten(title, int(width // 9.2)))
    heading = f'<text x="0" y="16" style="font-size:14px;font-weight:700;fill:currentColor">{shown}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" viewBox="0 0 {width:.0f} {whole:.0f}" '
        f'style="max-width:{width:.0f}px;width:100%;font-family:inherit">'
        f"<title>{escape(title)}</title><desc>{escape(described)}</desc>{heading}"
        f'<g transform="translate(0 {HEADING})">{inside}</g></svg>'
    )
