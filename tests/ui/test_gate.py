"""The gate over real HTTP: who is let in, what a role may, which doors are shut, what every answer says."""

from __future__ import annotations

import json
import re
import socket
import time
import uuid
from datetime import timedelta
from pathlib import Path

import gradio as gr
import httpx2
import pytest
from gradio.utils import get_upload_folder
from serving import Serving

from exchange.accounts import SESSION, TRIES_FOR_A_NAME
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.store import Store
from ui.gate import COOKIE

PASSWORD = "correct horse battery"
# Every event that an annotator may send; whatever is added to the app is for leads until it is added here.
REVIEW = {
    *("next_item", "submit_verdict", "skip_item", "list_studies", "open_pages"),
    *("review_open", "review_submit", "review_prepare", "review_step", "review_skip", "review_undo", "review_remark"),
    *("review_prompt", "review_difference", "review_guidelines", "review_judges", "judge", "lambda"),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('gate') / 'accord.db'}")
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    item = Item("q", (Turn("user", "?"),), "left", "right", checklist=("Right?",))
    store.add_prepared("s", [prepare(item)])
    proxies = {"ACCORD_PROXY_HEADER": "X-Remote-User", "ACCORD_PROXY_ADDRESSES": "127.0.0.2"}
    with Serving(store, proxies) as serving:
        for name, role in (("ann", "annotator"), ("lea", "lead"), ("ada", "admin")):
            serving.accounts.add(name, role, PASSWORD)
        serving.accounts._looked = float("-inf")
        yield serving
    store.close()


@pytest.fixture
def visit(app):
    """Return a browser's requests, signed in under a name or not at all."""
    clients = []

    def make(name=None, password=PASSWORD, address=None):
        transport = httpx2.HTTPTransport(local_address=address) if address else None
        client = httpx2.Client(base_url=app.address, timeout=60, trust_env=False, transport=transport)
        clients.append(client)
        if name:
            answer = client.post("/login", data={"name": name, "password": password})
            assert answer.status_code == 303, answer.text
        return client

    yield make
    for client in clients:
        client.close()


def run(client, door, *data, **more):
    return client.post(f"/gradio_api/run/{door}", json={"data": data, **more})


def test_every_event_of_the_app_refuses_an_annotator_unless_it_is_part_of_review(app, visit):
    events = app.blocks.get_config_file()["dependencies"]
    assert {event["id"] for event in events} == set(app.blocks.fns)
    ann, lea = visit("ann"), visit("lea")
    refused = 0
    for event in events:
        sent = {"data": [None] * len(event["inputs"]), "fn_index": event["id"], "session_hash": "x"}
        if event["api_name"] in REVIEW and event["id"] in app.blocks.for_annotators:
            continue
        assert event["id"] not in app.blocks.for_annotators, f"{event['api_name']} is open to annotators"
        if app.blocks.fns[event["id"]].fn is None:
            continue
        answer = ann.post(f"/gradio_api/run/{event['api_name'] or 'predict'}", json=sent)
        assert answer.status_code == (403 if event["api_name"] in app.blocks.doors else 500), event
        assert "your account may not do this" in answer.json()["error"], event
        refused += 1
    assert refused > 20
    names = {event["api_name"] for event in events if event["id"] in app.blocks.for_annotators}
    assert names == REVIEW
    assert run(ann, "list_studies").json()["data"] == [["s"]]
    assert run(ann, "open_pages").json()["data"] == [["/"]]
    assert "/settings" in run(lea, "open_pages").json()["data"][0]


def test_every_event_about_accounts_refuses_a_lead(app, visit):
    lea, ada = visit("lea"), visit("ada")
    assert len(app.blocks.for_admins) >= 4
    for number in app.blocks.for_admins:
        event = app.blocks.fns[number]
        sent = {"data": [None] * len(event.inputs), "fn_index": number, "session_hash": "x"}
        answer = lea.post(f"/gradio_api/run/{event.api_name or 'predict'}", json=sent)
        assert answer.status_code == 500, event.api_name
        assert "your account may not do this" in answer.json()["error"]
    assert run(lea, "open_pages").json()["data"][0][-1] == "/settings"
    assert run(ada, "open_pages").json()["data"][0][-1] == "/users"
    for path in ("/users", "/users/"):
        assert lea.get(path).status_code == 403
    assert ada.get("/users").status_code == 200


def test_an_annotator_cannot_take_the_queue_around_the_check(app, visit):
    ann = visit("ann")
    event = next(number for number in app.blocks.fns if number not in app.blocks.for_annotators)
    count = len(app.blocks.fns[event].inputs)
    sent = {"data": [None] * count, "fn_index": event, "session_hash": "q1"}
    assert ann.post("/gradio_api/queue/join", json=sent).status_code == 200
    with ann.stream("GET", "/gradio_api/queue/data", params={"session_hash": "q1"}) as lines:
        told = [json.loads(line[6:]) for line in lines.iter_lines() if line.startswith("data: ")]
    ended = next(each for each in told if each["msg"] == "process_completed")
    assert ended["success"] is False
    assert "may not do this" in json.dumps(ended["output"])


@pytest.mark.parametrize("path", ["/judges", "/studies", "/playground", "/settings", "/gradio_api/upload_progress"])
def test_pages_for_leads_are_shut_to_annotators_and_open_to_leads(visit, path):
    assert visit("ann").get(path).status_code == 403
    if "api" not in path:
        assert visit("lea").get(path).status_code == 200


def test_without_signing_in_only_signing_in_and_the_health_can_be_reached(visit):
    stranger = visit()
    assert stranger.get("/health").json() == {"database": "ok", "schema": "current"}
    page = stranger.get("/?study=s", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2F%3Fstudy%3Ds")
    for path in ("/", "/config", "/gradio_api/info", "/theme.css", "/gradio_api/heartbeat/x", "/gradio_api/file=x"):
        assert stranger.get(path).status_code == 401, path
    assert run(stranger, "next_item", "s", "ann").status_code == 401
    assert stranger.post("/gradio_api/upload", files={"files": b"x"}).status_code == 401
    forged = {"x-gradio-user": "ada", "X-Remote-User": "ada", "X-Forwarded-For": "127.0.0.2"}
    assert stranger.get("/config", headers=forged).status_code == 401
    assert stranger.get("/config", headers={"Cookie": f"{COOKIE}=guessed"}).status_code == 401


def test_the_one_signed_in_is_the_rater_whatever_the_request_says(app, visit):
    claim = run(visit("ann"), "next_item", "s", "somebody else").json()["data"][0]["claim"]
    assert app.store.held(claim).claim.rater == "ann"
    stolen = run(visit("lea"), "submit_verdict", claim, "A+")
    assert stolen.status_code == 500
    assert app.store.held(claim).verdict is None


def test_a_session_has_a_token_of_its_own_and_ends(app, visit):
    fixed = visit()
    fixed.cookies.set(COOKIE, "chosen-by-somebody")
    answer = fixed.post("/login", data={"name": "ann", "password": PASSWORD})
    sent = answer.headers["set-cookie"]
    assert all(word in sent for word in ("HttpOnly", "SameSite=lax", f"Max-Age={int(SESSION.total_seconds())}"))
    assert "chosen-by-somebody" not in sent
    ann = visit("ann")
    token = ann.cookies[COOKIE]
    assert app.accounts.who(token).name == "ann"
    late = app.store.clock
    app.store.clock = lambda: late() + SESSION
    assert ann.get("/config").status_code == 401
    app.store.clock = late
    assert ann.get("/config").json()["username"] == "ann"
    assert ann.post("/logout").status_code == 303
    assert visit().get("/config", headers={"Cookie": f"{COOKIE}={token}"}).status_code == 401


def test_another_site_can_change_nothing(visit):
    ann = visit("ann")
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        for path in ("/gradio_api/run/list_studies", "/logout", "/login", "/gradio_api/queue/join"):
            assert ann.post(path, json={"data": []}, headers=headers).status_code == 403, (headers, path)
    assert run(ann, "list_studies").status_code == 200


def test_another_site_can_read_nothing(visit):
    lea = visit("lea")
    foreign = {"Origin": "https://evil.example", "Host": "accord.example.org"}
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for path in ("/config", "/gradio_api/info", "/gradio_api/run/list_studies", "/gradio_api/queue/data"):
        for headers in (foreign, {"Sec-Fetch-Site": "cross-site"}):
            assert lea.get(path, headers=headers).status_code == 403, path
            assert lea.request("OPTIONS", path, headers={**headers, **asking}).status_code == 403, path
    answers = [lea.get(path, headers=foreign) for path in ("/", "/health", "/studies", "/theme.css")]
    answers.append(lea.get("/config", headers={"Origin": "http://accord.example.org", "Host": "accord.example.org"}))
    for answer in answers:
        assert answer.status_code == 200
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_wrong_passwords_run_out(app, visit):
    app.accounts.add("bob", "annotator", PASSWORD)
    stranger = visit()
    tries = [stranger.post("/login", data={"name": "bob", "password": "no"}) for _ in range(TRIES_FOR_A_NAME)]
    assert {answer.status_code for answer in tries} == {403}
    assert "Name or password is wrong." in tries[0].text
    assert stranger.post("/login", data={"name": "bob", "password": PASSWORD}).status_code == 429
    unknown = stranger.post("/login", data={"name": "nobody <b>", "password": "no"})
    assert (unknown.status_code, unknown.text) == (403, tries[0].text)


def test_wrong_passwords_from_before_the_clock_was_put_back_do_not_bar_the_door(app, visit):
    app.accounts.add("eve", "annotator", PASSWORD)
    clock, stranger = app.store.clock, visit()
    for _ in range(TRIES_FOR_A_NAME):
        stranger.post("/login", data={"name": "eve", "password": "no"})
    assert stranger.post("/login", data={"name": "eve", "password": PASSWORD}).status_code == 429
    app.store.clock = lambda: clock() - timedelta(days=1)
    assert stranger.post("/login", data={"name": "eve", "password": PASSWORD}).status_code == 303
    app.store.clock = clock


def test_an_invitation_works_once_and_there_is_no_registration(app, visit):
    app.accounts.add("ivy", "annotator")
    link = f"/invite/{app.accounts.invite('ivy')}"
    stranger = visit()
    assert "ivy" in stranger.get(link).text
    assert stranger.post(link, data={"password": "short"}).status_code == 403
    assert stranger.post(link, data={"password": PASSWORD}).status_code == 303
    assert stranger.get("/config").json()["username"] == "ivy"
    assert visit().post(link, data={"password": PASSWORD}).status_code == 403
    assert visit().get(link).status_code == 404
    app.accounts.disable("ivy")
    assert stranger.get("/config").status_code == 401
    assert visit().post("/login", data={"name": "ivy", "password": PASSWORD}).status_code == 403


def test_after_signing_in_one_is_sent_only_to_a_page_of_ours(visit):
    form = {"name": "ann", "password": PASSWORD}
    for wanted, place in (
        ("/?study=s", "/?study=s"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        ("/\\evil.example", "/"),
    ):
        assert visit().post("/login", params={"next": wanted}, data=form).headers["location"] == place


def test_a_proxy_is_believed_only_from_its_own_address(app, visit):
    from_proxy = visit(address="127.0.0.2")
    assert from_proxy.get("/config", headers={"X-Remote-User": "lea"}).json()["username"] == "lea"
    assert from_proxy.get("/config", headers={"X-Remote-User": "nobody"}).status_code == 401
    assert from_proxy.get("/config", headers=[("X-Remote-User", "ann"), ("X-Remote-User", "ada")]).status_code == 401
    assert visit().get("/config", headers={"X-Remote-User": "lea"}).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/proxy=https://example.org/x",
        "/gradio_api/runs",
        "/gradio_api/run-history/buckets",
        "/gradio_api/deep_link?session_hash=x",
        "/gradio_api/vibe-code",
        "/gradio_api/token",
        "/gradio_api/profiling/traces",
        "/gradio_api/dev/reload",
        "/gradio_api/openapi.json",
        "/openapi.json",
        "/docs",
        "/monitoring",
        "/monitoring/summary",
        "/gradio_api/stream/x/1/1/playlist.m3u8",
        "/gradio_api/custom_component/x/client/component/index.js",
    ],
)
def test_the_doors_of_gradio_that_nobody_needs_are_shut_even_to_admins(visit, path):
    assert visit("ada").get(path).status_code == 404


@pytest.mark.parametrize("path", ["/etc/passwd", "app.py", "../app.py", "pyproject.toml", "https://example.org/x"])
def test_no_file_of_the_machine_is_served(visit, path):
    assert visit("ada").get(f"/gradio_api/file={path}").status_code in (403, 404)


def test_no_file_of_the_database_is_served(app, visit):
    assert visit("ada").get(f"/gradio_api/file={app.store.engine.url.database}").status_code == 403


def test_too_much_is_refused_before_it_is_read(visit):
    lea = visit("lea")
    assert lea.post("/gradio_api/run/list_studies", content=b"x" * 5_000_000).status_code == 413
    assert lea.post("/gradio_api/upload", files={"files": b"x" * 23_000_000}).status_code == 413
    assert lea.post("/gradio_api/run/list_studies", content=iter([b"{}"])).status_code == 411
    deep = b'{"data": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    answer = lea.post("/gradio_api/run/list_studies", content=deep, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert run(lea, "list_studies").status_code == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"POST /gradio_api/run/list_studies HTTP/1.1\r\nContent-Length: {'0' * 13}5000000", 413),
        (f"POST /gradio_api/run/list_studies HTTP/1.1\r\nContent-Length: {'9' * 18}", 413),
        ("GET /login HTTP/1.1\r\nTransfer-Encoding: chunked", 411),
        ("GET /login HTTP/1.1\r\nContent-Length: 5000000", 413),
    ],
)
def test_no_way_of_writing_a_length_lets_more_through(app, head, status):
    with socket.create_connection((app.where.host, app.where.port), timeout=30) as wire:
        wire.sendall(f"{head}\r\nHost: localhost\r\n\r\n".encode())
        assert wire.recv(4096).startswith(f"HTTP/1.1 {status}".encode())


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("items.jsonl", b'{"id": "x", "a": "filename="x.html""}', 200),
        ("ITEMS.CSV.GZ", b"x", 200),
        ("page.html", b"<script>alert(1)</script>", 400),
        ("run.exe", b"MZ", 400),
        ("items.jsonl.svg", b"<svg/>", 400),
        ("../../etc/cron.d/x", b"x", 400),
        ("no-ending", b"x", 400),
    ],
)
def test_an_upload_is_kept_only_if_it_is_named_like_data(visit, name, body, status):
    one = uuid.uuid4().hex  # the folder is everybody's
    files = [("files", (f"{one}.json", b"{}")), ("files", (name.replace("items", one), body))]
    answer = visit("lea").post("/gradio_api/upload", files=files)
    assert answer.status_code == status, answer.text
    kept = list(Path(get_upload_folder()).rglob(f"{one}*"))
    assert len(kept) == (2 if status == 200 and "items" in name else 1 if status == 200 else 0)
    assert status == 200 or "not taken" in answer.text


def test_the_kind_of_a_file_is_seen_however_its_name_is_cut_into_pieces(app, visit):
    lea = visit("lea")
    head = f"POST /gradio_api/upload HTTP/1.1\r\nHost: localhost\r\nCookie: {COOKIE}={lea.cookies[COOKIE]}\r\n"
    part = b'--b\r\nContent-Disposition: form-data; name="files"; filename="page.html"\r\n\r\n<b>\r\n--b--\r\n'
    head += f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {len(part)}\r\n\r\n"
    with socket.create_connection((app.where.host, app.where.port), timeout=30) as wire:
        wire.sendall(head.encode())
        for at in range(0, len(part), 7):
            wire.sendall(part[at : at + 7])
            time.sleep(0.002)  # a packet of its own
        assert wire.recv(4096).startswith(b"HTTP/1.1 400")


def test_an_event_takes_no_file_that_is_not_data(visit, app):
    lea = visit("lea")
    [path] = lea.post("/gradio_api/upload", files={"files": ("x.txt", b"x")}).json()
    for wrong in ("/etc/passwd", path.replace("x.txt", "../../x.html"), "hf://datasets/x/y.jsonl"):
        number, event = next((n, f) for n, f in app.blocks.fns.items() if f.name == "receive")
        files = [{"path": wrong, "meta": {"_type": "gradio.FileData"}}]
        data = [files if isinstance(box, gr.File) else None for box in event.inputs]
        sent = {"data": data, "fn_index": number, "session_hash": "x"}
        assert lea.post("/gradio_api/run/receive", json=sent).status_code in (400, 403, 404, 500)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "a b", "[", "10.0.0.1"]
)
def test_a_name_that_somebody_else_gave_this_machine_is_not_served(app, visit, host):
    for name in ("ada", None):
        answer = visit(name).get("/config" if name else "/health", headers={"Host": host})
        assert answer.status_code in (400, 421), answer.text


@pytest.mark.parametrize("host", ["localhost:7860", "127.0.0.1", "[::1]:9", "LOCALHOST.", "Accord.Example.org:443"])
def test_the_machine_and_the_names_that_were_listed_are_served(visit, host):
    assert visit().get("/health", headers={"Host": host}).status_code == 200


def test_every_answer_says_what_a_browser_may_do_with_it(visit):
    stranger, lea = visit(), visit("lea")
    for answer in (stranger.get("/health"), stranger.get("/config"), lea.get("/"), lea.get("/judges"), lea.get("/no")):
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "server" not in answer.headers
    assert "script" not in stranger.get("/login").headers["content-security-policy"]


def test_the_health_tells_a_schema_that_is_not_this_programs(app, visit, monkeypatch):
    monkeypatch.setattr("storage.health.HEAD", "9999")
    answer = visit().get("/health")
    assert (answer.status_code, answer.json()["database"]) == (503, "ok")
    assert "needs 9999" in answer.json()["schema"]


def test_who_signed_in_is_in_the_trail(app, visit):
    visit("ada")
    with app.store.reading() as connection:
        found = connection.exec_driver_sql("SELECT kind, details FROM event WHERE kind = 'sign_in'").all()
    assert any(json.loads(row.details)["account"] == "ada" for row in found)


def test_a_browser_keeps_gradios_own_files_and_nothing_of_ours(visit, app):
    lea = visit("lea")
    page = lea.get("/studies").text
    asset = re.search(r"/assets/index-[\w-]+\.js", page)[0]
    assert lea.get(asset).headers["cache-control"] == "public, max-age=31536000, immutable"
    for path in ("/", "/studies", "/config", "/assets/absent.js"):
        assert "immutable" not in lea.get(path).headers.get("cache-control", "")
