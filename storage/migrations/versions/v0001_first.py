"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create every table."""
    _create_protocol()
    _create_rater()
    _create_text()
    _create_study()
    _create_event()
    _create_guideline()
    _create_item()
    _create_progress()
    _create_run()
    _create_call()
    _create_claim()
    _create_lease()
    _create_verdict()


def _create_protocol() -> None:
    op.create_table(
        "protocol",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("scale", sa.JSON(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("source_hash", sa.Text(), nullable=False),
        sa.Column("without_reference_id", ID, nullable=True),
        sa.ForeignKeyConstraint(["without_reference_id"], ["protocol.id"], name="fk_protocol_without_reference_id"),
        sa.PrimaryKeyConstraint("id", name="pk_protocol"),
        sa.UniqueConstraint("name", "source_hash", name="uq_protocol_name_source_hash"),
    )


def _create_rater() -> None:
    op.create_table(
        "rater",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_rater"),
        sa.UniqueConstraint("kind", "name", name="uq_rater_kind_name"),
    )


def _create_text() -> None:
    op.create_table(
        "text",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_text"),
    )


def _create_study() -> None:
    op.create_table(
        "study",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("protocol_id", ID, nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("blind", sa.Boolean(), nullable=False),
        sa.Column("reveal", sa.Boolean(), nullable=False),
        sa.Column("repeat_share", sa.Float(), nullable=False),
        sa.Column("claim_seconds", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), server_default="0", nullable=False),
        sa.Column("closed", TIME, nullable=True),
        sa.Column("created", TIME, nullable=False),
        sa.ForeignKeyConstraint(["protocol_id"], ["protocol.id"], name="fk_study_protocol_id"),
        sa.PrimaryKeyConstraint("id", name="pk_study"),
        sa.UniqueConstraint("name", name="uq_study_name"),
    )


def _create_event() -> None:
    op.create_table(
        "event",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=True),
        sa.Column("rater_id", ID, nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_event_rater_id"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_event_study_id"),
        sa.PrimaryKeyConstraint("id", name="pk_event"),
    )
    op.create_index("ix_event_study", "event", ["study_id", "kind"], unique=False)


def _create_guideline() -> None:
    op.create_table(
        "guideline",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_guideline_study_id"),
        sa.PrimaryKeyConstraint("study_id", "version", name="pk_guideline"),
    )


def _create_item() -> None:
    op.create_table(
        "item",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("cluster", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("free", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_item_study_id"),
        sa.PrimaryKeyConstraint("id", name="pk_item"),
        sa.UniqueConstraint("study_id", "name", name="uq_item_study_id_name"),
        sa.UniqueConstraint("study_id", "position", name="uq_item_study_id_position"),
    )
    op.create_index(
        "ix_item_free",
        "item",
        ["study_id", "position"],
        unique=False,
        sqlite_where=sa.text("free > 0"),
        postgresql_where=sa.text("free > 0"),
    )


def _create_progress() -> None:
    op.create_table(
        "progress",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("shuffled", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cursor", sa.Integer(), server_default="0", nullable=False),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("skipped", sa.Integer(), server_default="0", nullable=False),
        sa.Column("repeats", sa.Integer(), server_default="0", nullable=False),
        sa.Column("swapped", sa.Integer(), server_default="0", nullable=False),
        sa.Column("shown", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_progress_rater_id"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_progress_study_id"),
        sa.PrimaryKeyConstraint("study_id", "rater_id", name="pk_progress"),
    )


def _create_run() -> None:
    op.create_table(
        "run",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("protocol_id", ID, nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("finished", TIME, nullable=True),
        sa.ForeignKeyConstraint(["protocol_id"], ["protocol.id"], name="fk_run_protocol_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_run_rater_id"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_run_study_id"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        sa.UniqueConstraint("study_id", "hash", name="uq_run_study_id_hash"),
    )


def _create_call() -> None:
    op.create_table(
        "call",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=True),
        sa.Column("order", sa.Text(), nullable=True),
        sa.Column("repeat", sa.Integer(), server_default="0", nullable=False),
        sa.Column("prompt_hash", sa.Text(), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("finish_reason", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("usage", sa.JSON(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("copy_of", ID, nullable=True),
        sa.Column("created", TIME, nullable=True),
        sa.ForeignKeyConstraint(["copy_of"], ["call.id"], name="fk_call_copy_of"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_call_item_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_call_rater_id"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_call_run_id"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_call_study_id"),
        sa.PrimaryKeyConstraint("id", name="pk_call"),
    )
    op.create_index("ix_call_item", "call", ["item_id", "rater_id"], unique=False)
    op.create_index(
        "ix_call_prompt",
        "call",
        ["prompt_hash"],
        unique=False,
        sqlite_where=sa.text("prompt_hash IS NOT NULL"),
        postgresql_where=sa.text("prompt_hash IS NOT NULL"),
    )
    op.create_index("ix_call_run", "call", ["run_id", "item_id"], unique=False)


def _create_claim() -> None:
    op.create_table(
        "claim",
        sa.Column("id", ID, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("order", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("guideline_version", sa.Integer(), nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("expires", TIME, nullable=False),
        sa.Column("revealed", TIME, nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_claim_item_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_claim_rater_id"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_claim_study_id"),
        sa.PrimaryKeyConstraint("id", name="pk_claim"),
        sa.UniqueConstraint("token", name="uq_claim_token"),
    )
    op.create_index(
        "ix_claim_open",
        "claim",
        ["study_id", "expires"],
        unique=False,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("ix_claim_rater", "claim", ["study_id", "rater_id", "item_id"], unique=False)
    op.create_index(
        "uq_claim_held",
        "claim",
        ["item_id", "rater_id", "repeat"],
        unique=True,
        sqlite_where=sa.text("state IN ('open', 'done')"),
        postgresql_where=sa.text("state IN ('open', 'done')"),
    )


def _create_lease() -> None:
    op.create_table(
        "lease",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("expires", TIME, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name="fk_lease_run_id"),
        sa.PrimaryKeyConstraint("run_id", "first", name="pk_lease"),
    )


def _create_verdict() -> None:
    op.create_table(
        "verdict",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("item_id", ID, nullable=False),
        sa.Column("rater_id", ID, nullable=False),
        sa.Column("claim_id", ID, nullable=True),
        sa.Column("call_id", ID, nullable=True),
        sa.Column("supersedes", ID, nullable=True),
        sa.Column("revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("order", sa.Text(), nullable=True),
        sa.Column("repeat", sa.Boolean(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Integer(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("prompt_hash", sa.Text(), nullable=True),
        sa.Column("guideline_version", sa.Integer(), nullable=True),
        sa.Column("after_reveal", sa.Boolean(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=True),
        sa.Column("extra", sa.JSON(), nullable=True),
        sa.Column("created", TIME, nullable=True),
        sa.Column("stored", TIME, nullable=False),
        sa.ForeignKeyConstraint(["call_id"], ["call.id"], name="fk_verdict_call_id"),
        sa.ForeignKeyConstraint(["claim_id"], ["claim.id"], name="fk_verdict_claim_id"),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name="fk_verdict_item_id"),
        sa.ForeignKeyConstraint(["rater_id"], ["rater.id"], name="fk_verdict_rater_id"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name="fk_verdict_study_id"),
        sa.ForeignKeyConstraint(["supersedes"], ["verdict.id"], name="fk_verdict_supersedes"),
        sa.PrimaryKeyConstraint("id", name="pk_verdict"),
    )
    op.create_index(
        "ix_verdict_claim",
        "verdict",
        ["claim_id"],
        unique=False,
        sqlite_where=sa.text("claim_id IS NOT NULL"),
        postgresql_where=sa.text("claim_id IS NOT NULL"),
    )
    op.create_index("ix_verdict_item", "verdict", ["item_id", "rater_id"], unique=False)
    op.create_index("ix_verdict_study", "verdict", ["study_id", "rater_id"], unique=False)
    op.create_index(
        "uq_verdict_supersedes",
        "verdict",
        ["supersedes"],
        unique=True,
        sqlite_where=sa.text("supersedes IS NOT NULL"),
        postgresql_where=sa.text("supersedes IS NOT NULL"),
    )
