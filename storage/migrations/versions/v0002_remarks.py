"""What people remark on items."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the table of remarks."""
    op.create_table(
        "remark",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("judge_id", ID, nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("created", TIME, nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_remark_study_id")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_remark_item_id")),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name=op.f("fk_remark_rater_id")),
        sa.ForeignKeyConstraint(["judge_id"], ["rater.id"], name=op.f("fk_remark_judge_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remark")),
    )
    op.create_index("ix_remark_item", "remark", ["item_id", "rater_id"])
    op.create_index("ix_remark_study", "remark", ["study_id", "kind"])
