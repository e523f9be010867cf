r"""The dialect of Markdown in which a model's answer is shown.

CommonMark with tables and strikethrough, changed wherever Markdown would take away a character
that the writer may have meant:

- Raw HTML, entities, reference definitions and images are text.
- A backslash stays, and still takes the meaning from the character after it.
- `_` emphasises only a phrase (`_like this_`), never a name (`__init__`, `_private`).
- `*` opens emphasis only where it cannot be an operator: not after a letter, a figure or a bracket.
- Only `[text](https://…)` is a link; in `a[i](j)` the brackets stay.
- All `#` of a heading stay but those that open it; `>>>` is a prompt, not three quotations.
- A row with more cells than its table has columns would lose some: such a table is text.
- TeX stands between `$$…$$`, `\[…\]`, `\(…\)`, and `$…$` where it is maths and not money.
"""

from __future__ import annotations

import re
from string import punctuation

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, heading, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter

from ui.formulas import LONGEST

DEEPEST = 40
_MOST_COLUMNS = 100
_BLOCKS = ["paragraph", "reference", "blockquote", "list"]

_LABEL = r"(?P<label>(?:[^\[\]\n]|\[[^\[\]\n]{0,200}\]){1,500})"
_LINK = re.compile(
    rf"\[{_LABEL}\]"
    r"(?P<inside>\([ ]?(?P<url>https?://(?:[^\s()<>]|\([^\s()<>]*\)){1,2000})"
    r"""(?P<title>[ ]+(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?[ ]?\))""",
)
_IMAGE = re.compile(rf"!\[(?:{_LABEL})?\]\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)")
_PHRASE = re.compile(
    r"(?<![\w_])(?P<mark>__?)(?=[^\s_])(?P<words>[^_\n`\\\[\]$<>]*\s[^_\n`\\\[\]$<>]*)(?<!\s)(?P=mark)(?![\w_])"
)
_OPERAND = re.compile(r"[A-Za-z0-9_)\]}]")
_MONEY_OR_MATHS = re.compile(r"(?<![\w$\\])\$(?P<tex>(?![\s$])(?:[^$\n\\`]|\\[^\n]){1,400}(?<!\s))\$(?![\w$])")
_SIGN = re.compile(r"\\[a-zA-Z{}|,]|[\^_=<>+*/|]|(?<=\w)\s*-|-(?=\w)|\w\(")
_ATOM = re.compile(r"[^\W\d_]'*|[+-]?\d+(?:[.,]\d+)*[^\W\d_]{0,2}")
_NAMED = re.compile(r"\\[a-zA-Z]+(?:\s*\{[A-Za-z\s,.*-]*\})?")
_PROSE = re.compile(r"[^\W\d_]{3,}\s+[^\W\d_]{2,}|[^\W\d_]{12,}")
_OPENING = re.compile(r"\$\$|\\\[|\\begin\{(?P<name>equation|align|gather|multline|eqnarray|alignat)(?P<star>\*?)\}")
_CLOSINGS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}


def make_parser() -> MarkdownIt:
    """Return the parser of the dialect."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    parser.enable(["table", "strikethrough"])
    parser.disable(["reference", "html_block", "html_inline", "entity", "autolink"])
    parser.block.ruler.at("heading", _heading, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.block.ruler.at("blockquote", _blockquote, {"alt": _BLOCKS})
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.before("table", "formula", _formula_block, {"alt": _BLOCKS})
    for name, rule in (
        ("newline", _newline),
        ("escape", _escape),
        ("emphasis", _emphasis),
        ("link", _link),
        ("image", _image),
    ):
        parser.inline.ruler.at(name, rule)
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.parse("*")  # the first text compiles the rules: before threads share the parser
    return parser


def is_maths(tex: str) -> bool:
    """Tell whether text between two dollar signs, or in escaped brackets, is clearly a formula."""
    if _ATOM.fullmatch(tex.strip()):
        return True
    return bool(_SIGN.search(tex)) and not _PROSE.search(_NAMED.sub(" ", tex))


def _heading(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if not heading(state, start, end, silent):
        return False
    if not silent:
        opening, line = state.tokens[-3], state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
        state.tokens[-2].content = line[len(opening.markup) :].strip(" \t")
    return True


def _blockquote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    is_prompt = state.src.startswith(">>>", state.bMarks[start] + state.tShift[start])
    return not is_prompt and blockquote(state, start, end, silent)


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    kept, parent = len(state.tokens), state.parentType
    if _count_cells(state, start) > _MOST_COLUMNS or not table(state, start, end, silent):
        return False
    if silent or all(_count_cells(state, line) <= _count_cells(state, start) for line in range(start + 2, state.line)):
        return True
    del state.tokens[kept:]
    state.line, state.parentType = start, parent
    return False


def _count_cells(state: StateBlock, line: int) -> int:
    cells = escapedSplit(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip(" \t"))
    return len(cells) - (cells[0] == "") - (len(cells) > 1 and cells[-1] == "")


def _formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take lines from one that opens a display formula to one that ends with its closing."""
    opening = _OPENING.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if not opening or state.is_code_block(start):
        return False
    closing = _CLOSINGS.get(opening[0]) or f"\\end{{{opening['name']}{opening['star']}}}"
    first = opening.end()
    for line in range(start, min(end, start + 100)):
        if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return False
        at = state.src.find(closing, first if line == start else state.bMarks[line], state.eMarks[line])
        if at >= 0:
            break
    else:
        return False
    if state.src[at + len(closing) : state.eMarks[line]].strip(" \t"):
        return False
    if not silent:
        source = state.getLines(start, line + 1, state.blkIndent, False).strip(" \t")
        token = state.push("formula_block", "", 0)
        token.content = source
        token.markup = "$$"
        token.info = source if opening["name"] else source[len(opening[0]) : -len(closing)]
        state.line = line + 1
    return True


def _formula(state: StateInline, silent: bool) -> bool:
    at, source = state.pos, ""
    if state.src[at] == "$":
        source, tex = _dollars(state)
    elif state.src[at] == "\\" and state.src.startswith(("\\(", "\\["), at):
        closing = _CLOSINGS[state.src[at : at + 2]]
        until = state.src.find(closing, at + 2, min(state.posMax, at + LONGEST))
        tex = state.src[at + 2 : max(until, 0)]
        # `\[1\]` may be a citation with its brackets escaped.
        is_formula = tex.strip() and (closing == "\\)" or (_SIGN.search(tex) and is_maths(tex)))
        source = state.src[at : until + 2] if is_formula else ""
    if not source:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.info, token.markup = source, tex, source[:2]
    state.pos += len(source)
    return True


def _dollars(state: StateInline) -> tuple[str, str]:
    at = state.pos
    if state.src.startswith("$$", at):
        until = state.src.find("$$", at + 2, min(state.posMax, at + LONGEST))
        tex = state.src[at + 2 : max(until, 0)]
        return (f"$${tex}$$", tex) if tex.strip() and "$" not in tex and is_maths(tex) else ("", "")
    found = _MONEY_OR_MATHS.match(state.src, at, state.posMax)
    return (found[0], found["tex"]) if found and is_maths(found["tex"]) else ("", "")


def _newline(state: StateInline, silent: bool) -> bool:
    """Break the line, and leave the spaces at its ends as they are."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.push("softbreak", "br", 0)
    state.pos += 1
    return True


def _escape(state: StateInline, silent: bool) -> bool:
    pair = state.src[state.pos : min(state.pos + 2, state.posMax)]
    if pair[0] != "\\" or len(pair) < 2 or pair[1] not in punctuation:
        return False
    if not silent:
        state.append_pending(pair)
    state.pos += 2
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    if marker == "_":
        return _phrase(state)
    scanned = state.scanDelims(state.pos, canSplitWord=True)
    can_open = scanned.can_open and not (state.pos and _OPERAND.match(state.src[state.pos - 1]))
    for _ in range(scanned.length):
        state.push("text", "", 0).content = marker
        state.delimiters.append(
            Delimiter(ord(marker), scanned.length, len(state.tokens) - 1, -1, can_open, scanned.can_close)
        )
    state.pos += scanned.length
    return True


def _phrase(state: StateInline) -> bool:
    found = _PHRASE.match(state.src, state.pos, state.posMax)
    if not found:
        run = state.scanDelims(state.pos, canSplitWord=False).length
        state.append_pending("_" * run)
        state.pos += run
        return True
    kind = "em" if found["mark"] == "_" else "strong"
    state.push(f"{kind}_open", kind, 1)
    _tokenize(state, found.start("words"), found.end("words"))
    state.push(f"{kind}_close", kind, -1)
    state.pos = found.end()
    return True


def _link(state: StateInline, silent: bool) -> bool:
    found = _LINK.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "[" else None
    if not found or state.linkLevel:
        return False
    if not silent:
        state.push("link_open", "a", 1).content = found["url"]
        state.linkLevel += 1
        _tokenize(state, found.start("label"), found.end("label"))
        state.linkLevel -= 1
        is_told = found["label"] == found["url"] and not found["title"]
        state.push("link_close", "a", -1).content = "" if is_told else found["inside"]
    state.pos = found.end()
    return True


def _image(state: StateInline, silent: bool) -> bool:
    found = _IMAGE.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "!" else None
    if not found:
        return False
    if not silent:
        state.push("image", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _tokenize(state: StateInline, start: int, end: int) -> None:
    before = state.posMax
    state.pos, state.posMax = start, end
    state.md.inline.tokenize(state)
    state.posMax = before
