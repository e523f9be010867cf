"""Protocol files: the built-in ones are exact, a user's own load with no code, a bad one is refused with its line."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from judge.domain import ProtocolError
from judge.protocol import Protocol, find_protocol, list_protocols, load_protocol, parse_protocol

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
TEMPLATES = {
    "wildbench-pairwise": "ccd57bd8c4c73f4f83cf8963ef3c2697c1c7b9e907ead91e0d0512cca4ae7a11",
    "prometheus-direct": "8f106cafad0ea28d434d4037d1067ba2b6af4410a198b76d9d8b926a1c6b3872",
    "prometheus-direct-no-reference": "5ff42becaf570cc3bb12c34d052cc6cb4fd80cd0010c2add5ed4bff950b9e139",
    "prometheus-direct-no-reference-fixed": "095e786c8f1ecc9fefbfe60a6c9452633e40c1a0242523c865c20dec02d44fce",
    "prometheus-pairwise": "ccf481a60425d6b2c0c54535c9416ca9d2c41b99f575e7775c1803840ddb25d8",
    "prometheus-pairwise-no-reference": "375ea62ecd5d6a1f8ce20f55256599fa0e7451b9b4c236f0a944ec32f2332720",
}

GOOD = """---
title: Mine
kind: pairwise
placeholder: "{$name}"
scale:
  - {label: "B", value: -1}
  - {label: "A", value: 1}
answer: {json: choice}
---
{$user_query} {$candidate_A} {$candidate_B}
"""


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str, name: str = "mine.md") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return written


@pytest.mark.parametrize(("name", "digest"), TEMPLATES.items())
def test_a_built_in_template_is_byte_for_byte_the_prompt_of_record(protocols, name: str, digest: str) -> None:
    assert hashlib.sha256(protocols[name].template.encode()).hexdigest() == digest


def test_the_wildbench_template_has_its_75_lines(protocols) -> None:
    template = protocols["wildbench-pairwise"].template
    assert (template.count("\n"), len(template.encode())) == (75, 2380)
    assert template.endswith("```\n")


@pytest.mark.skipif(not SEEDS.exists(), reason="the seed documents are not beside the project")
def test_the_prometheus_templates_and_system_prompts_are_those_of_the_seed(protocols) -> None:
    seed = next(SEEDS.glob("004*")).read_text(encoding="utf-8")
    blocks = re.findall(r"^  ```\n?(.*?)\n  ```$", seed, re.DOTALL | re.MULTILINE)
    texts = ["\n".join(line.removeprefix("  ") for line in block.split("\n")).replace('\\"', '"') for block in blocks]
    direct_system, direct, direct_bare, _, pairwise_system, pairwise, pairwise_bare, _ = texts
    assert protocols["prometheus-direct"].template == direct
    assert protocols["prometheus-direct-no-reference"].template == direct_bare
    assert protocols["prometheus-pairwise"].template == pairwise
    assert protocols["prometheus-pairwise-no-reference"].template == pairwise_bare
    assert {protocols[name].system for name in TEMPLATES if "direct" in name} == {direct_system}
    assert {protocols[name].system for name in TEMPLATES if "pairwise" in name} == {"", pairwise_system}


def test_the_fixed_protocol_differs_only_in_the_line_that_lists_what_is_given(protocols) -> None:
    of_record = protocols["prometheus-direct-no-reference"].template.split("\n")
    fixed = protocols["prometheus-direct-no-reference-fixed"].template.split("\n")
    assert [index for index, pair in enumerate(zip(of_record, fixed, strict=True)) if pair[0] != pair[1]] == [1]
    assert "reference" in of_record[1]
    assert "reference" not in fixed[1]


def test_the_scales_are_those_of_the_families(protocols) -> None:
    assert protocols["wildbench-pairwise"].scale.labels == ("B++", "B+", "A=B", "A+", "A++")
    assert protocols["wildbench-pairwise"].scale.tie == "A=B"
    assert protocols["prometheus-direct"].scale.labels == ("1", "2", "3", "4", "5")
    assert protocols["prometheus-pairwise"].scale.labels == ("B", "A")


def test_unswapping_twice_is_the_identity_and_once_mirrors(protocols) -> None:
    for protocol in protocols.values():
        for label in protocol.scale.labels:
            once = protocol.unswap(label, "BA")
            assert protocol.unswap(once, "BA") == label
            assert protocol.unswap(label, "AB") == label
    wildbench = protocols["wildbench-pairwise"]
    assert [wildbench.unswap(label, "BA") for label in ("A++", "A+", "A=B")] == ["B++", "B+", "A=B"]
    assert protocols["prometheus-direct"].unswap("2", "BA") == "2"


def test_a_file_of_ones_own_loads_by_path_and_from_a_folder(write) -> None:
    path = write(GOOD)
    assert find_protocol(str(path)).name == "mine"
    assert find_protocol("mine", path.parent).hash == load_protocol(path).hash
    assert "mine" in list_protocols(path.parent)


def test_the_template_is_kept_to_the_last_byte(write) -> None:
    body = "\r\n\t{$candidate_A}\u00a0  \r\n---\n{$candidate_B}\n\n\n  "
    assert load_protocol(write(GOOD.partition("{$user")[0] + body)).template == body


def test_a_byte_order_mark_and_windows_line_ends_are_no_hindrance(write) -> None:
    protocol = load_protocol(write("\ufeff" + GOOD.replace("\n", "\r\n")))
    assert protocol.template == "{$user_query} {$candidate_A} {$candidate_B}\r\n"


def test_the_hash_follows_what_reaches_the_model_and_nothing_else(write) -> None:
    def digest(text: str) -> str:
        return load_protocol(write(text)).hash

    same = digest(GOOD)
    assert digest(GOOD.replace("title: Mine", "title: Other")) == same
    assert digest(GOOD.replace("{$user_query} ", "{$user_query}  ")) != same
    assert digest(GOOD.replace("answer:", "system: Be fair.\nanswer:")) != same
    assert digest(GOOD.replace("answer:", "request: {temperature: 1}\nanswer:")) != same
    assert digest(GOOD.replace("answer:", "cut_words: 1000\nanswer:")) != same


BAD = {
    "no front matter": ("Just a prompt {$candidate_A}", 1, "three dashes"),
    "front matter never closed": ("---\ntitle: x\n", 1, "not closed"),
    "empty front matter": ("---\n---\nx", 1, "empty"),
    "not YAML": (GOOD.replace("kind: pairwise", "kind: [pairwise"), 4, "not valid YAML"),
    "not a mapping": ("---\n- a\n---\nx", 2, "mapping"),
    "unknown key": (GOOD.replace("kind:", "sort: x\nkind:"), 3, "unknown key 'sort'"),
    "a key twice": (GOOD.replace("kind:", "title: x\nkind:"), 3, "stands twice"),
    "no answer rule": (GOOD.replace("answer: {json: choice}\n", ""), 2, "no answer rule"),
    "two answer rules": (GOOD.replace("{json: choice}", "{json: choice, marker: X}"), 8, "no answer rule"),
    "unknown answer rule": (GOOD.replace("{json: choice}", "{xml: choice}"), 8, "unknown key 'xml'"),
    "no title": (GOOD.replace("title: Mine\n", ""), 2, "missing key 'title'"),
    "wrong kind": (GOOD.replace("kind: pairwise", "kind: ranking"), 3, "pairwise or direct"),
    "placeholder without name": (GOOD.replace('"{$name}"', '"{$field}"'), 4, "placeholder must be"),
    "placeholder without an end": (GOOD.replace('"{$name}"', '"$name"'), 4, "placeholder must be"),
    "one label": (GOOD.replace('  - {label: "A", value: 1}\n', ""), 6, "at least two labels"),
    "more labels than a verdict has room for": (
        GOOD.replace('  - {label: "A", value: 1}\n', "".join(f"  - {{label: {n}, value: {n}}}\n" for n in range(127))),
        6,
        "at most 127",
    ),
    "duplicate label": (GOOD.replace('label: "A"', 'label: "b"'), 7, "duplicate label 'b'"),
    "label without value": (GOOD.replace('"A", value: 1', '"A"'), 7, "has no value"),
    "label that YAML takes for a truth value": (GOOD.replace('"A", value: 1', "yes, value: 1"), 7, "quotes"),
    "values that fall": (GOOD.replace("value: 1}", "value: -2}"), 7, "must rise"),
    "value that is no number": (GOOD.replace("value: 1}", "value: high}"), 7, "must be a number"),
    "value that is not finite": (GOOD.replace("value: 1}", "value: .inf}"), 7, "must be a number"),
    "tie at the end": (GOOD.replace("value: 1}", "value: 1, tie: true}"), 7, "middle"),
    "sides that are not worth the same": (
        GOOD.replace('  - {label: "A", value: 1}\n', '  - {label: "=", value: 0}\n  - {label: "A", value: 3}\n'),
        8,
        "'A' is worth 3 from the middle and 'B', which it becomes when sides swap, 1",
    ),
    "a pairwise scale without an order": (GOOD.replace("answer:", "nominal: true\nanswer:"), 8, "has an order"),
    "an order that is neither true nor false": (GOOD.replace("answer:", "nominal: 1\nanswer:"), 8, "true or false"),
    "values without an order": (
        GOOD.replace("pairwise", "direct").replace("answer:", "nominal: true\nanswer:"),
        6,
        "have no values",
    ),
    "scale that is no list": (re.sub(r"scale:\n.*\n.*\n", "scale: A B\n", GOOD), 5, "scale must be a list"),
    "nested request": (GOOD.replace("answer:", "request: {stop: [a]}\nanswer:"), 8, "request.stop"),
    "unknown field": (GOOD.replace("{$user_query}", "\n{$question}"), 11, "unknown field '{$question}'"),
    "misspelt field": (GOOD.replace("{$user_query}", "{$user_qery}"), 10, "did you mean 'user_query'"),
    "no response A": (GOOD.replace("{$candidate_A}", ""), 10, "no response"),
    "no response B": (GOOD.replace("{$candidate_B}", ""), 10, "no response"),
    "field of the other kind": (GOOD.replace("{$user_query}", "{$model_output}"), 10, "does not belong"),
    "cut at no words": (GOOD.replace("answer:", "cut_words: 0\nanswer:"), 8, "cut_words"),
    "alias bomb": (GOOD.replace("title: Mine", "title: &a [*a, *a]"), 2, ""),
}


@pytest.mark.parametrize(("text", "line", "reason"), BAD.values(), ids=BAD)
def test_a_bad_file_is_refused_with_its_line_and_the_reason(write, text: str, line: int, reason: str) -> None:
    path = write(text)
    with pytest.raises(ProtocolError) as refused:
        load_protocol(path)
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert reason in str(refused.value)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_bytes(b"---\ntitle: \xff\xfe")
    with pytest.raises(ProtocolError, match="UTF-8"):
        load_protocol(tmp_path / "x.md")


def test_an_unknown_name_lists_what_is_known() -> None:
    with pytest.raises(ProtocolError, match="did you mean 'wildbench-pairwise'"):
        find_protocol("wildbench-pairwize")


def test_a_file_of_ones_own_must_not_take_a_built_in_name(write) -> None:
    path = write(GOOD, "wildbench-pairwise.md")
    with pytest.raises(ProtocolError, match="rename"):
        list_protocols(path.parent)


def test_a_no_reference_twin_of_ones_own_is_found_beside_the_file(write) -> None:
    bare = GOOD.replace("{$user_query}", "{$user_query}")
    write(bare, "twin.md")
    path = write(bare.replace("answer:", "without_reference: twin\nanswer:") + "{$orig_reference_answer}")
    twin = load_protocol(path).without_reference
    assert isinstance(twin, Protocol)
    assert twin.name == "twin"
    with pytest.raises(ProtocolError, match="not a path"):
        load_protocol(write(bare.replace("answer:", "without_reference: ../twin\nanswer:")))


def test_a_text_is_checked_as_a_file_would_be_and_finds_its_twin_among_the_known() -> None:
    known = list_protocols()
    for name, protocol in known.items():
        assert parse_protocol(name, protocol.source, known) == protocol
    edited = parse_protocol("mine", known["prometheus-direct"].source.replace("strictly ", ""), known)
    assert (edited.name, edited.without_reference) == ("mine", known["prometheus-direct-no-reference"])
    with pytest.raises(ProtocolError, match=r"mine\.md:10: unknown field .*did you mean 'history'"):
        parse_protocol("mine", GOOD.replace("{$user_query}", "{$histori}"), known)
    with pytest.raises(ProtocolError, match="without_reference: no protocol named 'prometheus-direct-no-reference'"):
        parse_protocol("mine", known["prometheus-direct"].source, {})


def test_sides_worth_the_same_may_have_any_numbers(write) -> None:
    steps = "".join(f"  - {{label: x{n}, value: {n / 10}}}\n" for n in range(1, 8))
    scale = load_protocol(write(re.sub(r"scale:\n.*\n.*\n", f"scale:\n{steps}", GOOD))).scale
    assert len(scale.points) == 7
