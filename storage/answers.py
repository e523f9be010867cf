"""Answers that took a while to make, kept in the database so that no start of the program has to make them again."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, select, update

from storage.raters import add_if_absent
from storage.schema import answers

MOST_KEPT = 16  # of a study
_QUICK = 1  # of nine ways to compress: a tenth of the room for hardly any time

_MINE = and_(answers.c.study_id == bindparam("study"), answers.c.question == bindparam("asked"))
_FIND = select(answers.c.state, answers.c.seconds, answers.c.made, answers.c.body).where(_MINE)
_LAST = (
    select(answers.c.question)
    .where(answers.c.study_id == bindparam("study"))
    .order_by(answers.c.made.desc(), answers.c.question)
    .limit(MOST_KEPT)
)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer, the state of things it was made from, when, and how long that took."""

    value: Any
    state: str
    made: datetime
    seconds: float


def find_answer(connection: Connection, study_id: int, question: str) -> StoredAnswer | None:
    """Return the last answer to a question about a study, if it was kept."""
    row = connection.execute(_FIND, {"study": study_id, "asked": question}).one_or_none()
    return None if row is None else StoredAnswer(_unpack(row.body), row.state, row.made, row.seconds)


def keep_answer(connection: Connection, study_id: int, question: str, answer: StoredAnswer) -> None:
    """Keep an answer in place of the last one to the same question; of many, the oldest go."""
    values = {"state": answer.state, "seconds": answer.seconds, "made": answer.made, "body": _pack(answer.value)}
    place = {"study": study_id, "asked": question}
    if not connection.execute(update(answers).where(_MINE).values(**values), place).rowcount:
        add_if_absent(connection, answers, study_id=study_id, question=question, **values)
        old = answers.c.study_id == study_id, answers.c.question.not_in(_LAST)
        connection.execute(delete(answers).where(*old), {"study": study_id})


def _pack(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, allow_nan=False).encode(), _QUICK)


def _unpack(body: bytes) -> Any:
    return json.loads(zlib.decompress(body))
