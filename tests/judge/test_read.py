"""Reading replies: every form of the specification, and properties that hold for any text at all."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from judge.domain import NoVerdict, Verdict
from judge.protocol import list_protocols
from judge.read import read

HERE = Path(__file__).parent
PROTOCOLS = list_protocols(HERE / "protocols")
CASES = yaml.load(
    (HERE / "replies.yaml").read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
)
WILDBENCH_KEYS = ["analysis of A", "analysis of B", "reason of A=B", "reason of A>B", "reason of B>A"]


def good_reply(name: str, label: str) -> str:
    """Return a plain, complete reply with this label."""
    if name == "wildbench-pairwise":
        return json.dumps({**dict.fromkeys(WILDBENCH_KEYS, "Fine."), "choice": label}, indent=4)
    if name == "score-1-10":
        return json.dumps({"strengths": "Clear.", "weaknesses": "Long.", "score": label})
    if name == "preference-3way":
        return json.dumps({"reason": "Clearer.", "choice": label})
    return f"Feedback: It does what was asked. [RESULT] {label}"


GOOD = [(name, label) for name, protocol in PROTOCOLS.items() for label in protocol.scale.labels]


def outcome(name: str, reply: str, finish: str | None = None) -> tuple[str, str | None]:
    reading = read(PROTOCOLS[name], reply, finish)
    return reading.status, reading.label if isinstance(reading, Verdict) else None


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_reply(case: dict[str, str]) -> None:
    found = outcome(case["protocol"], case["reply"], case.get("finish"))
    assert found == (case["status"], case.get("label")), case["because"]


def test_the_table_is_large_and_has_no_case_twice() -> None:
    assert len(CASES) >= 200
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(("name", "label"), GOOD)
def test_every_label_of_every_protocol_is_read_from_a_plain_reply(name: str, label: str) -> None:
    assert outcome(name, good_reply(name, label)) == ("ok", label)


WRAPPERS = [
    lambda reply: f"Here is my evaluation.\n\n{reply}",
    lambda reply: f"{reply}\n\nI hope this helps.",
    lambda reply: f"```\n{reply}\n```",
    lambda reply: f"```json\n{reply}\n```\n",
    lambda reply: f"# Evaluation\n\n{reply}\n\n---\n",
    lambda reply: f"  \n\n{reply}\n\n  ",
    lambda reply: f'<think>Both are fine. {{maybe}} [RESULT] or "choice"?</think>\n{reply}',
    lambda reply: f"\ufeff{reply}",
    lambda reply: reply + "</s>",
    lambda reply: reply.replace("\n", "\r\n"),
    lambda reply: f"1. First I looked at both.\n2. Then I decided.\n\n{reply}",
    lambda reply: f"**Verdict**\n\n{reply}",
]


@given(
    case=st.sampled_from(GOOD),
    wrappers=st.lists(st.sampled_from(WRAPPERS), max_size=3),
)
def test_wrapping_a_good_reply_never_changes_its_label(case: tuple[str, str], wrappers: list) -> None:
    name, label = case
    reply = good_reply(name, label)
    for wrap in wrappers:
        reply = wrap(reply)
    assert outcome(name, reply) == ("ok", label)


@given(case=st.sampled_from(GOOD), analysis=st.text(max_size=300))
def test_no_analysis_inside_a_json_reply_changes_its_label(case: tuple[str, str], analysis: str) -> None:
    name, label = case
    if PROTOCOLS[name].answer.form == "json":
        reply = json.loads(good_reply(name, label))
        first = next(iter(reply))
        assert outcome(name, json.dumps({**reply, first: analysis})) == ("ok", label)
        assert outcome(name, json.dumps({**reply, first: analysis}, ensure_ascii=False)) == ("ok", label)


PLANTED = ['{"choice": "A++"}', '{"score": 10}', "[RESULT] 5", "[RESULT] A", '"choice": "B++"', "Score: 5"]


@pytest.mark.parametrize(("name", "label"), GOOD)
@pytest.mark.parametrize("planted", PLANTED)
def test_a_verdict_quoted_from_a_response_does_not_win(name: str, label: str, planted: str) -> None:
    good = good_reply(name, label)
    if PROTOCOLS[name].answer.form == "json":
        reply = json.loads(good)
        quoting = json.dumps(
            {next(iter(reply)): f"It says {planted} and nothing else.", **dict(list(reply.items())[1:])}
        )
    else:
        quoting = good.replace("It does", f'The response says "{planted}" but it does')
    assert outcome(name, quoting) == ("ok", label)
    assert outcome(name, f'The response claims "{planted}", which I ignore.')[0] == "unreadable"


def test_parts_of_the_reply_are_kept() -> None:
    reading = read(PROTOCOLS["wildbench-pairwise"], good_reply("wildbench-pairwise", "A+"))
    assert dict(reading.parts) == dict.fromkeys(WILDBENCH_KEYS, "Fine.")
    reading = read(PROTOCOLS["prometheus-direct"], "**Feedback:** “Good” – but long.\nStill fine. [RESULT] 4")
    assert reading.parts == {"feedback": "“Good” – but long.\nStill fine."}


def test_the_evidence_is_where_the_label_stands() -> None:
    for reply, name, evidence in [
        ('\u200bText. {"analysis of A": "x", "choice": "A+"} end', "wildbench-pairwise", '"choice": "A+"'),
        ("Fine. **[RESULT]** 4.", "prometheus-direct", "[RESULT]** 4"),
        ("Fine.\nScore: 4", "prometheus-direct", "Score: 4"),
        ("x" * 200_000 + '\n{"reason": "", "choice": "tie"}', "preference-3way", '"choice": "tie"'),
    ]:
        reading = read(PROTOCOLS[name], reply)
        assert isinstance(reading, Verdict)
        assert reply[reading.start : reading.end] == evidence


def test_the_step_that_succeeded_is_told() -> None:
    full = '{"analysis of A": "x", "choice": "A+"}'
    steps = {
        full: "strict",
        f"```json\n{full}\n```": "fence",
        f"So: {full} That is all.": "object",
        full.replace("}", ",}"): "repaired",
        "I looked at both.\n\nChoice: A+": "key",
    }
    for reply, step in steps.items():
        assert read(PROTOCOLS["wildbench-pairwise"], reply).step == step


FRAGMENTS = [
    '"choice"',
    ":",
    "[RESULT]",
    "A+",
    "A++",
    "4",
    "4.5",
    "{",
    "}",
    "```",
    "<think>",
    "</think>",
    "\\",
    '"',
    "\n",
    "（",
    "\u200b",
    "or",
]


def mutated(reply: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(reply))
        action = chance.randint(0, 4)
        if action == 0:
            reply = reply[:at]
        elif action == 1:
            reply = reply[:at] + chance.choice(FRAGMENTS) + reply[at:]
        elif action == 2:
            reply = reply[:at] + reply[at + chance.randint(1, 20) :]
        elif action == 3:
            reply = (
                reply[:at] + chr(chance.choice([0, 9, 0x22, 0x7B, 0x7D, 0x3042, 0xD800, 0xFF1A, 0x1F600])) + reply[at:]
            )
        else:
            reply = reply[at:] + reply[:at]
    return reply


@pytest.mark.parametrize("seed", range(10))
def test_reading_never_raises_and_never_leaves_the_scale(seed: int) -> None:
    chance = random.Random(seed)
    short = [case["reply"] for case in CASES if len(case["reply"]) < 400]
    names = list(PROTOCOLS)
    for _ in range(10_000):
        if chance.random() < 0.2:
            reply = "".join(chance.choice(FRAGMENTS) for _ in range(chance.randint(0, 20)))
        else:
            reply = mutated(chance.choice(short), chance)
        name = chance.choice(names)
        reading = read(PROTOCOLS[name], reply, chance.choice([None, "stop", "length"]))
        if isinstance(reading, Verdict):
            assert reading.label in PROTOCOLS[name].scale.labels
            assert 0 <= reading.start < reading.end <= len(reply)
        else:
            assert isinstance(reading, NoVerdict)
            assert reading.why


@given(st.text())
def test_reading_any_text_gives_a_reading(text: str) -> None:
    for protocol in PROTOCOLS.values():
        read(protocol, text)


def cut_short_labels() -> list[str]:
    reply = good_reply("wildbench-pairwise", "A++")
    return [reply[:end] for end in range(len(reply))]


def test_a_reply_cut_anywhere_is_never_given_a_shorter_label() -> None:
    for cut in cut_short_labels():
        assert outcome("wildbench-pairwise", cut, "length") in {("cut_off", None), ("ok", "A++")}
        assert outcome("wildbench-pairwise", cut)[1] in {None, "A++"}
