"""The nouns of Accord: plain values that every room shares and that depend on nothing of ours.

Errors that a person can act on form one small tree; pages and the command line turn exactly
these into messages, and anything else is a bug:

    AccordError
    ├── ProtocolError    a protocol file cannot be used
    ├── ItemError        an item does not hold what the protocol needs
    ├── InputError       a file or an argument is wrong
    ├── StorageError     the database cannot be used
    ├── StudyError       there is no such study, or it does not allow this
    └── ClaimError       a claim cannot take this verdict; nothing was stored
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Kind = Literal["pairwise", "direct"]
Order = Literal["AB", "BA"]
RaterKind = Literal["human", "judge"]
Status = Literal["ok", "unreadable", "refused", "cut_off", "failed"]
FailureKind = Literal["key", "model", "rate", "server", "connection", "timeout", "context", "request", "bug"]

ORDERS: tuple[Order, ...] = ("AB", "BA")
LONGEST_NAME = 200  # characters in a rater's name
LONGEST_COMMENT = 10_000  # as many as the box on the page takes
LONGEST_TEXT = 1_000_000  # characters that somebody writes at once, such as guidelines


class AccordError(Exception):
    """Something a person can put right; the message says what and how."""


class ProtocolError(AccordError):
    """A protocol file cannot be used."""


class ItemError(AccordError):
    """An item does not hold what the protocol needs."""


class InputError(AccordError):
    """A file or an argument is wrong."""


class StorageError(AccordError):
    """The database cannot be used."""


class StudyError(AccordError):
    """There is no such study, or it does not allow this."""


class ClaimError(AccordError):
    """A claim cannot take this verdict; nothing was stored."""


def check_text(what: str, text: object, longest: int) -> None:
    """Refuse what is no text, is too long, or holds what neither every database nor any encoding can keep."""
    if not isinstance(text, str):
        raise InputError(f"{what} must be a text: nothing was stored")
    if len(text) > longest:
        raise InputError(f"{what} has {len(text):,} characters and may have at most {longest:,}: nothing was stored")
    if "\0" in text:
        raise InputError(f"{what} contains a NUL character: remove it. Nothing was stored")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{what} contains half a surrogate pair: remove it. Nothing was stored") from error


def content_hash(tag: str, *parts: str) -> str:
    """Return `tag:hex`, a hash of what kind of thing this is and of every part with its length.

    The tag and the lengths keep two different things from ever sharing a hash.
    """
    digest = hashlib.sha256(tag.encode())
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"\0%d\0" % len(data))
        digest.update(data)
    return f"{tag}:{digest.hexdigest()}"


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """What is judged (criteria) and what each score means; a missing description is empty."""

    criteria: str
    descriptions: tuple[str, str, str, str, str] = ("", "", "", "", "")


@dataclass(frozen=True, slots=True)
class Item:
    """A question with the response or responses under review; A and B are fixed by the import."""

    id: str
    conversation: tuple[Turn, ...]
    response_a: str
    response_b: str | None = None
    model_a: str | None = None
    model_b: str | None = None
    reference_answer: str | None = None
    checklist: tuple[str, ...] = ()
    rubric: Rubric | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """A verdict somebody has already given on an item; its label speaks of the sides as imported."""

    rater: str
    kind: RaterKind
    label: str | None
    status: Status = "ok"
    order: Order | None = None
    comment: str | None = None
    seconds: float | None = None
    created: datetime | None = None
    raw: str | None = None
    repeat: bool = False
    confidence: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Point:
    """One label of a scale, with its number and its meaning."""

    label: str
    value: float
    meaning: str = ""
    tie: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """The labels a verdict may have, lowest to highest for response A; those of a nominal one have no order."""

    points: tuple[Point, ...]
    nominal: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels, lowest first."""
        return tuple(point.label for point in self.points)

    @property
    def tie(self) -> str | None:
        """Return the label that means a tie, if the scale has one."""
        return next((point.label for point in self.points if point.tie), None)

    def mirror(self, label: str) -> str:
        """Return the label that says the same with the two sides exchanged."""
        labels = self.labels
        return labels[len(labels) - 1 - labels.index(label)]

    def value(self, label: str) -> float:
        """Return the number that stands for a label."""
        return self.points[self.labels.index(label)].value


@dataclass(frozen=True, slots=True)
class Span:
    """Where in a prompt the text of one field stands (code points, end exclusive)."""

    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class MarkerFound:
    """A value holds one of the protocol's own markers, which may steer the judge."""

    field: str
    marker: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.field} contains the protocol's own marker {self.marker!r}: it may steer the judge"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The exact messages a judge is sent, and where each field's text stands in them."""

    protocol: str
    order: Order
    system: str
    user: str
    spans: tuple[Span, ...]
    warnings: tuple[MarkerFound, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """Return the plain digest of the user message, as `sha256sum` would print it."""
        return hashlib.sha256(self.user.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def hash(self) -> str:
        """Return the tagged hash of everything the judge is sent, system message included."""
        return content_hash("prompt", self.system, self.user)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A label read from a reply, in the frame the judge saw, with the evidence for it."""

    label: str
    step: str
    start: int
    end: int
    parts: Mapping[str, str] = field(default_factory=dict)
    status: Literal["ok"] = "ok"


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """A reply without a label: unreadable, refused or cut off, and why; never a tie, never a zero."""

    status: Literal["unreadable", "refused", "cut_off"]
    why: str
    parts: Mapping[str, str] = field(default_factory=dict)


Reading = Verdict | NoVerdict


@dataclass(frozen=True, slots=True)
class Reply:
    """What a judge's server sent back, raw."""

    text: str
    finish_reason: str | None = None
    model: str | None = None
    reasoning: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    # The probability of each label where it stands in the reply, where the server tells.
    label_probabilities: Mapping[str, float] = field(default_factory=dict)
    # What the server would not take and was left out or written otherwise, e.g. "temperature".
    adapted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that brought no reply, with its kind; a fatal one would fail for every other item too."""

    kind: FailureKind
    message: str
    fatal: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ProtocolVersion:
    """A protocol as a study keeps it: the whole file, so that it can be loaded again as it was."""

    name: str
    hash: str
    kind: Kind
    scale: Scale
    source: str
    without_reference: ProtocolVersion | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """Items under one protocol, with its settings."""

    name: str
    protocol: ProtocolVersion
    wanted: int = 3
    seed: int = 0
    blind: bool = True
    reveal: bool = False
    repeat_share: float = 0.0
    claim_seconds: int = 1800
    guidelines: str = ""
    guideline_version: int = 1
    items: int = 0
    closed: datetime | None = None
    created: datetime | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one rater has come in a study."""

    done: int
    total: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A rater's hold on one of an item's places, with the item as imported and the order to show it in."""

    token: str
    study: str
    rater: str
    item: Item
    order: Order
    expires: datetime
    progress: Progress


@dataclass(frozen=True, slots=True)
class OwnVerdict:
    """What a rater said of a claim, in the frame they were shown."""

    label: str
    comment: str | None
    confidence: int | None
    at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class Held:
    """A claim with where it stands and what its rater said."""

    claim: Claim
    study: Study
    state: Literal["open", "done", "skipped", "expired"]
    verdict: OwnVerdict | None
    revealed: bool
    flagged: bool


@dataclass(frozen=True, slots=True)
class JudgeVerdict:
    """What a judge said of an item; its label speaks of the sides as imported."""

    judge: str
    status: Status
    label: str | None
    order: Order | None
    raw: str | None
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Pace:
    """How quick a rater is, in seconds a verdict, and how many verdicts all people have given of those wanted."""

    seconds: float | None
    given: int
    wanted: int


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Why a rater is given no item."""

    why: Literal["finished", "all items are held by others", "study is closed"]
    progress: Progress


@dataclass(frozen=True, slots=True)
class Saved:
    """A verdict that is in the database, for good."""

    verdict: int
    at: datetime
    label: str | None
    revision: int
