"""Text as it is: every character kept, and those that cannot be seen made visible.

A mark adds no character: the code that is shown in it is drawn by the stylesheet from `data-code`,
so that the text of the element, and what is copied from it, stay the source.
"""

from __future__ import annotations

import re
import unicodedata

from ui.display import escape

# Scripts and emoji in which a joiner or a non-joiner is ordinary spelling.
_JOINED = "\u0300-\u1fff\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\u3040-\ud7ff\uf900-\ufdff\ufe0e\ufe0f\ufe70-\ufefc"
_JOINED += "\U00010000-\U000dffff"
_HIDDEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSEEN = re.compile(
    rf"(?P<flag>\U0001f3f4[\U000e0020-\U000e007f]+)"
    rf"|(?:[{_HIDDEN}]|\r(?!\n)"
    rf"|(?<![{_JOINED}])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
    rf"|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}})+",
)


def show_text(text: str) -> str:
    """Return text as markup that shows exactly it, with a mark on what cannot be seen."""
    return "".join(_marked(text))


def show_raw(text: str, label: str = "Text as it came") -> str:
    """Return a whole text as it came, in a pane that can be scrolled by keyboard."""
    return show_pane(show_text(text), label)


def show_pane(markup: str, label: str, kind: str = "raw") -> str:
    """Return markup of plain text in its pane."""
    # The span keeps a line feed that opens the text: HTML drops one right after <pre>.
    return f'<pre class="{kind}" tabindex="0" aria-label="{escape(label)}"><span class="text">{markup}</span></pre>'


def _marked(text: str) -> list[str]:
    pieces, at = [], 0
    for found in _UNSEEN.finditer(text):
        if found["flag"]:
            continue
        pieces += [escape(text[at : found.start()]), _mark(found[0])]
        at = found.end()
    return [*pieces, escape(text[at:])]


def _mark(hidden: str) -> str:
    kinds = list(dict.fromkeys(hidden))
    codes = " ".join(f"U+{ord(each):04X}" for each in kinds[:3])
    codes += " …" if len(kinds) > 3 else ""
    codes += f" ×{len(hidden)}" if len(hidden) > 1 else ""
    name = unicodedata.name(hidden[0], "control character").lower()
    return f'<span class="unseen" title="{escape(name)}" data-code="{codes}">{escape(hidden)}</span>'
