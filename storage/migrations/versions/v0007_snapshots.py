"""What statistics would otherwise make anew at every start: a study's verdicts as columns, and answers that took long.

Both go as soon as a verdict is changed or removed, by whomever: no number may rest on what is no longer there.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
FORGET = "DELETE FROM snapshot WHERE study_id = OLD.study_id; DELETE FROM answer WHERE study_id = OLD.study_id;"


def upgrade() -> None:
    """Create both tables, empty: they are filled when somebody asks for numbers."""
    op.create_table(
        "snapshot",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("form", sa.Integer(), nullable=False),
        sa.Column("verdicts", sa.Integer(), nullable=False),
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
    if op.get_bind().dialect.name == "sqlite":
        for event in ("UPDATE", "DELETE"):
            op.execute(f"CREATE TRIGGER forget_on_{event.lower()} AFTER {event} ON verdict BEGIN {FORGET} END")
        return
    op.execute(
        f"CREATE FUNCTION forget_what_was_made() RETURNS trigger AS $$ BEGIN {FORGET} RETURN NULL; END $$ "
        "LANGUAGE plpgsql"
    )
    op.execute(
        "CREATE TRIGGER forget_on_change AFTER UPDATE OR DELETE ON verdict "
        "FOR EACH ROW EXECUTE FUNCTION forget_what_was_made()"
    )
