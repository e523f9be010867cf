"""The store: one object through which everything is kept and found again. One write, one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from judge.domain import Claim, GivenVerdict, Item, NothingToDo, Progress, Saved, StorageError, Study, StudyError
from storage import claims, endpoints, imports, reads, runs, studies, verdicts
from storage.codec import item_from_json
from storage.endpoints import NamedEndpoint
from storage.engine import WRITE, open_engine
from storage.imports import Added, Prepared
from storage.migrate import migrate
from storage.raters import rater_id_of
from storage.runs import Ended, RunRow, RunSettings, Wanted
from storage.turns import FairLock
from storage.verdicts import Submission

Result = TypeVar("Result")
TRIES = 5


def _now() -> datetime:
    return datetime.now(UTC)


class Store:
    """A database of studies, open for reading and writing."""

    def __init__(self, engine: Engine, clock: Callable[[], datetime] = _now) -> None:
        self.engine = engine
        self.clock = clock
        self.backup: Path | None = None
        # SQLite has one writer at a time: threads of one process queue here, in order, instead of polling its lock.
        self._one_writer = FairLock() if engine.dialect.name == "sqlite" else nullcontext()

    @classmethod
    def open(cls, database: str, clock: Callable[[], datetime] = _now) -> Store:
        """Open a database by its URL and bring it to this program's schema."""
        store = cls(open_engine(database), clock)
        try:
            store.backup = migrate(store.engine)
        except DBAPIError as error:
            store.close()
            raise StorageError(f"the database {store.engine.url!r} cannot be opened: {error.orig}") from error
        except StorageError:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Let every connection go."""
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the database throughout."""
        options = {} if self.engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection whose changes are all kept when the block ends, or none."""
        with (
            self._one_writer,
            self.engine.connect().execution_options(**{WRITE: True}) as connection,
            connection.begin(),
        ):
            yield connection

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        """Do a piece of work in one transaction, again when the database broke a tie between two of them."""
        for attempt in range(TRIES):
            try:
                with self.writing() as connection:
                    return work(connection)
            except OperationalError as error:
                if attempt == TRIES - 1 or getattr(error.orig, "sqlstate", None) not in ("40001", "40P01"):
                    raise
        raise AssertionError("unreachable")

    def create_study(self, study: Study) -> Study:
        """Store a new study and return it as stored."""
        self._write(lambda connection: studies.add_study(connection, study, self.clock()))
        return self.study(study.name)

    def find_study(self, name: str) -> Study | None:
        """Return the study of this name, if there is one."""
        with self.reading() as connection:
            found = studies.find_study(connection, name)
        return found.study if found else None

    def study(self, name: str) -> Study:
        """Return the study of this name."""
        with self.reading() as connection:
            return studies.get_study(connection, name).study

    def studies(self) -> list[Study]:
        """Return every study, by name."""
        with self.reading() as connection:
            return studies.list_studies(connection)

    def claim_next(self, study: str, rater: str) -> Claim | NothingToDo:
        """Give a rater one item they have not done, held for them until they answer or the time is up."""
        now = self.clock()
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            expired = claims.any_expired(connection, row.id, now)
        if expired:  # in a transaction of its own: it touches items in another order than a claim does
            self._write(lambda connection: claims.expire_claims(connection, row.id, now))
        return self._write(lambda connection: claims.claim_next(connection, row, rater, now))

    def save_verdict(self, token: str, sent: Submission, rater: str | None = None) -> Saved:
        """Store a verdict and return only once it is committed."""
        return self._write(
            lambda connection: verdicts.save_verdict(connection, token, sent, self.clock(), _own(connection, rater))
        )

    def undo_verdict(self, token: str, rater: str | None = None) -> Saved:
        """Withdraw a verdict by a further revision and open its claim again."""
        return self._write(
            lambda connection: verdicts.undo_verdict(connection, token, self.clock(), _own(connection, rater))
        )

    def skip_item(self, token: str, reason: str, rater: str | None = None) -> None:
        """Give a claim's place back and record why."""
        self._write(
            lambda connection: verdicts.skip_item(connection, token, reason, self.clock(), _own(connection, rater))
        )

    def reveal(self, token: str, rater: str | None = None) -> None:
        """Record that a rater may now see what was hidden."""
        self._write(lambda connection: verdicts.reveal(connection, token, self.clock(), _own(connection, rater)))

    def known_hashes(self, study: str, names: Sequence[str]) -> dict[str, str]:
        """Return the content hashes of those of the names that the study has."""
        with self.reading() as connection:
            return imports.known_hashes(connection, studies.get_study(connection, study).id, names)

    def add_prepared(self, study: str, batch: Sequence[Prepared]) -> Added:
        """Store the new items and verdicts of a batch in one transaction."""
        return self._write(
            lambda connection: imports.add_prepared(
                connection, studies.get_study(connection, study), batch, self.clock()
            )
        )

    def records(self, study: str) -> Iterator[tuple[str, list[GivenVerdict]]]:
        """Yield each item's JSON text with its current verdicts, all as of one moment."""
        with self.reading() as connection:
            yield from reads.stored_records(connection, studies.get_study(connection, study).id)

    def item(self, study: str, name: str) -> Item:
        """Return the item of this name as it was imported."""
        with self.reading() as connection:
            body = reads.item_body(connection, studies.get_study(connection, study).id, name)
        if body is None:
            raise StudyError(f"the study {study!r} has no item {name!r}")
        return item_from_json(json.loads(body))

    def first_names(self, study: str, count: int) -> list[str]:
        """Return the names of a study's first items, in the order of the import."""
        with self.reading() as connection:
            return reads.first_names(connection, studies.get_study(connection, study).id, count)

    def all_verdicts(self, study: str) -> Iterator[dict[str, Any]]:
        """Yield every verdict ever stored for a study, superseded ones too."""
        with self.reading() as connection:
            yield from reads.all_verdicts(connection, studies.get_study(connection, study).id)

    def calls(self, study: str) -> Iterator[dict[str, Any]]:
        """Yield every call of a study with its raw reply."""
        with self.reading() as connection:
            yield from reads.all_calls(connection, studies.get_study(connection, study).id)

    def progress(self, study: str) -> dict[str, Progress]:
        """Return how far each human rater has come."""
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            return reads.rater_progress(connection, row.id, row.study.items)

    def events(self, study: str) -> list[dict[str, Any]]:
        """Return the trail of a study, oldest first."""
        with self.reading() as connection:
            return reads.study_events(connection, studies.get_study(connection, study).id)

    def record_event(self, kind: str, study: str, **details: Any) -> None:
        """Add a line to a study's trail."""
        self._write(
            lambda connection: verdicts.record_event(
                connection, kind, self.clock(), studies.get_study(connection, study).id, **details
            )
        )

    def open_run(self, study: str, settings: RunSettings) -> RunRow:
        """Return a judge's run over a study, made if it is new, ready to do what is missing."""

        def work(connection: Connection) -> RunRow:
            run = runs.open_run(connection, studies.get_study(connection, study), settings, self.clock())
            runs.begin_pass(connection, run, self.clock())
            return run

        return self._write(work)

    def take_stretch(self, run: RunRow) -> tuple[int, list[Wanted]] | None:
        """Take a stretch of items no other process is at, and return what is missing in it."""
        taken = self._write(lambda connection: runs.take_stretch(connection, run, self.clock()))
        if taken is None:
            return None
        with self.reading() as connection:
            return taken[0], runs.wanted_in(connection, run, *taken)

    def known_replies(self, run: RunRow, prompts: Sequence[str]) -> dict[tuple[str, int], Any]:
        """Return replies the same model gave to the same prompts under the same settings."""
        with self.reading() as connection:
            return runs.known_replies(connection, run, prompts)

    def keep_calls(self, run: RunRow, ended: Sequence[Ended], finished: Sequence[int] = ()) -> None:
        """Store calls that have ended, and let the stretches go that they complete."""

        def work(connection: Connection) -> None:
            now = self.clock()
            if ended:
                runs.keep_calls(connection, run, ended, now)
            for first in finished:
                runs.finish_stretch(connection, run, first, now)
            runs.renew(connection, run, now)

        self._write(work)

    def give_up(self, run: RunRow) -> None:
        """Leave what this process has not finished to others."""
        self._write(lambda connection: runs.give_up(connection, run))

    def run_counts(self, run: RunRow) -> dict[str, int]:
        """Return how many verdicts of a run there are by status."""
        with self.reading() as connection:
            return runs.run_counts(connection, run.id)

    def read_again(self, study: str, reader: Callable[[Any], tuple[str, str | None]]) -> list[dict[str, Any]]:
        """Read every stored reply again; keep what changed as a new verdict and return the changes."""

        def work(connection: Connection) -> list[dict[str, Any]]:
            study_id = studies.get_study(connection, study).id
            changes = []
            for call in runs.judge_calls(connection, study_id):
                before, after = (call.status, call.label), reader(call)
                if before != after:
                    runs.keep_reading(connection, call, after, self.clock())
                    told = {"item": call.item, "judge": call.judge, "order": call.order}
                    changes.append({**told, "before": list(before), "after": list(after)})
            return changes

        return self._write(work)

    def close_study(self, name: str) -> None:
        """Let no more claims be made; what is held may still be answered."""
        self._write(lambda connection: studies.set_closed(connection, name, self.clock()))

    def reopen_study(self, name: str) -> None:
        """Let claims be made again."""
        self._write(lambda connection: studies.set_closed(connection, name, None))

    def change_wanted(self, name: str, wanted: int) -> None:
        """Change how many verdicts each item wants."""
        self._write(
            lambda connection: studies.change_wanted(connection, studies.get_study(connection, name).id, wanted)
        )

    def change_guidelines(self, name: str, body: str) -> int:
        """Store a new version of a study's guidelines and return its number."""
        return self._write(
            lambda connection: studies.change_guidelines(
                connection, studies.get_study(connection, name).id, body, self.clock()
            )
        )

    def endpoints(self) -> list[NamedEndpoint]:
        """Return the servers that have a name, by name."""
        with self.reading() as connection:
            return endpoints.list_endpoints(connection)

    def keep_endpoint(self, endpoint: NamedEndpoint) -> None:
        """Store a server under its name, instead of the one that had it."""
        self._write(lambda connection: endpoints.keep_endpoint(connection, endpoint, self.clock()))

    def remove_endpoint(self, name: str) -> None:
        """Forget a named server."""
        self._write(lambda connection: endpoints.remove_endpoint(connection, name))


def _own(connection: Connection, rater: str | None) -> int | None:
    return None if rater is None else rater_id_of(connection, "human", rater)
