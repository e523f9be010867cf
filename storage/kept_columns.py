"""The columns of studies, kept in memory between two readings and, where they are large, in the database as well."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from storage.columns import MOST_TOUCHED, Columns, read_columns
from storage.held_out import Part
from storage.parts import Draws
from storage.snapshots import read_snapshot, write_snapshot
from storage.studies import StudyRow

MOST_KEPT = 4  # studies; a million verdicts take about 60 MB
LARGE = 50_000  # verdicts; fewer are read as fast as a snapshot of them


class KeptColumns:
    """The columns of the studies that were asked for last, brought up to date whenever they are asked for."""

    def __init__(self) -> None:
        self.known: OrderedDict[int, Columns] = OrderedDict()
        self.written: dict[int, int] = {}  # how many verdicts a study's snapshot holds
        self.drawn: dict[int, Draws] = {}
        self.one_at_a_time = Lock()

    def read(self, connection: Connection, study: StudyRow) -> Columns:
        """Return a study's columns as the connection sees them, or newer."""
        with self.one_at_a_time:
            known = self.known.get(study.id)
            if known is None or known.changes != study.changes:
                known = read_snapshot(connection, study)
                self.written[study.id] = 0 if known is None else known.rows.number.size
            found = read_columns(connection, study, known)
            self.known[study.id] = found
            self.known.move_to_end(study.id)
            while len(self.known) > MOST_KEPT:
                gone, _ = self.known.popitem(last=False)
                self.drawn.pop(gone, None)
            return found

    def in_part(self, study: StudyRow, columns: Columns, part: Part, share: float) -> NDArray[np.bool_]:
        """Return which of a study's items belong to a part; what its questions drew is kept, since that takes long."""
        question, known = columns.facts.question, self.drawn.get(study.id)
        if known is None or known.questions is not question.names:
            known = self.drawn[study.id] = Draws.of(question.names, study.study.seed)
        return known.choose(question, part, share)

    def is_to_be_written(self, study_id: int, columns: Columns) -> bool:
        """Return whether a start with the snapshot that there is would have to read everything again."""
        many = columns.rows.number.size
        return many >= LARGE and many - self.written[study_id] >= MOST_TOUCHED

    def write(self, connection: Connection, study_id: int, columns: Columns) -> None:
        """Keep a study's columns in the database."""
        self.written[study_id] = columns.rows.number.size
        write_snapshot(connection, study_id, columns)
