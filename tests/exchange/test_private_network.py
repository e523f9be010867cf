"""Where a server that others use may send requests: every known way into the private network is refused."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from openai_server import OpenAIServer, completion

from exchange.endpoints import Endpoints, Preset
from judge.addresses import is_private
from judge.domain import Failure, InputError, Reply

PRIVATE = [
    "169.254.169.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "[fe80::1]",
    "[fc00::1]",
    "[::]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.0.192",
    "168.63.129.16",
    "192.88.99.1",
    "198.18.0.1",
    "[fec0::1]",
    "[ff0e::1]",
    "[100::1]",
    "[2001::a9fe:a9fe]",
    "[3fff::1]",
    "[::169.254.169.254]",
    "[::127.0.0.1]",
    "[::ffff:0:169.254.169.254]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[64:ff9b::7f00:1]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[::ffff:169.254.169.254%251]",
]


@pytest.fixture
def endpoints(sqlite):
    made = Endpoints(sqlite, environment={})
    yield made
    made.close()


@pytest.mark.parametrize("host", PRIVATE)
def test_an_address_of_the_private_network_cannot_be_saved_unless_it_is_allowed(endpoints, host):
    with pytest.raises(InputError, match="ACCORD_ALLOW_PRIVATE=on"):
        endpoints.save_preset(Preset("p", "m", f"http://{host}/v1"))
    Endpoints(endpoints.store, environment={"ACCORD_ALLOW_PRIVATE": "on"}).save_preset(
        Preset("p", "m", f"http://{host}/v1")
    )
    with pytest.raises(InputError, match="ACCORD_ALLOW_PRIVATE=on"):
        asyncio.run(endpoints.try_out("p"))  # stored before, or by somebody who may


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_this_machine_and_the_internet_may_be_asked(host):
    assert not is_private(ipaddress.ip_address(host))


@pytest.mark.parametrize("address", ["ftp://x/v1", "file:///etc/passwd", "http://u:p@x/v1", "http://x/v1?k=1", "//x"])
def test_what_is_no_plain_address_of_a_server_is_refused(endpoints, address):
    with pytest.raises(InputError):
        endpoints.save_preset(Preset("p", "m", address))


def names(monkeypatch, *answers):
    """Make the name judge.example lead to one address after the other."""
    real, left = socket.getaddrinfo, list(answers)

    def look_up(host, *rest, **named):
        if host not in ("judge.example", b"judge.example") or named.get("flags"):
            return real(host, *rest, **named)
        address = left.pop(0) if len(left) > 1 else left[0]
        if address is None:
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return real(address, *rest, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


def test_a_name_that_leads_into_the_private_network_is_refused(endpoints, monkeypatch):
    names(monkeypatch, "192.168.7.7")
    endpoints.save_preset(Preset("p", "m", "http://judge.example/v1"))
    with pytest.raises(InputError, match=r"judge\.example is an address of the private network"):
        asyncio.run(endpoints.try_out("p"))


def test_a_name_that_changes_its_meaning_is_refused_when_it_is_connected_to(endpoints, monkeypatch):
    names(monkeypatch, "127.0.0.1", "192.168.7.7")
    endpoints.save_preset(Preset("p", "m", "http://judge.example:9/v1"))
    answer = asyncio.run(endpoints.try_out("p"))
    assert isinstance(answer, Failure)


def test_a_name_that_cannot_be_looked_up_is_not_asked_by_whoever_looks_next(endpoints, monkeypatch):
    with OpenAIServer(lambda _: completion("SECRET")) as server:
        port = server.url.split(":")[2].split("/")[0]
        endpoints.save_preset(Preset("p", "m", f"http://judge.example:{port}/v1"))
        names(monkeypatch, None, "127.0.0.1")
        with pytest.raises(InputError, match=r"no server under the name judge\.example"):
            asyncio.run(endpoints.try_out("p"))
        names(monkeypatch, "127.0.0.1", None, "127.0.0.1")
        answer = asyncio.run(endpoints.try_out("p"))
        assert isinstance(answer, Failure)
        assert (answer.kind, server.requests) == ("connection", [])


def test_a_name_that_leads_to_this_machine_works_and_keeps_its_name(endpoints, monkeypatch):
    names(monkeypatch, "127.0.0.1")
    with OpenAIServer(lambda _: completion("ready")) as server:
        port = server.url.split(":")[2].split("/")[0]
        endpoints.save_preset(Preset("p", "m", f"http://judge.example:{port}/v1"))
        answer = asyncio.run(endpoints.try_out("p"))
    assert isinstance(answer, Reply)


class Redirecting(BaseHTTPRequestHandler):
    """A server of the internet that sends its visitors into the private network."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(307)
        self.send_header("Location", "http://192.168.7.7/v1/chat/completions")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_a_redirect_into_the_private_network_is_not_followed(endpoints):
    with ThreadingHTTPServer(("127.0.0.1", 0), Redirecting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        endpoints.save_preset(Preset("p", "m", f"http://127.0.0.1:{server.server_port}/v1"))
        answer = asyncio.run(asyncio.wait_for(endpoints.try_out("p"), 20))
        server.shutdown()
    assert isinstance(answer, Failure)
    assert "192.168.7.7 is an address of the private network" in answer.message
