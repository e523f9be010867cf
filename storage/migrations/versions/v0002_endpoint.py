"""Servers of models that somebody has given a name."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the table; there is no column for a key, because keys are never stored."""
    op.create_table(
        "endpoint",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=True),
        sa.Column("key_env", sa.Text(), nullable=False),
        sa.Column("price_prompt", sa.Float(), nullable=True),
        sa.Column("price_completion", sa.Float(), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_endpoint"),
    )
