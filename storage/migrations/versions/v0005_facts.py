"""What statistics ask of an item, kept beside its texts so that a million verdicts need not read them."""

import json

import sqlalchemy as sa
from alembic import op

from storage.codec import item_facts

revision = "0005"
down_revision = "0004"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CHUNK = 1000


def upgrade() -> None:
    """Create the table and fill it from the items that are there."""
    op.create_table(
        "fact",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.Text()),
        sa.Column("question_hash", sa.Text(), nullable=False),
        sa.Column("model_a", sa.Text()),
        sa.Column("model_b", sa.Text()),
        sa.Column("length_a", sa.Integer(), nullable=False),
        sa.Column("length_b", sa.Integer()),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_fact_study_id"),
        sa.PrimaryKeyConstraint("study_id", "position", name="pk_fact"),
    )
    items = sa.table("item", *(sa.column(name) for name in ("id", "study_id", "position", "body")))
    facts = sa.table("fact", *(sa.column(name) for name in _COLUMNS))
    after = 0
    while True:
        page = sa.select(items).where(items.c.id > after).order_by(items.c.id).limit(CHUNK)
        rows = op.get_bind().execute(page).all()
        if not rows:
            return
        known = [(row.study_id, row.position, item_facts(json.loads(row.body))) for row in rows]
        op.get_bind().execute(sa.insert(facts), [{"study_id": s, "position": p, **found} for s, p, found in known])
        after = rows[-1].id


_COLUMNS = (
    "study_id",
    "position",
    "cluster",
    "question_hash",
    "model_a",
    "model_b",
    "length_a",
    "length_b",
    "tags",
)
