"""Sixty injections in every field that is ever shown, on every page and in the report: none of them does anything."""

import json
from itertools import cycle
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect
from serving import Serving
from steps import TWO_FRAMES

from exchange.agreeing import agree
from exchange.endpoints import Preset
from exchange.panel import Options
from exchange.report import write_report
from judge.domain import GivenVerdict, Item, Rubric, Study, Turn
from judge.protocol import find_protocol, load_protocol
from storage.imports import prepare
from storage.runs import Ended, RunSettings

pytestmark = pytest.mark.browser

PASSWORD = "correct horse battery"
R, AWAY = "window.ran=1", "//evil.example/"
# Those that would swallow what comes after them stand last.
ATTACKS = [
    f"<script>{R}</script>",
    f"<ScRiPt>{R}</sCrIpT>",
    f"<script src={AWAY}></script>",
    f"<script type=module>{R}</script>",
    f"<script/x>{R}</script>",
    f"<<script>{R}//<</script>",
    f"<scr<script>ipt>{R}</script>",
    f"</script><script>{R}</script>",
    f"</textarea><script>{R}</script>",
    f"</title><script>{R}</script>",
    f"</style><script>{R}</script>",
    f"<img src=x onerror={R}>",
    f"<img src={AWAY}a>",
    f'<img src="x" onerror="{R}">',
    f"<img/src=x/onerror={R}>",
    f"<img src=x:x onerror\n=\n{R}>",
    f"<image src=x onerror={R}>",
    f"<svg onload={R}>",
    f"<svg/onload={R}>",
    f"<svg><script>{R}</script></svg>",
    f"<svg><animate onbegin={R} attributeName=x>",
    f"<svg><use href=data:,x#{R} /></svg>",
    f"<math><mtext><img src=x onerror={R}></mtext></math>",
    f"<body onload={R}>",
    f"<input autofocus onfocus={R}>",
    f"<details open ontoggle={R}>",
    f"<video src=x onerror={R}></video>",
    f"<audio src={AWAY}b autoplay></audio>",
    f"<iframe src=javascript:{R}></iframe>",
    "<iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    f"<iframe src={AWAY}c></iframe>",
    f"<object data=javascript:{R}></object>",
    f"<embed src=javascript:{R}>",
    f"<link rel=stylesheet href={AWAY}d>",
    f"<link rel=prefetch href={AWAY}e>",
    f"<meta http-equiv=refresh content='0;url={AWAY}f'>",
    f"<base href={AWAY}g>",
    f"<form action=javascript:{R}><button autofocus>go</button></form>",
    f"<a href=javascript:{R} autofocus>a</a>",
    f"[a](javascript:{R})",
    f"![a](https:{AWAY}h)",
    f"[a]: javascript:{R}",
    f"<marquee onstart={R}>m</marquee>",
    f"<style>@import '{AWAY}i';</style>",
    f"<style>*{{background:url({AWAY}j)}}</style>",
    f"<p style='background:url({AWAY}k)'>p</p>",
    f"<p style='animation-name:x' onanimationstart={R}>p</p>",
    f"<p onpointerover={R} style='position:fixed;inset:0'>p</p>",
    f"}} body {{ background: url({AWAY}l) }}",
    f'" onmouseover="{R}" style="position:fixed;inset:0',
    f"' onmouseover='{R}' style='position:fixed;inset:0",
    f'"><img src=x onerror={R}>',
    f"'><img src=x onerror={R}>",
    f"`-({R})-`",
    f"';{R};//",
    f"${{{R}}} #{{{R}}} {{{{{R}}}}}",
    f"{{{{constructor.constructor('{R}')()}}}}",
    f"$\\href{{javascript:{R}}}{{x}}$ \\(\\url{{javascript:{R}}}\\)",
    f"&lt;img src=x onerror={R}&gt; &#60;script&#62;{R}",
    f"<!--><img src=x onerror={R}>--> <![CDATA[<script>{R}</script>]]>",
]
ALL = "\n\n".join(ATTACKS)
LONGEST = 190
INJECTED = """() => {
  const leads = (value) => {
    try { return new URL(value, document.baseURI); } catch { return {}; }
  };
  const isBad = ({ name, value }) => /^on/.test(name) && value.includes("ran=1")
    || /^(style|srcdoc)$/.test(name) && /evil[.]example|ran=1/.test(value)
    || /^(href|src|data|action)$/.test(name) && (leads(value).protocol === "javascript:"
      || leads(value).hostname === "evil.example");
  const isOurs = (text) => !/^\\s*(window|parent)[.]ran=1|@import .[/][/]evil|^[*]/.test(text);
  return [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(isBad)
    || /^(script|style)$/.test(element.localName) && !isOurs(element.textContent))
    .map((element) => element.outerHTML.slice(0, 200));
}"""


def packed():
    """Return all of them in as few names as they fit into."""
    names = [""]
    for attack in ATTACKS:
        line = " ".join(attack.split())
        if len(names[-1]) + len(line) > LONGEST:
            names.append("")
        names[-1] += line
    return names


NAMES = packed()


def make_study(store, folder):
    """Make a study of which every text is hostile, with verdicts of people and of a judge, and a trail that is too."""
    source = find_protocol("wildbench-pairwise").version.source
    title = json.dumps(NAMES[0])
    (folder / "hostile.md").write_text(source.replace("title: WildBench pairwise v2", f"title: {title}"), "utf-8")
    version = load_protocol(folder / "hostile.md").version
    study = NAMES[1]
    store.create_study(Study(study, version, wanted=9, guidelines=ALL, reveal=True, blind=False), by=NAMES[2])
    labels = cycle(("A++", "B+", "A=B", "B++"))
    items = []
    for at, name in enumerate(NAMES):
        item = Item(
            name,
            (Turn("user", ALL), Turn("assistant", ALL), Turn("user", ALL)),
            *(ALL, ALL[::-1] + ALL, name, NAMES[at - 1], ALL),
            checklist=(ALL, *ATTACKS[:3]),
            rubric=Rubric(ALL, (ALL, name, name, name, name)),
            tags=(name, NAMES[at - 1]),
            metadata={name: ALL, "list": ATTACKS},
        )
        given = zip(NAMES[:4], ("A++", "A++", "A++", next(labels)), strict=True)
        people = [GivenVerdict(each, "human", label, comment=ALL) for each, label in given]
        replies = [GivenVerdict(NAMES[4], "judge", "B++", order=order, raw=ALL) for order in ("AB", "BA")]
        unread = GivenVerdict(NAMES[5], "judge", None, "unreadable", "AB", raw=ALL)
        items.append(prepare(item, [*people, *replies, unread]))
    store.add_prepared(study, items)
    run = store.open_run(study, RunSettings(NAMES[6], NAMES[6], {}))
    while (taken := store.take_stretch(run)) is not None:
        first, wanted = taken
        ended = [Ended(each, "ok", next(labels), "hash", ALL, ALL, ALL, ALL) for each in wanted[:6]]
        ended += [Ended(each, "unreadable", None, "hash", ALL, ALL, "stop") for each in wanted[6:12]]
        ended += [Ended(each, "failed", error=ALL) for each in wanted[12:]]
        store.keep_calls(run, ended, [first])
    for name in NAMES:
        store.record_event("export", study, format=name, by=name)
    return study


@pytest.fixture
def app(tmp_path, sqlite):
    study = make_study(sqlite, tmp_path)
    with Serving(sqlite) as serving:
        serving.accounts.add("ada", "admin", PASSWORD)
        for name in NAMES:
            serving.accounts.add(name, "annotator", by=name)
            serving.endpoints.save_preset(Preset(name, name, "http://127.0.0.1:1/v1", ""), by=name)
        serving.accounts._looked = float("-inf")
        yield serving, study


@pytest.fixture
def watched(chromium):
    """Return a page that notes whatever a text made it do."""
    context, problems = chromium.new_context(viewport={"width": 1440, "height": 900}), []
    page = context.new_page()
    page.on("dialog", lambda dialog: (problems.append("dialog"), dialog.dismiss()))
    page.on("popup", lambda _: problems.append("popup"))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on(
        "request", lambda request: urlsplit(request.url).hostname == "evil.example" and problems.append(request.url)
    )
    yield page
    assert problems == []
    context.close()


def settle(page):
    page.evaluate(TWO_FRAMES)
    assert page.evaluate("window.ran") is None
    assert page.evaluate(INJECTED) == []


def test_none_of_sixty_injections_runs_or_asks_for_anything_on_any_page_or_in_the_report(app, watched, tmp_path):
    assert len(set(ATTACKS)) == 60
    serving, study = app
    page, item = watched, NAMES[7]
    page.request.post(f"{serving.address}/login", form={"name": "ada", "password": PASSWORD})
    of_study, of_item = {"study": study}, {"study": study, "item": item}
    for path, words, places in (
        ("/users", {}, ("#accounts", "tab=Trail", "#trail")),
        ("/settings", {}, ("#endpoints",)),
        ("/studies", {}, ("#studies",)),
        ("/studies", of_item, ("#items-found", "#item-detail", "tab=Annotators", ".table[aria-label=Annotators]")),
        ("/judges", of_study, ("#runs", "button=Failures of", "#failures")),
        ("/agreement", {**of_study, "resamples": "20"}, ("#agreement .figure >> nth=-1",)),
        ("/agreement", {**of_study, "view": "disagreements", "judge": NAMES[4]}, ("#agreement .differ",)),
        ("/playground", of_item, ("#prompt",)),
    ):
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in words.items())
        page.goto(f"{serving.address}{path}?{query}")
        for place in places:
            role, _, name = place.partition("=")
            if role in ("tab", "button"):
                page.get_by_role(role, name=name).first.click()
            else:
                expect(page.locator(place).first).to_contain_text("ran=1")
        settle(page)
    review_one(page, f"{serving.address}/?study={quote(study, safe='')}")
    (tmp_path / "report.html").write_text(write_report(agree(serving.store, study, Options(resamples=20))), "utf-8")
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator("body")).to_contain_text("ran=1")
    settle(page)


def review_one(page, address):
    """Look at an item in every way that Review has, and give a verdict, after which the judges' replies are shown."""
    page.goto(address)
    expect(page.locator("#review")).to_have_attribute("data-state", "open")
    for key in ("r", "d", "p", "g"):
        page.keyboard.press(key)
    expect(page.locator("#review dialog")).to_be_visible()  # until then its keys would be the page's
    for key in ("Escape", "1", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".saved")).to_contain_text("Saved ")
    settle(page)
