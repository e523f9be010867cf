"""The doors of Review for programs, over real HTTP: blind, idempotent, and clear about mistakes."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import urllib.error
import urllib.request
import warnings
from dataclasses import replace

import pytest
import uvicorn
from fastapi import FastAPI
from gradio import mount_gradio_app
from gradio_client import Client

from judge.domain import Item, Rubric, Study, Turn
from judge.protocol import find_protocol, list_protocols
from judge.render import render
from storage.imports import prepare
from ui.app import build_app
from ui.page import Settings
from ui.theme import LAUNCH

NOT_FOR_MOUNTING = {"share"}
WILDBENCH = find_protocol("wildbench-pairwise")


class Running(threading.Thread):
    """The app under a real server, in a loop of its own."""

    def __init__(self, store, names=None):
        super().__init__(daemon=True)
        self.store, self.names = store, names
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.server = None
        self.ready = threading.Event()

    def run(self):
        asyncio.run(self._serve())

    async def _serve(self):
        options = {name: value for name, value in LAUNCH.items() if name not in NOT_FOR_MOUNTING}
        sign_in = (lambda request: request.headers.get("x-user")) if self.names else None
        blocks = build_app(self.store, Settings(list_protocols()))
        with warnings.catch_warnings(action="ignore"):  # gradio warns of an SSR mode that nobody asked for
            app = mount_gradio_app(FastAPI(), blocks, path="/", auth_dependency=sign_in, **options)
        config = uvicorn.Config(app, port=self.port, log_level="error", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.ready.set()
        await self.server.serve()

    def __enter__(self):
        self.start()
        assert self.ready.wait(60)
        while not self.server.started and self.is_alive():
            threading.Event().wait(0.05)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.join(20)

    def post(self, door, *data, **headers):
        request = urllib.request.Request(
            f"{self.address}/gradio_api/run/{door}",
            json.dumps({"data": data}).encode(),
            {"Content-Type": "application/json", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)["data"][0]
        except urllib.error.HTTPError as error:
            return {"status": error.code, **json.load(error)}


@pytest.fixture
def items():
    return [
        Item(
            f"q{n}",
            (Turn("user", f"Question {n}?"),),
            f"left {n}",
            f"right {n}",
            model_a="SECRET-A",
            model_b="SECRET-B",
            checklist=("Right?",),
            rubric=Rubric("Right?", ("a", "b", "c", "d", "e")),
            metadata={"hidden": "SECRET"},
            tags=("SECRET-TAG",),
        )
        for n in range(4)
    ]


@pytest.fixture
def running(store, items):
    store.create_study(replace(Study("s", WILDBENCH.version), wanted=1))
    store.add_prepared("s", [prepare(item) for item in items])
    with Running(store) as server:
        yield server


def test_a_program_annotates_a_study_to_the_end(running, store, items):
    client = Client(running.address, verbose=False)
    meant = {}
    while (given := client.predict("s", "robot", api_name="/next_item"))["claim"]:
        item = given["item"]
        first = item["response_a"].startswith("left")
        order = "AB" if first else "BA"
        known = items[int(item["id"][1:])]
        assert given["prompt_sha256"] == render(WILDBENCH, known, order).sha256
        assert given["scale"] == ["A++", "A+", "A=B", "B+", "B++"]
        meant[item["id"]] = ("A+" if first else "B+", order)
        done = client.predict(given["claim"], "A+", "why not", 3.5, api_name="/submit_verdict")
        assert done["saved"].endswith("Z")
        assert isinstance(done["verdict"], int)
    assert given["why"] == "finished"
    kept = {json.loads(body)["id"]: verdicts for body, verdicts in store.records("s")}
    assert {name: (v.label, v.order) for name, (v,) in kept.items()} == meant
    assert {v.comment for (v,) in kept.values()} == {"why not"}
    assert {v.extra["prompt_hash"] for (v,) in kept.values()} == {
        render(WILDBENCH, item, meant[item.id][1]).hash for item in items
    }


def test_nothing_given_to_a_program_tells_what_is_hidden(running):
    given = running.post("next_item", "s", "ana")
    assert set(given) == {"claim", "item", "scale", "prompt_sha256", "progress"}
    assert set(given["item"]) == {
        "id",
        "conversation",
        "response_a",
        "response_b",
        "reference_answer",
        "rubric",
        "checklist",
    }
    assert "SECRET" not in json.dumps(given)


def test_sending_again_changes_nothing_and_another_label_is_a_revision(running, store):
    claim = running.post("next_item", "s", "ana")["claim"]
    first = running.post("submit_verdict", claim, "A+", "", 1.0)
    assert running.post("submit_verdict", claim, "A+", "", 9.0) == first
    second = running.post("submit_verdict", claim, "B+", "", 1.0)
    assert second["verdict"] != first["verdict"]
    assert [verdict["revision"] for verdict in store.all_verdicts("s")] == [1, 2]


@pytest.mark.parametrize(
    ("door", "sent", "told"),
    [
        ("next_item", ("nowhere", "ana"), "no study named 'nowhere'"),
        ("next_item", ("s", " "), "a rater needs a name"),
        ("submit_verdict", ("no-claim", "A+", "", 1.0), "not known here"),
        ("skip_item", ("no-claim", ""), "not known here"),
    ],
)
def test_a_mistake_is_a_clear_error_and_stores_nothing(running, store, door, sent, told):
    answer = running.post(door, *sent)
    assert answer["status"] == 500
    assert told in answer["error"]
    assert list(store.all_verdicts("s")) == []


def test_a_label_off_the_scale_is_refused(running, store):
    claim = running.post("next_item", "s", "ana")["claim"]
    assert "not a label of this study" in running.post("submit_verdict", claim, "A+++", "", 1.0)["error"]
    assert list(store.all_verdicts("s")) == []


def test_skipping_gives_the_item_back(running, store):
    given = running.post("next_item", "s", "ana")
    assert running.post("skip_item", given["claim"], "unclear") == {"skipped": True}
    assert running.post("next_item", "s", "ana")["item"]["id"] != given["item"]["id"]
    assert store.progress("s")["ana"].skipped == 1


def test_somebody_without_an_item_is_told_why(running, store):
    store.create_study(Study("bare", WILDBENCH.version))
    assert "has no items yet" in running.post("review_open", "bare", "ana", "")["nothing"]
    while "claim" in (given := running.post("review_open", "s", "ana", "")):
        running.post("review_skip", given["claim"], "unclear", "ana")
    assert "but for those you skipped" in given["nothing"]


def test_with_login_the_name_signed_in_counts_and_a_foreign_claim_is_refused(store, items):
    store.create_study(replace(Study("s", WILDBENCH.version), wanted=1))
    store.add_prepared("s", [prepare(item) for item in items])
    with Running(store, names=True) as server:
        claim = server.post("next_item", "s", "somebody else", **{"x-user": "ana"})["claim"]
        refused = server.post("submit_verdict", claim, "A+", "", 1.0, **{"x-user": "eve"})
        assert "is not yours" in refused["error"]
        for door, words in {
            "review_submit": (claim, {"label": "A+"}, "ana"),
            "review_prepare": (claim, "ana"),
            "review_prompt": (claim, "ana"),
            "review_undo": (claim, "ana"),
            "review_skip": (claim, "", "ana"),
            "review_remark": (claim, "flag", "", "ana"),
            "review_difference": (claim, "ana"),
            "review_step": (claim, "back", "ana"),
        }.items():
            assert "is not yours" in server.post(door, *words, **{"x-user": "eve"})["problem"], door
        assert "verdict" in server.post("submit_verdict", claim, "A+", "", 1.0, **{"x-user": "ana"})
    assert [verdict["rater"] for verdict in store.all_verdicts("s")] == ["ana"]
