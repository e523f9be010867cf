"""The log for programs: one line a request, and nothing in it that nobody may read."""

import asyncio
import json
import logging

import pytest

from exchange.accounts import Accounts
from storage.store import Store
from ui.front import Front
from ui.gate import Gate
from ui.logs import FAULTS, FaultLines


async def answer(scope, receive, send):
    if scope["path"] == "/broken":
        raise ValueError("SECRET text")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"SECRET text"})


@pytest.fixture
def ask(tmp_path, capsys):
    store = Store.open(f"sqlite:///{tmp_path / 'accord.db'}")
    accounts = Accounts(store)
    gate = Gate(answer, accounts, Front())
    gate.log = True

    def request(path, query=b"", method="GET", cookie=""):
        headers = [(b"cookie", cookie.encode()), (b"authorization", b"SECRET"), (b"content-length", b"0")]
        scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": headers}

        async def send(message):
            pass

        asyncio.run(gate(scope, None, send))
        return capsys.readouterr().err

    yield request, accounts
    store.close()


def test_each_request_is_one_line_without_what_is_secret(ask):
    request, _ = ask
    for path in ("/", "/invite/SECRET", "/gradio_api/file=/tmp/SECRET.jsonl", "/gradio_api/heartbeat/SECRET"):
        text = request(path, b"next=SECRET")
        assert text.count("\n") == 1
        assert "SECRET" not in text
        told = json.loads(text)
        assert (told["event"], told["method"], told["status"], told["user"]) == ("request", "GET", 200, None)
        assert told["ms"] >= 0


def test_a_line_says_who_asked_and_who_was_refused(ask):
    request, accounts = ask
    accounts.add("ann", "annotator", "correct horse battery")
    accounts._looked = float("-inf")
    token = accounts.sign_in("ann", "correct horse battery", "")
    text = request("/settings", cookie=f"accord_session={token}")
    assert (json.loads(text)["status"], json.loads(text)["user"]) == (403, "ann")
    assert token not in text
    assert json.loads(request("/config\nforged"))["status"] == 401


def test_a_fault_is_one_line_that_tells_where_it_was_and_quotes_nothing(ask, capsys):
    request, _ = ask
    lines = FaultLines()
    FAULTS.addHandler(lines)
    try:
        with pytest.raises(ValueError, match="SECRET"):
            request("/broken")
        logging.getLogger("accord").warning("run over %r is slow", "SECRET")
    finally:
        FAULTS.removeHandler(lines)
    fault, warning = map(json.loads, (text := capsys.readouterr().err).splitlines())
    assert "SECRET" not in text
    assert (fault["event"], fault["error"], fault["level"]) == ("fault", "ValueError", "error")
    assert fault["where"][-1].endswith(" answer")
    assert (warning["event"], warning["level"]) == ("log", "warning")
