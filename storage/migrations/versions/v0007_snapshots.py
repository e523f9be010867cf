"""What statistics would otherwise make anew at every start: a study's verdicts as columns, and answers that took long.

Verdicts are only ever added, and what is kept goes by that. Where one is changed or removed all the same, by an import
that finds its place among revisions or by somebody's hand, the study's count of changes tells: no number may rest on
what is no longer there.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create both tables, empty: they are filled when somebody asks for numbers."""
    op.create_table(
        "snapshot",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("form", sa.Text(), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_snapshot_study_id"),
        sa.PrimaryKeyConstraint("study_id", name="pk_snapshot"),
    )
    op.create_table(
        "answer",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("made", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_answer_study_id"),
        sa.PrimaryKeyConstraint("study_id", "question", name="pk_answer"),
    )
    op.add_column("study", sa.Column("changes", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_verdict_newest", "verdict", ["study_id", "id"])
    if op.get_bind().dialect.name == "sqlite":
        _count_in_sqlite()
    else:
        _count_in_postgresql()


def _count_in_sqlite() -> None:
    counted = "UPDATE study SET changes = changes + 1 WHERE id = OLD.study_id"
    for event in ("UPDATE", "DELETE"):
        op.execute(f"CREATE TRIGGER count_{event.lower()} AFTER {event} ON verdict BEGIN {counted}; END")


def _count_in_postgresql() -> None:
    """Count a statement once, whatever it changes."""
    op.execute(
        "CREATE FUNCTION count_changes() RETURNS trigger AS $$ BEGIN UPDATE study SET changes = changes + 1 "
        "WHERE id IN (SELECT study_id FROM changed); RETURN NULL; END $$ LANGUAGE plpgsql"
    )
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER count_{event.lower()} AFTER {event} ON verdict REFERENCING OLD TABLE AS changed "
            "FOR EACH STATEMENT EXECUTE FUNCTION count_changes()"
        )
