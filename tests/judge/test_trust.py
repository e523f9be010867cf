"""Over https a judge's server has to show a certificate that somebody trusted vouches for."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from judge.client import Client, Endpoint
from judge.domain import Failure, Prompt, Reply

PROMPT = Prompt("p", "AB", "", "Which is better?", ())
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate for this machine that nobody else vouches for, with its key in the same file."""
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    words += f" -addext subjectAltName=IP:127.0.0.1 -keyout {file} -out {file}.crt"
    subprocess.run(words.split(), check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def ask_over_tls(certificate: Path) -> Reply | Failure:
    """Ask a server that shows this certificate."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    async def ask(url: str) -> Reply | Failure:
        async with Client(Endpoint(url, "m", "none", tries=1)) as client:
            return await client.ask(PROMPT, {})

    with OpenAIServer(tls=tls) as server:
        return asyncio.run(ask(server.url))


def test_a_server_that_nobody_vouches_for_is_not_asked(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    found = ask_over_tls(certificate)
    assert isinstance(found, Failure)
    assert found.kind == "connection"
    assert "CERTIFICATE_VERIFY_FAILED" in found.message


def test_a_certificate_that_the_environment_names_is_trusted(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert isinstance(ask_over_tls(certificate), Reply)
