"""Export → import → export gives the same bytes, whatever the study and whichever the database."""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_interchange import records

from exchange.exporting import interchange_lines
from exchange.importing import ImportRequest, import_files
from exchange.interchange import Record, record_to_json
from judge.domain import Claim
from judge.protocol import load_protocol
from storage.store import Store
from storage.verdicts import Submission

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
PREFERENCE = load_protocol(ROOT / "tests" / "judge" / "protocols" / "preference-3way.md")


def quiet(line: str) -> None:
    """Progress is for people."""


def imported(store: Store, path: Path, study: str = "s") -> str:
    import_files(store, ImportRequest([str(path)], study, PREFERENCE), quiet)
    return exported(store, study)


def exported(store: Store, study: str = "s") -> str:
    return "".join(interchange_lines(store, study))


@pytest.mark.parametrize("name", ["pandalm", "autoj"])
@pytest.mark.skipif(not DATA.exists(), reason="the real data sets are not beside the project")
def test_real_data_goes_in_and_out_unchanged(store, database, tmp_path: Path, name: str) -> None:
    first = imported(store, DATA / f"{name}.jsonl")
    again = tmp_path / "again.jsonl"
    again.write_text(first, encoding="utf-8")
    twice = import_files(store, ImportRequest([str(again)], "s"), quiet)
    assert (twice.added.items, twice.added.verdicts) == (0, 0)
    with tempfile.TemporaryDirectory() as folder:
        other = Store.open(f"sqlite:///{folder}/other.db")
        assert imported(other, again) == first
        other.close()


@pytest.fixture(scope="module")
def two_stores(
    tmp_path_factory: pytest.TempPathFactory, new_postgresql: Callable[[], str]
) -> Iterator[tuple[Store, Store]]:
    """Give a SQLite file and a PostgreSQL database, between which a study travels."""
    one = Store.open(f"sqlite:///{tmp_path_factory.mktemp('stores')}/one.db")
    other = Store.open(new_postgresql())
    yield one, other
    one.close()
    other.close()


labelled = records.map(
    lambda record: Record(
        record.item,
        tuple(
            type(verdict)(**{**{n: getattr(verdict, n) for n in verdict.__slots__}, "label": verdict.label and "A"})
            for verdict in record.verdicts
        ),
    )
).filter(lambda record: record.item.response_b is not None)


def revised(record: Record) -> bool:
    """Say whether a person has several verdicts on the item, of which an export has the last."""
    given = [(one.rater, one.repeat) for one in record.verdicts if one.kind == "human"]
    return len(given) > len(set(given))


@settings(max_examples=50)
@given(made=st.lists(labelled, min_size=1, max_size=5, unique_by=lambda record: record.item.id))
def test_any_study_goes_in_and_out_unchanged(two_stores: tuple[Store, Store], made: list[Record]) -> None:
    name = uuid.uuid4().hex
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.jsonl"
        path.write_bytes("".join(record_to_json(record) + "\n" for record in made).encode())
        one, other = two_stores
        first = imported(one, path, name)
        if not any(revised(record) for record in made):
            assert first.encode() == path.read_bytes()
        assert imported(other, path, name) == first
        assert imported(other, path, name) == first
        path.write_bytes(first.encode())
        assert imported(other, path, f"{name} again") == first


def test_verdicts_collected_here_go_in_and_out_unchanged(store, make_study, tmp_path: Path) -> None:
    make_study(30, wanted=2, repeat_share=0.2)
    for rater in ("ana", "ben"):
        while isinstance(found := store.claim_next("s", rater), Claim):
            store.save_verdict(found.token, Submission("A", "so — “fine”", 3.25, 50, "prompt:1"))
    first = exported(store)
    assert '"repeat": true' in first
    path = tmp_path / "out.jsonl"
    path.write_text(first, encoding="utf-8")
    other = Store.open(f"sqlite:///{tmp_path}/other.db")
    assert imported(other, path) == first
    other.close()


def test_imported_people_need_not_be_asked_again(store, tmp_path: Path) -> None:
    line = {"id": "q", "instruction": "Why?", "response_a": "x", "response_b": "y"}
    said = [{"rater": "ana", "kind": "human", "label": "A"}, {"rater": "ben", "kind": "human", "label": "B"}]
    judged = [{"rater": "gpt", "kind": "judge", "label": "A", "order": order, "status": "ok"} for order in ("AB", "BA")]
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({**line, "verdicts": said + judged}), encoding="utf-8")
    imported(store, path)
    assert store.claim_next("s", "ana").why == "finished"
    assert isinstance(store.claim_next("s", "eva"), Claim)
    assert store.claim_next("s", "zoe").why == "all items are held by others"


def test_new_verdicts_on_known_items_are_added_once(store, tmp_path: Path) -> None:
    line = {"id": "q", "instruction": "Why?", "response_a": "x", "response_b": "y"}
    path = tmp_path / "in.jsonl"
    for verdicts in (
        [],
        [{"rater": "ana", "label": "A"}],
        [{"rater": "ana", "label": "A"}, {"rater": "ben", "label": "tie"}],
    ):
        path.write_text(json.dumps({**line, "verdicts": verdicts}), encoding="utf-8")
        imported(store, path)
    assert [given.rater for _, all_given in store.records("s") for given in all_given] == ["ana", "ben"]


def test_an_item_may_stand_on_several_lines_with_a_verdict_each(store, tmp_path: Path) -> None:
    line = {"id": "q", "instruction": "Why?", "response_a": "x", "response_b": "y"}
    said = [{"rater": name, "kind": "human", "label": "A"} for name in ("ana", "ben", "ana")]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({**line, "verdicts": [each]}) + "\n" for each in said), encoding="utf-8")
    imported(store, path)
    assert [given.rater for _, all_given in store.records("s") for given in all_given] == ["ana", "ben"]


def said_at(label: str, day: int | None = None, **more: object) -> dict[str, object]:
    moment = {} if day is None else {"created": f"2026-01-0{day}T10:00:00Z"}
    return {"rater": "ana", "kind": "human", "label": label, **moment, **more}


def put(store: Store, path: Path, *verdicts: dict[str, object]) -> list[str | None]:
    """Import verdicts on one item, and return the labels that count."""
    line = {"id": "q", "instruction": "Why?", "response_a": "x", "response_b": "y", "verdicts": verdicts}
    path.write_text(json.dumps(line), encoding="utf-8")
    imported(store, path)
    ratings = store.ratings("s")
    return [PREFERENCE.scale.labels[code] for code in ratings.code]


@pytest.mark.parametrize(
    ("verdicts", "counts"),
    [
        ((said_at("A", 5), said_at("B", 6)), ["B"]),
        ((said_at("B", 6), said_at("A", 5)), ["B"]),
        ((said_at("A", 5), said_at("B", 5)), ["B"]),
        ((said_at("A"), said_at("B")), ["B"]),
        ((said_at("A", 5), said_at("B")), ["A"]),
        ((said_at("A", 5), said_at("B", 6, repeat=True)), ["A", "B"]),
        ((said_at("A", 4), said_at("tie", 6), said_at("B", 5)), ["tie"]),
    ],
)
def test_of_a_persons_verdicts_on_one_item_the_last_counts(store, tmp_path: Path, verdicts, counts) -> None:
    assert put(store, tmp_path / "in.jsonl", *verdicts) == counts
    assert sum(1 for _ in store.all_verdicts("s")) == len(verdicts)
    assert [one["label"] for line in exported(store).splitlines() for one in json.loads(line)["verdicts"]] == counts


def test_revisions_in_later_files_are_chained_by_their_time_and_take_no_second_place(store, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    assert put(store, path, said_at("A", 5)) == ["A"]
    assert put(store, path, said_at("B", 4)) == ["A"]
    assert put(store, path, said_at("tie", 6), said_at("B", 3)) == ["tie"]
    assert put(store, path, said_at("A", 5), said_at("B", 4)) == ["tie"]
    days = {one["id"]: one["created"].day for one in store.all_verdicts("s")}
    chain = {one["created"].day: days.get(one.get("supersedes")) for one in store.all_verdicts("s")}
    assert chain == {6: 5, 5: 4, 4: 3, 3: None}
    assert store.progress("s")["ana"].done == 1
    assert isinstance(store.claim_next("s", "ben"), Claim)
    assert isinstance(store.claim_next("s", "eva"), Claim)
    assert store.claim_next("s", "zoe").why == "all items are held by others"


def test_what_was_collected_here_comes_after_what_is_imported(store, make_study, tmp_path: Path) -> None:
    make_study(1)
    claim = store.claim_next("s", "ana")
    store.save_verdict(claim.token, Submission("A"))
    path = tmp_path / "in.jsonl"
    value = json.loads(exported(store))
    path.write_text(json.dumps({**value, "verdicts": [said_at("B", 9)]}), encoding="utf-8")
    imported(store, path)
    store.save_verdict(claim.token, Submission("tie"))
    [(_, given)] = store.records("s")
    assert [(one.rater, one.label) for one in given] == [("ana", "tie")]


def test_a_judge_that_said_the_same_twice_said_it_twice(store, tmp_path: Path) -> None:
    said = {"rater": "gpt", "kind": "judge", "label": "A", "status": "ok", "order": "AB", "raw": "…"}
    path = tmp_path / "in.jsonl"
    line = {"id": "q", "instruction": "Why?", "response_a": "x", "response_b": "y", "verdicts": [said, said]}
    path.write_text(json.dumps(line), encoding="utf-8")
    first = imported(store, path)
    assert first.count('"gpt"') == 2
    assert imported(store, path) == first


def test_a_pair_becomes_two_items_under_a_direct_protocol(store, tmp_path: Path) -> None:
    line = {"id": "q", "instruction": "Why?", "response_a": "x", "response_b": "y", "model_a": "m", "model_b": "n"}
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({**line, "rubric": "helpfulness"}), encoding="utf-8")
    direct = load_protocol(ROOT / "judge" / "protocols" / "prometheus-direct.md")
    import_files(store, ImportRequest([str(path)], "s", direct), quiet)
    told = [json.loads(line) for line in exported(store).splitlines()]
    assert [(item["id"], item["response_a"], item["model_a"], item["cluster"]) for item in told] == [
        ("q/a", "x", "m", "q"),
        ("q/b", "y", "n", "q"),
    ]
