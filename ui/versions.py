"""A protocol and the edited version of it, side by side."""

from __future__ import annotations

import re

from judge.domain import Prompt
from ui.difference import show_difference
from ui.display import escape

_PLACE = re.compile(r"(?P<file>.*?\.md):(?:(?P<line>\d+):)? (?P<reason>.*)", re.DOTALL)


def show_fault(message: str, source: str) -> str:
    """Return what is wrong with an edited protocol: the line, what stands there, and the reason."""
    found = _PLACE.fullmatch(message)
    line, reason = (found["line"], found["reason"]) if found else (None, message)
    where, quoted = "", ""
    if line is not None:
        where = f"Line {line}: "
        lines = source.split("\n")
        text = lines[int(line) - 1].strip() if int(line) <= len(lines) else ""
        quoted = f"<code>{escape(text[:200])}</code>" if text else ""
    return (
        '<div class="prompt"><p class="problem" role="alert"><strong>There is no prompt: the protocol has an error.'
        f"</strong> {where}{escape(reason)}{quoted}</p></div>"
    )


def show_notice(message: str) -> str:
    """Return why what the page's address asks for is not shown."""
    return f'<p class="problem" role="alert">{escape(message[:1].upper() + message[1:])}.</p>'


def show_versions(original: Prompt, edited: Prompt) -> str:
    """Return the prompts of the original and of the edited protocol beside each other, what differs marked."""
    before, after = _whole(original), _whole(edited)
    if before == after:
        return '<p class="unasked">Both versions send the same prompt.</p>'
    one, other = show_difference(before, after, ("the original", "the edited version"), "Prompt of")
    return f'<div class="versions">{_version("Original", before, one)}{_version("Edited", after, other)}</div>'


def _version(title: str, text: str, pane: str) -> str:
    return (
        f'<section class="message" aria-label="{title} prompt"><div class="message-head"><h2>{title}</h2>'
        f'<span class="facts">{len(text):,} characters</span></div>{pane}</section>'
    )


def _whole(prompt: Prompt) -> str:
    return f"{prompt.system}\n\n{prompt.user}" if prompt.system else prompt.user
