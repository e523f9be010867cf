"""Nasty texts in a real browser, through a real gr.HTML: shown whole, and nothing in them runs."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import gradio as gr
import pytest
from nasty_texts import is_within, load, must_show, shown, squeeze
from serving import free_port

from ui.difference import show_difference
from ui.markdown import show_markdown
from ui.plain import show_raw
from ui.theme import LAUNCH

pytestmark = pytest.mark.browser

NASTY = load()
NAMES = [name for name, text in NASTY.items() if len(text) < 10_000]
# A formula counts by its TeX, and our own notes do not count.
TEXTS = """sections => sections.map(section => {
  const copy = section.cloneNode(true);
  copy.querySelectorAll('.note').forEach(note => note.remove());
  copy.querySelectorAll('math').forEach(math => math.replaceWith(math.querySelector('annotation').textContent));
  return copy.textContent;
})"""
FORBIDDEN = (
    "script,style,link,meta,base,img,image,svg,iframe,frame,object,embed,form,input,button,select,textarea,video,audio,"
    "source,template,portal,dialog,title,noscript"
)
DANGERS = """(pane, forbidden) => [...pane.querySelectorAll('.case *')].flatMap(element => [
  ...(element.matches(forbidden) ? [element.localName] : []),
  ...[...element.attributes].filter(({ name, value }) => /^on|^style$|^src|^id$|^action/.test(name)
    || (name === 'href' && !/^https?:/.test(value)) || /^javascript:/i.test(value)).map(({ name }) => name),
])"""


def frame(show):
    return "".join(f'<section class="case">{show(NASTY[name])}</section>' for name in NAMES)


async def launch():
    with gr.Blocks(analytics_enabled=False) as blocks:
        rendered, raw, differing = (gr.HTML(elem_id=name) for name in ("rendered", "raw", "differing"))
        blocks.load(lambda: frame(show_markdown), outputs=rendered)
        blocks.load(lambda: frame(show_raw), outputs=raw)
        blocks.load(lambda: frame(lambda text: show_difference(text, "the same\n")[0]), outputs=differing)
    # A port of its own: where gradio looks for one itself, it leaves a socket open at each that is taken.
    blocks.launch(**LAUNCH, server_name="127.0.0.1", server_port=free_port(), prevent_thread_lock=True, quiet=True)
    return blocks


@pytest.fixture(scope="module")
def page(chromium):
    # In a thread of its own: Playwright's event loop bars any other in this one.
    with ThreadPoolExecutor(1) as pool:
        blocks = pool.submit(lambda: asyncio.run(launch())).result()
    page, problems = chromium.new_page(), []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (problems.append("dialog"), dialog.dismiss()))
    page.on("popup", lambda _: problems.append("popup"))
    page.on("request", lambda request: is_foreign(request.url) and problems.append(f"request: {request.url}"))
    page.goto(blocks.local_url)
    for name in ("rendered", "raw", "differing"):
        page.locator(f"#{name} .case").last.wait_for(state="attached")
    yield page
    assert page.evaluate("window.__ran") is None
    assert problems == []
    page.close()
    blocks.close(verbose=False)


def is_foreign(url):
    return urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).hostname != "127.0.0.1"


def texts(page, pane):
    return dict(zip(NAMES, page.locator(f"#{pane} .case").evaluate_all(TEXTS), strict=True))


def put(page, pane, markup):
    """Put markup in the place of a pane's first case, and return its place; the others need no layout any more."""
    page.locator(".case").evaluate_all("sections => sections.forEach(section => { section.hidden = true; })")
    place = page.locator(f"#{pane} .case").first
    place.evaluate("(section, markup) => { section.hidden = false; section.innerHTML = markup; }", markup)
    return place


def test_a_rendered_text_is_whole_and_nothing_is_added(page):
    for name, text in texts(page, "rendered").items():
        assert is_within(must_show(NASTY[name]), squeeze(text)), f"{name}: something is missing"
        assert is_within(squeeze(text), squeeze(shown(NASTY[name]))), f"{name}: something is added"


@pytest.mark.parametrize("pane", ["raw", "differing"])
def test_a_text_shown_as_it_came_is_the_source_to_the_last_character(page, pane):
    assert texts(page, pane) == {name: shown(NASTY[name]) for name in NAMES}


def test_long_texts_are_whole_too(page):
    for name in NASTY.keys() - set(NAMES):
        [text] = put(page, "rendered", show_markdown(NASTY[name])).evaluate_all(TEXTS)
        assert is_within(must_show(NASTY[name]), squeeze(text)), f"{name}: something is missing"


@pytest.mark.parametrize("pane", ["rendered", "raw", "differing"])
def test_no_element_and_no_attribute_can_run_load_or_send_anything(page, pane):
    assert page.locator(f"#{pane}").evaluate(DANGERS, FORBIDDEN) == []


def test_the_search_for_dangers_finds_them(page):
    markup = '<p class="case"><input><b style="x" onclick=""></b><a href="javascript:1"></a></p>'
    found = page.evaluate(
        f"""([markup, forbidden]) => {{
          const box = document.createElement('div');
          box.innerHTML = markup;
          return ({DANGERS})(box, forbidden);
        }}""",
        [markup, FORBIDDEN],
    )
    assert sorted(found) == ["href", "input", "onclick", "style"]


def test_an_override_turns_nothing_and_is_seen(page):
    """Letters after a right-to-left override stand in the order in which they were written."""
    lefts = put(page, "raw", show_raw("ab\u202ecd\u202c ef")).evaluate("""section => {
      const nodes = document.createTreeWalker(section, NodeFilter.SHOW_TEXT);
      const lefts = [];
      while (nodes.nextNode()) for (let at = 0; at < nodes.currentNode.length; at++) {
        if (!/[a-f]/.test(nodes.currentNode.data[at])) continue;
        const range = document.createRange();
        range.setStart(nodes.currentNode, at);
        range.setEnd(nodes.currentNode, at + 1);
        lefts.push(range.getBoundingClientRect().left);
      }
      return lefts;
    }""")
    assert len(lefts) == 6
    assert lefts == sorted(lefts)
    mark = page.locator("#raw .unseen").first
    assert mark.evaluate("mark => getComputedStyle(mark, '::before').content") == '"U+202E"'


def test_formulas_are_drawn_and_wide_ones_scroll_in_their_own_box(page):
    page.set_viewport_size({"width": 390, "height": 844})
    markup = show_markdown("\\[" + "x + " * 60 + "\\frac{a}{b}\\]\n\n```\n" + "code " * 60 + "\n```\n")
    case = put(page, "rendered", markup)
    fraction = case.locator("mfrac").bounding_box()
    assert fraction["height"] > 1.5 * case.locator("mi").first.bounding_box()["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert case.locator("annotation").is_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
