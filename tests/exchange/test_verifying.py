"""Bundles that are checked: every file by its sum, and everything that follows from others by making it again."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from judging_study import GOOD, order, quiet
from openai_server import Answer, OpenAIServer, Seen, completion

from exchange.bundle import write_bundle
from exchange.exporting import COLUMNS
from exchange.judging import reread_study, run_judge
from exchange.verifying import verify_bundle
from judge.domain import GivenVerdict, InputError, Item, Rubric, Study, Turn
from judge.protocol import find_protocol, load_protocol
from storage.imports import prepare
from storage.store import Store
from storage.verdicts import Submission
from ui.sheet import shown_prompt

LABELS = ("A", "tie", "B")
PREFERENCE = load_protocol(Path(__file__).parents[1] / "judge" / "protocols" / "preference-3way.md").version
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """Use SQLite unless a test asks for both: a bundle no longer knows where it came from."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return str(request.getfixturevalue("sqlite_database"))
    return str(request.getfixturevalue("new_postgresql")())


def fill(store: Store, server: OpenAIServer) -> None:
    """Make a study with everything in it: imported verdicts, a run, revisions, a reveal and a withdrawn one."""
    store.create_study(Study("s", PREFERENCE, reveal=True, wanted=2))
    items = []
    for n in range(12):
        given = [GivenVerdict(who, "human", LABELS[(n + at) % 3], order="AB") for at, who in enumerate(("eva", "gus"))]
        given += [
            GivenVerdict("=gpt|x", "judge", LABELS[n % 3], order=order, raw=f"reply {n}") for order in ("AB", "BA")
        ]
        given.append(GivenVerdict("bare", "judge", LABELS[n % 3], comment="so", created=NEW_YEAR))
        tied = {"tags": ("t",), "cluster": f"c{n // 2}", "metadata": {"source": "mine"}}
        items.append(prepare(Item(f"=x{n}", (Turn("user", f"Q{n}"),), "left" * n, "right", "m1", "m2", **tied), given))
    free = [prepare(Item(f"q{n}", (Turn("user", f"Question {n}?"),), f"left {n}", "right")) for n in range(3)]
    store.add_prepared("s", [*items, *free])
    run_judge(store, order(server), quiet)
    for _ in range(3):
        claim = store.claim_next("s", "ana")
        store.save_verdict(claim.token, Submission("tie", seconds=3.25))
        store.save_verdict(claim.token, Submission("A", seconds=4.5))
        store.reveal(claim.token)
        store.save_verdict(claim.token, Submission("B"))
    store.undo_verdict(claim.token)


def replying(seen: Seen) -> Answer:
    asked = json.dumps(seen.body["messages"])
    return completion("I cannot decide.") if "Q7" in asked else GOOD


def write(store: Store, path: Path) -> Path:
    with path.open("wb") as file:
        write_bundle(store, "s", file)
    return path


@pytest.fixture(scope="module")
def bundle(sqlite_schema: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    store = Store.open(f"sqlite:///{shutil.copy(sqlite_schema, folder / 'accord.db')}")
    with OpenAIServer(replying) as server:
        fill(store, server)
    path = write(store, folder / "study.zip")
    store.close()
    return path


Change = Callable[[str], str]


def rewritten(path: Path, changes: dict[str, Change], *, forge_sums: bool = True) -> Path:
    """Write the bundle with files changed, their checksums forged to match or left as they were."""
    with zipfile.ZipFile(path) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    for name, change in changes.items():
        before = files[name]
        files[name] = change(before.decode()).encode()
        assert files[name] != before
        if forge_sums:
            old, new = (hashlib.sha256(text).hexdigest() for text in (before, files[name]))
            files["SHA256SUMS"] = files["SHA256SUMS"].replace(old.encode(), new.encode())
    target = path.with_name("changed.zip")
    with zipfile.ZipFile(target, "w") as archive:
        for entry, content in files.items():
            archive.writestr(entry, content)
    return target


def forged(path: Path, name: str, change: Change) -> list[str]:
    """Return what is found when one file says something else and the checksums match."""
    found = verify_bundle(rewritten(path, {name: change}))
    assert not found["ok"]
    return found["problems"]


def replacing(old: str, new: str) -> Change:
    return lambda text: text.replace(old, new, 1)


def in_line(number: int, change: Callable[[dict], object]) -> Change:
    """Change the value on one line of a file."""

    def changed(text: str) -> str:
        lines = text.split("\n")
        value = json.loads(lines[number])
        change(value)
        lines[number] = json.dumps(value, ensure_ascii=False)
        return "\n".join(lines)

    return changed


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_bundle_is_right_as_it_was_written(store, tmp_path: Path) -> None:
    with OpenAIServer(replying) as server:
        fill(store, server)
    found = verify_bundle(write(store, tmp_path / "study.zip"))
    assert found["problems"] == []
    assert found["ok"]
    assert found["numbers"] > 500


def test_a_bundle_of_scores_with_second_tries_and_a_protocol_without_reference_is_right(store, tmp_path: Path) -> None:
    heard: Counter[str] = Counter()

    def hesitating(seen: Seen) -> Answer:
        asked = json.dumps(seen.body["messages"])
        heard[asked] += 1
        return completion("I cannot decide." if heard[asked] == 1 else "Feedback: fine. [RESULT] 4")

    protocol = find_protocol("prometheus-direct")
    store.create_study(Study("s", protocol.version))
    rubric = Rubric("Good?", ("a", "b", "c", "d", "e"))
    for n in range(4):
        reference = "2" if n % 2 else None
        item = Item(f"q{n}", (Turn("user", f"Q{n}"),), "1\u2028x\r\n", reference_answer=reference, rubric=rubric)
        twice = [
            GivenVerdict("eva", "human", str(n + 1), created=NEW_YEAR),
            GivenVerdict("eva", "human", "5", comment="=1"),
        ]
        store.add_prepared("s", [prepare(item, twice)])
    with OpenAIServer(hesitating) as server:
        run_judge(store, order(server, reask=1, repeats=2), quiet)
    claim = store.claim_next("s", "ana")
    prompt = shown_prompt(protocol, claim.item, claim.order)
    store.save_verdict(claim.token, Submission("3", prompt_hash=prompt.hash))
    reread_study(store, "s")
    found = verify_bundle(write(store, tmp_path / "study.zip"))
    assert found["problems"] == []
    assert {call["usage"].get("reask") for call in store.calls("s")} == {None, 1}


def test_any_changed_file_is_found_by_its_checksum(bundle: Path) -> None:
    names = ["study.json", "items.jsonl", "calls.jsonl", "prompts.jsonl", "codebook.md", "report.html"]
    changed = rewritten(bundle, {name: lambda text: text + " " for name in names}, forge_sums=False)
    problems = verify_bundle(changed)["problems"]
    assert {f"{name}: its checksum is not the one listed" for name in names} <= set(problems)


def raise_one_number(text: str) -> str:
    value = json.loads(text)
    value["judges"][0]["swap_consistency"]["value"] -= 1e-6
    return json.dumps(value)


def bend_the_value(text: str) -> str:
    value = json.loads(text)
    value["judges"][0]["swap_consistency"]["value"] -= 1e-6
    value["flow"]["labelled"] += 1
    del value["options"]["length_k"]  # null
    value["judges"][0]["new"] = None
    value["options"]["two_way"] = 0  # false
    return json.dumps(value)


def test_every_key_and_number_of_the_agreement_is_computed_again(bundle: Path) -> None:
    problems = "\n".join(forged(bundle, "agreement.json", bend_the_value))
    for told in (
        "judges[0].swap_consistency.value: says",
        "flow.labelled: says",
        "options.length_k: says nothing, its verdicts give null",
        "judges[0].new: says null, its verdicts give nothing",
        "options.two_way: says 0, its verdicts give false",
    ):
        assert f"agreement.json: {told}" in problems


def test_every_cell_of_the_table_is_made_again(bundle: Path) -> None:
    def change(text: str) -> str:
        head, first, *rest = text.split("\r\n")
        return "\r\n".join([head, ",".join("7" for _ in first.split(",")), *rest])

    problems = forged(bundle, "verdicts.csv", change)
    for column in COLUMNS:
        assert any(problem.startswith(f"verdicts.csv: row 2, {column}: says") for problem in problems), column


def test_an_item_is_held_by_its_verdicts_and_by_its_prompts(bundle: Path) -> None:
    def change(item: dict) -> None:
        item["response_b"] = "thgir"  # as long as before
        item["bogus"] = 1
        item["verdicts"][0] |= {"seconds": 99, "comment": "no"}

    problems = "\n".join(forged(bundle, "items.jsonl", in_line(1, change)))
    for told in (
        "items.jsonl: line 2: bogus",
        "items.jsonl: line 2: verdicts[0].seconds: says 99",
        "items.jsonl: line 2: verdicts[0].comment",
        "prompts.jsonl: line 3: user",
        "prompts.jsonl: line 4: user",
        "prompt_hash: is not that of the prompt which item '=x1' gives in order AB",
    ):
        assert told in problems
    assert re.search(r"calls.jsonl: line \d+: prompt_hash", problems)


def test_a_verdict_of_a_run_is_what_reading_its_reply_gives(bundle: Path) -> None:
    def change(text: str) -> str:
        calls = [json.loads(line) for line in text.splitlines()]
        run = [call for call in calls if "run_id" in call]
        run[0]["raw"] = run[0]["raw"].replace('"choice": "A"', '"choice": "B"')
        run[1]["raw"] = "I cannot decide."
        run[2]["item"] = "q2"
        calls.remove(run[3])
        return "".join(json.dumps(call, ensure_ascii=False) + "\n" for call in calls)

    problems = forged(bundle, "calls.jsonl", change)
    assert sum("its raw reply reads" in problem for problem in problems) == 2
    assert any("says ok A, its raw reply reads ok B" in problem for problem in problems)
    assert any("item: is not that of its call" in problem for problem in problems)
    assert any("is not in calls.jsonl" in problem for problem in problems)
    assert any(problem.startswith("items.jsonl: line 1: verdicts") for problem in problems)


def test_calls_that_were_emptied_are_missed(bundle: Path) -> None:
    problems = forged(bundle, "calls.jsonl", lambda _: "")
    assert any(problem.startswith("verdicts.jsonl: line 3: call_id: call") for problem in problems)


FORGERIES = {
    "the sentence": ("report.html", replacing("agrees with people", "agrees well with people"), "report.html"),
    "a verdict": ("verdicts.jsonl", replacing('"label": "A"', '"label": "B"'), "items.jsonl: line 1: verdicts[0]"),
    "a label off the scale": (
        "verdicts.jsonl",
        replacing('"label": "A"', '"label": "Z"'),
        "verdicts.jsonl: line 1: label: 'Z' is not on the scale",
    ),
    "a prompt": ("prompts.jsonl", replacing("Q1", "Q2"), "prompts.jsonl: line 3: user"),
    "the codebook": ("codebook.md", lambda _: "nonsense", "codebook.md"),
    "the scale": (
        "protocols/preference-3way.md",
        lambda text: text.replace("value: 1", "value: 2").replace("value: -1", "value: -2"),
        "agreement.json: values",
    ),
    "the number of items": ("study.json", replacing('"items": 15', '"items": 16'), "study.json: items"),
    "a setting": ("study.json", replacing('"seed": 0', '"seed": 7'), "study.json: seal"),
    "the trail": ("events.jsonl", replacing("study_created", "study_made"), "study.json: seal"),
    "what no other file tells of an item": ("items.jsonl", replacing("mine", "ours"), "study.json: seal"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_with_matching_checksums_is_found_by_making_it_again(bundle: Path, name: str) -> None:
    path, change, told = FORGERIES[name]
    assert any(told in problem for problem in forged(bundle, path, change))


def test_missing_and_added_files_are_found(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(shutil.copy(bundle, tmp_path / "more.zip"), "a") as archive:
        archive.writestr("extra.txt", "hello")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("codebook.md", archive.read("codebook.md"))
    problems = verify_bundle(tmp_path / "more.zip")["problems"]
    assert "extra.txt: is not listed" in problems
    assert "codebook.md: stands twice in the archive" in problems


def test_the_command_tells_by_its_exit_status(bundle: Path, accord, tmp_path: Path) -> None:
    done = accord("verify", bundle, "--json")
    assert (done.returncode, json.loads(done.stdout)["ok"]) == (0, True)
    broken = rewritten(bundle, {"agreement.json": raise_one_number})
    done = accord("verify", broken)
    assert done.returncode == 1
    assert b"judges[0].swap_consistency.value" in done.stdout
    (tmp_path / "not.zip").write_text("hello")
    assert accord("verify", tmp_path / "not.zip").returncode == 2
    with pytest.raises(InputError):
        verify_bundle(tmp_path / "absent.zip")
