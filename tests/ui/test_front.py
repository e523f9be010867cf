"""What stands before the server, over real HTTP: proxies, the path it is under, and settings that say so."""

from __future__ import annotations

import httpx2
import pytest
from serving import Serving, free_port

from exchange.accounts import TRIES_FROM_AN_ADDRESS
from exchange.endpoints import Endpoints
from judge.domain import InputError, Study
from judge.protocol import find_protocol
from judge.switches import is_on
from storage.store import Store
from storage.trail import TrailSearch
from ui.front import Hosts, Proxy
from ui.page import Settings
from ui.server import Address, start_server

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('front') / 'accord.db'}")
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    with Serving(store, {"ACCORD_TRUSTED_PROXIES": "127.0.0.3, 10.0.0.0/8"}, "/accord") as serving:
        serving.accounts.add("lea", "lead", PASSWORD)
        serving.accounts._looked = float("-inf")
        yield serving
    store.close()


@pytest.fixture
def visit(app):
    """Return requests from an address, signed in under a name or not at all."""
    clients = []

    def make(name=None, address="127.0.0.1"):
        transport = httpx2.HTTPTransport(local_address=address)
        client = httpx2.Client(base_url=app.address, timeout=60, trust_env=False, transport=transport)
        clients.append(client)
        if name:
            assert client.post("/login", data={"name": name, "password": PASSWORD}).status_code == 303
        return client

    yield make
    for client in clients:
        client.close()


def test_links_that_are_guessed_cost_no_hashing_and_run_out(app, visit, monkeypatch):
    def hashed(_):
        raise AssertionError("a password was hashed for a link that is not there")

    monkeypatch.setattr("exchange.accounts._hashed", hashed)
    stranger = visit(address="127.0.0.9")
    tries = [stranger.post("/invite/guess", data={"password": PASSWORD}) for _ in range(TRIES_FROM_AN_ADDRESS + 1)]
    assert {answer.status_code for answer in tries[:-1]} == {403}
    assert tries[-1].status_code == 429
    assert stranger.post("/login", data={"name": "lea", "password": PASSWORD}).status_code == 429
    assert visit("lea")


@pytest.mark.parametrize(
    ("peer", "said", "counted"),
    [
        ("127.0.0.3", "198.51.100.7", "198.51.100.7"),
        ("127.0.0.3", "1.2.3.4, 198.51.100.8, 10.0.0.5", "198.51.100.8"),
        ("127.0.0.3", "forged, nonsense", "127.0.0.3"),
        ("127.0.0.3", None, "127.0.0.3"),
        ("127.0.0.8", "198.51.100.9", "127.0.0.8"),
    ],
)
def test_a_try_counts_for_the_nearest_address_that_is_none_of_our_proxies(app, visit, peer, said, counted):
    headers = {"X-Forwarded-For": said} if said else {}
    stranger = visit(address=peer)
    assert stranger.post("/login", data={"name": "?", "password": "no"}, headers=headers).status_code == 403
    [newest] = app.store.trail(TrailSearch(("sign_in_failed",)), None, 1)
    assert newest.details["address"] == counted


def test_a_half_named_proxy_is_refused():
    assert Proxy.named({}) is None
    with pytest.raises(InputError, match="go together"):
        Proxy.named({"ACCORD_PROXY_HEADER": "X-Remote-User"})
    with pytest.raises(InputError, match="ACCORD_PROXY_ADDRESSES"):
        Proxy.named({"ACCORD_PROXY_HEADER": "X-Remote-User", "ACCORD_PROXY_ADDRESSES": "everywhere"})


def test_a_server_that_others_reach_is_served_under_any_name_unless_some_are_listed():
    assert Hosts.named({}, "0.0.0.0").include("anything.example")
    assert not Hosts.named({}, "127.0.0.1").include("anything.example")
    assert not Hosts.named({"ACCORD_HOSTS": "a.example"}, "0.0.0.0").include("b.example")
    with pytest.raises(InputError, match="ACCORD_HOSTS"):
        Hosts.named({"ACCORD_HOSTS": "https://a.example"}, "0.0.0.0")


@pytest.mark.parametrize("under_path", ["", "/accord", "/accord/accord"])
def test_the_rules_hold_under_a_path_too(app, visit, under_path):
    under = visit("lea")
    assert under.get(f"{under_path}/studies").status_code == 200
    assert under.get(f"{under_path}/users").status_code == 403
    for door in ("openapi.json", "dev/reload", "deep_link", "proxy=https://example.org/x"):
        assert under.get(f"{under_path}/gradio_api/{door}").status_code == 404, door
    page = {"files": ("page.html", b"<script>alert(1)</script>")}
    assert under.post(f"{under_path}/gradio_api/upload", files=page).status_code == 400
    assert under.post(f"{under_path}/gradio_api/run/list_studies", content=b"x" * 5_000_000).status_code == 413
    assert under.post(f"{under_path}/gradio_api/run/list_studies", json={"data": []}).json()["data"] == [["s"]]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("on", True), (" Yes ", True), ("1", True), ("TRUE", True), ("off", False), ("0", False), ("", False)],
)
def test_a_setting_is_on_or_off_in_any_of_the_usual_words(word, meant):
    assert is_on({"ACCORD_AUTH": word}, "ACCORD_AUTH") is meant


def test_a_setting_that_says_neither_stops_the_start(app):
    for environment in ({"ACCORD_AUTH": "onn"}, {"ACCORD_TRUSTED_PROXIES": "everywhere"}):
        with pytest.raises(InputError, match=next(iter(environment))):
            start_server(app.store, Settings({}), Address("127.0.0.1", free_port()), False, environment)
    with pytest.raises(InputError, match="ACCORD_ALLOW_PRIVATE is 'maybe'"):
        Endpoints(app.store, environment={"ACCORD_ALLOW_PRIVATE": "maybe"})
