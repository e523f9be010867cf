"""The store: one object through which everything is kept and found again. One write, one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from judge.domain import (
    Claim,
    GivenVerdict,
    Held,
    Item,
    JudgeVerdict,
    NothingToDo,
    Order,
    Pace,
    Progress,
    Saved,
    StorageError,
    Study,
)
from storage import (
    batches,
    browse,
    claims,
    desk,
    endpoints,
    imports,
    opinions,
    overviews,
    ratings,
    reads,
    run_reads,
    runs,
    studies,
    verdicts,
)
from storage.batches import BatchRow, Ending, Key
from storage.desk import Remark
from storage.endpoints import NamedEndpoint
from storage.engine import WRITE, open_engine
from storage.imports import Added, Prepared
from storage.migrate import migrate
from storage.opinions import Cause, Certainty, Choices
from storage.overviews import Annotator, Overview, Places
from storage.placing import hold_alone
from storage.raters import rater_id_of
from storage.run_reads import FailedCall, RunOverview, StoredCall
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

    def overviews(self) -> list[Overview]:
        """Return how far every study is, by name."""
        with self.reading() as connection:
            return overviews.list_overviews(connection)

    def overview(self, study: str) -> Overview:
        """Return how far one study is."""
        with self.reading() as connection:
            return overviews.study_overview(connection, studies.get_study(connection, study))

    def annotators(self, study: str) -> tuple[list[Annotator], Places]:
        """Return how each person of a study works, and how much there is left to claim."""
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            return overviews.list_annotators(connection, row), overviews.free_places(connection, row.id)

    def browse_items(self, study: str, search: browse.Search, start: int = 0) -> browse.FoundPage:
        """Return the first items from a position on that a search finds."""
        with self.reading() as connection:
            return browse.browse_items(connection, studies.get_study(connection, study), search, start)

    def item_detail(self, study: str, item: str) -> browse.Detail:
        """Return one item with every current verdict on it."""
        with self.reading() as connection:
            return browse.item_detail(connection, studies.get_study(connection, study), item)

    def some_tags(self, study: str) -> list[str]:
        """Return tags of a study to choose from."""
        with self.reading() as connection:
            return browse.some_tags(connection, studies.get_study(connection, study).id)

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

    def held(self, token: str, rater: str | None = None) -> Held:
        """Return a claim with what its rater said of it."""
        with self.reading() as connection:
            return desk.held_claim(connection, token, rater)

    def find_held(self, study: str, rater: str, item: str) -> Held | None:
        """Return the claim that a rater holds or has answered on an item, if there is one."""
        with self.reading() as connection:
            return desk.find_held(connection, studies.get_study(connection, study).id, rater, item)

    def neighbour(self, token: str, rater: str | None, way: Literal["back", "on"]) -> Held | None:
        """Return the claim before or after this one among those its rater holds or has answered."""
        with self.reading() as connection:
            return desk.neighbour(connection, token, rater, way)

    def pace(self, study: str, rater: str) -> Pace:
        """Return how quick a rater is and how far everybody has come."""
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            return desk.pace(connection, row.id, row.study.wanted, row.study.items, rater)

    def judge_verdicts(self, token: str) -> list[JudgeVerdict]:
        """Return what the judges said of a claim's item."""
        with self.reading() as connection:
            return desk.judge_verdicts(connection, token)

    def add_remark(self, token: str, remark: Remark, rater: str | None = None) -> None:
        """Keep what a rater remarks on an item they hold or have answered."""
        self._write(
            lambda connection: desk.add_remark(connection, token, remark, self.clock(), _own(connection, rater))
        )

    def remark_on_item(self, study: str, item: str, rater: str, remark: Remark) -> None:
        """Keep what a researcher remarks on an item, whether or not they have annotated it."""

        def work(connection: Connection) -> None:
            row = studies.get_study(connection, study)
            opinions.remark_on_item(connection, (row.id, item), rater, remark, self.clock())

        self._write(work)

    def causes(self, study: str, judge: str, kinds: Sequence[str]) -> list[Cause]:
        """Return why people think that they and a judge differ, the newest of each person on each item."""
        with self.reading() as connection:
            return opinions.list_causes(connection, studies.get_study(connection, study).id, judge, kinds)

    def choices(self, study: str) -> Choices:
        """Return what a study's verdicts can be filtered by."""
        with self.reading() as connection:
            return opinions.list_choices(connection, studies.get_study(connection, study).id)

    def newest_verdict(self, study: str) -> int:
        """Return the number of the last verdict stored; while it stays the same, so do all statistics."""
        with self.reading() as connection:
            return opinions.newest_verdict(connection, studies.get_study(connection, study).id)

    def judge_certainty(self, study: str, judge: str) -> dict[int, Certainty]:
        """Return by position how sure a judge was of its label, where that is known."""
        with self.reading() as connection:
            return opinions.judge_certainty(connection, studies.get_study(connection, study).id, judge)

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

    def ratings(self, study: str, filters: ratings.Filters = ratings.EVERYTHING) -> ratings.Ratings:
        """Return the verdicts of a study that count, as columns for statistics."""
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            return ratings.read_ratings(connection, row.id, row.study.protocol.scale, filters)

    def item_names(self, study: str) -> list[str]:
        """Return the items' ids, in the order of the import."""
        with self.reading() as connection:
            return ratings.item_names(connection, studies.get_study(connection, study).id)

    def item_bodies(self, study: str, positions: Sequence[int] | None = None) -> dict[int, str]:
        """Return items' JSON texts by their position in the study."""
        with self.reading() as connection:
            return ratings.item_bodies(connection, studies.get_study(connection, study).id, positions)

    def item(self, study: str, name: str) -> Item:
        """Return the item of this name as it was imported."""
        with self.reading() as connection:
            return run_reads.find_item(connection, studies.get_study(connection, study).id, name)[1]

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

    def remarks(self, study: str) -> Iterator[dict[str, Any]]:
        """Yield every remark on a study's items."""
        with self.reading() as connection:
            yield from reads.all_remarks(connection, studies.get_study(connection, study).id)

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

    def begin_pass(self, run: RunRow) -> None:
        """Go through a run's items from the start again, unless another process is in the middle of it."""
        self._write(lambda connection: runs.begin_pass(connection, run, self.clock()))

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

    def keep_calls(self, run: RunRow, ended: Sequence[Ended], finished: Sequence[int] = ()) -> list[int]:
        """Store calls that have ended, let the stretches go that they complete, and return the verdicts' numbers."""

        def work(connection: Connection) -> list[int]:
            now = self.clock()
            kept = runs.keep_calls(connection, run, ended, now) if ended else []
            for first in finished:
                runs.finish_stretch(connection, run, first, now)
            runs.renew(connection, run, now)
            return kept

        return self._write(work)

    def give_up(self, run: RunRow) -> None:
        """Leave what this process has not finished to others."""
        self._write(lambda connection: runs.give_up(connection, run))

    def run_counts(self, run: RunRow) -> dict[str, int]:
        """Return how many verdicts of a run there are by status."""
        with self.reading() as connection:
            return runs.run_counts(connection, run.id)

    def plan_batch(self, run: RunRow, keys: Sequence[Key], lacks: Sequence[str], finished: Sequence[int]) -> BatchRow:
        """Write down what is about to be handed in together, and let the stretches go that it completes."""

        def work(connection: Connection) -> BatchRow:
            now = self.clock()
            planned = batches.plan_batch(connection, run, keys, lacks, now)
            for first in finished:
                runs.finish_stretch(connection, run, first, now)
            return planned

        return self._write(work)

    def open_batches(self, run: RunRow) -> list[BatchRow]:
        """Return the batches of a run that are not over."""
        with self.reading() as connection:
            return batches.open_batches(connection, run)

    def take_batch(self, batch: BatchRow) -> BatchRow | None:
        """Take over a batch that another process planned and did not hand in."""
        return self._write(lambda connection: batches.take_batch(connection, batch, self.clock()))

    def note_upload(self, batch: BatchRow, input_file: str) -> None:
        """Remember the file at the server that holds a batch's requests."""
        self._write(lambda connection: batches.note_upload(connection, batch, input_file))

    def note_submitted(self, batch: BatchRow, remote_id: str) -> None:
        """Remember what the server calls a batch."""
        self._write(lambda connection: batches.note_submitted(connection, batch, remote_id))

    def end_batch(self, run: RunRow, batch: BatchRow, state: Ending, error: str | None = None) -> None:
        """Close a batch; what has not come back of it is free to be asked again."""

        def work(connection: Connection) -> None:
            now = self.clock()
            batches.end_batch(connection, batch, state, error, now)
            runs.finish_if_done(connection, run, now)

        self._write(work)

    def batch_keys(self, batch: BatchRow) -> list[Key]:
        """Return item, order and repeat of what has not come back of a batch."""
        with self.reading() as connection:
            return batches.batch_keys(connection, batch)

    def batch_wanted(self, run: RunRow, batch: BatchRow, item_ids: Sequence[int]) -> list[Wanted]:
        """Return the calls that have not come back of a batch, for some of its items."""
        with self.reading() as connection:
            return batches.batch_wanted(connection, run, batch, item_ids)

    def keep_batch_calls(self, run: RunRow, batch: BatchRow, ended: Sequence[Ended]) -> list[Ended]:
        """Store those answers of a batch that nobody has stored yet, and return them."""
        return self._write(lambda connection: batches.keep_batch_calls(connection, run, batch, ended, self.clock()))

    def count_pending(self, run: RunRow) -> int:
        """Return how many requests of a run are in batches and have not come back."""
        with self.reading() as connection:
            return batches.count_pending(connection, run)

    def find_run(self, study: str, settings: RunSettings) -> RunRow | None:
        """Return a judge's run over a study, if there is one; nothing is begun."""
        with self.reading() as connection:
            return runs.find_run(connection, studies.get_study(connection, study), settings)

    def list_runs(self, study: str) -> list[RunOverview]:
        """Return every run over a study, oldest first, with what came of it."""
        with self.reading() as connection:
            return run_reads.list_runs(connection, studies.get_study(connection, study).id, self.clock())

    def run_is_active(self, run: int) -> bool:
        """Say whether some process, here or elsewhere, is at a run."""
        with self.reading() as connection:
            return run_reads.is_active(connection, run, self.clock())

    def made_calls(self, run: RunRow) -> int:
        """Return how many of the calls that a run consists of have brought a reply already."""
        with self.reading() as connection:
            return run_reads.made_calls(connection, run)

    def failures_by_kind(self, study: str, run: int) -> dict[str, int]:
        """Return how many calls of a run brought no label, by kind."""
        with self.reading() as connection:
            return run_reads.failures_by_kind(connection, studies.get_study(connection, study).id, run)

    def failed_calls(self, study: str, run: int, kind: str, count: int, skip: int = 0) -> list[FailedCall]:
        """Return a page of the calls of one kind that brought no label."""
        with self.reading() as connection:
            study_id = studies.get_study(connection, study).id
            return run_reads.failed_calls(connection, study_id, run, (kind, count, skip))

    def note_run(self, run: int, asked: Mapping[str, Any]) -> None:
        """Keep what somebody asked of a run, so that it can be gone on with."""
        self._write(lambda connection: run_reads.note_start(connection, run, asked))

    def note_end(self, run: int, stopped: str | None) -> None:
        """Keep why a run was stopped."""
        self._write(lambda connection: run_reads.note_end(connection, run, stopped))

    def asked_of(self, study: str, run: int) -> dict[str, Any]:
        """Return what was asked of a run when it was last started on a page."""
        with self.reading() as connection:
            return run_reads.asked_of(connection, studies.get_study(connection, study).id, run)

    def item_of_run(self, run: RunRow | None, study: str, item: str) -> tuple[int, Item, dict[Order, StoredCall]]:
        """Return an item by its name, with its number and what a run has on it."""
        with self.reading() as connection:
            number, found = run_reads.find_item(connection, studies.get_study(connection, study).id, item)
            return number, found, run_reads.calls_on_item(connection, run.id, number) if run else {}

    def keep_single_calls(self, study: str, settings: RunSettings, ended: Sequence[Ended]) -> RunRow:
        """Store calls that somebody made by hand as part of a judge's run, which is made if it is new."""

        def work(connection: Connection) -> RunRow:
            now = self.clock()
            run = runs.open_run(connection, studies.get_study(connection, study), settings, now)
            hold_alone(connection, run.id)
            runs.keep_calls(connection, run, ended, now)
            return run

        return self._write(work)

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
