"""Attacks over real HTTP by people who are signed in, and by pages they visit: each is refused or changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest
from gradio.utils import get_upload_folder
from openai_server import OpenAIServer, completion
from serving import Serving

from exchange.endpoints import Preset
from exchange.trail import kinds_of, tell
from judge.domain import Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.store import Store
from storage.trail import TrailSearch
from ui.gate import COOKIE

PASSWORD = "correct horse battery"
FOREIGN = (
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    store = Store.open(f"sqlite:///{tmp_path_factory.mktemp('attacks') / 'accord.db'}")
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    items = [Item(f"q{n}", (Turn("user", "SECRET"),), "left", "right", checklist=("Right?",)) for n in range(3)]
    store.add_prepared("s", [prepare(item) for item in items])
    with Serving(store) as serving:
        for name, role in (("ann", "annotator"), ("eve", "annotator"), ("lea", "lead")):
            serving.accounts.add(name, role, PASSWORD)
        serving.accounts._looked = float("-inf")
        yield serving
    store.close()


@pytest.fixture(scope="module")
def people(app):
    """Return the requests of everybody, signed in."""
    clients = {name: httpx2.Client(base_url=app.address, timeout=60, trust_env=False) for name in ("ann", "eve", "lea")}
    for name, client in clients.items():
        assert client.post("/login", data={"name": name, "password": PASSWORD}).status_code == 303
    yield clients
    for client in clients.values():
        client.close()


def run(client, door, *data, **more):
    return client.post(f"/gradio_api/run/{door}", json={"data": data, **more})


def rows(app):
    """Return everything that somebody can change by annotating."""
    with app.store.reading() as connection:
        tables = ("verdict", "claim", "remark", "event", "annotator_count")
        found = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
        return [connection.exec_driver_sql(f"SELECT * FROM {name}").all() for name in tables if name in found]


def test_anothers_claim_shows_nothing_and_takes_nothing(app, people):
    ann, eve = people["ann"], people["eve"]
    claim = run(ann, "next_item", "s", "ann").json()["data"][0]["claim"]
    sent = {"label": "A+", "comment": "", "confidence": 0, "seconds": 1}
    before = rows(app)
    for door, data in {
        "submit_verdict": (claim, "A+", "", 1.0),
        "skip_item": (claim, "mine now"),
        "review_submit": (claim, sent, "ann"),
        "review_step": (claim, "on", "ann"),
        "review_skip": (claim, "mine now", "ann"),
        "review_undo": (claim, "ann"),
        "review_remark": (claim, "flag", "", "ann"),
        "review_prompt": (claim, "ann"),
        "review_difference": (claim, "ann"),
    }.items():
        answer = run(eve, door, *data)
        assert "not yours" in answer.text, (door, answer.text)
        assert "SECRET" not in answer.text
    assert rows(app) == before
    assert run(ann, "submit_verdict", claim, "A+", "", 1.0).status_code == 200


WRONG = [
    {"seconds": float("inf")},
    {"seconds": float("nan")},
    {"seconds": -1},
    {"seconds": 10**400},
    {"seconds": "3"},
    {"seconds": True},
    {"seconds": [1]},
    {"comment": "a\0b"},
    {"comment": "half \ud800"},
    {"comment": "x" * 10_001},
    {"comment": {"a": 1}},
    {"label": ["A+"]},
    {"label": "A+\0"},
    {"label": 7},
]
WRONG_ON_THE_PAGE = [{"confidence": 101}, {"confidence": -1}, {"confidence": 1.5}, {"confidence": "high"}]


def send(client, door, *data):
    """Post JSON as a program may write it: with Infinity, and with half of a surrogate pair."""
    body = json.dumps({"data": data}).encode()
    return client.post(f"/gradio_api/run/{door}", content=body, headers={"Content-Type": "application/json"})


def is_told(answer):
    """Say whether a refusal is a sentence for whoever sent it, and no fault of the program."""
    told = answer.json()
    sentence = told.get("error") or (told.get("data") or [{}])[0].get("problem")
    return bool(sentence) and "went wrong" not in sentence


@pytest.mark.parametrize("wrong", [*WRONG, *WRONG_ON_THE_PAGE], ids=lambda wrong: repr(wrong)[:30])
def test_what_is_no_verdict_is_refused_with_a_sentence_and_nothing_is_stored(app, people, wrong):
    ann = people["ann"]
    claim = send(ann, "next_item", "s", "ann").json()["data"][0]["claim"]
    sent = {"label": "A+", "comment": "", "confidence": 0, "seconds": 1.0, **wrong}
    before = rows(app)
    assert is_told(send(ann, "review_submit", claim, sent, "ann"))
    if wrong in WRONG:
        assert is_told(send(ann, "submit_verdict", claim, sent["label"], sent["comment"], sent["seconds"]))
    assert rows(app) == before


@pytest.mark.parametrize(
    "wrong", ["a\0b", "\ud800", {"a": 1}, ["a"], 7, True, "x" * 10_001], ids=lambda it: repr(it)[:9]
)
def test_what_is_no_name_claim_or_reason_is_refused_with_a_sentence(app, people, wrong):
    eve = people["eve"]
    claim = send(eve, "next_item", "s", "eve").json()["data"][0]["claim"]
    before = rows(app)
    for door, *data in (
        ("next_item", wrong, "eve"),
        ("submit_verdict", wrong, "A+", "", 1.0),
        ("skip_item", wrong, ""),
        ("skip_item", claim, wrong),
        ("review_skip", claim, wrong, "eve"),
        ("review_open", wrong, "eve", ""),
        ("review_step", wrong, "on", "eve"),
        ("review_remark", claim, "flag", wrong, "eve"),
        ("review_guidelines", wrong),
    ):
        assert is_told(send(eve, door, *data)), (door, data)
    assert rows(app) == before
    for name in ("a\0b", "x" * 10_001):
        answer = eve.post("/login", data={"name": name, "password": PASSWORD})
        assert (answer.status_code, "nothing was stored" in answer.text.lower()) == (403, True)


def test_a_session_that_somebody_else_planted_does_not_become_the_victims(app, people):
    planted = people["eve"].cookies[COOKIE]
    with httpx2.Client(base_url=app.address, trust_env=False, timeout=60) as victim:
        victim.cookies.set(COOKIE, planted)
        assert victim.post("/login", data={"name": "ann", "password": PASSWORD}).status_code == 303
        fresh = {cookie.value for cookie in victim.cookies.jar if cookie.name == COOKIE} - {planted}
        assert [app.accounts.who(token).name for token in fresh] == ["ann"]
    assert app.accounts.who(planted).name == "eve"


def test_no_page_of_another_site_can_change_anything_by_any_door(app, people):
    lea = people["lea"]
    doors = {f"/gradio_api/run/{event['api_name']}" for event in app.blocks.get_config_file()["dependencies"]}
    others = ("queue/join", "upload", "cancel", "reset", "call/next_item", "call/v2/next_item", "api/next_item")
    paths = [*sorted(doors), *(f"/gradio_api/{other}" for other in others), "/login", "/logout", "/invite/x"]
    assert len(paths) > 40
    before = rows(app)
    for headers in FOREIGN:
        for path in paths:
            # As a form of another site sends it: without asking the server first.
            answer = lea.post(path, content=b'{"data": []}', headers={"Content-Type": "text/plain", **headers})
            assert (answer.status_code, answer.json()["error"]) == (403, "another site may change nothing here"), path
    for path in ("/gradio_api/run/load_examples", "/gradio_api/call/next_item", "/gradio_api/reset"):
        assert lea.get(path).status_code in (404, 405), path  # a link or a picture changes nothing either
    assert "<button>Sign out</button>" in lea.get("/logout").text
    assert rows(app) == before
    assert run(lea, "list_studies").json()["data"] == [["s"]]


def nested(depth, inner='"x"'):
    return "[" * depth + inner + "]" * depth


@pytest.mark.parametrize("depth", [500, 5000, 400_000])
@pytest.mark.parametrize("door", ["review_submit", "next_item", "submit_verdict"])
def test_deep_values_are_refused_and_the_server_lives(people, door, depth):
    eve = people["eve"]
    body = f'{{"data": [{nested(depth)}, {nested(depth)}, {nested(depth)}, {nested(depth)}]}}'
    answer = eve.post(f"/gradio_api/run/{door}", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422, 500)
    assert "Traceback" not in answer.text
    assert run(eve, "list_studies").status_code == 200


def test_forms_of_many_fields_or_letters_are_refused(app, people):
    eve = people["eve"]
    many = "&".join(f"f{n}=1" for n in range(300_000))
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert eve.post("/login", content=many, headers=form).status_code in (400, 403, 413)
    assert eve.post("/login", data={"name": "ann", "password": "x" * 3_000_000}).status_code in (400, 403)
    assert eve.post("/login", data={"name": "n" * 3_000_000, "password": "x"}).status_code in (400, 403)
    parts = {f"f{n}": b"x" for n in range(5000)}
    assert eve.post("/login", files=parts).status_code in (400, 403, 413)
    assert run(eve, "list_studies").status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "../../../../../../tmp/accord-attack.jsonl",
        "..\\..\\accord-attack.jsonl",
        "/tmp/accord-attack.jsonl",
        "....//....//accord-attack.jsonl",
        "%2e%2e%2faccord-attack.jsonl",
        ".",
        "..",
        "accord-attack.jsonl\x00.txt",
    ],
)
def test_an_upload_stays_in_its_folder_whatever_it_is_called(people, name):
    answer = people["lea"].post("/gradio_api/upload", files={"files": (name, b"{}")})
    assert answer.status_code in (200, 400, 422), answer.text
    for path in answer.json() if answer.status_code == 200 else []:
        assert Path(path).resolve() == Path(path)
        assert Path(path).parent.parent == Path(get_upload_folder())
    assert not Path("/tmp/accord-attack.jsonl").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/tmp/gradio/../../etc/passwd",
        "../../etc/passwd",
        "pyproject.toml",
        "file:///etc/passwd",
        "http://127.0.0.1:1/x.svg",
        "https://example.org/x",
    ],
)
def test_no_file_that_was_not_uploaded_can_be_given_to_any_event(app, people, path):
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    names = {event["id"]: event["api_name"] for event in app.blocks.get_config_file()["dependencies"]}
    tried = 0
    for number, event in app.blocks.fns.items():
        if event.fn is None or not event.inputs:
            continue
        data = [[{"deeper": file}], *[None] * (len(event.inputs) - 1)]
        who = people["eve" if number in app.blocks.for_annotators else "lea"]
        answer = run(who, names[number], *data, fn_index=number, session_hash="x")
        refusal = (422, "send {") if names[number] in app.blocks.doors else (500, "only a file that was uploaded here")
        assert (answer.status_code, answer.json()["error"][: len(refusal[1])]) == refusal, names[number]
        tried += 1
    assert tried > 20


def event_of(app, page, name):
    """Return the number and the name of an event by the page whose handler it is."""
    return next(
        (number, event.api_name)
        for number, event in app.blocks.fns.items()
        if type(getattr(event.fn, "__self__", None)).__name__ == page and event.fn.__name__ == name
    )


def test_what_a_lead_looked_at_and_whom_an_annotator_asked_is_in_the_trail_once(app, people):
    lea, eve = people["lea"], people["eve"]

    def click(client, page, name, sent=None, **address):
        number, door = event_of(app, page, name)
        body = {"data": [], "fn_index": number, "session_hash": "x", "event_data": sent}
        assert client.post(f"/gradio_api/run/{door}", params=address, json=body).status_code == 200

    given = run(eve, "next_item", "s", "eve").json()["data"][0]
    claim, item = given["claim"], given["item"]["id"]
    assert run(eve, "submit_verdict", claim, "A+", "", 1.0).status_code == 200
    with OpenAIServer(lambda _: completion('{"choice": "A+"}')) as server:
        app.endpoints.save_preset(Preset("ours", "m", server.url, ""), "lea")
        number, _ = event_of(app, "Review", "judge")
        asking = {"claim": claim, "annotator": "lea", "judge": "ours"}
        sent = {"data": [], "fn_index": number, "session_hash": "j", "event_data": asking}
        assert eve.post("/gradio_api/queue/join", json=sent).status_code == 200
        with eve.stream("GET", "/gradio_api/queue/data", params={"session_hash": "j"}) as lines:
            assert any("process_completed" in line for line in lines.iter_lines())
    for _ in range(2):
        click(lea, "ItemsPanel", "open", {"item": "q1"}, study="s")
        click(lea, "Agreement", "show", study="s", resamples="20")
    lines = app.store.trail(TrailSearch((*kinds_of("looks"), "judge_asked"), study="s"), None, 100)
    assert [(line.who, tell(line)) for line in reversed(lines)] == [
        ("eve", f"asked ours about the item {item}"),
        ("lea", "looked at every verdict on the item q1"),
        ("lea", "looked at the agreement"),
    ]


@pytest.mark.parametrize("name", ["../../../evil", "/etc/evil", "a/../../b", "..", "..\\evil"])
def test_a_study_named_like_a_path_is_exported_into_the_folder_of_the_others(app, people, name):
    app.store.create_study(Study(name, find_protocol("wildbench-pairwise").version))
    lea = people["lea"]
    events = app.blocks.get_config_file()["dependencies"]
    event = next(each["id"] for each in events if each["api_name"] == "make")
    sent = {"data": [], "fn_index": event, "session_hash": "export"}
    made = lea.post("/gradio_api/run/make", params={"study": name}, json=sent).json()["data"][0]
    place = Path(made["path"])
    assert place.parent.parent == Path(get_upload_folder())
    assert (place.suffix, place.resolve()) == (".jsonl", place)
    assert lea.get(made["url"]).status_code == 200
    assert people["eve"].get(made["url"]).status_code == 403
