"""A run by batches: what is missing is handed in as files, waited for and collected; the same command goes on.

What is handed in is written down before it is sent, and taken off the list in the transaction that keeps its answer:
whenever the process ends, the next one neither loses nor doubles anything.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TypeVar

from exchange.study_run import StudyRun, at_work, ended_call, note_missing
from judge.batch import MOST_BYTES, MOST_REQUESTS, OVER, PRICE, Batches, Remote, may_exist, request_line
from judge.client import Client
from judge.domain import AccordError, Failure, ItemError, Prompt, Reply
from judge.refusals import fault_in
from judge.render import render
from judge.run import Call, Run, Summary, Task, count_tokens, read_call
from storage.batches import BatchRow, Key, key_of
from storage.runs import Wanted

T = TypeVar("T")
FIRST_POLL, LONGEST_POLL, SLICE = 0.5, 30.0, 0.5  # seconds
CHUNK = 200  # answers kept in one transaction
PROBES = 3
FORGOTTEN = timedelta(days=7)  # a batch is over after one day
TOKENS_AN_ANSWER = 400


class BatchRun:
    """One process's part in a run by batches; several may share it, and share it with ordinary runs."""

    def __init__(
        self,
        part: StudyRun,
        run: Run,
        client: Client,
        request: Mapping[str, object],
        tell: Callable[[str], None],
    ) -> None:
        self.part, self.run, self.client, self.request = part, run, client, request
        self.store, self.row, self.protocol = part.store, part.row, part.protocol
        self.batches = Batches(client)
        self._tell = tell
        self._told = ""
        self._probed = self._only_again = False
        self._over_budget: str | None = None
        self._estimate = 0, 0  # tokens of what is handed in and of its answers

    async def go(self, *, wait: bool) -> Summary:
        """Collect what has come back, hand in what is missing, and wait for it."""
        async with at_work(self.part, lambda: None):
            await self._go_on()
            await self._hand_in_missing()
            if wait:
                await self._wait()
                await self._ask_again()
        pending, summary = self.store.count_pending(self.row), self.run.summary
        if pending:
            left = f"{pending} requests are in batches at the server, and the same command collects them later"
            summary.stopped = f"{summary.stopped}; {left}" if summary.stopped else left
        elif self._over_budget:
            self.run.stop(self._over_budget)
        else:
            note_missing(self.part, self.run)
        return summary

    def _say(self, line: str) -> None:
        """Tell what is new; a batch may stay as it is for hours."""
        if line != self._told:
            self._told = line
            self._tell(line)

    async def _go_on(self) -> None:
        """Go on with what earlier processes planned or handed in."""
        for batch in self.store.open_batches(self.row):
            if self.run.summary.stopped:
                return
            if batch.state == "submitted":
                await self._look(batch)
            elif (taken := self.store.take_batch(batch)) is not None:
                await self._hand_in(taken)

    async def _ask_again(self) -> None:
        """Hand in once more what came back without a verdict; failures wait for the next start."""
        self._only_again = True
        for _ in range(self.row.settings.reask):
            self.store.begin_pass(self.row)
            if not await self._hand_in_missing():
                return
            await self._wait()

    async def _hand_in_missing(self) -> bool:
        """Hand in what is missing; say whether anything was asked."""
        if self.run.summary.stopped:
            return False
        asked = not self._probed and await self._probe()
        while self._probed and not self.run.summary.stopped and not self._over_budget:
            planned = await asyncio.to_thread(self._plan)
            if planned is None:
                break
            asked = True
            await self._hand_in(planned)
        return asked

    async def _probe(self) -> bool:
        """Make one call by itself, or a few until one is answered; say whether there was anything to ask.

        A batch cannot learn from refusals what the server does not take: this call does.
        """
        summary, before = self.run.summary, self._answered()
        tried, too_long = 0, summary.by_failure["context"]
        while not summary.stopped and self._answered() == before:
            # A text that is too long for the model says nothing about the next one.
            if tried - (summary.by_failure["context"] - too_long) >= PROBES:
                self.run.stop("the first calls brought no reply, so nothing was handed in")
            elif tasks := await asyncio.to_thread(self._fetch, 1):
                tried += 1
                await self._make(tasks)
            else:
                break
        self._probed = self._answered() > before
        self.part.take_again()
        return bool(tried)

    async def _make(self, tasks: Sequence[Task]) -> None:
        """Make these calls one by one, not in a batch."""
        given = iter((tasks, ()))
        self.run.fetch = lambda _: next(given)
        await self.run.go()

    def _answered(self) -> int:
        return self.run.summary.calls - self.run.summary.by_status["failed"]

    def _fetch(self, count: int) -> list[Task]:
        """Return calls to be made; an item that cannot be rendered becomes a recorded failure at once."""
        while tasks := self.part.fetch(count):
            due = [task for task in tasks if self._is_due(task)]
            finished = self.part.settle(task.key[0] for task in tasks if not self._is_due(task))
            if finished:
                self.store.keep_calls(self.row, [], finished)
            good = [task for task in due if task.prompt is not None]
            self._refuse([task for task in due if task.prompt is None])
            if good:
                return good
        return []

    def _is_due(self, task: Task) -> bool:
        return bool(task.reask) or not self._only_again

    def _refuse(self, tasks: Sequence[Task]) -> None:
        nothing = Prompt(self.protocol.name, "AB", "", "", ())
        for task in tasks:
            try:
                render(self.protocol, task.item, task.order)
            except ItemError as error:
                call = read_call(self.protocol, task, nothing, Failure("request", str(error)))
                self.run.summary.count(call)
                self.part.record([call])

    def _plan(self) -> BatchRow | None:
        """Write down the next file's worth of requests; None when nothing more is to be handed in."""
        chosen: list[tuple[int, Key]] = []
        size, lacks = 0, self.client.lacks
        while len(chosen) < MOST_REQUESTS:
            tasks = self._fetch(MOST_REQUESTS - len(chosen))
            fitting = 0
            for task in tasks:
                prompt = render(self.protocol, task.item, task.order)
                size += len(self._line(task.key[1], prompt, lacks))
                if (size > MOST_BYTES and chosen) or self._too_dear(prompt):
                    break
                chosen.append((task.key[0], key_of(task.key[1])))
                fitting += 1
            if not tasks or fitting < len(tasks):
                self.part.waiting[:0] = tasks[fitting:]
                break
        if not chosen or self.run.summary.stopped:
            return None
        finished = self.part.settle(first for first, _ in chosen)
        return self.store.plan_batch(self.row, [key for _, key in chosen], lacks, finished)

    def _too_dear(self, prompt: Prompt) -> bool:
        """Say whether one more request would go beyond the budget, as far as can be told before the answers."""
        limits, summary = self.run.limits, self.run.summary
        prompts, answers = self._estimate[0] + count_tokens(prompt), self._estimate[1] + TOKENS_AN_ANSWER
        tokens = summary.tokens + prompts + answers
        usd = summary.spent + (limits.prices.cost(prompts, answers) or 0.0) * PRICE
        if limits.budget_tokens is not None and tokens > limits.budget_tokens:
            self._over_budget = f"the budget of {limits.budget_tokens} tokens allows no more requests"
        elif limits.budget_usd is not None and usd > limits.budget_usd:
            self._over_budget = f"the budget of {limits.budget_usd:g} USD allows no more requests"
        else:
            self._estimate = prompts, answers
        return self._over_budget is not None

    def _line(self, wanted: Wanted, prompt: Prompt, lacks: Sequence[str]) -> bytes:
        return request_line(_name(wanted), self.client.body(prompt, self.request, lacks)[0])

    async def _hand_in(self, batch: BatchRow) -> None:
        """Bring a planned batch to the server, from wherever an earlier attempt got to."""
        remote: Remote | Failure | None = None
        if batch.input_file is not None:
            # The process that sent the file may have got further than it could write down.
            remote = await self.batches.find(batch.token, batch.created)
        if remote is None:
            sent = batch.input_file or await self._upload(batch)
            if isinstance(sent, Failure):  # there is no batch without its file
                self._give_back(batch, sent)
                return
            remote = await self.batches.create(sent, batch.token, batch.created)
        if isinstance(remote, Remote):
            self.store.note_submitted(batch, remote.id)
            self._say(f"{remote.id}: {batch.requests} requests handed in")
        elif may_exist(remote):
            self.run.stop(remote.message)
        else:
            self._give_back(batch, remote)

    def _give_back(self, batch: BatchRow, failure: Failure) -> None:
        """Close a batch that the server does not have: its requests are free to be asked otherwise."""
        self.store.end_batch(self.row, batch, "failed", failure.message)
        self.run.stop(failure.message)

    async def _upload(self, batch: BatchRow) -> str | Failure:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"accord-{batch.token}.jsonl"
            await asyncio.to_thread(self._write, batch, path)
            sent = await self.batches.upload(path)
        if isinstance(sent, str):
            self.store.note_upload(batch, sent)
        return sent

    def _write(self, batch: BatchRow, path: Path) -> None:
        with path.open("wb") as file:
            for item_ids in _chunks(sorted({key[0] for key in self.store.batch_keys(batch)})):
                for wanted in self.store.batch_wanted(self.row, batch, item_ids):
                    prompt = render(self.protocol, wanted.item, wanted.order)
                    file.write(self._line(wanted, prompt, batch.lacks))

    async def _wait(self) -> None:
        """Look again and again, less and less often, until nothing is at the server."""
        delay = FIRST_POLL
        while not self.run.summary.stopped:
            waiting = [batch for batch in self.store.open_batches(self.row) if batch.state == "submitted"]
            if not waiting:
                return
            for _ in range(int(delay / SLICE)):
                if not self.run.summary.stopped:
                    await asyncio.sleep(SLICE)
            delay = min(delay * 1.5, LONGEST_POLL)
            for batch in waiting:
                if not self.run.summary.stopped:
                    await self._look(batch)

    async def _look(self, batch: BatchRow) -> None:
        """See how a batch stands, and collect it when it is over."""
        assert batch.remote_id is not None  # noqa: S101 (that is what "submitted" says)
        remote = await self.batches.look(batch.remote_id)
        if remote is None:
            self._miss(batch)
        elif isinstance(remote, Remote):
            self._say(f"{remote.id}: {remote.state}, {remote.done} of {batch.requests} done")
            if remote.state in OVER:
                await self._collect(batch, remote)
        elif remote.fatal:
            self.run.stop(remote.message)
        else:  # a bad hour of the network is no reason to stop waiting for a day's work
            self._say(remote.message)

    def _miss(self, batch: BatchRow) -> None:
        if self.store.clock() - batch.created > FORGOTTEN:
            self.store.end_batch(self.row, batch, "lost", "the server no longer knows it")
            self._say(f"{batch.remote_id}: no longer known to the server; its requests will be asked again")
        else:
            hint = "give the --base-url and a key of the project that it was handed in with"
            self.run.stop(f"the server knows no batch {batch.remote_id}: {hint}")

    async def _collect(self, batch: BatchRow, remote: Remote) -> None:
        """Keep every answer of a batch that is over, and a failure for each request without one."""
        if remote.state == "failed":
            reason = f"the server took nothing of the batch {remote.id}: {remote.error or 'no reason is given'}"
            self._give_back(batch, Failure("request", reason))
            return
        for file in remote.files:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "answers.jsonl"
                got = await self.batches.fetch(file, path)
                if isinstance(got, Failure):
                    self.run.stop(got.message)
                    return
                if got:
                    await asyncio.to_thread(self._keep_file, batch, remote, path)
        await asyncio.to_thread(self._keep_rest, batch, remote)
        self.store.end_batch(self.row, batch, "collected")

    def _keep_file(self, batch: BatchRow, remote: Remote, path: Path) -> None:
        with path.open("rb") as file:
            for lines in _chunks(file):
                read = (self.batches.read(line, self.protocol.scale) for line in lines)
                self._keep(batch, remote, dict(found for found in read if found is not None))

    def _keep_rest(self, batch: BatchRow, remote: Remote) -> None:
        missing = Failure("server", f"the batch ended ({remote.state}) without an answer to this")
        for keys in _chunks(self.store.batch_keys(batch)):
            self._keep(batch, remote, {"/".join(map(str, key)): missing for key in keys})

    def _keep(self, batch: BatchRow, remote: Remote, answers: Mapping[str, Reply | Failure]) -> None:
        """Keep answers; one that cannot be stored becomes a failure and takes no other with it."""
        try:
            self._keep_together(batch, remote, answers)
        except AccordError:
            raise
        except Exception as error:
            if len(answers) > 1:
                for name, answer in answers.items():
                    self._keep(batch, remote, {name: answer})
            elif any(isinstance(answer, Failure) for answer in answers.values()):
                raise
            else:
                self._keep_together(batch, remote, dict.fromkeys(answers, fault_in(error)))

    def _keep_together(self, batch: BatchRow, remote: Remote, answers: Mapping[str, Reply | Failure]) -> None:
        ids = {int(number) for name in answers if (number := name.partition("/")[0]).isdecimal()}
        calls = {}
        for wanted in self.store.batch_wanted(self.row, batch, sorted(ids)):
            answer = answers.get(_name(wanted))
            if answer is not None:
                calls[key_of(wanted)] = self._call(batch, wanted, answer)
        ended = [ended_call(self.protocol, call) for call in calls.values()]
        # Nobody can tell how long a call in a batch took.
        ended = [replace(each, seconds=None, usage={**each.usage, "batch": remote.id}) for each in ended]
        for kept in self.store.keep_batch_calls(self.row, batch, ended):
            self.run.summary.count(calls[key_of(kept.wanted)], PRICE)

    def _call(self, batch: BatchRow, wanted: Wanted, answer: Reply | Failure) -> Call:
        prompt = render(self.protocol, wanted.item, wanted.order)
        if isinstance(answer, Reply):
            answer = replace(answer, adapted=self.client.body(prompt, self.request, batch.lacks)[1])
        task = Task(wanted.item, wanted.order, wanted.repeat, (0, wanted), prompt, wanted.reask)
        return read_call(self.protocol, task, prompt, answer)


def _name(wanted: Wanted) -> str:
    """Return what a request is called inside its batch: it says what it is about."""
    return "/".join(map(str, key_of(wanted)))


def _chunks(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk
