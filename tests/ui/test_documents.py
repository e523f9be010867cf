"""What a page begins with: the files it will need named in its document, and both sent packed from memory."""

from __future__ import annotations

import httpx2
import pytest
from serving import Serving

from storage.store import Store
from ui.documents import FRONTEND, read_frontend

PAGES = ("/", "/judges", "/agreement", "/studies", "/playground", "/settings", "/users")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('documents') / 'accord.db'}")
    with Serving(store) as app, httpx2.Client(base_url=app.address, timeout=60, trust_env=False) as client:
        yield client
    store.close()


def test_a_page_names_the_script_of_each_kind_of_component_on_it() -> None:
    frontend = read_frontend(FRONTEND)
    plain, with_list = frontend.needed({"html"}), frontend.needed({"html", "dropdown"})
    assert any(name.startswith("HTML-") for name in plain)
    assert set(plain) < set(with_list)
    assert all((FRONTEND / "assets" / name).is_file() for name in with_list)


def test_a_frontend_of_another_form_is_left_to_find_its_files_by_itself(tmp_path) -> None:
    (tmp_path / "index.html").write_text("<html></html>")
    assert read_frontend(tmp_path).needed({"html"}) == []
    (tmp_path / "index.html").write_text('<script src="./assets/index-Ab1.js"></script>')
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "index-Ab1.js").write_text("nothing of the usual form")
    assert read_frontend(tmp_path).needed({"html"}) == ["index-Ab1.js"]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_names_files_that_are_there(browser, path) -> None:
    document = browser.get(path)
    named = [part.split('"')[0] for part in document.text.split('href="./assets/')[1:]]
    assert len(named) > 20
    for name in named:
        assert browser.get(f"/assets/{name}").status_code == 200, name


def test_a_document_is_packed_for_those_who_can_unpack_it(browser) -> None:
    packed = browser.get("/")
    plain = browser.get("/", headers={"Accept-Encoding": "identity"})
    assert (packed.headers["content-encoding"], plain.headers.get("content-encoding")) == ("gzip", None)
    assert packed.text == plain.text
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 3
    assert packed.headers["vary"] == "Accept-Encoding"
    assert "frame-ancestors 'none'" in packed.headers["content-security-policy"]


def test_a_script_is_sent_as_it_is_on_disk_and_need_never_be_asked_for_again(browser) -> None:
    name = read_frontend(FRONTEND).needed({"html"})[0]
    for coding in ("gzip", "identity"):
        sent = browser.get(f"/assets/{name}", headers={"Accept-Encoding": coding})
        assert sent.content == (FRONTEND / "assets" / name).read_bytes()
        assert sent.headers["content-type"].split(";")[0] in ("text/javascript", "application/javascript")
        assert "immutable" in sent.headers["cache-control"]


@pytest.mark.parametrize("name", ["../index.html", "%2e%2e/index.html", "nothing.js"])
def test_nothing_but_the_folders_own_files_is_sent(browser, name) -> None:
    assert browser.get(f"/assets/{name}").status_code in (403, 404)


def test_what_is_no_page_passes_as_it_is(browser) -> None:
    assert browser.head("/").headers.get("content-encoding") is None
    health = browser.get("/health")
    assert (health.status_code, health.headers.get("content-encoding")) == (200, None)
