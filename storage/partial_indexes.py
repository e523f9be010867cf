"""The indexes over a part of a table's rows.

They stand apart from the tables because only migrations look at them: SQLAlchemy loads PostgreSQL's dialect to know
what `postgresql_where` means, and no start on SQLite should wait for that.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, text

from storage.schema import calls, claims, items, metadata, verdicts

__all__ = ["metadata"]  # of every table, now with these indexes


def _add(name: str, columns: tuple[Column[object], ...], where: str, *, unique: bool = False) -> None:
    """Add an index to the table of its columns."""
    Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


_add("ix_item_free", (items.c.study_id, items.c.position), "free > 0")
_add(
    "uq_claim_held",
    (claims.c.item_id, claims.c.rater_id, claims.c.repeat),
    "state IN ('open', 'done')",
    unique=True,
)
_add("ix_claim_open", (claims.c.study_id, claims.c.expires), "state = 'open'")
_add("ix_call_prompt", (calls.c.prompt_hash,), "prompt_hash IS NOT NULL")
_add("uq_verdict_supersedes", (verdicts.c.supersedes,), "supersedes IS NOT NULL", unique=True)
_add("ix_verdict_claim", (verdicts.c.claim_id,), "claim_id IS NOT NULL")
