"""A model's Markdown is rendered without losing a character, and nothing in it runs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nasty_texts import Markup, is_within, load, must_show, shown, squeeze

from ui.dialect import is_maths
from ui.markdown import show_markdown
from ui.plain import show_raw

NASTY = load()
TAGS = re.compile(
    "div|p|br|hr|h[456]|[uo]l|li|span|em|strong|s|code|pre|blockquote|table|thead|tbody|t[rhd]|a|math|semantics"
    "|annotation|mrow|mi|mn|mo|mtext|mspace|msub|msup|msubsup|munder|mover|munderover|mfrac|msqrt|mroot|mtable|mtr|mtd"
    "|mstyle"
)
ATTRIBUTES = re.compile(
    "class|title|tabindex|role|aria-label|href|rel|target|data-code|encoding|display|stretchy|fence|form|minsize"
    "|maxsize|movablelimits|displaystyle|scriptlevel|linethickness|lspace|rspace|width|accent|largeop|separator"
    "|mathvariant|dir"
)
pieces = st.one_of(st.text(st.characters()), st.sampled_from([text for text in NASTY.values() if len(text) < 400]))
texts = st.lists(st.tuples(pieces, st.sampled_from(["", " ", "\n", "\n\n", "\n  "]))).map(
    lambda pairs: "".join(text + gap for text, gap in pairs)
)


def check(text):
    """Hold the rendered text against its source: nothing missing, nothing added, nothing that runs."""
    markup = Markup(show_markdown(text))
    assert all(map(TAGS.fullmatch, markup.tags))
    assert all(ATTRIBUTES.fullmatch(name) for _, name, _ in markup.attributes)
    assert all(re.match("https?://", value) for _, name, value in markup.attributes if name == "href")
    assert is_within(must_show(text), squeeze(markup.text)), "something is missing"
    assert is_within(squeeze(markup.text), squeeze(shown(text))), "something is added"


def plain(text):
    """Return the text of a rendered one."""
    return Markup(show_markdown(text)).text


def inside(text):
    """Return the markup of a rendered text without its frame."""
    return show_markdown(text).removeprefix('<div class="markdown">').removesuffix("</div>")


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_text_is_rendered_without_loss(name):
    check(NASTY[name])


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_text_is_shown_raw_to_the_last_character(name):
    markup = Markup(show_raw(NASTY[name]))
    assert markup.text == shown(NASTY[name])
    assert set(markup.tags) <= {"pre", "span"}


@given(texts)
def test_any_text_is_rendered_without_loss(text):
    check(text)


@given(texts)
def test_any_text_is_shown_raw_to_the_last_character(text):
    assert Markup(show_raw(text)).text == shown(text)


@given(st.text(st.characters(exclude_characters="\r\0")), st.sampled_from(["```", "~~~~", "```python"]))
def test_code_in_a_fence_is_kept_to_the_last_space(code, fence):
    closing = fence.removesuffix("python")
    kept = code.replace(closing, "")
    rendered = plain(f"{fence}\n{kept}\n{closing}")
    assert rendered == fence.removeprefix(closing) + shown(kept)


def test_the_check_itself_sees_a_loss():
    for source, without in (("a <b> c", "a  c"), ("__init__", "init"), ("1. x", "x"), ("vector<int>", "vector")):
        assert not is_within(must_show(source), squeeze(without))


@pytest.mark.parametrize(
    "text",
    [
        "__init__",
        "_private",
        "_id_",
        "snake_case_name",
        "x**2 + y**2",
        "a*b*c",
        "f(x)*y*z",
        "array[i](j)",
        "&amp; &lt;",
        "C:\\new\\.x",
        "\\*",
        "$5 and $10",
        "$HOME/$PATH",
        "<!-- note -->",
        "[a](javascript:alert(1))",
        ">>> print(1)",
        "[ref]: https",
        "citation \\[1\\]",
        "![alt](data:image/png;base64,AA)",
        "| a | b |\n|---|---|\n| 1 | 2 | 3 |",
    ],
)
def test_what_markdown_would_eat_is_shown_as_it_stands(text):
    assert squeeze(plain(text)) == squeeze(text)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("**b** *i* ~~s~~ `c`", "<p><strong>b</strong> <em>i</em> <s>s</s> <code>c</code></p>"),
        ("_a phrase_ and __a bold one__", "<p><em>a phrase</em> and <strong>a bold one</strong></p>"),
        ("**S**pecific 这是**重点**内容", "<p><strong>S</strong>pecific 这是<strong>重点</strong>内容</p>"),
        ("one\n  two", "<p>one<br>  two</p>"),
        ("# A #\n####### B", '<h4 class="level-1">A #</h4><p>####### B</p>'),
        ("> q", "<blockquote><p>q</p></blockquote>"),
        ("- a\n- b", '<ul dir="auto"><li>a</li><li>b</li></ul>'),
        (
            "```py\nx < 1\n```",
            '<div class="code"><div class="language">py</div>'  # noqa: ISC004 # one string
            '<pre tabindex="0" aria-label="Code"><code>x &lt; 1</code></pre></div>',
        ),
    ],
)
def test_markdown_is_rendered(text, markup):
    assert inside(text) == markup


def test_items_keep_the_numbers_of_the_source():
    assert re.findall(r'<span class="number">(.*?)</span>', show_markdown("3. a\n5. b\n5. c\n\n07) d\n")) == [
        "3.",
        "5.",
        "5.",
        "07)",
    ]


def test_tasks_have_a_box_that_keeps_their_brackets():
    markup = show_markdown("- [ ] a\n- [x] b\n- [y] c")
    assert '<li><span class="task to-do" title="to do">[ ]</span> a</li>' in markup
    assert '<li><span class="task done" title="done">[x]</span> b</li>' in markup
    assert "<li>[y] c</li>" in markup


def test_a_link_tells_where_it_leads():
    attributes = 'rel="noopener noreferrer nofollow" target="_blank"'
    assert inside('[a](https://b.c "d")') == (
        f'<p><a href="https://b.c" {attributes}>a</a><span class="url"> (https://b.c &quot;d&quot;)</span></p>'
    )
    assert inside("see <https://b.c>.") == f'<p>see &lt;<a href="https://b.c" {attributes}>https://b.c</a>&gt;.</p>'


def test_an_image_is_named_and_not_loaded():
    assert "<img" not in show_markdown("![alt](https://b.c/d.png)")
    assert 'class="image" title="An image, not loaded">![alt](https://b.c/d.png)<' in show_markdown(
        "![alt](https://b.c/d.png)"
    )


@pytest.mark.parametrize("text", ["$x^2$", "$$x^2$$", "\\(x^2\\)", "\\[x^2\\]", "$$\nx^2\n$$", "\\[\nx^2\n\\]"])
def test_a_formula_is_drawn_and_keeps_its_source(text):
    markup = show_markdown(text)
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in markup
    assert plain(text).strip() == "x^2"
    assert ' display="block"' in markup or text in ("$x^2$", "\\(x^2\\)")


@pytest.mark.parametrize("tex", ["x", "n", "5", "-3.14", "2x", "a=b", "x_1", "\\alpha", "f(x)", "a < b"])
def test_dollars_hold_a_formula_when_it_is_one(tex):
    assert is_maths(tex)
    assert "<math" in show_markdown(f"so ${tex}$ holds")


@pytest.mark.parametrize(
    "text", ["$5 and $10", "$5-$10", "US$5 or A$6", "$a = $b", "pays $20 = four of the tickets and$", "${x} and ${y}"]
)
def test_dollars_hold_money_when_it_is_money(text):
    assert "<math" not in show_markdown(text)


@pytest.mark.parametrize("name", [name for name in NASTY if name.startswith(("hostile TeX", "deep TeX"))])
def test_hostile_tex_is_shown_as_its_source_or_drawn_harmlessly(name):
    markup = show_markdown(NASTY[name])
    assert not re.search(r"<(?!/?(?:div|p|code|span|math|semantics|annotation|m[a-z]+|pre|br)\b)", markup)
    assert "mphantom" not in markup
    assert "mathcolor" not in markup


@pytest.mark.parametrize(
    "tex",
    [
        "\\unknown{x}",
        "\\phantom{x}",
        "\\color{white}{x}",
        "a % b",
        "\\frac{a}{",
        "x^a^b",
        "\\hspace{-99em}x",
        "\\begin{alignat}{2}x\\end{alignat}",
        "x\u200by",
        "\\def\\a{b}",
    ],
)
def test_a_formula_that_cannot_be_drawn_faithfully_is_shown_as_code(tex):
    assert inside(f"\\({tex}\\)").startswith('<p><code class="tex">\\(')
    assert plain(f"\\({tex}\\)") == f"\\({tex}\\)"


@pytest.mark.parametrize("name", ["align", "align*", "aligned", "gather*", "equation", "cases", "pmatrix", "split"])
def test_environments_are_drawn_and_count_no_equations(name):
    text = f"$$\\begin{{{name}}}a = b\\end{{{name}}}$$"
    assert "<mi>a</mi><mo>=</mo><mi>b</mi>" in show_markdown(text)
    assert "(1)" not in show_markdown(text)


def test_letters_of_another_alphabet_are_drawn_as_such():
    markup = show_markdown(r"$\mathbb{R} \boldsymbol{x} \mathbf{12} \mathcal{B}$")
    assert all(letter in markup for letter in "ℝ𝒙𝟏𝟐ℬ")


def test_what_cannot_be_seen_is_marked_and_kept():
    markup = show_markdown("a\u200bb \u202ec")
    assert '<span class="unseen" title="zero width space" data-code="U+200B">\u200b</span>' in markup
    assert 'data-code="U+202E">\u202e</span>c' in markup
    assert "U+FEFF U+200B ×3" in show_raw("\ufeff\u200b\u200b")


@pytest.mark.parametrize("text", ["👨‍👩‍👧", "می‌خواهم", "क्‍ष", "1️⃣", "❤️", "a\r\nb", "🏴\U000e0067\U000e0062\U000e007f"])
def test_joiners_in_emoji_and_in_scripts_that_need_them_are_left_alone(text):
    assert "unseen" not in show_raw(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 50_000, "it has very many marks of Markdown"),
        ("a\n" * 12_000, "it has more than 10,000 lines"),
        ("word " * 50_000, "it is longer than 200,000 characters"),
        ("> " * 100 + "x", "it is nested very deeply"),
        ("*" * 200 + "x" + "*" * 200, "it is nested very deeply"),
        ("".join("  " * depth + "- x\n" for depth in range(60)), "it is nested very deeply"),
    ],
)
def test_what_is_too_much_to_render_is_shown_as_it_came(text, why):
    markup = show_markdown(text)
    assert f"This text is shown as it came: {why}." in markup
    assert Markup(markup).text == text
