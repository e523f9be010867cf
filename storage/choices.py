"""What a study's verdicts can be chosen by, written down as the items come, so that offering it never costs a scan."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, select

from judge.domain import content_hash
from storage.raters import add_absent
from storage.schema import choices, raters, verdicts

_STUDY: BindParameter[int] = bindparam("study")
_OFFERED = select(choices.c.kind, choices.c.name).where(choices.c.study_id == _STUDY)
# One look into the index for each rater; PostgreSQL would take EXISTS for a reason to read every verdict.
_ANY_OF_EACH = select(verdicts.c.id).where(verdicts.c.study_id == _STUDY, verdicts.c.rater_id == raters.c.id).limit(1)
_RATERS = select(raters.c.kind, raters.c.name).where(_ANY_OF_EACH.correlate(raters).scalar_subquery().is_not(None))


@dataclass(frozen=True, slots=True)
class Choices:
    """What a study's verdicts can be filtered by, and whose they are."""

    tags: tuple[str, ...]
    models: tuple[str, ...]
    annotators: tuple[str, ...]
    judges: tuple[str, ...]


def list_choices(connection: Connection, study_id: int) -> Choices:
    """Return every tag, model and rater of a study, each by name."""
    found: dict[str, list[str]] = {"tag": [], "model": [], "human": [], "judge": []}
    for wanted in (_OFFERED, _RATERS):
        for kind, name in connection.execute(wanted, {"study": study_id}):
            found[kind].append(name)
    return Choices(*(tuple(sorted(names)) for names in found.values()))


def note_choices(connection: Connection, study_id: int, known: Iterable[Mapping[str, Any]]) -> None:
    """Write down the tags and models of items that are added, from what is known of them."""
    add_absent(connection, choices, choice_rows(study_id, known))


def choice_rows(study_id: int, known: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the tags and models of items, each once, as they are stored."""
    given = list(known)
    tags = {tag for text in {one["tags"] for one in given} for tag in json.loads(text)}
    models = {one[side] for one in given for side in ("model_a", "model_b")} - {None}
    named = [("tag", tag) for tag in sorted(tags)] + [("model", model) for model in sorted(models)]
    # A name may be longer than a key can be.
    return [{"study_id": study_id, "hash": content_hash(*one), "kind": one[0], "name": one[1]} for one in named]
