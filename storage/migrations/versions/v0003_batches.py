"""Batches: requests that are at a server together, and what has not come back of them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the two tables."""
    op.create_table(
        "batch",
        sa.Column("id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("lacks", sa.JSON(), nullable=False),
        sa.Column("input_file", sa.Text(), nullable=True),
        sa.Column("remote_id", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("expires", TIME, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("collected", TIME, nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_batch_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_batch"),
        sa.UniqueConstraint("token", name="uq_batch_token"),
    )
    op.create_index("ix_batch_run", "batch", ["run_id"], unique=False)
    op.create_table(
        "batch_request",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("order", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("batch_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_batch_request_run_id"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_batch_request_item_id"),
        sa.ForeignKeyConstraint(["batch_id"], ["batch.id"], name="fk_batch_request_batch_id"),
        sa.PrimaryKeyConstraint("run_id", "item_id", "order", "repeat", name="pk_batch_request"),
    )
    op.create_index("ix_batch_request_batch", "batch_request", ["batch_id", "item_id"], unique=False)
