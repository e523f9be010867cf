"""Studies, their protocols and their guidelines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, and_, bindparam, func, insert, select, update

from judge.domain import LONGEST_NAME, LONGEST_TEXT, ProtocolVersion, Study, StudyError, check_text, content_hash
from storage.codec import scale_from_json, scale_to_json
from storage.schema import guidelines, items, protocols, studies


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study, the number the database knows it by, and how often verdicts in it were changed or removed."""

    id: int
    study: Study
    changes: int


def add_study(connection: Connection, study: Study, now: datetime) -> int:
    """Store a new study and return its number."""
    _check_settings(study)
    if find_study(connection, study.name) is not None:
        raise StudyError(f"there is already a study named {study.name!r}: choose another name")
    row = {
        "name": study.name,
        "protocol_id": keep_protocol(connection, study.protocol),
        "wanted": study.wanted,
        "seed": study.seed,
        "blind": study.blind,
        "reveal": study.reveal,
        "repeat_share": study.repeat_share,
        "claim_seconds": study.claim_seconds,
        "created": now,
    }
    study_id = int(connection.execute(insert(studies).values(row).returning(studies.c.id)).scalar_one())
    connection.execute(
        insert(guidelines).values(study_id=study_id, version=1, body=study.guidelines, created=now),
    )
    return study_id


def _check_settings(study: Study) -> None:
    if not study.name.strip() or len(study.name) > LONGEST_NAME:
        raise StudyError(f"a study needs a name of at most {LONGEST_NAME} characters")
    check_text("a study's name", study.name, LONGEST_NAME)
    check_text("the guidelines", study.guidelines, LONGEST_TEXT)
    if study.wanted < 1:
        raise StudyError("a study wants at least one verdict per item")
    if not 0 <= study.repeat_share <= 1:
        raise StudyError("the share of hidden repeats lies between 0 and 1")
    if study.claim_seconds < 1:
        raise StudyError("an item has to be held for some time: give a time-out above 0")
    if not abs(study.seed) < 2**63:
        raise StudyError("the seed is too large: give a whole number of up to 18 digits")


def keep_protocol(connection: Connection, protocol: ProtocolVersion) -> int:
    """Return the number of this protocol version, storing it if it is new."""
    twin = protocol.without_reference
    twin_id = keep_protocol(connection, twin) if twin else None
    source_hash = content_hash("file", protocol.source)
    known = select(protocols.c.id).where(protocols.c.name == protocol.name, protocols.c.source_hash == source_hash)
    found = connection.execute(known).scalar()
    if found is not None:
        return int(found)
    row = {
        "name": protocol.name,
        "hash": protocol.hash,
        "kind": protocol.kind,
        "scale": scale_to_json(protocol.scale),
        "source": protocol.source,
        "source_hash": source_hash,
        "without_reference_id": twin_id,
    }
    return int(connection.execute(insert(protocols).values(row).returning(protocols.c.id)).scalar_one())


_NEWEST = (
    select(func.max(guidelines.c.version))
    .where(guidelines.c.study_id == studies.c.id)
    .correlate(studies)
    .scalar_subquery()
)
_twin = protocols.alias("twin")


def _labelled(table: FromClause, prefix: str) -> list[ColumnElement[Any]]:
    return [column.label(f"{prefix}_{column.name}") for column in table.c if column is not studies.c.id]


# All that a study is made of but its number, for any query that can join it; `study_in` reads it from a row.
STUDY_COLUMNS = [
    *_labelled(studies, "study"),
    *_labelled(guidelines, "guidelines"),
    *_labelled(protocols, "protocol"),
    *_labelled(_twin, "twin"),
]


def join_study(query: Select[Any]) -> Select[Any]:
    """Join a study's guidelines and protocol to a query that has the study."""
    return (
        query.join(guidelines, and_(guidelines.c.study_id == studies.c.id, guidelines.c.version == _NEWEST))
        .join(protocols, protocols.c.id == studies.c.protocol_id)
        .join(_twin, _twin.c.id == protocols.c.without_reference_id, isouter=True)
    )


_STUDIES = join_study(select(studies.c.id, *STUDY_COLUMNS).select_from(studies)).order_by(studies.c.name)
_STUDY = _STUDIES.where(studies.c.name == bindparam("name"))


def find_study(connection: Connection, name: str) -> StudyRow | None:
    """Return the study of this name, if there is one."""
    check_text("a study's name", name, LONGEST_NAME)
    row = connection.execute(_STUDY, {"name": name}).one_or_none()
    return None if row is None else StudyRow(row.id, study_in(row), row.study_changes)


def get_study(connection: Connection, name: str) -> StudyRow:
    """Return the study of this name, or say which there are."""
    found = find_study(connection, name)
    if found is None:
        known = connection.execute(select(studies.c.name).order_by(studies.c.name).limit(20)).scalars().all()
        told = f"there are: {', '.join(known)}" if known else "there is none yet: import one"
        raise StudyError(f"no study named {name!r}; {told}")
    return found


def list_studies(connection: Connection) -> list[Study]:
    """Return every study, by name."""
    return [row.study for row in list_study_rows(connection)]


def list_study_rows(connection: Connection) -> list[StudyRow]:
    """Return every study with its number, by name."""
    return [StudyRow(row.id, study_in(row), row.study_changes) for row in connection.execute(_STUDIES).all()]


def study_in(row: Row[Any]) -> Study:
    """Return the study that a row with its columns tells of."""
    return Study(
        name=row.study_name,
        protocol=_protocol_in(row),
        wanted=row.study_wanted,
        seed=row.study_seed,
        blind=row.study_blind,
        reveal=row.study_reveal,
        repeat_share=row.study_repeat_share,
        claim_seconds=row.study_claim_seconds,
        guidelines=row.guidelines_body,
        guideline_version=row.guidelines_version,
        items=row.study_size,
        closed=row.study_closed,
        created=row.study_created,
    )


def _protocol_in(row: Row[Any]) -> ProtocolVersion:
    scale = scale_from_json(row.protocol_scale)
    twin = None
    if row.twin_id is not None:  # it has the same kind and labels, and none of its own
        twin = ProtocolVersion(
            row.twin_name, row.twin_hash, row.twin_kind, scale_from_json(row.twin_scale), row.twin_source
        )
    return ProtocolVersion(row.protocol_name, row.protocol_hash, row.protocol_kind, scale, row.protocol_source, twin)


def set_closed(connection: Connection, name: str, closed: datetime | None) -> None:
    """Close a study at a moment, or open it again."""
    study_id = get_study(connection, name).id
    connection.execute(update(studies).where(studies.c.id == study_id).values(closed=closed))


def change_wanted(connection: Connection, study_id: int, wanted: int) -> None:
    """Change how many verdicts each item wants; places already used or held stay so."""
    if wanted < 1:
        raise StudyError("a study wants at least one verdict per item")
    before = connection.execute(select(studies.c.wanted).where(studies.c.id == study_id).with_for_update()).scalar_one()
    connection.execute(
        update(items).where(items.c.study_id == study_id).values(free=items.c.free + (wanted - before)),
    )
    connection.execute(update(studies).where(studies.c.id == study_id).values(wanted=wanted))


def change_guidelines(connection: Connection, study_id: int, body: str, now: datetime) -> int:
    """Store a new version of the guidelines and return its number, which verdicts from now on record."""
    check_text("the guidelines", body, LONGEST_TEXT)
    newest = select(func.max(guidelines.c.version)).where(guidelines.c.study_id == study_id)
    version = int(connection.execute(newest).scalar_one()) + 1
    connection.execute(insert(guidelines).values(study_id=study_id, version=version, body=body, created=now))
    return version
