"""The trail in words: what each line of it says, and which lines belong together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.domain import InputError
from storage.trail import Entry

# By group and kind; what stands in braces is in the line's details.
TOLD: Mapping[str, Mapping[str, str]] = {
    "sign-ins": {
        "sign_in": "signed in",
        "sign_out": "signed out",
        "sign_in_failed": "somebody gave a wrong password for {account}, from {address}",
        "sign_in_blocked": "too many wrong passwords for {account}, or from {address}: nobody is let in for a while",
    },
    "accounts": {
        "account_added": "added the account {account} as {role}",
        "account_disabled": "disabled the account {account}",
        "account_enabled": "enabled the account {account}",
        "role_changed": "changed the role of {account} from {before} to {after}",
        "sessions_ended": "signed {account} out everywhere (sessions ended: {sessions})",
        "invited": "made a one-time link for {account}",
        "invitation_used": "chose a password with a one-time link",
        "invitation_withdrawn": "took the link for {account} back",
    },
    "exports": {"export": "exported {format}", "backup": "copied the whole database"},
    "looks": {
        "agreement_seen": "looked at the agreement",
        "disagreements_seen": "looked at the disagreements with {judge}",
        "item_seen": "looked at every verdict on the item {item}",
    },
    "studies": {
        "study_created": "made the study",
        "study_closed": "closed the study",
        "study_reopened": "opened the study again",
        "wanted_changed": "changed the verdicts wanted per item from {before} to {after}",
        "guidelines_changed": "wrote version {version} of the guidelines",
        "import": "imported {items} items and {verdicts} verdicts",
    },
    "judges": {
        "endpoint_kept": "named the endpoint {endpoint}, at {address}",
        "endpoint_removed": "removed the endpoint {endpoint}",
        "run_started": "started the judge {judge}",
        "run_stopped": "stopped run {run}",
        "run_resumed": "let run {run} go on",
        "judge_asked": "asked {judge} about the item {item}",
        "probed": "tried attacks on the judge {judge}",
        "reparsed": "read every stored reply again (verdicts changed: {changed})",
    },
    "annotators": {"skip": "skipped an item", "reveal": "was shown what was hidden of an item"},
}
_SENTENCES = {kind: words for group in TOLD.values() for kind, words in group.items()}


def kinds_of(group: str) -> tuple[str, ...]:
    """Return the kinds of line in a group; an empty name stands for all of them."""
    if group and group not in TOLD:
        raise InputError(f"{group!r} is not one of: {', '.join(TOLD)}")
    return tuple(TOLD.get(group, ()))


def tell(entry: Entry) -> str:
    """Return what a line of the trail says, after who it was."""
    details = {name: "an unknown name" if value is None else value for name, value in entry.details.items()}
    words = _SENTENCES.get(entry.kind, entry.kind)
    return words.format_map(_Known(details))


def as_json(entry: Entry) -> dict[str, Any]:
    """Return a line of the trail for programs."""
    return {
        "id": entry.id,
        "at": entry.at.isoformat(),
        "kind": entry.kind,
        "who": entry.who,
        "study": entry.study,
        "told": tell(entry),
        "details": dict(entry.details),
    }


class _Known(dict[str, Any]):
    """Details of which an older line may lack some."""

    def __missing__(self, name: str) -> str:
        return "?"
