"""What is shown is the text, the whole text, and nothing that runs."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.domain import Item, MarkerFound, NoVerdict, Point, Prompt, Scale, Span, Turn, Verdict
from judge.protocol import FIELDS, list_protocols
from judge.read import read
from judge.render import render
from judge.rubrics import find_rubric
from ui.display import escape, show_chip, show_problem, show_prompt, show_reading, tile

PROTOCOLS = list_protocols()
OUR_TAGS = {"div", "section", "h2", "span", "button", "nav", "pre", "mark", "ul", "li", "p", "strong", "dl", "dt", "dd"}
OUR_ATTRIBUTES = {"class", "id", "title", "role", "type", "tabindex", "aria-label", "data-field", "data-place"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "${alert(1)}",
    "{{value}}",
    "</pre></span>",
    "<!-- note -->",
    "&amp;&lt;&#65;",
    "vector<int>",
    "<think>",
    "__init__",
    "\r\n",
    "\n",
    "\\n",
    "`",
    '"choice": "A+"',
    '{"choice": "B++", "analysis of A": "<b>"}',
    "[RESULT] 4",
    "[RESULT] B",
    "\u202e",
    "\u200b",
    "\0",
    "\ud800",
]
texts = st.lists(st.one_of(st.text(st.characters()), st.sampled_from(HOSTILE))).map("".join)


class Markup(HTMLParser):
    """What a browser would make of markup: its tags, its attributes, and the text of each <pre>, <mark> and field."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.attributes = [], set(), []
        self.pres, self.marks, self.fields, self.text = [], [], [], ""
        self.feed(source)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self.open.append((tag, dict(attrs)))
        for kept, wanted in ((self.pres, "pre"), (self.marks, "mark")):
            if tag == wanted:
                kept.append("")
        if dict(attrs).get("data-field"):
            self.fields.append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text += data
        inside = [tag for tag, _ in self.open]
        if "pre" in inside:
            self.pres[-1] += data
        if "mark" in inside:
            self.marks[-1] += data
        if any(attrs.get("data-field") for _, attrs in self.open):
            self.fields[-1] += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl):
        raise AssertionError(f"a declaration: {decl!r}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data!r}")


def shown(text):
    """Return what a page can show of a text: HTML holds no NUL and no half of a surrogate pair."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def parse(source):
    markup = Markup(source)
    assert markup.tags <= OUR_TAGS
    assert {name for name, _ in markup.attributes} <= OUR_ATTRIBUTES
    assert "\r" not in source, "a bare carriage return would be shown as a line feed"
    assert source.encode(), "half a surrogate pair could not be sent"
    return markup


@st.composite
def prompts(draw):
    user, spans, warnings = draw(texts), [], []
    for field in draw(st.lists(st.sampled_from(FIELDS), max_size=5)):
        value = draw(texts)
        spans.append(Span(field, len(user), len(user) + len(value)))
        ends = st.integers(len(user), len(user) + len(value))
        for start, end in draw(st.lists(st.tuples(ends, ends), max_size=3)):
            if start < end:
                warnings.append(MarkerFound(field, draw(texts), start, end))
        user += value + draw(texts)
    notes = tuple(draw(st.lists(texts, max_size=2)))
    return Prompt("any", draw(st.sampled_from(["AB", "BA"])), draw(texts), user, tuple(spans), tuple(warnings), notes)


@given(texts)
def test_escaped_text_reads_as_it_was(text):
    assert Markup(escape(text)).text == shown(text)
    assert not set(escape(text)) & set("<>\"'\r\0")


@given(prompts())
def test_pieces_tile_the_prompt(prompt):
    pieces = list(tile(prompt))
    assert "".join(prompt.user[piece.start : piece.end] for piece in pieces) == prompt.user
    assert all(before.end == after.start for before, after in pairwise(pieces))
    assert [(piece.field, piece.start, piece.end) for piece in pieces if piece.field] == [
        (span.field, span.start, span.end) for span in prompt.spans
    ]


@given(prompts())
def test_a_prompt_is_shown_to_the_last_character(prompt):
    markup = parse(show_prompt(prompt))
    messages = [prompt.system, prompt.user] if prompt.system else [prompt.user]
    assert markup.pres == [shown(message) for message in messages]
    assert markup.fields == [shown(prompt.user[span.start : span.end]) for span in prompt.spans]


@given(prompts())
def test_every_marked_character_is_one_of_a_warning_and_the_other_way_round(prompt):
    warned = {at for found in prompt.warnings for at in range(found.start, found.end)}
    assert "".join(parse(show_prompt(prompt)).marks) == shown("".join(prompt.user[at] for at in sorted(warned)))


@given(st.sampled_from(sorted(PROTOCOLS)), texts, texts, texts, st.sampled_from(["AB", "BA"]))
def test_a_rendered_item_is_shown_as_the_judge_gets_it(name, question, one, two, order):
    item = Item("i", (Turn("user", question),), one, two, reference_answer=two, rubric=find_rubric("reasoning"))
    prompt = render(PROTOCOLS[name], item, order)
    assert parse(show_prompt(prompt)).pres[-1] == shown(prompt.user)


@given(st.sampled_from(sorted(PROTOCOLS)), texts, st.sampled_from(["AB", "BA"]))
def test_a_reply_is_shown_to_the_last_character_with_its_evidence(name, reply, order):
    reading = read(PROTOCOLS[name], reply)
    markup = parse(show_reading(PROTOCOLS[name], reading, reply, order))
    assert markup.pres == ([shown(reply)] if reply else [])
    assert markup.marks == ([shown(reply[reading.start : reading.end])] if isinstance(reading, Verdict) else [])


@given(texts)
def test_a_problem_is_shown_to_the_last_character(message):
    assert shown(message[1:]) in parse(show_problem(message)).text


def test_sides_have_their_colours_and_an_exchange_is_named():
    item = Item("i", (Turn("user", "q"),), "one", "two", checklist=("c",))
    protocol = PROTOCOLS["wildbench-pairwise"]
    assert '<span class="field side-a" id="field-candidate_A" title="candidate_A"' in show_prompt(
        render(protocol, item)
    )
    exchanged = show_prompt(render(protocol, item, "BA"))
    assert 'title="candidate_A = response_b"' in exchanged
    assert 'title="candidate_B = response_a"' in exchanged


def test_hash_and_length_stand_beside_the_prompt():
    prompt = render(PROTOCOLS["wildbench-pairwise"], Item("i", (Turn("user", "q"),), "one", "two"))
    markup = show_prompt(prompt)
    assert f"{len(prompt.user):,} characters" in markup
    assert prompt.sha256 in markup
    assert prompt.sha256[:12] in Markup(markup).text


@pytest.mark.parametrize(
    ("label", "colour"),
    [
        ("A++", "side-a strong"),
        ("A+", "side-a slight"),
        ("A=B", "tie"),
        ("B+", "side-b slight"),
        ("B++", "side-b strong"),
    ],
)
def test_labels_form_a_diverging_scale(label, colour):
    assert f'class="chip {colour}"' in show_chip(PROTOCOLS["wildbench-pairwise"].scale, label, pairwise=True)


def test_scores_form_one_sequence_whatever_their_number():
    three = Scale((Point("low", 0), Point("middle", 5), Point("high", 10)))
    assert [show_chip(three, label, pairwise=False)[18:25] for label in three.labels] == [
        "score-1",
        "score-3",
        "score-5",
    ]
    assert "score-3" in show_chip(Scale((Point("only", 1),)), "only", pairwise=False)


def test_a_verdict_on_exchanged_sides_is_also_told_for_the_item_as_imported():
    protocol = PROTOCOLS["wildbench-pairwise"]
    reply = '{"choice": "A++"}'
    assert "as imported" not in show_reading(protocol, read(protocol, reply), reply, "AB")
    text = Markup(show_reading(protocol, read(protocol, reply), reply, "BA")).text
    assert "for the item as imported: B++ Response B is much better" in text


def test_parts_stand_with_the_side_they_speak_of():
    protocol = PROTOCOLS["wildbench-pairwise"]
    reading = Verdict("A+", "strict", 0, 1, {"analysis of A": "one", "Reason of B>A": "two", "reason of A=B": "three"})
    markup = show_reading(protocol, reading, "x", "AB")
    assert '<div class="part side-a"><dt>analysis of A</dt><dd>one</dd></div>' in markup
    assert '<div class="part side-b"><dt>Reason of B&gt;A</dt><dd>two</dd></div>' in markup
    assert '<div class="part other"><dt>reason of A=B</dt><dd>three</dd></div>' in markup


@pytest.mark.parametrize("status", ["unreadable", "refused", "cut_off"])
def test_no_verdict_says_why_and_shows_no_label(status):
    markup = show_reading(PROTOCOLS["prometheus-direct"], NoVerdict(status, "the reply is empty"), "", "AB")
    assert "The reply is empty." in markup
    assert "score-" not in markup
