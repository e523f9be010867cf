"""Texts that have broken pages before, and an independent account of what a rendered text must still show.

`must_show` knows nothing of the parser. It takes from a source what Markdown may consume, and only that:

- a line of nothing but `-`, `_`, `*`, `=`, `|`, `:`, `+`, `>` and white space: a rule, an underline, a table's ruler;
- at the start of a line: `>`, the bullets `-`, `+`, `*`, and the `#` of a heading (never the number of an item);
- backticks, `*` and `~` anywhere: code, fences, emphasis, strikethrough, bullets;
- `_` around a phrase with a space in it, never around or in one word;
- `|`, and a backslash before it, in a text that has a table's ruler;
- the square brackets of `[text](http…)`, and the address if it is the text itself;
- the delimiters of a formula: `$`, and a backslash with a round or square bracket;
- white space, which is checked by looking at code and raw text instead.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

VOID = {"br", "hr"}
_MARKUP_LINE = re.compile(r"[\s>|:=*_+-]*")
_RULER = re.compile(r"^[\s>]*\|?[\s:|-]*-[\s:|-]*$", re.MULTILINE)
_START = re.compile(
    r"(?:[ \t]*(?:>|[-+*](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)))*[ \t]*(?:#{1,6}(?=[ \t]|$))?",
)
_PHRASE = re.compile(r"(?<!\w)(__?)(?=[^\s_])([^_\n]*\s[^_\n]*)\1(?!\w)")
_SAME_LINK = re.compile(r"\[([^\[\]\n]+)\]\( ?\1 ?\)")
_LINK = re.compile(r"\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\](?=\( ?https?://)")


def load():
    """Return the texts by name; a long one is stored as a piece and how many times it stands."""
    cases = json.loads((Path(__file__).parent / "nasty_texts.json").read_text("utf-8"))
    return {case["name"]: case["text"] if "text" in case else case["piece"] * case["times"] for case in cases}


def shown(text):
    """Return what a page can show of a text: HTML holds no NUL and no half of a surrogate pair."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def must_show(source):
    lines = []
    text = _LINK.sub(r"\1", _SAME_LINK.sub(r"\1", shown(source)))
    for line in re.split(r"\r\n?|\n", text):
        if not _MARKUP_LINE.fullmatch(line):
            start = _START.match(line)[0]
            lines.append(re.sub(r"[>#*+-]", "", start) + line[len(start) :])
    rest = _PHRASE.sub(r"\2", "\n".join(lines))
    rest = re.sub(r"\\[\[\]()]|[`*~$]", "", rest)
    return squeeze(re.sub(r"\\?\|", "", rest) if _RULER.search(source.replace("\r", "\n")) else rest)


def squeeze(text):
    return "".join(text.split())


def is_within(part, whole):
    """Tell whether the characters of one text stand in the other in their order."""
    rest = iter(whole)
    return all(each in rest for each in part)


class Markup(HTMLParser):
    """What a browser would make of markup; a formula counts by its TeX, and our own notes do not count."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(source)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        inside = [name for name, _ in self.open]
        assert not ("p" in inside and tag in {"p", "div", "pre", "ul", "ol", "table", "blockquote", "h4", "h5", "h6"})
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        inside = [name for name, _ in self.open]
        is_note = any(attrs.get("class") == "note" for _, attrs in self.open)
        if not is_note and ("math" not in inside or "annotation" in inside):
            self.text += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data!r}")

    handle_decl = handle_pi = unknown_decl = handle_comment
