"""The files and batches of the server that stands in for OpenAI's: a real state machine behind its endpoints."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

FILES, BATCHES = "/v1/files", "/v1/batches"
Line = Mapping[str, Any]


@dataclass
class BatchDesk:
    """Keeps files and batches; each look at a batch moves it on by a step.

    `answer` is asked once a request and returns a status and a body. `answered` is how many of a batch's
    requests are answered before it ends as `ending`; `spoil` may change the lines of its output; `hook` is
    called with the name of each step when it is done and before it is acknowledged.
    """

    answer: Callable[[Mapping[str, Any]], tuple[int, Mapping[str, Any]]]
    looks: int = 1  # in each state on the way
    ending: str = "completed"
    answered: int | None = None
    refusal: str | None = None
    spoil: Callable[[list[bytes]], list[bytes]] = lambda lines: lines
    hook: Callable[[str], None] = lambda step: None
    trouble: dict[str, Any] = field(default_factory=dict)  # by step: an answer to give instead, once
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    steps: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> list[Line]:
        """Return every request of every batch that was created."""
        inputs = [self.files[batch["input_file_id"]] for batch in self.batches.values()]
        return [json.loads(line) for content in inputs for line in content.splitlines()]

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Any:
        """Return status and body of an answer, or None when this is no business of the desk."""
        path, _, query = path.partition("?")
        for step, wanted, pattern in (
            ("upload", "POST", FILES),
            ("content", "GET", rf"{FILES}/(.+)/content"),
            ("create", "POST", BATCHES),
            ("list", "GET", BATCHES),
            ("look", "GET", rf"{BATCHES}/(.+)"),
        ):
            found = re.fullmatch(pattern, path)
            if method == wanted and found:
                self.steps[step] += 1
                if step in self.trouble:
                    return self.trouble.pop(step)
                done = getattr(self, f"_{step}")(*found.groups(), headers=headers, raw=raw, query=query)
                self.hook(step)
                return done
        return None

    def _upload(self, *, headers: Mapping[str, str], raw: bytes, query: str) -> tuple[int, Any]:
        boundary = headers["content-type"].partition("boundary=")[2].encode()
        parts = dict(_parts(raw, boundary))
        assert parts["purpose"] == b"batch"
        name = f"file-{len(self.files)}"
        self.files[name] = parts["file"]
        return 200, {"id": name, "object": "file", "bytes": len(parts["file"]), "created_at": 1, "purpose": "batch"}

    def _content(self, name: str, **_: Any) -> tuple[int, Any]:
        return (200, self.files[name]) if name in self.files else _none("file", name)

    def _create(self, *, headers: Mapping[str, str], raw: bytes, query: str) -> tuple[int, Any]:
        wanted = json.loads(raw)
        if wanted["input_file_id"] not in self.files:
            return 400, {"error": {"message": f"no file {wanted['input_file_id']}", "code": "invalid_file"}}
        assert (wanted["endpoint"], wanted["completion_window"]) == ("/v1/chat/completions", "24h")
        name = f"batch_{len(self.batches)}"
        moment = int(time.time())
        self.batches[name] = {**wanted, "id": name, "object": "batch", "status": "validating", "created_at": moment}
        self.batches[name]["looks"] = 0
        return 200, self._told(name)

    def _list(self, *, headers: Mapping[str, str], raw: bytes, query: str) -> tuple[int, Any]:
        # Pages of two, so that a client that reads only the first is found out.
        names = list(reversed(self.batches))
        after = re.search(r"after=([^&]+)", query)
        rest = names[names.index(after[1]) + 1 :] if after else names
        page = [self._told(name) for name in rest[:2]]
        return 200, {"object": "list", "data": page, "has_more": len(rest) > 2}

    def _look(self, name: str, **_: Any) -> tuple[int, Any]:
        if name not in self.batches:
            return _none("batch", name)
        batch = self.batches[name]
        batch["looks"] += 1
        way = ["validating", "in_progress", "finalizing", self.ending]
        stage = way[min(batch["looks"] // max(self.looks, 1), 3)] if self.looks else self.ending
        if self.refusal and stage != "validating":
            errors = [{"code": "invalid", "message": self.refusal, "line": 1, "param": None}]
            batch.update(status="failed", errors={"object": "list", "data": errors})
        elif batch["status"] != stage:
            batch["status"] = stage
            if stage == self.ending:
                self._end(batch)
        return 200, self._told(name)

    def _end(self, batch: dict[str, Any]) -> None:
        output, errors = [], []
        for number, line in enumerate(map(json.loads, self.files[batch["input_file_id"]].splitlines())):
            told = {"id": f"r{number}", "custom_id": line["custom_id"], "response": None, "error": None}
            if self.answered is not None and number >= self.answered:
                code = {"expired": "batch_expired", "cancelled": "batch_cancelled"}[self.ending]
                errors.append({**told, "error": {"code": code, "message": "This request could not be executed."}})
                continue
            status, body = self.answer(line["body"])
            told["response"] = {"status_code": status, "request_id": "r", "body": body}
            (output if status == 200 else errors).append(told)
        for kind, lines in (("output", output), ("error", errors)):
            if lines:
                encoded = [json.dumps(line).encode() for line in lines]
                content = self.spoil(encoded) if kind == "output" else encoded
                self.files[f"{batch['id']}-{kind}"] = b"\n".join([*content, b""])
                batch[f"{kind}_file_id"] = f"{batch['id']}-{kind}"
        batch["request_counts"] = {
            "total": len(output) + len(errors),
            "completed": len(output),
            "failed": len(errors),
        }

    def _told(self, name: str) -> dict[str, Any]:
        return {key: value for key, value in self.batches[name].items() if key != "looks"}


def _none(kind: str, name: str) -> tuple[int, Any]:
    return 404, {"error": {"message": f"No {kind} found with id '{name}'.", "type": "invalid_request_error"}}


def _parts(raw: bytes, boundary: bytes) -> Iterator[tuple[str, bytes]]:
    for part in raw.split(b"--" + boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]+)"', head)
        assert name is not None
        yield name[1].decode(), content.removesuffix(b"\r\n")
