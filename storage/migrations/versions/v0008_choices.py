"""The tags and models of a study, each once: to offer them, a page need not look at every item."""

import sqlalchemy as sa
from alembic import op

from storage.choices import choice_rows

revision = "0008"
down_revision = "0007"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table and fill it from what is known of the items that are there."""
    op.create_table(
        "choice",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_choice_study_id"),
        sa.PrimaryKeyConstraint("study_id", "hash", name="pk_choice"),
    )
    facts = sa.table("fact", *(sa.column(name) for name in ("study_id", "model_a", "model_b", "tags")))
    choices = sa.table("choice", *(sa.column(name) for name in ("study_id", "hash", "kind", "name")))
    for study in op.get_bind().execute(sa.select(facts.c.study_id).distinct()).scalars().all():
        known = sa.select(facts.c.model_a, facts.c.model_b, facts.c.tags).where(facts.c.study_id == study).distinct()
        rows = choice_rows(study, [dict(row) for row in op.get_bind().execute(known).mappings()])
        if rows:
            op.get_bind().execute(sa.insert(choices), rows)
