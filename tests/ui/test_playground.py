"""The playground's handlers, called as functions."""

import json

import pytest

from judge.domain import InputError, Verdict
from judge.protocol import list_protocols, load_protocol
from judge.read import read
from judge.render import render
from ui.playground import EDITED, Playground, list_examples, parse_item, sample_reply

PROTOCOLS = list_protocols()
EXAMPLES = list_examples()
WILDBENCH, DIRECT, RANKING = "wildbench-pairwise", "prometheus-direct", "prometheus-pairwise"
SMALL = {"id": 1, "instruction": "q", "response_a": "one", "response_b": "two"}


@pytest.fixture
def page():
    return Playground(PROTOCOLS, EXAMPLES)


def item_text(**changes):
    return json.dumps({**SMALL, **changes})


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("order", ["AB", "BA"])
def test_every_example_fits_every_protocol(page, protocol, example, order):
    prompt, reading = page.show(protocol, EXAMPLES[example].text, order, sample_reply(PROTOCOLS[protocol]))
    assert render(PROTOCOLS[protocol], parse_item(EXAMPLES[example].text), order).sha256 in prompt
    assert 'class="reading found"' in reading


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_sample_replies_are_read(protocol):
    reading = read(protocol, sample_reply(protocol))
    assert isinstance(reading, Verdict)
    assert reading.step in ("strict", "marker")
    assert reading.parts


def test_there_is_a_sample_reply_for_a_protocol_of_ones_own(tmp_path):
    path = tmp_path / "mine.md"
    path.write_text(
        "---\ntitle: Mine\nkind: pairwise\nplaceholder: '{name}'\nanswer: {json: winner}\n"
        "scale: [{label: B, value: -1}, {label: A, value: 1}]\n---\n{orig_response_A}\n{orig_response_B}\n",
        encoding="utf-8",
    )
    mine = load_protocol(path)
    assert read(mine, sample_reply(mine)).label == "A"
    prompt, reading = Playground({"mine": mine}, EXAMPLES).show("mine", item_text(), "AB", sample_reply(mine))
    assert "field side-a" in prompt
    assert "side-a strong" in reading


def test_a_direct_protocol_shows_one_response_and_hides_the_order(page):
    order, _, prompt, _ = page.choose_protocol(DIRECT, EXAMPLES["socks"].text, "AB", "")
    assert order["visible"] is False
    assert "orig_response" in prompt
    assert "the seventh is black" not in prompt
    order, _, prompt, _ = page.choose_protocol(RANKING, EXAMPLES["socks"].text, "AB", "")
    assert order["visible"] is True
    assert "the seventh is black" in prompt


def test_the_reply_follows_the_protocol_until_somebody_writes_one(page):
    assert page.choose_protocol(DIRECT, item_text(), "AB", sample_reply(PROTOCOLS[WILDBENCH]))[1].endswith("[RESULT] 4")
    assert page.choose_protocol(DIRECT, item_text(), "AB", " ")[1].endswith("[RESULT] 4")
    _, reply, _, reading = page.choose_protocol(DIRECT, item_text(), "AB", "Good. [RESULT] 2")
    assert reply == "Good. [RESULT] 2"
    assert "score-2" in reading


def test_without_a_reference_the_twin_is_used_and_named(page):
    prompt, _ = page.show(RANKING, EXAMPLES["landlord"].text, "AB", "")
    assert "prometheus-pairwise-no-reference was used instead of prometheus-pairwise." in prompt
    assert "orig_reference_answer" not in prompt


def test_markers_in_a_response_are_marked_in_place(page):
    prompt, _ = page.show(RANKING, EXAMPLES["angle-brackets"].text, "AB", "")
    assert "it may steer the judge" in prompt
    assert ">[RESULT]</mark>" in prompt


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it is not valid JSON: line 1, column 1"),
        ('{"id": 1,\n "x": }', "line 2, column 7"),
        ("[1]", "it must be one JSON object"),
        ("9" * 5000, "it is not valid JSON"),
        ("[" * 100_000, "it is not valid JSON"),
        (item_text(response_a=4), "response_a: must be text, not a number"),
        (item_text(conversation=[{"role": "user"}], instruction=None), "instruction: stands beside conversation"),
        ('{"id": 1, "conversation": [{"role": "user"}], "response": "r"}', "conversation[0].content: is missing"),
        ('{"id": 1, "instruction": "q", "response": "r"}', "add response_b"),
        (item_text(rubric={"<b>": ""}), "rubric.&lt;b&gt;: is not known"),
        ('{"id": 1, "instruction": "\\ud800", "response": "r"}', "instruction: contains half a surrogate pair"),
    ],
)
def test_a_wrong_item_is_named_by_its_field(page, text, complaint):
    prompt, reading = page.show(WILDBENCH, text, "AB", sample_reply(PROTOCOLS[WILDBENCH]))
    assert complaint.lower() in prompt.lower()
    assert 'role="alert"' in prompt
    assert "side-a slight" in reading, "the reply can still be read"


def test_an_item_that_lacks_what_the_protocol_needs_is_told_so(page):
    prompt, _ = page.show(DIRECT, item_text(reference_answer="r"), "AB", "")
    assert "rubric.criteria" in prompt


def test_choosing_an_example_fills_the_editor(page):
    editor, text = page.choose_example("socks")
    assert text == EXAMPLES["socks"].text
    assert "open" not in editor
    editor, text = page.choose_example(EDITED)
    assert editor["open"] is True
    assert "value" not in text


def test_the_list_says_whether_the_item_is_still_an_example(page):
    assert page.show_item(WILDBENCH, EXAMPLES["socks"].text, "AB", "")[0] == "socks"
    assert page.show_item(WILDBENCH, EXAMPLES["socks"].text + " ", "AB", "")[0] == EDITED


def test_reading_follows_the_reply(page):
    assert "side-b strong" in page.read_reply(WILDBENCH, item_text(), "AB", '{"choice": "B++"}')
    assert "The reply is empty." in page.read_reply(WILDBENCH, item_text(), "AB", "")
    assert "Refused" in page.read_reply(WILDBENCH, item_text(), "AB", "I cannot help with that.")
    assert "Cut off" in page.read_reply(WILDBENCH, item_text(), "AB", "<think>Let me see")


def test_a_bad_example_file_is_named(tmp_path):
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.json: response_a: is missing"):
        list_examples(tmp_path)
