"""The door to model servers: one asynchronous client an endpoint, with retries, dialects and streaming.

What a server cannot do (take a temperature, a system message …) is learned from its own refusals and
remembered for the endpoint, whatever its brand. Every call ends in a Reply or a Failure; nothing is
raised for what a server does, and no key is ever part of a text that leaves this file.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import httpx2
from aiohttp import ClientResponseError
from openai import (
    APIConnectionError,
    APIError,
    APIResponseValidationError,
    APIStatusError,
    AsyncOpenAI,
    AsyncStream,
    DefaultAioHttpClient,
)

from judge.addresses import check_base_url
from judge.capabilities import CAPABILITIES, refused_capability, request_body
from judge.completions import Heard, first_choice, read_completion, storable
from judge.domain import Failure, InputError, Prompt, Reply, Scale
from judge.refusals import LONGEST_MESSAGE, Trouble, explain_status, fault_in, scrub
from judge.traffic import Traffic
from judge.transport import make_http_client

T = TypeVar("T")
PATH = "/chat/completions"
FIRST_WAIT, LONGEST_BACKOFF, LONGEST_WAIT = 0.5, 30.0, 300.0
TIMEOUT_TRIES = 2  # a server that was silent for so long is rarely quick the next time
SHORTEST_KEY = 8  # letters; a shorter one may be a word of the reply


_END = object()  # of a stream
_NO_COMPLETION = "the server sent no completion, or one without a message"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is served, and how patient to be; `context` is its size in tokens, where that is known."""

    base_url: str | None
    model: str
    api_key: str = field(repr=False)
    timeout: float = 60.0
    tries: int = 5
    context: int | None = None
    private: bool = True  # whether it may be in the private network; a server that others use says no

    def __post_init__(self) -> None:
        if self.base_url is not None:
            check_base_url(self.base_url)
        # Such a key would be refused deep inside the connection, by an exception that shows it.
        if not re.fullmatch(r"[\x21-\x7e]*", self.api_key.strip()):
            raise InputError("the key holds a space, a line break or a letter that no key has: copy it again")


@dataclass(slots=True)
class _Course:
    """How a call has gone so far: the waits that are left, since when, how often the server was silent.

    `lacks` is what it seems to lack: believed only when it takes the request without that.
    """

    delays: Iterator[float]
    began: float = field(default_factory=time.perf_counter)
    timeouts: int = 0
    lacks: set[str] = field(default_factory=set)


class Client:
    """One endpoint's client; an asynchronous context manager, safe for many calls at once."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        traffic: Traffic | None = None,
        sleep: Callable[[float], Awaitable[object]] | None = None,
        jitter: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.endpoint = endpoint
        self._traffic = traffic or Traffic()
        self.pause, self._jitter, self._now = sleep or self._traffic.sleep, jitter, now
        # Only ever grows, so calls that learn the same thing at the same time do no harm.
        self._lacks: set[str] = set()
        # A proxy of the company's can do nothing with the addresses of this machine.
        outside = re.match(r"https?://(?:localhost|127\.|\[::1\])", endpoint.base_url or "") is None
        self._http = make_http_client(DefaultAioHttpClient, private=endpoint.private, proxied=outside)
        self._openai = AsyncOpenAI(
            base_url=endpoint.base_url,
            # Servers without keys ignore it; openai would refuse to send none.
            api_key=endpoint.api_key.strip() or "none",
            max_retries=0,
            timeout=None,  # ours is for the whole call, openai's for each read
            http_client=self._http,
        )

    @cached_property
    def _letterhead(self) -> tuple[httpx2.URL, httpx2.Headers]:
        """Return where a question goes and what openai writes above it: the same for every one, so made once."""
        written = {**self._openai.default_headers, "Authorization": f"Bearer {self._openai.api_key}"}
        url = httpx2.URL(str(self._openai.base_url).rstrip("/") + PATH)
        # Not what openai tells servers of this machine: nobody asked, and every question would carry it.
        kept = {name: value for name, value in written.items() if not name.lower().startswith("x-stainless-")}
        return url, httpx2.Headers({name: value for name, value in kept.items() if isinstance(value, str)})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    async def ask(self, prompt: Prompt, request: Mapping[str, object], scale: Scale | None = None) -> Reply | Failure:
        """Send a prompt and return the reply, or the failure that is left when retries are used up.

        With a scale and `logprobs` in the request, the reply holds the probabilities of the labels
        in the frame the judge saw.
        """
        course = _Course(self.delays())
        while True:
            body, adapted = self.body(prompt, request, self._lacks | course.lacks)
            sent = time.perf_counter()
            try:
                async with asyncio.timeout(self.endpoint.timeout):
                    response = await _within_openai(self._post(body))
                reply = _read_completion(response, scale)
            except (APIError, TimeoutError) as error:
                failure = await self._recover(error, body, course)
                if failure is not None:
                    return failure
            else:
                self._lacks |= course.lacks
                return self._finished(reply, sent, adapted)

    async def _post(self, body: Mapping[str, Any]) -> httpx2.Response:
        """Send a question over openai's connections; making each request anew takes it longer than sending it."""
        url, headers = self._letterhead
        request = httpx2.Request("POST", url, headers=headers, content=json.dumps(body).encode())
        response = await self._http.send(request)
        if not response.is_success:
            raise APIStatusError(f"status {response.status_code}", response=response, body=_error_in(response))
        return response

    async def stream(
        self, prompt: Prompt, request: Mapping[str, object], scale: Scale | None = None
    ) -> AsyncGenerator[str | Reply | Failure, None]:
        """Yield pieces of the text as they arrive, then the whole Reply; or a Failure, at any point.

        Once a piece has been given nothing is sent again. Leave it early under `contextlib.aclosing`.
        """
        course = _Course(self.delays())
        while True:
            streamed = {**request, "stream": True, "stream_options": {"include_usage": True}}
            body, adapted = self.body(prompt, streamed, self._lacks | course.lacks)
            sent = time.perf_counter()
            heard, shown = Heard(), ""
            try:
                async with aclosing(self._chunks(body)) as chunks:
                    async for chunk in chunks:
                        heard.add(chunk)
                        if piece := self._showable(heard.text)[len(shown) :]:
                            shown += piece
                            yield piece
                reply = heard.reply(scale)
                if rest := self._hide(heard.text)[len(shown) :]:  # what has ended can no longer become the key
                    yield rest
            except (APIError, TimeoutError) as error:
                course.delays = iter(()) if heard.text else course.delays
                failure = await self._recover(error, body, course)
                if failure is not None:
                    yield failure
                    return
            else:
                self._lacks |= course.lacks
                yield self._finished(reply, sent, adapted)
                return

    async def send(
        self, request: Callable[[AsyncOpenAI], Awaitable[T]], *, seconds: float | None = None, once: bool = False
    ) -> T | Failure | None:
        """Do something else than ask; None when the server knows no such thing (404), a Failure as for a call."""
        course = _Course(iter(()) if once else self.delays())
        while True:
            try:
                async with asyncio.timeout(seconds or self.endpoint.timeout):
                    return await _within_openai(request(self._openai))
            except (APIError, TimeoutError) as error:
                if isinstance(error, APIStatusError) and error.status_code == 404:
                    return None
                failure = await self._recover(error, None, course)
                if failure is not None:
                    return failure
            except Exception as error:  # noqa: BLE001 (what came back has a form that nobody expects)
                return fault_in(error)

    def explain(self, status: int, body: object) -> Failure:
        """Return the failure that an answer with this status stands for."""
        found = explain_status(status, body, {}, self.endpoint.model, self._now()).failure
        return replace(found, message=self.scrub(found.message))

    def scrub(self, text: str) -> str:
        """Return a text that may be kept and shown: without the key."""
        return storable(scrub(text, self.endpoint.api_key.strip()))

    def clean(self, reply: Reply) -> Reply:
        """Return a reply that may be kept and shown: a server that repeats the whole key is not quoted."""
        return replace(
            reply,
            text=self._hide(reply.text),
            reasoning=reply.reasoning and self._hide(reply.reasoning),
            model=reply.model and self._hide(reply.model),
            finish_reason=reply.finish_reason and self._hide(reply.finish_reason),
        )

    def _hide(self, text: str) -> str:
        key = self.endpoint.api_key.strip()
        return storable(text.replace(key, "[key]") if len(key) >= SHORTEST_KEY else text)

    def _showable(self, text: str) -> str:
        """Return so much of a growing text as may be shown: nothing of an end that may become the key."""
        hidden, key = self._hide(text), self.endpoint.api_key.strip()
        begun = (size for size in range(min(len(key) - 1, len(hidden)), 0, -1) if hidden.endswith(key[:size]))
        return hidden[: len(hidden) - next(begun, 0)]

    async def _chunks(self, body: Mapping[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        # The deadline is set around each step, not around the yields: the reader's own time is not the server's.
        deadline = asyncio.get_running_loop().time() + self.endpoint.timeout
        async with asyncio.timeout_at(deadline):
            content = json.dumps(body).encode()
            asked = self._openai.post(
                PATH, cast_to=object, content=content, stream=True, stream_cls=AsyncStream[object]
            )
            stream = await _within_openai(asked)
        finished = False
        try:
            async with asyncio.timeout_at(deadline):
                whole = await _within_openai(_whole_answer(stream.response))
            if whole is not None:
                yield whole
                return
            while True:
                async with asyncio.timeout_at(deadline):
                    chunk = await _within_openai(anext(stream, _END))
                if chunk is _END:
                    break
                if isinstance(chunk, dict):
                    finished = finished or bool(first_choice(chunk).get("finish_reason"))
                    yield chunk
        except (ValueError, RecursionError) as error:
            raise APIResponseValidationError(stream.response, None, message="the stream holds broken JSON") from error
        finally:
            await stream.close()
        if not finished:
            raise APIResponseValidationError(stream.response, None, message="the stream broke off")

    @property
    def lacks(self) -> list[str]:
        """Return what the server is known not to take."""
        return sorted(self._lacks)

    def body(
        self, prompt: Prompt, request: Mapping[str, object], lacks: Collection[str]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return what to send to a server that lacks this, and what that changed."""
        return request_body(self.endpoint.model, prompt, request, lacks)

    async def _recover(
        self, error: APIError | TimeoutError, body: Mapping[str, Any] | None, course: _Course
    ) -> Failure | None:
        """Return what the call ends in, or None when it may be made again: adapted, or after a wait."""
        trouble = self._explain(error)
        refused = refused_capability(trouble, body) if body else None
        failure = replace(trouble.failure, seconds=time.perf_counter() - course.began)
        if refused is not None and len(course.lacks) < len(CAPABILITIES):
            course.lacks.add(refused)
            return None if await self._traffic.turn() else failure
        if not trouble.again:
            return failure
        course.timeouts += failure.kind == "timeout"
        delay = next(course.delays, None)
        if delay is None or course.timeouts >= TIMEOUT_TRIES:
            return failure
        if trouble.wait is not None and trouble.wait > LONGEST_WAIT:
            asks = f"; it asks to wait {trouble.wait / 60:.0f} minutes: continue the run then"
            return replace(failure, message=failure.message + asks, fatal=True)
        await self.pause(delay if trouble.wait is None else trouble.wait + self._jitter() * FIRST_WAIT)
        return None if await self._traffic.turn() else failure

    def delays(self) -> Iterator[float]:
        """Yield how long to wait before each further try."""
        for retry in range(self.endpoint.tries - 1):
            longest = min(FIRST_WAIT * 2**retry, LONGEST_BACKOFF)
            yield longest * (0.5 + self._jitter() / 2)

    def _explain(self, error: APIError | TimeoutError) -> Trouble:
        trouble = _explain(error, self.endpoint, self._now())
        return replace(trouble, failure=replace(trouble.failure, message=self.scrub(trouble.failure.message)))

    def _finished(self, heard: Reply, sent: float, adapted: tuple[str, ...]) -> Reply | Failure:
        """Return the reply, unless the model's context, not the token limit, cut it off."""
        reply = replace(self.clean(heard), seconds=time.perf_counter() - sent, adapted=adapted)
        used = (reply.prompt_tokens or 0) + (reply.completion_tokens or 0)
        context = self.endpoint.context
        if context is None or reply.finish_reason != "length" or used < context - 1:
            return reply
        return Failure(
            "context",
            f"the prompt has {reply.prompt_tokens} tokens and the model's context {context}: no room for the answer",
            seconds=reply.seconds,
        )


async def _within_openai(answer: Awaitable[T]) -> T:
    """Wait for an answer; a connection that breaks while it is read becomes one of openai's errors.

    So does an answer that is no HTTP, which openai's own connections let through as it is: with the key in its headers.
    """
    try:
        return await answer
    except httpx2.RequestError as error:
        raise APIConnectionError(request=error.request) from error
    except ClientResponseError as error:
        asked = httpx2.Request(error.request_info.method, str(error.request_info.url))
        raise APIConnectionError(request=asked) from httpx2.RemoteProtocolError(f"no HTTP: {error.message}")


async def _whole_answer(response: httpx2.Response) -> dict[str, Any] | None:
    """Return the completion of a server that was asked for a stream and knows none; None for a stream."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return None
    if (await response.aread()).lstrip()[:1] not in (b"{", b"<"):
        return None
    _read_completion(response, None)  # whatever is no completion is refused there
    return dict(json.loads(response.content))


def _error_in(response: httpx2.Response) -> object:
    """Return what a server says of an error, as openai's own errors hold it."""
    try:
        body = json.loads(response.content)
    except (ValueError, RecursionError):
        return response.text.strip()
    return body.get("error", body) if isinstance(body, dict) else body


def _read_completion(response: httpx2.Response, scale: Scale | None) -> Reply:
    """Return the reply in a completion; whatever else was sent becomes one of openai's errors."""
    try:
        body = json.loads(response.content)
    except ValueError as error:
        what = "a web page" if response.content.lstrip()[:1] == b"<" else "no complete JSON"
        raise APIResponseValidationError(response, None, message=f"the server sent {what}") from error
    except RecursionError:
        body = None  # nested deeper than any answer is
    reply = read_completion(body, scale)
    if reply is not None:
        return reply
    # Some gateways answer 200 and put the provider's error in the body.
    if isinstance(body, dict) and body.get("error"):
        raise APIError("error", response.request, body=body["error"])
    raise APIResponseValidationError(response, None, message=_NO_COMPLETION)


def _explain(error: APIError | TimeoutError, endpoint: Endpoint, now: float) -> Trouble:
    if isinstance(error, TimeoutError):
        text = f"no complete answer within {endpoint.timeout:g} seconds: allow more time, or ask for fewer tokens"
        return Trouble(Failure("timeout", text), again=True)
    if isinstance(error, APIResponseValidationError):
        page = "web page" in error.message
        hint = ": check the address, which usually ends in /v1" if page else ""
        # What is whole and no completion was meant so: it would come again, and be paid for again.
        return Trouble(
            Failure("server", error.message + hint, fatal=page), again=not page and error.message != _NO_COMPLETION
        )
    if isinstance(error, APIConnectionError):
        where = httpx2.URL(endpoint.base_url or str(error.request.url)).netloc.decode().rpartition("@")[2]
        why = " ".join(str(error.__cause__ or "").split()) or type(error.__cause__).__name__
        text = f"no connection with {where}, or it broke: {why[:LONGEST_MESSAGE]}"
        return Trouble(Failure("connection", text), again=True)
    if isinstance(error, APIStatusError):
        return explain_status(error.status_code, error.body, error.response.headers, endpoint.model, now)
    code = error.body.get("code") if isinstance(error.body, dict) else None
    # A provider's own numbers for errors are no statuses.
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return explain_status(status, error.body, {}, endpoint.model, now)
