"""Accounts, their sessions and invitations, and the passwords that were tried in vain."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables; with no account in them, nobody has to sign in."""
    op.create_table(
        "account",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password", sa.Text()),
        sa.Column("created", TIME, nullable=False),
        sa.Column("disabled", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_account"),
        sa.UniqueConstraint("name", name="uq_account_name"),
    )
    for name in ("session", "invitation"):
        op.create_table(
            name,
            sa.Column("hash", sa.Text(), nullable=False),
            sa.Column("account_id", ID, nullable=False),
            sa.Column("created", TIME, nullable=False),
            sa.Column("expires", TIME, nullable=False),
            sa.PrimaryKeyConstraint("hash", name=f"pk_{name}"),
            sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=f"fk_{name}_account_id"),
        )
    op.create_table(
        "sign_in_try",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sign_in_try"),
    )
    op.create_index("ix_sign_in_try_created", "sign_in_try", ["created"])
