"""Runs in the background of a server: started and stopped by a page, and going on when the page is closed.

Each run has a thread with an event loop of its own. What it does is in the store call by call, so that a run that was
cut off, by whatever, goes on where it stood when somebody starts it again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from exchange.endpoints import Connected, Endpoints
from exchange.readiness import MANY_VERDICTS, make_ready
from exchange.run_order import RunOrder, order_again
from exchange.study_run import judge_study, prepare_run
from judge.domain import AccordError, Failure, InputError, Prompt, Reply, StorageError
from judge.protocol import load_version
from judge.run import Limits
from storage.runs import RunSettings
from storage.store import Store

BY_PERSON = "somebody stopped it"
BY_SERVER = "the server was stopped"
PATIENCE = 10.0  # seconds that a stopping server gives to calls in flight
_FAULT = "a fault in Accord, which its log describes; what came back before is kept"

State = Literal["running", "stopping", "stopped", "done"]
_log = logging.getLogger("accord")


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How a run of this server stands, or how it ended."""

    run: int
    study: str
    judge: str
    model: str
    state: State
    total: int
    done: int
    per_second: float
    seconds_left: float | None
    usd: float | None
    prompt_tokens: int
    completion_tokens: int
    by_status: Mapping[str, int]
    by_failure: Mapping[str, int]
    stopped: str | None


class Runs:
    """The runs of this server, one thread each; other processes may share their work."""

    def __init__(self, store: Store, endpoints: Endpoints, patience: float = PATIENCE) -> None:
        self.store = store
        self.endpoints = endpoints
        self._patience = patience
        self._jobs: dict[int, _Job] = {}
        self._lock = threading.Lock()

    def start(self, order: RunOrder) -> int:
        """Begin to do what is missing of a run, and return its number; what is wrong with the order is raised."""
        limits = order.bounds()
        protocol = load_version(self.store.study(order.study).protocol)
        settings = order.settings(protocol, self.endpoints.model_of(order.preset, order.who))
        with self._lock:
            known = self.store.find_run(order.study, settings)
            if known and known.id in self._jobs and not self._jobs[known.id].over:
                raise InputError(f"{settings.judge} is at this study already: watch it below, or stop it first")
            job = _Job(self.store, self.endpoints, order, settings, limits)
            self._jobs[job.number] = job
        return job.number

    def resume(self, study: str, run: int, who: str = "") -> int:
        """Go on with a run as it was last asked for."""
        return self.start(order_again(study, self.store.asked_of(study, run), who))

    def stop(self, study: str, run: int) -> None:
        """Send nothing more; what is in flight is waited for and kept."""
        job = self._jobs.get(run)
        if job is None or job.order.study != study or job.over:
            raise InputError("this run is not one of this server's: stop it where it was started")
        job.run.stop(BY_PERSON)

    def progress(self, study: str) -> list[RunProgress]:
        """Return how the runs over a study stand that this server has started, the newest first."""
        return [job.progress() for job in reversed(list(self._jobs.values())) if job.order.study == study]

    def wait(self, run: int, seconds: float | None = None) -> None:
        """Return when a run has ended, or the time is up."""
        self._jobs[run].thread.join(seconds)

    def close(self) -> None:
        """Stop every run: calls in flight have a moment to come back and be kept, then they are given up."""
        running = [job for job in self._jobs.values() if not job.over]
        for job in running:
            job.run.stop(BY_SERVER)
        deadline = time.monotonic() + self._patience
        for job in running:
            job.thread.join(max(deadline - time.monotonic(), 0))
        for job in running:
            job.cancel()
        for job in running:
            job.thread.join()


class _Job:
    """One run and its thread."""

    def __init__(
        self, store: Store, endpoints: Endpoints, order: RunOrder, settings: RunSettings, limits: Limits
    ) -> None:
        self.store = store
        self.endpoints = endpoints
        self.order = order
        self.judge: Connected | None = None
        self.part, self.run = prepare_run(store, order.study, settings, self.ask, limits)
        self.number = self.part.row.id
        self.made = store.made_calls(self.part.row)
        self.over = False
        self.stopped: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[str | None] | None = None
        store.note_run(self.number, order.described())
        self.thread = threading.Thread(target=self._work, name=f"run {self.number}", daemon=True)
        self.thread.start()

    async def ask(self, prompt: Prompt) -> Reply | Failure:
        """Ask the judge, which is there as soon as the thread has connected."""
        assert self.judge is not None  # noqa: S101 (for mypy: the run begins after that)
        return await self.judge.ask(prompt, self.part.protocol, self.part.row.settings.request)

    def cancel(self) -> None:
        """Give up what is in flight."""
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just ended by itself
                self._loop.call_soon_threadsafe(self._task.cancel)

    def progress(self) -> RunProgress:
        """Return how it stands."""
        summary, total = self.run.summary, self.part.total()
        done = self.made if self.over else min(self.made + self.part.reused + summary.calls, total)
        rate = summary.per_second
        running: State = "stopping" if summary.stopped else "running"
        ended: State = "stopped" if self.stopped else "done"
        return RunProgress(
            run=self.number,
            study=self.order.study,
            judge=self.part.row.settings.judge,
            model=self.part.row.settings.model,
            state=ended if self.over else running,
            total=total,
            done=done,
            per_second=rate,
            seconds_left=(total - done) / rate if rate and not self.over else None,
            usd=summary.usd,
            prompt_tokens=summary.prompt_tokens,
            completion_tokens=summary.completion_tokens,
            by_status=dict(summary.by_status),
            by_failure=dict(summary.by_failure),
            stopped=self.stopped or summary.stopped,
        )

    def _work(self) -> None:
        try:
            self.stopped = asyncio.run(self._go())
        except AccordError as error:
            self.stopped = str(error)
        except asyncio.CancelledError:
            self.stopped = BY_SERVER
        except Exception:  # noqa: BLE001 (a thread has nobody above it; the log and the page tell)
            self.stopped = _FAULT
            _log.exception("run %d over %r broke", self.number, self.order.study)
        try:
            self.store.note_end(self.number, self.stopped)
            self.made = self.store.made_calls(self.part.row)
        except StorageError as error:
            self.stopped = self.stopped or str(error)
        finally:
            self.over = True
        if self.part.reused + self.run.summary.calls >= MANY_VERDICTS and self.stopped != BY_SERVER:
            self._make_ready()

    def _make_ready(self) -> None:
        try:
            make_ready(self.store, self.order.study, _log.info)
        except Exception:  # noqa: BLE001 (the run is over; whoever asks for its numbers makes them, or is told why not)
            _log.warning("the numbers of %r could not be made ready", self.order.study, exc_info=True)

    async def _go(self) -> str | None:
        """Run to the end and return why it was stopped, if it was."""
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        async with self.endpoints.connect(self.order.preset, self.order.who, self.run.traffic) as self.judge:
            summary = await judge_study(self.part, self.run, lambda _: None)
        return summary.stopped
