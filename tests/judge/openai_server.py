"""A small real server that speaks `/v1/chat/completions` over a socket, and misbehaves on command.

    with OpenAIServer(lambda seen: completion("[RESULT] 4"), delay=0.1) as server:
        ...  # server.url, server.requests (what arrived), server.most_at_once

`behave` is asked once a request and returns an `Answer`; it may be replaced while the server runs.
`server.desk` keeps files and batches, whose requests `behave` answers too.
`script(a, b, c)` answers in turn and repeats the last. For a benchmark, run it in a process of its own:

    with served_apart(delay=0.1) as url:
        ...
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, Self

from openai_batches import BatchDesk

PATH = "/v1/chat/completions"
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived; `number` counts from 0."""

    number: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    path: str = PATH
    desk: tuple[int, Any] | None = None  # what the desk of batches has answered already

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.body["messages"]]


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back.

    `cut` drops the connection after so many bytes of the body; `hang` holds it open instead; `pace` is the pause
    before each piece of a stream.
    """

    status: int = 200
    body: Mapping[str, Any] | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    hang: bool = False
    pace: float = 0.0


Behave = Callable[[Seen], Answer]


def completion(
    text: str | None,
    *,
    finish_reason: str = "stop",
    model: str = "served-model",
    logprobs: Sequence[Mapping[str, Any]] | None = None,
    usage: Mapping[str, int] | None = None,
    **message: Any,
) -> Answer:
    """Return a good answer; further keywords become fields of the message (`reasoning_content=…`)."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text, **message}}
    if logprobs is not None:
        choice["logprobs"] = {"content": list(logprobs)}
    counts = usage or {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
    return Answer(body={**head, "choices": [choice], "usage": counts})


def error(status: int, message: str, headers: Mapping[str, str] | None = None, **fields: Any) -> Answer:
    """Return an error in OpenAI's form; further keywords become fields of it (`code=…`, `param=…`)."""
    return Answer(status, {"error": {"message": message, "type": "invalid_request_error", **fields}}, headers or {})


def dropped(after: int = 20) -> Answer:
    return replace(completion("[RESULT] 4"), cut=after)


def hanging(after: int = 20) -> Answer:
    return replace(completion("[RESULT] 4"), cut=after, hang=True)


def truncated_json() -> Answer:
    return Answer(body=b'{"choices": [{"message": {"content": "[RES')


def token(text: str, probability: float, **others: float) -> dict[str, Any]:
    """Return one token of `logprobs.content` with its alternatives."""
    top = [{"token": each, "logprob": log(value)} for each, value in {text: probability, **others}.items()]
    return {"token": text, "logprob": log(probability), "bytes": list(text.encode()), "top_logprobs": top}


def script(*answers: Answer) -> Behave:
    return lambda seen: answers[min(seen.number, len(answers) - 1)]


def refusing(good: Answer, *names: str) -> Behave:
    """Refuse each of these capabilities in OpenAI's own words, one at a time, as servers do."""

    def behave(seen: Seen) -> Answer:
        return next((REFUSALS[name] for name in names if _asks(seen, name)), good)

    return behave


def _asks(seen: Seen, name: str) -> bool:
    return "system" in seen.roles if name == "system" else name in seen.body


REFUSALS = {
    "temperature": error(
        400,
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
        param="temperature",
        code="unsupported_value",
    ),
    "top_p": error(400, "Unsupported parameter: 'top_p' is not supported with this model.", param="top_p"),
    # Mistral's server answers like FastAPI.
    "seed": Answer(
        422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}
    ),
    "max_tokens": error(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    ),
    "system": error(400, "System role not supported"),
    "response_format": error(400, "'response_format' of type 'json_object' is not supported with this model."),
    "logprobs": error(403, "You are not allowed to request logprobs from this model"),
    "stream_options": error(422, "stream_options: extra fields not permitted"),
}


class OpenAIServer:
    """The server, on a thread of its own; a context manager."""

    def __init__(
        self, behave: Behave | None = None, *, delay: float = 0.0, keep: bool = True, tls: ssl.SSLContext | None = None
    ) -> None:
        self.behave = behave or script(completion("Feedback: fine. [RESULT] 4"))
        self.delay = delay
        self.keep = keep
        self.tls = tls
        self.requests: list[Seen] = []
        self.served = 0
        self.most_at_once = 0
        self.url = ""
        self.desk = BatchDesk(self._answer_line)
        self._at_once = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-server", daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"{'https' if self.tls else 'http'}://{host}:{port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def bodies(self) -> list[Mapping[str, Any]]:
        return [seen.body for seen in self.requests]

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=4096, ssl=self.tls)

    async def _close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own, so that closing the server can end connections that hang.
        task = asyncio.ensure_future(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await self._read(reader)) and await self._answer(seen, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as it may
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> Seen | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        method, path, _ = head[0].split(" ")
        raw = await _body(reader, headers)
        if path.startswith(("/v1/files", "/v1/batches")):
            return replace(Seen(-1, {}, headers, path), desk=self.desk.handle(method, path, headers, raw) or (404, {}))
        seen = Seen(self.served, json.loads(raw) if raw else {}, headers, path)
        self.served += 1
        if self.keep:
            self.requests.append(seen)
        return seen

    def _answer_line(self, body: Mapping[str, Any]) -> tuple[int, Any]:
        answer = self.behave(Seen(-1, body, {}))
        return answer.status, answer.body

    async def _answer(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        """Send the answer; say whether the connection stays open."""
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if seen.desk is not None:
                answer = Answer(*seen.desk)
            else:
                answer = self.behave(seen) if seen.path == PATH else error(404, "Not Found")
            await asyncio.sleep(self.delay + answer.delay)
        finally:
            self._at_once -= 1
        body, kind = _encode(answer, streamed=bool(seen.body.get("stream")))
        headers = {"content-type": kind, "content-length": str(len(body)), **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        head, sent = "\r\n".join([*lines, "", ""]).encode("latin-1"), body[: answer.cut]
        for piece in [head, *sent.splitlines(keepends=True)] if answer.pace else [head + sent]:
            await asyncio.sleep(answer.pace)
            writer.write(piece)
            await writer.drain()
        if answer.hang:
            await asyncio.Event().wait()
        return answer.cut is None


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def _encode(answer: Answer, *, streamed: bool) -> tuple[bytes, str]:
    if isinstance(answer.body, bytes):
        return answer.body, "application/json"
    if streamed and answer.status == 200:
        return b"".join(_events(answer.body)), "text/event-stream"
    return json.dumps(answer.body).encode(), "application/json"


def _events(body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield a completion as a stream of chunks: reasoning first, then the text word by word, then the usage."""
    [choice] = body["choices"]
    message = dict(choice["message"])
    text = message.pop("content") or ""
    words = text.split(" ")
    deltas = [message, *({"content": word if at == 0 else f" {word}"} for at, word in enumerate(words))]
    head = {"id": body["id"], "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    tokens = (choice.get("logprobs") or {}).get("content", [])
    for at, chunk in enumerate(chunks if tokens else []):
        part = tokens[at : at + 1] if at + 1 < len(chunks) else tokens[at:]
        chunk["choices"][0]["logprobs"] = {"content": part}
    chunks.append({**head, "choices": [], "usage": body["usage"]})
    for chunk in chunks:
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


@contextlib.contextmanager
def served_apart(delay: float = 0.0, text: str = "Feedback: fine. [RESULT] 4") -> Iterator[str]:
    """Run the server in a process of its own, so that it takes no time from the client; give its address."""
    words = [sys.executable, __file__, "--delay", str(delay), "--text", text]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--text", default="Feedback: fine. [RESULT] 4")
    words = parser.parse_args()
    with OpenAIServer(script(completion(words.text)), delay=words.delay, keep=False) as server:
        print(server.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
