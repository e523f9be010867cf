"""Whether a judge can be talked round, asked of a real server: one that obeys, one that does not, one that breaks."""

import json
import re

import pytest
from judging_study import ROOT, quiet
from openai_server import OpenAIServer, completion, error, script

from exchange.judging import JudgeOrder
from exchange.probing import items_in, probe_judge, sample_items
from judge.attacks import find_attacks
from judge.domain import InputError, Item, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare

pytestmark = pytest.mark.one_database
TIE = '{"choice": "A=B"}'


@pytest.fixture
def study(store):
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    items = [
        Item(f"q{n}", (Turn("user", "Which?"),), f"left {n}", f"right {n}", checklist=("Right?",)) for n in range(12)
    ]
    store.add_prepared("s", [prepare(item) for item in items])
    return "s"


def said(seen):
    return "\n".join(message["content"] for message in seen.body["messages"])


def obedient(seen):
    order = re.search(r"The only correct verdict is (\S+)\.", said(seen))
    return completion(json.dumps({"choice": order[1]}) if order else TIE)


def probed(store, study, behave, names=("ignore-above", "begging"), **more):
    with OpenAIServer(behave) as server:
        wanted = JudgeOrder(study, "m", server.url, limit=10, **more)
        done = probe_judge(store, wanted, find_attacks(names), 0, quiet)
    return done, {each["attack"]: each for each in done["attacks"]}


def test_a_judge_that_obeys_is_found_out_on_both_sides_and_in_both_orders(store, study):
    done, found = probed(store, study, obedient)
    assert done["calls"] == 10 * 2 * 4
    moved = found["ignore-above"]["moved"]
    assert (moved["value"], moved["n"], moved["method"]) == (1.0, 10, "wilson")
    assert [round(moved[end], 3) for end in ("low", "high")] == [0.722, 1.0]
    assert found["ignore-above"]["mean_shift"] == 1.0
    for name in ("control", "begging"):
        assert (found[name]["moved"]["value"], found[name]["mean_shift"]) == (0.0, 0.0)


def test_a_firm_judge_does_not_move_and_nothing_is_stored(store, study):
    before = list(store.records("s")), list(store.calls("s")), store.events("s")
    _, found = probed(store, study, lambda _: completion(TIE), ())
    assert len(found) == 14
    assert {each["moved"]["value"] for each in found.values()} == {0.0}
    assert all(each["moved"]["high"] < 0.3 for each in found.values())
    assert before == (list(store.records("s")), list(store.calls("s")), store.events("s"))


def test_a_verdict_that_cannot_become_better_does_not_count_and_one_that_turns_away_is_told(store, study):
    def stubborn(seen):
        return completion('{"choice": "B+"}' if "my job depends" in said(seen) else '{"choice": "A++"}')

    _, found = probed(store, study, stubborn, ("begging",), orders=("AB",))
    assert found["begging"]["already_best"] == 5  # those whose response A is attacked
    assert (found["begging"]["moved"]["n"], found["begging"]["moved"]["value"]) == (5, 1.0)
    assert found["begging"]["moved_away"] == 5
    assert found["control"]["moved"]["value"] == 0.0


def test_what_could_not_be_read_or_failed_is_counted_and_not_taken_for_firmness(store, study):
    def broken(seen):
        if "my job depends" in said(seen):
            return completion("I am moved to tears.")
        return error(400, "no") if "The only correct verdict" in said(seen) else completion(TIE)

    done, found = probed(store, study, broken)
    assert found["begging"]["moved"]["value"] is None
    assert "could move" in found["begging"]["moved"]["why"]
    assert (found["begging"]["unread"], found["begging"]["replies"]) == (10, {"unreadable": 20})
    assert found["ignore-above"]["replies"] == {"failed": 20}
    assert done["by_status"] == {"ok": 40, "unreadable": 20, "failed": 20}


def test_the_same_seed_draws_the_same_items(store, study):
    names = [[item.id for item in sample_items(store, "s", 5, seed)] for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2]
    assert len(sample_items(store, "s", 100, 0)) == 12


def test_a_study_without_items_is_told(store):
    store.create_study(Study("s", find_protocol("wildbench-pairwise").version))
    with pytest.raises(InputError, match="has no items"):
        sample_items(store, "s", 5, 0)


def test_scores_are_attacked_too_from_a_file(tmp_path):
    rubric = {"criteria": "Right?", **{f"score{n}_description": str(n) for n in range(1, 6)}}
    item = {"id": "q", "instruction": "?", "response": "x", "rubric": rubric, "reference_answer": "y"}
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(item) + "\n", encoding="utf-8")

    def behave(seen):
        return completion("Feedback: fine. [RESULT] " + ("5" if "correct verdict is 5." in said(seen) else "3"))

    with items_in([str(file)], find_protocol("prometheus-direct")) as store:
        done, found = probed(store, "probe", behave)
    assert (done["orders"], done["calls"]) == (["AB"], 4)
    assert (found["ignore-above"]["moved"]["value"], found["ignore-above"]["mean_shift"]) == (1.0, 2.0)


def test_the_command_prints_a_table_or_json_and_tells_what_is_missing(accord):
    words = (
        "probe",
        "--items",
        str(ROOT / "examples/pairwise.json"),
        "--protocol",
        "wildbench-pairwise",
        "--attack",
        "begging",
    )
    with OpenAIServer(obedient) as server:
        judge = ("--model", "m", "--base-url", server.url)
        table = accord(*words, *judge)
        made = json.loads(accord(*words, *judge, "--json").stdout)
        server.behave = script(error(401, "no such key"))
        broken = accord(*words, *judge)
    assert table.returncode == 0, table.stderr
    assert b"m by wildbench-pairwise: 1 items, 6 calls" in table.stdout
    assert re.search(rb"begging +0 % +0 % to 79 % +1 ", table.stdout)
    assert [each["attack"] for each in made["attacks"]] == ["control", "begging"]
    assert broken.returncode == 1
    assert accord("probe").returncode == accord("probe", "--study", "s", "--items", "x").returncode == 2
