r"""TeX → MathML that a browser draws by itself, with the TeX kept beside it.

Models write TeX of every quality, and a formula that is drawn wrongly is worse than its source.
So whatever the converter does not know, or what would hide, move, colour or link something, or
lose a letter or a figure, is shown as source. The converter's own writer is not used: it leaves
`<` as it is. Only elements and attributes named here are ever written.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from ui.display import escape
from ui.plain import show_text

LONGEST = 2_000
_DEEPEST = 24

_REFUSED = re.compile(
    r"\\(?:def|let|gdef|edef|newcommand|renewcommand|newenvironment|DeclareMathOperator|href|url|style|class|unicode"
    r"|phantom|hphantom|vphantom|mathchoice|leftroot|uproot|rule|skew|includegraphics|input|verb)(?![a-zA-Z])"
    r"|(?<!\\)%|&#|\\\["
    r"|\\begin\s*\{(?!(?:[pbBvV]?matrix|smallmatrix|cases|array|split|align(?:ed)?|eqnarray|gather(?:ed)?|multline|equation)\*?\})",
)
_LEAVES = frozenset({"mi", "mn", "mo", "mtext"})
_SCRIPTS = frozenset({"msub", "msup", "msubsup", "munder", "mover", "munderover"})
_ELEMENTS = _LEAVES | _SCRIPTS | {"mrow", "mspace", "mfrac", "msqrt", "mroot", "mtable", "mtr", "mtd", "mstyle"}
_ELEMENTS |= {"menclose", "mpadded"}  # written as rows
_KEPT = re.compile(
    r"(?:stretchy|fence|movablelimits|displaystyle|accent|largeop|separator)=(?:true|false)"
    r"|form=(?:prefix|infix|postfix)|scriptlevel=[0-3]|linethickness=0"
    r"|(?:minsize|maxsize)=[0-3](?:\.\d{1,3})?em|(?:lspace|rspace)=0(?:\.\d{1,3})?em"
    r"|width=(?:[0-4]?(?:\.\d{1,3})?|-0?\.[0-3]\d{0,2})(?:em|ex)",
)
# Left out without loss: sizes of letters and of gaps.
_DROPPED = frozenset({"mathsize", "rowspacing", "columnspacing", "depth"})
_SPACES = {
    "thinmathspace": "0.167em",
    "mediummathspace": "0.222em",
    "thickmathspace": "0.278em",
    "negativethinmathspace": "-0.167em",
    "negativemediummathspace": "-0.222em",
    "negativethickmathspace": "-0.278em",
}
_FRAMES = {
    "box": "boxed",
    "updiagonalstrike": "struck-up",
    "downdiagonalstrike": "struck-down",
    "updiagonalstrike downdiagonalstrike": "struck-both",
    "horizontalstrike": "struck-through",
}
_VARIANTS = {
    "bold": "BOLD",
    "italic": "ITALIC",
    "bold-italic": "BOLD ITALIC",
    "double-struck": "DOUBLE-STRUCK",
    "script": "SCRIPT",
    "fraktur": "FRAKTUR",
    "sans-serif": "SANS-SERIF",
    "sans-serif-italic": "SANS-SERIF ITALIC",
    "monospace": "MONOSPACE",
}
_ENVIRONMENTS = re.compile(
    r"\\(?P<end>begin|end)\s*\{(?P<name>aligned|align|eqnarray|gather|gathered|multline|equation)\*?\}",
)
_RENAMED = {"gather": "matrix", "gathered": "matrix", "multline": "matrix", "equation": ""}
_REFERENCE = re.compile("&#x([0-9A-Fa-f]{1,6});")
_NOT_LETTERS = re.compile(
    r"\\(?:begin|end)\s*\{[a-zA-Z]+\*?\}(?:\s*\{[lcr|\s]*\})?|\\\\\s*\[[^\]]*\]"
    r"|\\(?:hspace|mspace|hskip|kern|mkern|mskip)\*?\s*\{?-?[\d.]+\s*[a-z]{2}\}?"
    r"|\\[a-zA-Z]+",
)


class _UnsupportedError(Exception):
    """The formula has something in it that is not drawn here."""


def show_formula(tex: str, source: str, *, block: bool) -> str:
    """Return a formula as MathML, or as its source where that is the only faithful way."""
    drawn = _draw(tex, block)
    if drawn is None:
        return show_tex(source)
    display = ' display="block"' if block else ""
    return (
        f'<span class="formula{" block" if block else ""}" title="{escape(source)}"><math{display}><semantics>{drawn}'
        f'<annotation encoding="application/x-tex">{escape(tex)}</annotation></semantics></math></span>'
    )


def show_tex(source: str) -> str:
    """Return the source of a formula as code."""
    return f'<code class="tex">{show_text(source)}</code>'


@lru_cache(maxsize=1024)
def _draw(tex: str, block: bool) -> str | None:
    is_seen = show_text(tex) == escape(tex)
    if len(tex) > LONGEST or _REFUSED.search(tex) or not is_seen:
        return None
    try:
        _check_depth(tex)
        element = convert_to_element(_prepare(tex), display="block" if block else "inline")
        _check_letters(tex, element)
        return _write(element[0])
    except Exception:  # noqa: BLE001 # a broken formula makes the converter fail in many ways
        return None


def _prepare(tex: str) -> str:
    """Return TeX in the environments that the converter knows, none of which counts equations."""

    def rename(found: re.Match[str]) -> str:
        name = _RENAMED.get(found["name"], "align*")
        return f"\\{found['end']}{{{name}}}" if name else " "

    prepared = _ENVIRONMENTS.sub(rename, tex)
    loose = "\\\\" in prepared and "\\begin" not in prepared and "\\substack" not in prepared
    return f"\\begin{{matrix}}{prepared}\\end{{matrix}}" if loose else prepared


def _check_depth(tex: str) -> None:
    depth = 0
    for found in re.finditer(r"\\left(?![a-z])|\\right(?![a-z])|\\begin|\\end|\\.|[{}]", tex):
        step = found[0]
        depth += 1 if step in ("{", "\\left", "\\begin") else -1 if step in ("}", "\\right", "\\end") else 0
        if depth > _DEEPEST:
            raise _UnsupportedError


def _check_letters(tex: str, element: Element) -> None:
    """Refuse a formula that would show fewer letters or figures than its source has."""
    shown = Counter(unicodedata.normalize("NFKC", "".join(_decode(text) for text in element.itertext())))
    wanted = Counter(unicodedata.normalize("NFKC", _NOT_LETTERS.sub(" ", tex)))
    if any(count > shown[each] for each, count in wanted.items() if each.isalnum()):
        raise _UnsupportedError


def _decode(text: str) -> str:
    return _REFERENCE.sub(lambda found: chr(int(found[1], 16)), text)


def _write(element: Element, depth: int = 0) -> str:
    tag, kept = element.tag, []
    if tag not in _ELEMENTS or depth > 3 * _DEEPEST:
        raise _UnsupportedError
    text = _decode(element.text or "")
    if text.startswith("\\") and len(text) > 1 and tag != "mtext":
        raise _UnsupportedError  # a command that the converter does not know
    if text == "&":
        raise _UnsupportedError
    attributes = dict(element.attrib)
    if tag == "menclose":
        tag, kept = "mrow", [f' class="{_FRAMES[attributes.pop("notation")]}"']
    elif tag == "mpadded":
        tag = _unpad(attributes)
    elif tag == "mtd":
        kept = [f' class="{align}"' for align in [attributes.pop("columnalign", "")] if align in ("left", "right")]
    elif tag == "mtable":
        _rule_columns(element, attributes)
    elif tag in _LEAVES:
        text = _vary(text, attributes.pop("mathvariant", ""))
        kept = [' mathvariant="normal"'] if tag == "mi" and element.get("mathvariant") == "normal" else []
        tag = "mo" if tag == "mi" and len(text) == 1 and unicodedata.category(text) == "Sm" else tag
    kept += _keep(attributes)
    children = "".join(_write(child, depth + 1) for child in element)
    return f"<{tag}{''.join(kept)}>{escape(text)}{children}</{tag}>"


def _keep(attributes: dict[str, str]) -> list[str]:
    kept = []
    for name, value in attributes.items():
        if name == "class" and value == "ruled":
            kept.append(' class="ruled"')
        elif name not in _DROPPED:
            plain = _SPACES.get(value, value)
            if not _KEPT.fullmatch(f"{name}={plain}"):
                raise _UnsupportedError
            kept.append(f' {name}="{plain}"')
    return kept


def _unpad(attributes: dict[str, str]) -> str:
    """Return the element for padding, which is drawn only where it sets a word above an arrow."""
    if attributes.get("width") != "+0.833em":
        raise _UnsupportedError
    attributes.clear()
    return "mrow"


def _rule_columns(table: Element, attributes: dict[str, str]) -> None:
    """Give the cells left of a vertical line its class; lines between rows are not drawn here."""
    lines = attributes.pop("columnlines", "").split()
    for row in table:
        for cell, line in zip(row, lines, strict=False):
            if line != "none":
                cell.attrib.pop("columnalign", None)
                cell.set("class", "ruled")


def _vary(text: str, variant: str) -> str:
    """Return letters in the alphabet asked for: browsers no longer do it by attribute."""
    if variant in ("", "normal"):
        return text
    return "".join(_in_alphabet(each, _VARIANTS[variant]) for each in text)


@lru_cache(maxsize=2048)
def _in_alphabet(letter: str, alphabet: str) -> str:
    name = unicodedata.name(letter, "").replace("LATIN ", "").replace("GREEK ", "").replace("LETTER ", "")
    for prefix in (f"MATHEMATICAL {alphabet} ", f"{alphabet.replace('FRAKTUR', 'BLACK-LETTER')} "):
        try:
            return unicodedata.lookup(prefix + name)
        except KeyError:
            continue
    return letter
