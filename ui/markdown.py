"""Markdown of a model → safe markup that keeps every character of the source that is not Markdown's own.

What may be taken away as markup: the marks of emphasis, code, quotations, bullets, headings, rules
and tables, the square brackets of a link and the delimiters of a formula, whose source stays beside
it; white space at the ends of blocks. Everything else is shown, in its order; ui/dialect.py says how
it differs from CommonMark. Nothing is loaded and nothing runs: the elements are written here, one by
one, and all text goes through `show_text`.

Texts that are too long, too deep or too dense with marks are shown as they came, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from markdown_it.token import Token

from ui.dialect import DEEPEST, make_parser
from ui.display import escape
from ui.formulas import show_formula, show_tex
from ui.plain import show_raw, show_text

LONGEST = 200_000
_LONGEST_KEPT = 20_000  # characters: what is kept of all texts stays within some tens of megabytes
_MOST_LINES = 10_000
_MOST_MARKS = 20_000
_MOST_FORMULAS = 1_000

_PARSER = make_parser()
_MARKS = re.compile(r"[*~\[`$\\]")
_URL = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_]")
_TASK = re.compile(r"\[[ xX]\](?=\s)")
_ALIGNMENTS = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}
_LINK = 'rel="noopener noreferrer nofollow" target="_blank"'
_TABLE = '<div class="table" tabindex="0" role="group" aria-label="Table"><table>'
_HEADINGS = {"h1": "h4", "h2": "h5", "h3": "h6", "h4": "h6", "h5": "h6", "h6": "h6"}
_PLAIN = {
    "softbreak": "<br>",
    "hr": "<hr>",
    "table_open": _TABLE,
    "table_close": "</table></div>",
    # Bullets and numbers stand where the text begins, on the right for some.
    "ordered_list_open": '<ol role="list" dir="auto">',
    **{
        f"{name}_{end}": f"<{'/' if end == 'close' else ''}{tag}>"
        for end in ("open", "close")
        for name, tag in {
            "blockquote": "blockquote",
            "thead": "thead",
            "tbody": "tbody",
            "tr": "tr",
            "em": "em",
            "strong": "strong",
            "s": "s",
        }.items()
    },
    "ordered_list_close": "</ol>",
    "bullet_list_open": '<ul dir="auto">',
    "bullet_list_close": "</ul>",
    "th_close": "</th>",
    "td_close": "</td>",
}


def show_markdown(text: str) -> str:
    """Return a model's Markdown as safe markup in which no character of the content is missing."""
    return _show_again(text) if len(text) <= _LONGEST_KEPT else _show(text)


@lru_cache(maxsize=1024)
def _show_again(text: str) -> str:
    """Show a text that several annotators are given, or that is made ready for one, only once."""
    return _show(text)


def _show(text: str) -> str:
    if len(text) > LONGEST:
        return _instead(text, f"it is longer than {LONGEST:,} characters")
    if text.count("\n") + text.count("\r") > _MOST_LINES:
        return _instead(text, f"it has more than {_MOST_LINES:,} lines")
    if len(_MARKS.findall(text)) > _MOST_MARKS:
        return _instead(text, "it has very many marks of Markdown")
    try:
        tokens = _PARSER.parse(text)
    except RecursionError:
        tokens = []
    if _is_too_deep(tokens) or (text.strip() and not tokens):
        return _instead(text, "it is nested very deeply")
    return f'<div class="markdown">{"".join(map(_Writer().write, tokens))}</div>'


def _instead(text: str, why: str) -> str:
    return f'<div class="markdown"><p class="note">This text is shown as it came: {why}.</p>{show_raw(text)}</div>'


def _is_too_deep(tokens: list[Token]) -> bool:
    inner = (child.level for token in tokens for child in token.children or ())
    return any(token.level >= DEEPEST - 1 for token in tokens) or any(level >= DEEPEST for level in inner)


class _Writer:
    """Writes tokens as markup, and knows what it is inside of."""

    def __init__(self) -> None:
        self.formulas = 0
        self.links = 0
        self.opens_item = False
        self.numbered: list[bool] = []
        self.special: dict[str, Callable[[Token], str]] = {
            "inline": self._content,
            "text": self._text,
            "formula": self._formula,
            "formula_block": self._display,
            "link_open": self._open_link,
            "link_close": self._close_link,
            "list_item_open": self._open_item,
            "list_item_close": self._close_item,
            "paragraph_open": lambda token: "" if token.hidden else "<p>",
            "paragraph_close": lambda token: "" if token.hidden else "</p>",
            "heading_open": lambda token: f'<{_HEADINGS[token.tag]} class="level-{token.tag[1]}">',
            "heading_close": lambda token: f"</{_HEADINGS[token.tag]}>",
            "fence": _code,
            "code_block": _code,
            "code_inline": lambda token: f"<code>{show_text(token.content)}</code>",
            "image": lambda token: (
                f'<span class="image" title="An image, not loaded">{show_text(token.content)}</span>'
            ),
            "th_open": _cell,
            "td_open": _cell,
        }

    def write(self, token: Token) -> str:
        special = self.special.get(token.type)
        return special(token) if special else _PLAIN[token.type]

    def _content(self, token: Token) -> str:
        children = token.children or []
        return self._task(children) + "".join(map(self.write, children))

    def _text(self, token: Token) -> str:
        return show_text(token.content) if self.links else _linked(token.content)

    def _open_item(self, token: Token) -> str:
        """Return the start of a list's item; its number is text, because a browser would count anew."""
        self.opens_item = True
        self.numbered.append(bool(token.info))
        number = f'<span class="number">{token.info}{token.markup}</span><div class="item">'
        return f"<li>{number if token.info else ''}"

    def _close_item(self, _: Token) -> str:
        self.opens_item = False
        return "</div></li>" if self.numbered.pop() else "</li>"

    def _task(self, children: list[Token]) -> str:
        """Take `[x]` off the first text of a list's item, and return its box."""
        is_text = self.opens_item and bool(children) and children[0].type == "text"
        self.opens_item = False
        found = _TASK.match(children[0].content) if is_text else None
        if not found:
            return ""
        children[0].content = children[0].content[3:]
        state = "to do" if found[0] == "[ ]" else "done"
        return f'<span class="task {state.replace(" ", "-")}" title="{state}">{found[0]}</span>'

    def _open_link(self, token: Token) -> str:
        self.links += 1
        return f'<a href="{escape(token.content)}" {_LINK}>'

    def _close_link(self, token: Token) -> str:
        self.links -= 1
        return f'</a><span class="url"> {show_text(token.content)}</span>' if token.content else "</a>"

    def _formula(self, token: Token) -> str:
        self.formulas += 1
        if self.formulas > _MOST_FORMULAS:
            return show_tex(token.content)
        return show_formula(token.info, token.content, block=token.markup in ("$$", "\\["))

    def _display(self, token: Token) -> str:
        return f'<div class="display">{self._formula(token)}</div>'


def _cell(token: Token) -> str:
    side = _ALIGNMENTS.get(str(token.attrGet("style")))
    return f'<{token.tag} class="{side}">' if side else f"<{token.tag}>"


def _code(token: Token) -> str:
    language = token.info.strip()
    label = f'<div class="language">{show_text(language)}</div>' if language else ""
    pane = f'<pre tabindex="0" aria-label="Code"><code>{show_text(token.content.removesuffix(chr(10)))}</code></pre>'
    return f'<div class="code">{label}{pane}</div>'


def _linked(text: str) -> str:
    """Return text in which web addresses can be followed."""
    pieces, at = [], 0
    for found in _URL.finditer(text):
        pieces += [
            show_text(text[at : found.start()]),
            f'<a href="{escape(found[0])}" {_LINK}>{show_text(found[0])}</a>',
        ]
        at = found.end()
    return "".join([*pieces, show_text(text[at:])])
