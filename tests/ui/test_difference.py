"""Two texts side by side: every character of both, and marks exactly where they differ."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty_texts import load, shown

from ui.difference import show_difference

NASTY = [text for text in load().values() if len(text) < 2_000]
words = st.sampled_from(["the", "a", "cat", "dog", " ", "  ", "\n", ".", "一", "二", "<b>", "\r\n", "\t", "👨‍👩‍👧"])
texts = st.one_of(st.lists(words).map("".join), st.text(st.characters()), st.sampled_from(NASTY))


class Pane(HTMLParser):
    """The text of a pane, that of its marks, and that of the rest."""

    def __init__(self, source):
        super().__init__()
        self.open, self.marks, self.rest, self.text, self.note = [], [], "", "", ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in {"pre", "span", "mark", "p"}
        self.open.append(tag)
        if tag == "mark":
            self.marks.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "p" in self.open:
            self.note += data
            return
        self.text += data
        if "mark" in self.open:
            self.marks[-1] += data
        else:
            self.rest += data


def compare(a, b):
    return tuple(map(Pane, show_difference(a, b)))


@given(texts, texts)
def test_both_texts_are_whole_and_what_is_not_marked_is_the_same(a, b):
    of_a, of_b = compare(a, b)
    assert of_a.text == shown(a)
    assert of_b.text == shown(b)
    assert of_a.rest == of_b.rest


@given(texts)
def test_equal_texts_have_no_marks(text):
    of_a, of_b = compare(text, text)
    assert (of_a.marks, of_b.marks, of_a.note) == ([], [], "")


@pytest.mark.parametrize(
    ("a", "b", "only_a", "only_b"),
    [
        ("The quick fox.", "The slow fox!", ["quick", "."], ["slow", "!"]),
        ("one\ntwo\nthree\n", "one\nthree\n", ["two\n"], []),
        ("x = 1", "x = 12", ["1"], ["12"]),
        ("snake_case", "snake_cases", ["snake_case"], ["snake_cases"]),
        ("我喜欢猫", "我喜欢狗", ["猫"], ["狗"]),
        ("", "all new", [], ["all new"]),
        ("same\n\nold words here\n", "same\n\nnew words here\n", ["old"], ["new"]),
    ],
)
def test_words_that_differ_are_marked(a, b, only_a, only_b):
    of_a, of_b = compare(a, b)
    assert (of_a.marks, of_b.marks) == (only_a, only_b)


def test_a_mark_says_whose_it_is():
    a, b = show_difference("left", "right")
    assert '<mark class="only side-a" title="Only in A">left</mark>' in a
    assert '<mark class="only side-b" title="Only in B">right</mark>' in b
    assert 'aria-label="Response A, with what B does not have marked"' in a


def test_long_texts_with_few_changes_are_compared_word_by_word():
    lines = [f"Line {number} says that {number * 7} is a number.\n" for number in range(2_000)]
    changed = [line.replace("says", "claims") if at % 100 == 0 else line for at, line in enumerate(lines)]
    of_a, of_b = compare("".join(lines), "".join(changed))
    assert of_a.marks == ["says"] * 20
    assert of_b.marks == ["claims"] * 20
    assert of_a.note == ""


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a b " * 25_000, "b a " * 25_000),
        ("x\ny\n" * 25_000, "y\nx\nz\n" * 16_000),
        (" ".join(str(n * n % 307) for n in range(25_000)), " ".join(str(n * n % 311) for n in range(25_000))),
    ],
)
def test_texts_that_would_take_too_long_are_marked_in_larger_parts_and_a_note_says_so(a, b):
    of_a, of_b = compare(a, b)
    assert (of_a.text, of_b.text) == (a, b)
    assert of_a.rest == of_b.rest
    assert "some parts are marked as a whole" in of_a.note
