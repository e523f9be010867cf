"""What the store keeps of judges: their runs, batches and calls, and the endpoints they are asked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from judge.domain import GivenVerdict, Item, Order, Study
from storage import batches, endpoints, reads, run_reads, runs, studies, trail
from storage.batches import BatchRow, Ending, Key
from storage.database import Database
from storage.endpoints import NamedEndpoint
from storage.placing import hold_alone
from storage.run_reads import FailedCall, RunOverview, StoredCall
from storage.runs import Ended, RunRow, RunSettings, Wanted


class RunStore(Database):
    """The part of the store that judges work with; they need not wait for the rest to be loaded."""

    def study(self, name: str) -> Study:
        """Return the study of this name."""
        with self.asking() as connection:
            return studies.get_study(connection, name).study

    def records(self, study: str) -> Iterator[tuple[str, list[GivenVerdict]]]:
        """Yield each item's JSON text with its current verdicts, all as of one moment."""
        with self.reading() as connection:
            yield from reads.stored_records(connection, studies.get_study(connection, study).id)

    def record_event(self, kind: str, study: str | None, **details: Any) -> None:
        """Add a line to the trail, of a study or of the whole."""
        self._write(lambda connection: self._note(connection, kind, study, **details))

    def _note(self, connection: Connection, kind: str, study: str | None, **details: Any) -> None:
        number = None if study is None else studies.get_study(connection, study).id
        trail.record_event(connection, kind, self.clock(), number, **details)

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

    def count_foreign(self, run: RunRow) -> int:
        """Return how many stretches of a run other processes are at, or have left undone."""
        with self.reading() as connection:
            return runs.count_foreign(connection, run)

    def known_replies(self, settings: RunSettings, prompts: Sequence[str]) -> dict[tuple[str, int], Any]:
        """Return replies the same model gave to the same prompts under the same settings."""
        with self.reading() as connection:
            return runs.known_replies(connection, settings, prompts)

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

    def endpoints(self) -> list[NamedEndpoint]:
        """Return the servers that have a name, by name."""
        with self.reading() as connection:
            return endpoints.list_endpoints(connection)

    def keep_endpoint(self, endpoint: NamedEndpoint, by: str = "") -> None:
        """Store a server under its name, instead of the one that had it."""
        self._write(lambda connection: endpoints.keep_endpoint(connection, endpoint, self.clock(), by))

    def remove_endpoint(self, name: str, by: str = "") -> None:
        """Forget a named server."""
        self._write(lambda connection: endpoints.remove_endpoint(connection, name, self.clock(), by))
