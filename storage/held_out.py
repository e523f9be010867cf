"""The held-out part of a study: which items judges are tuned on, which are kept for the test, and who was tried there.

An item's part depends on the study's seed and on its question alone. So items of one question are never divided, an
item never moves when others are added, and two studies of one seed hold out the same questions: a prompt that is tuned
in one study, under another protocol, does not see the other's test part.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection, and_, bindparam, select

from storage.codec import encode
from storage.schema import facts, items, protocols, raters, runs, studies, verdicts
from storage.studies import StudyRow

Part = Literal["all", "development", "test"]
USUAL_SHARE = 0.5

_SCALE = float(2**64)
_QUESTIONS = select(facts.c.question_hash).where(facts.c.study_id == bindparam("study")).distinct()
_SHARING = (
    select(facts.c.study_id)
    .where(facts.c.study_id != bindparam("study"), facts.c.question_hash.in_(_QUESTIONS))
    .distinct()
)
_JUDGES = select(raters.c.id).where(raters.c.kind == "judge", raters.c.id.in_(bindparam("tried", expanding=True)))
# Every question on which a judge has a verdict, whatever came of it: a reply that could not be read was a trial too.
_TRIED = (
    select(verdicts.c.study_id, verdicts.c.rater_id, facts.c.question_hash)
    .join(items, items.c.id == verdicts.c.item_id)
    .join(facts, and_(facts.c.study_id == items.c.study_id, facts.c.position == items.c.position))
    .join(raters, raters.c.id == verdicts.c.rater_id)
    .where(raters.c.kind == "judge", verdicts.c.study_id.in_(_SHARING), facts.c.question_hash.in_(_QUESTIONS))
    .distinct()
)
_NAMED = (
    select(
        studies.c.name.label("study"),
        protocols.c.name.label("protocol"),
        protocols.c.hash.label("protocol_hash"),
        raters.c.name.label("judge"),
        runs.c.settings,
    )
    .select_from(studies)
    .join(protocols, protocols.c.id == studies.c.protocol_id)
    .join(raters, raters.c.id == bindparam("rater"))
    .outerjoin(runs, and_(runs.c.study_id == studies.c.id, runs.c.rater_id == raters.c.id))
    .where(studies.c.id == bindparam("study"))
    .order_by(runs.c.id)
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A way of judging that has been tried on test items: a judge under a protocol and with its settings.

    Settings are None for verdicts that came with a file; `studies` are those in which it was tried.
    """

    judge: str
    protocol: str
    protocol_hash: str
    settings: dict[str, Any] | None
    studies: tuple[str, ...]


def draw_question(question: str, seed: int) -> int:
    """Return the number that a question (its hash) has drawn, evenly from all of 64 bits."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{question}".encode(), digest_size=8).digest())


def is_test(question: str, seed: int, share: float) -> bool:
    """Return whether a question belongs to the test part, which holds about this share of them."""
    return draw_question(question, seed) < share * _SCALE


def choose_part(questions: Iterable[str], part: Part, seed: int, share: float) -> set[str]:
    """Return those of the questions that belong to a part."""
    tested = partial(is_test, seed=seed, share=share)
    return {question for question in questions if part == "all" or tested(question) == (part == "test")}


def list_variants(connection: Connection, study: StudyRow, share: float, tried: Iterable[int]) -> list[Variant]:
    """Return every variant with a verdict on this study's test questions, in any study that asks them too.

    `tried` are the raters who have one in the study itself.
    """
    here = connection.execute(_JUDGES, {"tried": list(tried)}).scalars()
    pairs = {(study.id, rater) for rater in here}
    if connection.execute(_SHARING, {"study": study.id}).first() is not None:
        elsewhere = connection.execute(_TRIED, {"study": study.id}).all()
        tested = choose_part({row.question_hash for row in elsewhere}, "test", study.study.seed, share)
        pairs |= {(row.study_id, row.rater_id) for row in elsewhere if row.question_hash in tested}
    found: dict[tuple[str, str, str], Variant] = {}
    for number, rater in sorted(pairs):
        for row in connection.execute(_NAMED, {"study": number, "rater": rater}):
            key = row.judge, row.protocol_hash, encode(row.settings)
            before = found[key].studies if key in found else ()
            found[key] = Variant(row.judge, row.protocol, row.protocol_hash, row.settings, (*before, row.study))
    return sorted(found.values(), key=lambda variant: (variant.judge, variant.protocol, variant.studies))
