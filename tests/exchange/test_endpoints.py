"""The judges one can ask: presets that are kept, keys that are not, and one embedded model for everybody."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from openai_server import OpenAIServer, completion, error, token

from exchange.endpoints import EMBEDDED, Endpoints, Preset
from exchange.judging import JudgeOrder, estimate_run, run_judge
from exchange.key_addresses import KeyAddresses
from exchange.run_order import RunOrder, estimate_order
from judge.domain import Failure, InputError, Reply
from judge.embedded import find_weights
from judge.protocol import load_version
from judge.render import render
from judge.run import Prices
from storage.store import Store

pytestmark = pytest.mark.one_database

KEY = "sk-planted-0123456789"


@pytest.fixture
def endpoints(store):
    made = Endpoints(store, environment={"OPENAI_API_KEY": "from-the-environment"})
    yield made
    made.close()


@pytest.fixture
def preference(store, make_study):
    make_study(1)
    return load_version(store.study("s").protocol)


def ask(endpoints, preset, protocol, item, who=""):
    async def go():
        async with endpoints.connect(preset, who) as judge:
            return await judge.ask(render(protocol, item), protocol)

    return asyncio.run(go())


def test_the_embedded_model_comes_first_and_says_what_it_is(endpoints) -> None:
    endpoints.save_preset(Preset("A first of the alphabet", "m"))
    first, second = endpoints.presets()
    assert first == EMBEDDED
    assert "demonstration model, unfit for studies" in first.name
    assert second.name == "A first of the alphabet"


def test_presets_outlive_the_process_and_the_newest_of_a_name_counts(store, database, endpoints) -> None:
    endpoints.save_preset(Preset("ours", "old", "http://127.0.0.1:1/v1"))
    wanted = Preset("ours", "new", "http://127.0.0.1:8000/v1", "", Prices(0.5, 1.5))
    endpoints.save_preset(wanted)
    again = Store.open(database)
    assert Endpoints(again).presets()[1:] == [wanted]
    again.close()
    endpoints.remove_preset("ours")
    assert endpoints.presets() == [EMBEDDED]


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        (Preset(" ", "m"), "name"),
        (Preset(EMBEDDED.name, "m"), "another name"),
        (Preset("x", "m", "ftp://host/v1"), "http://"),
        (Preset("x", "m", "https://me:secret@host/v1"), "no user"),
        (Preset("x", "m", "https://host/v1?api-key=secret"), "no user"),
        (Preset("x", "m", "https://[host/v1"), "not the address"),
        (Preset("x", "m", None, "HOME"), "_API_KEY"),
        (Preset("x", "m", None, "DATABASE_URL"), "_API_KEY"),
    ],
)
def test_a_preset_that_cannot_be_used_or_would_leak_is_refused(endpoints, preset, message) -> None:
    with pytest.raises(InputError, match=message):
        endpoints.save_preset(preset)
    assert endpoints.presets() == [EMBEDDED]


def test_a_typed_key_goes_over_the_environments_and_belongs_to_one_person(store, preference, item) -> None:
    with OpenAIServer(lambda seen: completion('{"choice": "A"}')) as server:
        environment = {"OPENAI_API_KEY": "from-the-environment", "OPENAI_BASE_URL": server.url}
        endpoints = Endpoints(store, environment=environment)
        endpoints.save_preset(Preset("ours", "m", server.url))
        endpoints.give_key("ours", f" {KEY}\n", who="ana")
        for who in ("ana", "ben"):
            assert isinstance(ask(endpoints, "ours", preference, item, who), Reply)
        sent = [seen.headers["authorization"] for seen in server.requests]
    assert sent == [f"Bearer {KEY}", "Bearer from-the-environment"]
    assert endpoints.key_source("ours", "ana") == "typed for this session"
    assert endpoints.key_source("ours", "ben") == "from the environment variable OPENAI_API_KEY"
    endpoints.give_key("ours", "", who="ana")
    assert endpoints.key_source("ours", "ana") == endpoints.key_source("ours", "ben")


def test_a_preset_that_moves_to_another_server_takes_no_typed_key_along(endpoints) -> None:
    endpoints.save_preset(Preset("ours", "m", "http://127.0.0.1:1/v1", ""))
    endpoints.give_key("ours", KEY)
    endpoints.save_preset(Preset("ours", "m", "http://127.0.0.1:2/v1", ""))
    assert not endpoints.has_key("ours")
    endpoints.save_preset(Preset("ours", "other", "http://127.0.0.1:1/v1", ""))
    assert endpoints.has_key("ours")
    endpoints.remove_preset("ours")
    endpoints.save_preset(Preset("ours", "m", "http://127.0.0.1:1/v1", ""))
    assert not endpoints.has_key("ours")


def test_a_key_of_the_environment_goes_only_where_the_environment_says(store, preference, item) -> None:
    with (
        OpenAIServer(lambda seen: completion('{"choice": "A"}')) as server,
        OpenAIServer(lambda seen: completion('{"choice": "A"}')) as thief,
    ):
        endpoints = Endpoints(store, environment={"MY_API_KEY": KEY, "MY_BASE_URL": server.url, "OTHER_API_KEY": "o"})
        endpoints.save_preset(Preset("ours", "m", server.url, "MY_API_KEY"))
        assert isinstance(ask(endpoints, "ours", preference, item), Reply)
        for preset in (Preset("x", "m", thief.url, "MY_API_KEY"), Preset("y", "m", server.url, "OTHER_API_KEY")):
            endpoints.save_preset(preset)
            assert not endpoints.has_key(preset.name)
            assert "ACCORD_KEY_ADDRESSES" in endpoints.key_source(preset.name)
            with pytest.raises(InputError, match=f"the key in {preset.key_env} is not sent to"):
                ask(endpoints, preset.name, preference, item)
            with pytest.raises(InputError, match="is not sent to"):
                asyncio.run(endpoints.try_out(preset.name))
        endpoints.give_key("x", "sk-typed")
        assert isinstance(ask(endpoints, "x", preference, item), Reply)
    assert [seen.headers["authorization"] for seen in server.requests] == [f"Bearer {KEY}"]
    assert [seen.headers["authorization"] for seen in thief.requests] == ["Bearer sk-typed"]


@pytest.mark.parametrize(
    ("variable", "address", "allowed"),
    [
        ("OPENAI_API_KEY", None, True),
        ("OPENAI_API_KEY", "https://api.openai.com/v1", True),
        ("OPENAI_API_KEY", "https://API.openai.com:443/other", True),
        ("OPENAI_API_KEY", "http://api.openai.com/v1", False),
        ("OPENAI_API_KEY", "https://api.openai.com.evil.example/v1", False),
        ("OPENAI_API_KEY", "https://evil.example/v1#https://api.openai.com", False),
        ("OPENAI_API_KEY", "https://api.openai.com:8443/v1", False),
        ("OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", True),
        ("OPENROUTER_API_KEY", None, False),
        ("MINE_API_KEY", "http://10.0.0.7:8000/v1", True),
        ("MINE_API_KEY", None, False),
        ("OPENAI_API_KEY", "https://gateway.example/v1", True),
        ("MINE_API_KEY", "https://gateway.example/v1", True),
        ("OPENAI_API_KEY", "nonsense", False),
        ("OPENAI_API_KEY", "http://[", False),
    ],
)
def test_which_key_may_go_where(variable, address, allowed) -> None:
    named = {"MINE_BASE_URL": "http://10.0.0.7:8000", "ACCORD_KEY_ADDRESSES": "https://gateway.example/, http://x:1"}
    assert KeyAddresses(named).allows(variable, address) is allowed


def test_openais_own_address_is_the_one_that_the_environment_names() -> None:
    moved = KeyAddresses({"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"})
    assert moved.allows("OPENAI_API_KEY", None)
    assert moved.allows("OPENAI_API_KEY", "http://127.0.0.1:8000/v1")
    assert not moved.allows("OTHER_API_KEY", None)
    with pytest.raises(InputError, match=r"ACCORD_KEY_ADDRESSES: 'gateway\.example' is no address"):
        KeyAddresses({"ACCORD_KEY_ADDRESSES": "gateway.example"})


def test_a_key_is_nowhere_but_in_memory(store, tmp_path, endpoints, preference, item) -> None:
    with OpenAIServer(lambda seen: error(401, f"bad key {seen.headers['authorization']}")) as server:
        endpoints.save_preset(Preset("ours", "m", server.url))
        endpoints.give_key("ours", KEY)
        failure = ask(endpoints, "ours", preference, item)
    assert isinstance(failure, Failure)
    assert failure.kind == "key"
    assert "planted" not in repr(failure) + repr(endpoints.presets()) + repr(
        asyncio.run(endpoints.reach(Preset("ours", "m")))
    )
    store.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"planted" in path.read_bytes()]


def test_a_wrong_key_is_refused_without_being_shown(endpoints) -> None:
    endpoints.save_preset(Preset("ours", "m"))
    with pytest.raises(InputError, match="copy it again") as refused:
        endpoints.give_key("ours", "sk-planted line\nbreak")
    assert "planted" not in str(refused.value)
    with pytest.raises(InputError, match="needs no key"):
        endpoints.give_key(EMBEDDED.name, KEY)


def test_what_is_missing_is_said_before_anything_is_sent(store, preference, item) -> None:
    bare = Endpoints(store, environment={})
    bare.save_preset(Preset("openai", "m", key_env="MY_API_KEY"))
    bare.save_preset(Preset("nameless", "", "http://127.0.0.1:1/v1"))
    with pytest.raises(InputError, match="page Settings, or start Accord with MY_API_KEY set"):
        ask(bare, "openai", preference, item)
    with pytest.raises(InputError, match="no model is named for 'nameless'"):
        ask(bare, "nameless", preference, item)
    with pytest.raises(InputError, match="there are: "):
        ask(bare, "unknown", preference, item)


def test_a_stream_brings_pieces_and_then_the_whole(endpoints, preference, item) -> None:
    async def listen(url):
        async with endpoints.connect(Preset("", "m", url, "")) as judge:
            prompt = render(preference, item)
            async with aclosing(judge.stream(prompt, preference, {"temperature": 0.5})) as pieces:
                return [piece async for piece in pieces]

    sure = [token('{"reason": "Clearer.", "choice": "', 1), token("A", 0.75, B=0.25), token('"}', 1)]
    with OpenAIServer(lambda seen: completion('{"reason": "Clearer.", "choice": "A"}', logprobs=sure)) as server:
        *pieces, reply = asyncio.run(listen(server.url))
    assert reply.label_probabilities == pytest.approx({"A": 0.75, "B": 0.25})
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text
    assert server.bodies[0]["temperature"] == 0.5


def test_everybody_shares_one_embedded_model_that_answers_in_form(endpoints, preference, item) -> None:
    async def start_together():
        return await asyncio.gather(*(endpoints.reach(EMBEDDED) for _ in range(4)))

    assert len({endpoint.base_url for endpoint in asyncio.run(start_together())}) == 1
    reply = ask(endpoints, EMBEDDED.name, preference, item)
    assert isinstance(reply, Reply)
    assert '"choice": ' in reply.text


def test_another_gguf_file_judges_under_its_own_name(store, make_study, tmp_path) -> None:
    make_study(1)
    (tmp_path / "my-model.gguf").symlink_to(find_weights())
    wanted = JudgeOrder("s", orders=("AB",), weights=tmp_path / "my-model.gguf")
    done = run_judge(store, wanted, lambda _: None)
    assert (done["judge"], done["model"]) == ("my-model (embedded)", "my-model")
    assert estimate_run(store, wanted)["stored"] == 1
    endpoints = Endpoints(store, tmp_path / "my-model.gguf", environment={})
    [preset] = endpoints.presets()
    assert preset.name == done["judge"]
    order = RunOrder("s", preset, orders=("AB",))
    assert estimate_order(store, endpoints, order).stored == 1  # the page and the command line mean the same judge
    with pytest.raises(InputError, match="another name"):
        endpoints.save_preset(Preset("my-model (embedded)", "m"))
    endpoints.close()
