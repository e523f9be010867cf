"""Servers of models that somebody has given a name, and what was asked of a run on a page."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a table and two columns; there is none for a key, because keys are never stored."""
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
    op.add_column("run", sa.Column("asked", sa.JSON(), nullable=True))
    op.add_column("run", sa.Column("stopped", sa.Text(), nullable=True))
