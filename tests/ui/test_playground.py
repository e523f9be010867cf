"""The playground's handlers, called as functions."""

import json
from types import SimpleNamespace

import gradio as gr
import pytest

from exchange.endpoints import Endpoints
from judge.domain import InputError, Item, Study, Turn, Verdict
from judge.protocol import list_protocols, load_protocol
from judge.read import read
from judge.render import render
from storage.imports import prepare
from ui.examples import list_examples, sample_reply
from ui.item_form import BOXES, parse_item
from ui.playground import Playground
from ui.playground_layout import EDITED, EMPTY, JSON
from ui.sharing import Shown, parse_shown, print_shown

PROTOCOLS = list_protocols()
EXAMPLES = list_examples()
WILDBENCH, DIRECT, RANKING = "wildbench-pairwise", "prometheus-direct", "prometheus-pairwise"
SMALL = {"id": 1, "instruction": "q", "response_a": "one", "response_b": "two"}
LABELS = [box.label for box in BOXES]


@pytest.fixture
def page(sqlite):
    return Playground(PROTOCOLS, EXAMPLES, sqlite, Endpoints(sqlite, environment={}))


def item_text(**changes):
    return json.dumps({**SMALL, **changes})


def now(protocol, text, order="AB", reply="", source=None):
    """Return what the controls hold."""
    return protocol, PROTOCOLS[protocol].source if source is None else source, text, order, reply


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("order", ["AB", "BA"])
def test_every_example_fits_every_protocol(page, protocol, example, order):
    text, reply = EXAMPLES[example].text, sample_reply(PROTOCOLS[protocol])
    prompt, reading, _ = page.show(*now(protocol, text, order, reply))
    assert render(PROTOCOLS[protocol], parse_item(text), order).sha256 in prompt
    assert 'class="reading found"' in reading


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_sample_replies_are_read(protocol):
    reading = read(protocol, sample_reply(protocol))
    assert isinstance(reading, Verdict)
    assert reading.step in ("strict", "marker")
    assert reading.parts


def test_there_is_a_sample_reply_for_a_protocol_of_ones_own(tmp_path, sqlite):
    path = tmp_path / "mine.md"
    path.write_text(
        "---\ntitle: Mine\nkind: pairwise\nplaceholder: '{name}'\nanswer: {json: winner}\n"
        "scale: [{label: B, value: -1}, {label: A, value: 1}]\n---\n{orig_response_A}\n{orig_response_B}\n",
        encoding="utf-8",
    )
    mine = load_protocol(path)
    assert read(mine, sample_reply(mine)).label == "A"
    page = Playground({"mine": mine}, EXAMPLES, sqlite, Endpoints(sqlite, environment={}))
    prompt, reading, _ = page.show("mine", mine.source, item_text(), "AB", sample_reply(mine))
    assert "field side-a" in prompt
    assert "side-a strong" in reading


def test_the_reply_follows_the_protocol_until_somebody_writes_one(page):
    assert page.choose_protocol(DIRECT, {}, sample_reply(PROTOCOLS[WILDBENCH]))[1].endswith("[RESULT] 4")
    assert page.choose_protocol(DIRECT, {}, " ")[1].endswith("[RESULT] 4")
    assert page.choose_protocol(DIRECT, {}, "Good. [RESULT] 2")[1] == "Good. [RESULT] 2"


def refreshed(page, *controls, compare=False, drafts=None):
    """Return the update of each part of the page after a text has changed."""
    _, kept, tab, reset, _, versions, swap, example, *rest = page.refresh(compare, drafts or {}, *controls)
    boxes, [prompt, reading, _] = rest[: len(BOXES)], rest[len(BOXES) :]
    wanted = [label for label, box in zip(LABELS, boxes, strict=True) if box.get("visible")]
    return SimpleNamespace(
        kept=kept,
        tab=tab,
        reset=reset,
        versions=versions,
        swap=swap,
        example=example,
        wanted=wanted,
        prompt=prompt,
        reading=reading,
    )


def test_a_direct_protocol_shows_one_response_and_cannot_be_swapped(page):
    shown = refreshed(page, *now(DIRECT, EXAMPLES["socks"].text))
    assert shown.swap["visible"] is False
    assert "Response B" not in shown.wanted
    assert "the seventh is black" not in shown.prompt
    shown = refreshed(page, *now(RANKING, EXAMPLES["socks"].text))
    assert shown.swap["visible"] is True
    assert "Response B" in shown.wanted
    assert "the seventh is black" in shown.prompt


def test_an_edited_protocol_is_rendered_said_to_be_edited_and_kept_for_later(page):
    source = PROTOCOLS[WILDBENCH].source.replace("expert evaluator", "impartial referee")
    shown = refreshed(page, *now(WILDBENCH, item_text(), source=source), drafts={DIRECT: "other"})
    assert "impartial referee" in shown.prompt
    assert shown.tab["marked"] == "protocol"
    assert shown.reset["interactive"] is True
    assert shown.kept == {DIRECT: "other", WILDBENCH: source}
    assert page.choose_protocol(WILDBENCH, shown.kept, "")[0] == source
    back = refreshed(page, *now(WILDBENCH, item_text()), drafts=shown.kept)
    assert back.kept == {DIRECT: "other"}
    assert (back.tab["marked"], back.reset["interactive"]) == ("", False)


def test_a_pasted_protocol_brings_its_own_scale_and_fields(page):
    shown = refreshed(page, *now(WILDBENCH, item_text(), reply="[RESULT] 2", source=PROTOCOLS[DIRECT].source))
    assert "score-2" in shown.reading
    assert "Rubric" in shown.wanted
    assert shown.swap["visible"] is False


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        (
            "{$history}",
            "{$histori}<b>",
            "Line 25: unknown field &#39;{$histori}&#39; (did you mean &#39;history&#39;?)",
        ),
        ("kind: pairwise", "kind: both", "Line 3: kind must be pairwise or direct, not &#39;both&#39;<code>kind: both"),
        ("answer: {json: choice}\n", "", "Line 2: no answer rule"),
        ("---\n", "", "Line 1: a protocol file begins with a line of three dashes"),
        ("title: WildBench", "title: [", "the settings are not valid YAML"),
        ("kind:", "system: see {$history}\nkind:", "system: &#39;{$history}&#39; would not be filled"),
        ("{$candidate_A}", "", "the template has no response"),
    ],
)
def test_an_error_of_an_edited_protocol_names_line_and_field(page, before, after, complaint):
    source = PROTOCOLS[WILDBENCH].source.replace(before, after)
    shown = refreshed(page, *now(WILDBENCH, item_text(), source=source), compare=True)
    assert complaint in shown.prompt
    assert 'role="alert"' in shown.prompt
    assert shown.versions["visible"] is False
    assert shown.kept == {WILDBENCH: source}, "nothing typed is lost"


def test_versions_stand_beside_each_other(page):
    source = PROTOCOLS[WILDBENCH].source.replace("expert evaluator", "impartial <b>referee</b>")
    shown = page.compare(True, WILDBENCH, source, item_text(), "AB")
    original, edited = shown["value"].split('aria-label="Edited prompt"')
    assert 'title="Only in the original">expert evaluator</mark>' in original
    assert 'title="Only in the edited version">impartial &lt;b&gt;referee&lt;/b&gt;</mark>' in edited
    assert 'aria-label="Prompt of the edited version, with what the original does not have marked"' in edited
    assert page.compare(True, WILDBENCH, PROTOCOLS[WILDBENCH].source, item_text(), "AB")["visible"] is False
    assert page.compare(False, WILDBENCH, source, item_text(), "AB")["visible"] is False
    assert page.compare(True, WILDBENCH, source, "{", "AB")["visible"] is False


def test_swapping_twice_changes_nothing(page):
    order, label, versions, prompt, reading, told = page.swap(
        False, *now(WILDBENCH, item_text(), reply='{"choice": "A++"}')
    )
    assert (order, label) == ("BA", "Swap sides (B first)")
    assert "candidate_A = response_b" in prompt
    assert "side-b strong" in reading
    assert versions["visible"] is False
    back = page.swap(False, *now(WILDBENCH, item_text(), order, '{"choice": "A++"}'))
    shown = page.show(*now(WILDBENCH, item_text(), reply='{"choice": "A++"}'))
    assert back == ["AB", "Swap sides (A first)", versions, *shown]
    assert parse_shown(told, PROTOCOLS).order == "BA"


def test_without_a_reference_the_twin_is_used_and_named(page):
    prompt, *_ = page.show(*now(RANKING, EXAMPLES["landlord"].text))
    assert "prometheus-pairwise-no-reference was used instead of prometheus-pairwise." in prompt
    assert "orig_reference_answer" not in prompt


def test_markers_in_a_response_are_marked_in_place(page):
    prompt, *_ = page.show(*now(RANKING, EXAMPLES["angle-brackets"].text))
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
    prompt, reading, _ = page.show(*now(WILDBENCH, text, reply=sample_reply(PROTOCOLS[WILDBENCH])))
    assert complaint.lower() in prompt.lower()
    assert 'role="alert"' in prompt
    assert "side-a slight" in reading, "the reply can still be read"


def test_an_item_that_lacks_what_the_protocol_needs_is_told_so(page):
    prompt, *_ = page.show(*now(DIRECT, item_text(reference_answer="r")))
    assert "rubric.criteria" in prompt


def test_choosing_an_example_fills_the_editor_and_the_boxes(page):
    tab, text, *boxes = page.choose_example("socks")
    assert text == EXAMPLES["socks"].text
    assert [box["value"] for box in boxes] == [box.show(parse_item(text)) for box in BOXES]
    assert tab == gr.skip()
    tab, text, *boxes = page.choose_example(EDITED)
    assert tab == "item"
    assert not any("value" in each for each in (text, *boxes))


def test_an_empty_item_is_filled_in_box_by_box(page):
    tab, text, *boxes = page.choose_example(EMPTY)
    assert tab == "item"
    filled = [box["value"] for box in boxes]
    filled[LABELS.index("Question")] = "Why?"
    filled[LABELS.index("Response B")] = "Because."
    text = page.write_boxes(text, *filled)
    prompt, *_ = page.show(*now(WILDBENCH, text))
    assert "Why?" in prompt
    assert "Because." in prompt
    assert "value" not in page.write_boxes(text, *filled), "what is written already is not written again"
    assert "value" not in page.write_boxes("{", *filled)


def test_the_boxes_follow_the_json_when_they_are_shown_again(page):
    form, editor, *_ = page.choose_way(JSON, item_text())
    assert (form["visible"], editor["visible"]) == (False, True)
    form, editor, *boxes = page.choose_way("Fields", item_text(response_a="new"))
    assert (form["visible"], editor["visible"]) == (True, "hidden")
    assert boxes[LABELS.index("Response A")]["value"] == "new"
    _, _, *boxes = page.choose_way("Fields", "{")
    assert not any(box["interactive"] for box in boxes)


def test_the_list_says_whether_the_item_is_still_an_example(page):
    assert refreshed(page, *now(WILDBENCH, EXAMPLES["socks"].text)).example == "socks"
    assert refreshed(page, *now(WILDBENCH, EXAMPLES["socks"].text + " ")).example == EDITED


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('{"choice": "B++"}', "side-b strong"),
        ("", "The reply is empty."),
        ("I cannot help with that.", "Refused"),
        ("<think>Let me see", "Cut off"),
    ],
)
def test_reading_follows_the_reply(page, reply, said):
    assert said in page.show(*now(WILDBENCH, item_text(), reply=reply))[1]


def test_a_bad_example_file_is_named(tmp_path):
    (tmp_path / "bad.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.json: response_a: is missing"):
        list_examples(tmp_path)


def keep_study(store, protocol):
    store.create_study(Study("pilot", protocol.version))
    item = Item("q<1>", (Turn("user", "Why?"),), "left", "right", model_a="secret", metadata={"winner": "secret"})
    store.add_prepared("pilot", [prepare(item)])


def test_a_studys_item_comes_with_its_protocol_and_without_what_no_judge_is_shown(page, sqlite):
    keep_study(sqlite, PROTOCOLS[RANKING])
    assert page.list_names("pilot")["choices"] == ["q<1>"]
    name, source, text, *rest = page.load_item("pilot", "q<1>", WILDBENCH, "BA", "")
    assert (name, source) == (RANKING, PROTOCOLS[RANKING].source)
    assert parse_item(text) == Item("q<1>", (Turn("user", "Why?"),), "left", "right")
    assert "secret" not in str(rest)
    assert rest[len(BOXES)] == "BA"


def test_a_study_with_a_protocol_of_its_own_brings_its_text(page, sqlite, protocols):
    own = protocols["preference-3way"]
    keep_study(sqlite, own)
    name, source, *_ = page.load_item("pilot", "q<1>", WILDBENCH, "AB", "")
    assert (name, source) == (WILDBENCH, own.source)


@pytest.mark.parametrize(("study", "item"), [("pilot", "<b>q9"), ("<b>", "q1"), (None, None)])
def test_what_a_study_does_not_have_is_said_without_markup(page, sqlite, study, item):
    keep_study(sqlite, PROTOCOLS[RANKING])
    with pytest.raises(gr.Error) as error:
        page.load_item(study, item, WILDBENCH, "AB", "")
    assert "<b>" not in error.value.message


def asked_for(state="", study="", item=""):
    return SimpleNamespace(state=state, study=study, item=item)


def test_a_link_restores_everything(page):
    source = PROTOCOLS[RANKING].source.replace("fair", "very fair")
    item = item_text(response_a="<b>\ud7ff\u202e</b>", reference_answer="r", rubric="honesty")
    shown = Shown(RANKING, item, "BA", "Mine. [RESULT] A", source)
    *_, name, text_of_protocol, text = page.open(asked_for(print_shown(shown)))[:7]
    assert (name, text_of_protocol, text) == (RANKING, source, shown.item)
    restored = page.open(asked_for(print_shown(shown)))[7 + len(BOXES) :]
    order, label, reply, tabs, prompt, reading, told = restored
    assert (order, label, reply) == ("BA", "Swap sides (B first)", "Mine. [RESULT] A")
    assert tabs == "reply", "a reply of one's own is shown at once"
    assert "side-a" in reading
    assert "very fair" in prompt
    assert parse_shown(told, PROTOCOLS) == shown


def test_an_address_may_name_an_item_of_a_study(page, sqlite):
    keep_study(sqlite, PROTOCOLS[RANKING])
    studies, *_, name, _, text = page.open(asked_for(study="pilot", item="q<1>"))[:7]
    assert studies["choices"] == ["pilot"]
    assert name == RANKING
    assert parse_item(text).id == "q<1>"


@pytest.mark.parametrize(
    "state",
    [
        "damaged",
        "[]",
        "[" * 100_000,
        '{"protocol": "none"}',
        '{"protocol": 4, "item": ""}',
        '{"protocol": "wildbench-pairwise", "item": {"a": 1}}',
        '{"protocol": ["wildbench-pairwise"]}',
    ],
)
def test_a_damaged_link_says_so_and_changes_nothing(page, state):
    studies, first, second, notice, *rest = page.open(asked_for(state))
    assert all("choices" in each for each in (studies, first, second))
    assert "This link" in notice["value"]
    assert all(each == gr.skip() for each in rest)


def test_a_hostile_link_is_shown_as_text(page):
    state = json.dumps({"protocol": WILDBENCH, "item": "<script>", "order": "<b>", "reply": "\ud800", "more": 1})
    *_, order, _, reply, _, prompt, _, told = page.open(asked_for(state))
    assert order == "AB"
    assert reply == "\ufffd"
    assert "<script" not in prompt + told
