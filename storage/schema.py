"""The tables. Verdicts and calls are append-only: a correction is a new row that supersedes an older one."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself only in an INTEGER column


class UtcTime(TypeDecorator[datetime]):
    """A moment in UTC, aware on both sides; SQLite itself knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a moment without a zone: nobody could tell later what it meant."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a stored time must have a time zone")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the moment with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Texts that repeat thousands of times (prompts) are stored once, by their hash.
texts = Table("text", metadata, Column("hash", Text, primary_key=True), Column("body", Text, nullable=False))

protocols = Table(
    "protocol",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("scale", JSON, nullable=False),
    Column("source", Text, nullable=False),
    Column("source_hash", Text, nullable=False),
    Column("without_reference_id", ForeignKey("protocol.id")),
    UniqueConstraint("name", "source_hash"),
)

studies = Table(
    "study",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("protocol_id", ForeignKey("protocol.id"), nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("blind", Boolean, nullable=False),
    Column("reveal", Boolean, nullable=False),
    Column("repeat_share", Float, nullable=False),
    Column("claim_seconds", Integer, nullable=False),
    Column("size", Integer, nullable=False, server_default="0"),
    # How often verdicts were changed or removed, which hardly ever happens; triggers count it.
    Column("changes", Integer, nullable=False, server_default="0"),
    Column("closed", UtcTime),
    Column("created", UtcTime, nullable=False),
)

guidelines = Table(
    "guideline",
    metadata,
    Column("study_id", ForeignKey("study.id"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("body", Text, nullable=False),
    Column("created", UtcTime, nullable=False),
)

items = Table(
    "item",
    metadata,
    Column("id", Id, primary_key=True),
    Column("study_id", ForeignKey("study.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("cluster", Text),
    Column("body", Text, nullable=False),
    # Places nobody holds or has used: what a claim takes by one conditional write.
    Column("free", Integer, nullable=False),
    UniqueConstraint("study_id", "name"),
    UniqueConstraint("study_id", "position"),
)

# What statistics ask of an item, apart from its texts: reading these must not read those.
facts = Table(
    "fact",
    metadata,
    Column("study_id", ForeignKey("study.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("cluster", Text),
    Column("question_hash", Text, nullable=False),
    Column("model_a", Text),
    Column("model_b", Text),
    Column("length_a", Integer, nullable=False),
    Column("length_b", Integer),
    Column("tags", Text, nullable=False),
)

# The tags and models of a study's items, each once: what the items can be chosen by.
choices = Table(
    "choice",
    metadata,
    Column("study_id", ForeignKey("study.id"), primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
)

raters = Table(
    "rater",
    metadata,
    Column("id", Id, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("name", Text, nullable=False),
    UniqueConstraint("kind", "name"),
)

# How far a rater has come in a study: counted as it happens, so that progress never costs a scan.
progress = Table(
    "progress",
    metadata,
    Column("study_id", ForeignKey("study.id"), primary_key=True),
    Column("rater_id", ForeignKey("rater.id"), primary_key=True),
    Column("shuffled", Integer, nullable=False, server_default="0"),
    Column("cursor", Integer, nullable=False, server_default="0"),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("skipped", Integer, nullable=False, server_default="0"),
    Column("repeats", Integer, nullable=False, server_default="0"),
    Column("swapped", Integer, nullable=False, server_default="0"),
    Column("shown", Integer, nullable=False, server_default="0"),
)

claims = Table(
    "claim",
    metadata,
    Column("id", Id, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("study_id", ForeignKey("study.id"), nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("order", Text, nullable=False),
    Column("repeat", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    Column("guideline_version", Integer, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
    Column("revealed", UtcTime),
    Index("ix_claim_rater", "study_id", "rater_id", "item_id"),
)

runs = Table(
    "run",
    metadata,
    Column("id", Id, primary_key=True),
    Column("study_id", ForeignKey("study.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("protocol_id", ForeignKey("protocol.id"), nullable=False),
    Column("model", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    # What makes two runs the same: protocol, model and every setting that reaches the model.
    Column("hash", Text, nullable=False),
    Column("cursor", Integer, nullable=False, server_default="0"),
    Column("created", UtcTime, nullable=False),
    Column("finished", UtcTime),
    # What somebody asked for on a page (without any key), to go on with it later, and why it was stopped.
    Column("asked", JSON),
    Column("stopped", Text),
    UniqueConstraint("study_id", "hash"),
)

# A stretch of items that one process is asking about; when the process dies, another takes it over.
leases = Table(
    "lease",
    metadata,
    Column("run_id", ForeignKey("run.id"), primary_key=True),
    Column("first", Integer, primary_key=True),
    Column("last", Integer, nullable=False),
    Column("owner", Text, nullable=False),
    Column("expires", UtcTime, nullable=False),
)

calls = Table(
    "call",
    metadata,
    Column("id", Id, primary_key=True),
    Column("study_id", ForeignKey("study.id"), nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("run_id", ForeignKey("run.id")),
    Column("order", Text),
    Column("repeat", Integer, nullable=False, server_default="0"),
    Column("prompt_hash", Text),
    Column("raw", Text),
    Column("finish_reason", Text),
    Column("model", Text),
    Column("usage", JSON),
    Column("seconds", Float),
    Column("error", Text),
    Column("copy_of", ForeignKey("call.id")),
    Column("created", UtcTime),
    Index("ix_call_item", "item_id", "rater_id"),
    Index("ix_call_run", "run_id", "item_id"),
)

# Requests handed to a server's Batch API together. The row is written before anything is sent: its token, which the
# server keeps with the batch, finds it there again whatever happens in between.
batches = Table(
    "batch",
    metadata,
    Column("id", Id, primary_key=True),
    Column("run_id", ForeignKey("run.id"), nullable=False),
    Column("token", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),
    Column("requests", Integer, nullable=False),
    # What the server is known not to take: the requests are written without it.
    Column("lacks", JSON, nullable=False),
    Column("input_file", Text),
    Column("remote_id", Text),
    Column("error", Text),
    Column("owner", Text, nullable=False),
    Column("expires", UtcTime, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("collected", UtcTime),
    Index("ix_batch_run", "run_id"),
)

# What is in a batch and has not come back: the transaction that keeps an answer takes its row away.
batch_requests = Table(
    "batch_request",
    metadata,
    Column("run_id", ForeignKey("run.id"), primary_key=True),
    Column("item_id", ForeignKey("item.id"), primary_key=True),
    Column("order", Text, primary_key=True),
    Column("repeat", Integer, primary_key=True),
    Column("batch_id", ForeignKey("batch.id"), nullable=False),
    Index("ix_batch_request_batch", "batch_id", "item_id"),
)

WITHDRAWN = "withdrawn"  # the status of a verdict that somebody took back
verdicts = Table(
    "verdict",
    metadata,
    Column("id", Id, primary_key=True),
    Column("study_id", ForeignKey("study.id"), nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("claim_id", ForeignKey("claim.id")),
    Column("call_id", ForeignKey("call.id")),
    Column("supersedes", ForeignKey("verdict.id")),
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("status", Text, nullable=False),
    Column("label", Text),
    Column("order", Text),
    Column("repeat", Boolean, nullable=False),
    Column("comment", Text),
    Column("confidence", Integer),
    Column("seconds", Float),
    Column("prompt_hash", Text),
    Column("guideline_version", Integer),
    Column("after_reveal", Boolean, nullable=False),
    Column("hash", Text),
    Column("extra", JSON),
    Column("created", UtcTime),
    Column("stored", UtcTime, nullable=False),
    Index("ix_verdict_item", "item_id", "rater_id"),
    Index("ix_verdict_study", "study_id", "rater_id"),
    Index("ix_verdict_newest", "study_id", "id"),
)

# A study's verdicts as columns of numbers, as of one moment, and answers that took long to make. Both tell of which
# state of the verdicts they are.
snapshots = Table(
    "snapshot",
    metadata,
    Column("study_id", ForeignKey("study.id"), primary_key=True),
    Column("form", Text, nullable=False),
    Column("changes", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

answers = Table(
    "answer",
    metadata,
    Column("study_id", ForeignKey("study.id"), primary_key=True),
    Column("question", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("made", UtcTime, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

events = Table(
    "event",
    metadata,
    Column("id", Id, primary_key=True),
    Column("study_id", ForeignKey("study.id")),
    Column("rater_id", ForeignKey("rater.id")),
    Column("kind", Text, nullable=False),
    Column("details", JSON, nullable=False),
    Column("created", UtcTime, nullable=False),
    Index("ix_event_study", "study_id", "kind"),
)

# What people remark on an item: that it should be looked at, or why they and a judge differ. The newest counts.
remarks = Table(
    "remark",
    metadata,
    Column("id", Id, primary_key=True),
    Column("study_id", ForeignKey("study.id"), nullable=False),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("rater_id", ForeignKey("rater.id"), nullable=False),
    Column("judge_id", ForeignKey("rater.id")),
    Column("kind", Text, nullable=False),
    Column("comment", Text),
    Column("created", UtcTime, nullable=False),
    Index("ix_remark_item", "item_id", "rater_id"),
    Index("ix_remark_study", "study_id", "kind"),
)

# Servers that somebody has given a name. There is no column for a key: keys are never stored.
endpoints = Table(
    "endpoint",
    metadata,
    Column("name", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("base_url", Text),
    Column("key_env", Text, nullable=False),
    Column("price_prompt", Float),
    Column("price_completion", Float),
    Column("created", UtcTime, nullable=False),
)

# Who may sign in. A rater is whoever gave a verdict; an account is whoever may use the pages.
accounts = Table(
    "account",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("password", Text),  # its argon2 hash; none for who comes by invitation or through a proxy
    Column("created", UtcTime, nullable=False),
    Column("disabled", UtcTime),
    UniqueConstraint("name"),
)

# Of what a browser or a link holds only the hash is kept: who reads the database cannot sign in with it.
sessions = Table(
    "session",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account_id", ForeignKey("account.id"), nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
)

invitations = Table(
    "invitation",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("account_id", ForeignKey("account.id"), nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
)

# Passwords that were tried and were not right, so that nobody can try many.
sign_in_tries = Table(
    "sign_in_try",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("created", UtcTime, nullable=False),
    Index("ix_sign_in_try_created", "created"),
)
