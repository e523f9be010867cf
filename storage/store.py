"""The store: one object through which everything is kept and found again. One write, one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from judge.domain import (
    Claim,
    Held,
    Item,
    JudgeVerdict,
    NothingToDo,
    Pace,
    Progress,
    Saved,
    StorageError,
    Study,
)
from storage import (
    answers,
    browse,
    claims,
    desk,
    held_out,
    imports,
    opinions,
    overviews,
    reads,
    run_reads,
    studies,
    trail,
    verdicts,
)
from storage.answers import StoredAnswer
from storage.choices import Choices, list_choices
from storage.desk import Remark
from storage.held_out import Variant
from storage.imports import Added, Prepared
from storage.opinions import Cause, Certainty
from storage.overviews import Annotator, Overview, Places
from storage.run_store import RunStore
from storage.trail import Entry, TrailSearch
from storage.verdicts import Submission

if TYPE_CHECKING:
    from storage.kept_columns import KeptColumns
    from storage.ratings import Filters, Ratings


class Store(RunStore):
    """A database of studies: what people do in them, and what is found again."""

    def create_study(self, study: Study, by: str = "") -> Study:
        """Store a new study and return it as stored."""

        def work(connection: Connection) -> None:
            studies.add_study(connection, study, self.clock())
            self._note(connection, "study_created", study.name, by=by)

        self._write(work)
        return self.study(study.name)

    def find_study(self, name: str) -> Study | None:
        """Return the study of this name, if there is one."""
        with self.asking() as connection:
            found = studies.find_study(connection, name)
        return found.study if found else None

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

    def claim_next(self, study: str, rater: str) -> Claim | NothingToDo:
        """Give a rater one item they have not done, held for them until they answer or the time is up."""
        given = self.hold_next(study, rater)
        return given if isinstance(given, NothingToDo) else given.claim

    def hold_next(self, study: str, rater: str) -> Held | NothingToDo:
        """Give a rater one item as `claim_next` does, with all that is known of their claim on it."""
        now = self.clock()
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            expired = claims.any_expired(connection, row, now)
        if expired:  # in a transaction of its own: it touches items in another order than a claim does
            self._write(lambda connection: claims.expire_claims(connection, row, now))

        def work(connection: Connection) -> Held | NothingToDo:
            given = claims.claim_next(connection, row, rater, now)
            return given if isinstance(given, NothingToDo) else desk.held_claim(connection, given, rater)

        return self._write(work)

    def foresee_next(self, study: str, rater: str) -> Item | None:
        """Return the item a rater will most likely be given next; nothing is taken."""
        with self.reading() as connection:
            return claims.foresee_next(connection, studies.get_study(connection, study), rater, self.clock())

    def save_verdict(self, token: str, sent: Submission, rater: str | None = None) -> Saved:
        """Store a verdict and return only once it is committed."""
        return self._write(lambda connection: verdicts.save_verdict(connection, token, sent, self.clock(), rater))

    def undo_verdict(self, token: str, rater: str | None = None) -> Saved:
        """Withdraw a verdict by a further revision and open its claim again."""
        return self._write(lambda connection: verdicts.undo_verdict(connection, token, self.clock(), rater))

    def skip_item(self, token: str, reason: str, rater: str | None = None) -> None:
        """Give a claim's place back and record why."""
        self._write(lambda connection: verdicts.skip_item(connection, token, reason, self.clock(), rater))

    def reveal(self, token: str, rater: str | None = None) -> None:
        """Record that a rater may now see what was hidden."""
        self._write(lambda connection: verdicts.reveal(connection, token, self.clock(), rater))

    def held(self, token: str, rater: str | None = None) -> Held:
        """Return a claim with what its rater said of it."""
        with self.asking() as connection:
            return desk.held_claim(connection, token, rater)

    def find_held(self, study: str, rater: str, item: str) -> Held | None:
        """Return the claim that a rater holds or has answered on an item, if there is one."""
        with self.reading() as connection:
            return desk.find_held(connection, studies.get_study(connection, study).id, rater, item)

    def neighbour(self, token: str, rater: str | None, way: Literal["back", "on"]) -> Held | None:
        """Return the claim before or after this one among those its rater holds or has answered."""
        with self.reading() as connection:
            return desk.neighbour(connection, token, rater, way)

    def pace(self, study: Study, rater: str) -> Pace:
        """Return how quick a rater is and how far everybody has come."""
        with self.reading() as connection:
            return desk.pace(connection, study, rater)

    def judge_verdicts(self, token: str) -> list[JudgeVerdict]:
        """Return what the judges said of a claim's item."""
        with self.reading() as connection:
            return desk.judge_verdicts(connection, token)

    def add_remark(self, token: str, remark: Remark, rater: str | None = None) -> None:
        """Keep what a rater remarks on an item they hold or have answered."""
        self._write(lambda connection: desk.add_remark(connection, token, remark, self.clock(), rater))

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
            return list_choices(connection, studies.get_study(connection, study).id)

    def mark_verdicts(self, study: str | None) -> str:
        """Return a mark of a study's verdicts, for None of all studies': while it stays, so do all statistics."""
        with self.reading() as connection:
            return opinions.mark_verdicts(connection, None if study is None else studies.get_study(connection, study))

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

    def ratings(self, study: str, filters: Filters | None = None) -> Ratings:
        """Return the verdicts of a study that count, as columns for statistics."""
        from storage.ratings import EVERYTHING, choose_ratings  # numpy takes a tenth of a start, and is for this alone

        with self.reading() as connection:
            row = studies.get_study(connection, study)
            columns, wanted = self._columns.read(connection, row), filters or EVERYTHING
            whole = wanted.part == "all"
            part = None if whole else self._columns.in_part(row, columns, wanted.part, wanted.test_share)
            found = choose_ratings(connection, row, columns, wanted, part)
        if self._columns.is_to_be_written(row.id, columns):
            with suppress(StorageError):  # a shortcut for the next start, without which everything works
                self._write(lambda connection: self._columns.write(connection, row.id, columns))
        return found

    @cached_property
    def _columns(self) -> KeptColumns:
        from storage.kept_columns import KeptColumns

        return KeptColumns()

    def find_answer(self, study: str, question: str) -> StoredAnswer | None:
        """Return the last answer to a question about a study, if it was kept."""
        with self.reading() as connection:
            return answers.find_answer(connection, studies.get_study(connection, study).id, question)

    def keep_answer(self, study: str, question: str, answer: StoredAnswer) -> None:
        """Keep an answer that took a while to make."""

        def work(connection: Connection) -> None:
            answers.keep_answer(connection, studies.get_study(connection, study).id, question, answer)

        self._write(work)

    def variants(self, study: str, share: float) -> list[Variant]:
        """Return every judge, protocol and settings that have been tried on a study's test part, in any study."""
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            columns = self._columns.read(connection, row)
            on_test = self._columns.in_part(row, columns, "test", share)[columns.rows.item]
            return held_out.list_variants(connection, row, share, set(columns.rows.rater[on_test].tolist()))

    def part_sizes(self, study: str, share: float) -> dict[str, int]:
        """Return how many items of a study are in its development part and how many in its test part."""
        with self.reading() as connection:
            row = studies.get_study(connection, study)
            tested = self._columns.in_part(row, self._columns.read(connection, row), "test", share)
            return {"development": int((~tested).sum()), "test": int(tested.sum())}

    def item_names(self, study: str, count: int | None = None) -> list[str]:
        """Return the items' ids, or the first so many of them, in the order of the import."""
        with self.reading() as connection:
            return reads.item_names(connection, studies.get_study(connection, study).id, count)

    def names_at(self, study: str, positions: Sequence[int]) -> list[str]:
        """Return the ids of the items at a few positions."""
        with self.reading() as connection:
            return reads.names_at(connection, studies.get_study(connection, study).id, positions)

    def item_bodies(self, study: str, positions: Sequence[int] | None = None) -> dict[int, str]:
        """Return items' JSON texts by their position in the study."""
        with self.reading() as connection:
            return reads.item_bodies(connection, studies.get_study(connection, study).id, positions)

    def item(self, study: str, name: str) -> Item:
        """Return the item of this name as it was imported."""
        with self.reading() as connection:
            return run_reads.find_item(connection, studies.get_study(connection, study).id, name)[1]

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

    def trail(self, search: TrailSearch, before: int | None, most: int) -> list[Entry]:
        """Return lines of the trail of everything, newest first."""
        with self.reading() as connection:
            return trail.read_trail(connection, search, before, most)

    def close_study(self, name: str, by: str = "") -> None:
        """Let no more claims be made; what is held may still be answered."""
        self._set_closed(name, self.clock(), "study_closed", by)

    def reopen_study(self, name: str, by: str = "") -> None:
        """Let claims be made again."""
        self._set_closed(name, None, "study_reopened", by)

    def _set_closed(self, name: str, closed: datetime | None, kind: str, by: str) -> None:
        def work(connection: Connection) -> None:
            studies.set_closed(connection, name, closed)
            self._note(connection, kind, name, by=by)

        self._write(work)

    def change_wanted(self, name: str, wanted: int, by: str = "") -> None:
        """Change how many verdicts each item wants."""

        def work(connection: Connection) -> None:
            row = studies.get_study(connection, name)
            studies.change_wanted(connection, row.id, wanted)
            self._note(connection, "wanted_changed", name, before=row.study.wanted, after=wanted, by=by)

        self._write(work)

    def change_guidelines(self, name: str, body: str, by: str = "") -> int:
        """Store a new version of a study's guidelines and return its number."""

        def work(connection: Connection) -> int:
            row = studies.get_study(connection, name)
            version = studies.change_guidelines(connection, row.id, body, self.clock())
            self._note(connection, "guidelines_changed", name, version=version, by=by)
            return version

        return self._write(work)
