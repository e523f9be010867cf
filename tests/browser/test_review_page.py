"""Review as an annotator meets it: by keyboard, blind, and without losing a verdict."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from openai_server import OpenAIServer, completion
from playwright.sync_api import expect

from exchange.endpoints import Preset
from judge.domain import Item, NothingToDo, Rubric, Study, Turn
from judge.protocol import find_protocol
from storage.imports import prepare
from storage.runs import Ended, RunSettings
from storage.verdicts import Submission

pytestmark = pytest.mark.browser

SUBMIT = "**/gradio_api/run/review_submit"
OWN_PROTOCOLS = Path(__file__).parents[1] / "judge" / "protocols"
REPLY = json.dumps(
    {
        "analysis of A": "JUDGE-ON-A",
        "analysis of B": "JUDGE-ON-B",
        "reason of A=B": "",
        "reason of A>B": "more complete",
        "reason of B>A": "",
        "choice": "A+",
    }
)


def make_items(count):
    return [
        Item(
            f"q{n}",
            (Turn("user", "Hello"), Turn("assistant", "Hi."), Turn("user", f"Question {n}?")),
            f"LEFT {n} vector<int>",
            f"RIGHT {n} vector<int>",
            model_a="SECRET-LEFT",
            model_b="SECRET-RIGHT",
            checklist=("Is it right?",),
            reference_answer="The reference",
            rubric=Rubric("Is it right?", ("none", "hardly", "partly", "mostly", "wholly")),
        )
        for n in range(count)
    ]


@pytest.fixture
def study(served, request):
    """Return a function that makes a study of its own for the test."""

    def make(count=3, protocol="wildbench-pairwise", **settings):
        name = f"{request.node.name}"
        made = replace(Study(name, find_protocol(protocol, OWN_PROTOCOLS).version), **settings)
        served.store.create_study(made)
        items = make_items(count)
        if made.protocol.kind == "direct":
            items = [replace(item, response_b=None) for item in items]
        served.store.add_prepared(name, [prepare(item) for item in items])
        return name

    return make


def judge_all(store, study, label="A+"):
    """Let a judge give the same reply in both orders to every item of a study."""
    run = store.open_run(study, RunSettings("JUDGE-X", "judge-x", {}))
    while (taken := store.take_stretch(run)) is not None:
        first, wanted = taken
        mirror = {"AB": label, "BA": "B+"}
        ended = [Ended(each, "ok", mirror[each.order], "hash", "prompt", REPLY, "stop") for each in wanted]
        store.keep_calls(run, ended, [first])


def enter(open_page, study, annotator="ana", **options):
    page = open_page(f"/?study={study}&annotator={annotator}", **options)
    expect(page.locator("#review")).to_have_attribute("data-state", "open")
    return page


def bar_the_way(open_page, visitor):
    """Let no verdict through, from before the page is opened: a barrier put up later may be too late for the first."""
    open_page.forgiven.append("net::ERR_FAILED")
    visitor.route(SUBMIT, lambda route: route.abort())


def labels_of(store, study):
    return {item["id"]: [v.label for v in given] for item, given in rows_of(store, study)}


def rows_of(store, study):
    return [(json.loads(body), given) for body, given in store.records(study)]


def left_first(page):
    return "LEFT" in page.locator(".pane.side-a .text").inner_text()


def test_a_study_of_ten_items_is_finished_by_keyboard_alone(open_page, served, study):
    name = study(10, wanted=1)
    page = enter(open_page, name)
    meant = {}
    for number in range(10):
        question = page.locator(".question-text").inner_text()
        meant[question.split()[1].rstrip("?")] = "A++" if left_first(page) else "B++"
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        if number < 9:
            expect(page.locator(".question-text")).not_to_have_text(question)
            expect(page.locator(".saved")).to_contain_text("Saved ")
    expect(page.locator(".gate")).to_contain_text("You have given a verdict on every item that was for you.")
    assert labels_of(served.store, name) == {f"q{n}": [meant[str(n)]] for n in range(10)}
    assert len(set(meant.values())) == 2  # both orders were shown, and stored un-swapped


def test_without_a_name_the_page_asks_for_one(chromium, open_page, study):
    name = study(1)
    context = chromium.new_context()
    page = open_page(f"/?study={name}", context=context)
    page.get_by_label("Your name").fill("bea")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".question-text")).to_contain_text("Question 0?")
    expect(page.locator(".who")).to_have_text("bea")
    context.close()


def test_a_draft_survives_a_reload(open_page, study):
    page = enter(open_page, study(2))
    page.keyboard.press("2")
    page.keyboard.press("c")
    page.keyboard.type("because 12345 s f u")
    page.keyboard.press("Escape")
    page.reload()
    expect(page.locator(".labels [aria-checked=true]")).to_have_attribute("data-label", "A+")
    expect(page.locator(".comment textarea")).to_have_value("because 12345 s f u")


def test_keys_are_off_while_typing(open_page, study):
    page = enter(open_page, study(2))
    page.keyboard.press("c")
    page.keyboard.type("5")
    expect(page.locator(".labels [aria-checked=true]")).to_have_count(0)
    expect(page.locator(".comment textarea")).to_have_value("5")


def test_every_key_badge_has_a_handler_and_every_handler_a_badge(open_page, study):
    page = enter(open_page, study(1))
    badges = {text.strip() for text in page.locator(".work kbd").all_inner_texts()}
    page.keyboard.press("?")
    listed = {text.strip() for text in page.locator("dialog kbd").all_inner_texts()}
    assert badges == listed
    page.keyboard.press("Escape")
    for key, effect in {
        "r": "[data-do=raw][aria-pressed=true]",
        "d": "[data-do=difference][aria-pressed=true]",
        "l": "[data-do=link][aria-pressed=true]",
        "f": "[data-do=flag][aria-pressed=true]",
        "p": "[data-do=prompt][aria-pressed=true]",
        "g": "dialog[open]",
    }.items():
        page.keyboard.press(key)
        expect(page.locator(effect)).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator(".confidence")).to_have_text("low")
    page.keyboard.press("s")
    expect(page.locator("dialog")).to_contain_text("Why do you skip this item?")


def test_skipping_gives_the_item_back_and_goes_on(open_page, served, study):
    name = study(2)
    page = enter(open_page, name)
    first = page.locator(".question-text").inner_text()
    page.keyboard.press("s")
    page.keyboard.press("1")
    expect(page.locator(".question-text")).not_to_have_text(first)
    assert served.store.progress(name)["ana"].skipped == 1
    assert [event["reason"] for event in served.store.events(name) if event["kind"] == "skip"] == [
        "I cannot judge this"
    ]


def test_undo_takes_the_last_verdict_back_and_keeps_it_as_a_draft(open_page, served, study):
    name = study(2)
    page = enter(open_page, name)
    first = page.locator(".question-text").inner_text()
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).not_to_have_text(first)
    page.keyboard.press("u")
    expect(page.locator(".question-text")).to_have_text(first)
    expect(page.locator(".labels [aria-checked=true]")).to_have_attribute("data-label", "B+")
    assert sum(map(len, labels_of(served.store, name).values())) == 0
    page.keyboard.press("Enter")
    expect(page.locator(".saved")).to_contain_text("Saved")
    assert sum(map(len, labels_of(served.store, name).values())) == 1


def test_arrows_and_the_back_button_lead_to_what_one_said_and_a_change_is_a_revision(open_page, served, study):
    name = study(3)
    page = enter(open_page, name)
    first = page.locator(".question-text").inner_text()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).not_to_have_text(first)
    second = page.locator(".question-text").inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".question-text")).to_have_text(first)
    expect(page.locator(".labels [aria-checked=true]")).to_have_attribute("data-label", "A++")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".question-text")).to_have_text(second)
    page.go_back()
    expect(page.locator(".question-text")).to_have_text(first)
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).to_have_text(second)
    kept = list(served.store.all_verdicts(name))
    assert [verdict["revision"] for verdict in kept] == [1, 2]
    assert [len(given) for given in labels_of(served.store, name).values() if given] == [1]


def test_a_change_of_confidence_alone_is_a_revision(open_page, served, study):
    name = study(2, wanted=1)
    page = enter(open_page, name)
    first = page.locator(".question-text").inner_text()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).not_to_have_text(first)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".question-text")).to_have_text(first)
    expect(page.locator(".submit")).to_contain_text("Next")
    page.keyboard.press("k")
    expect(page.locator(".submit")).to_contain_text("Change")
    page.keyboard.press("Enter")
    expect(page.locator(".question-text")).not_to_have_text(first)
    kept = [(verdict["revision"], verdict.get("confidence")) for verdict in served.store.all_verdicts(name)]
    assert kept == [(1, None), (2, 1)]


def test_a_double_press_and_two_tabs_store_one_verdict(open_page, served, study):
    name = study(2)
    page, twin = enter(open_page, name), enter(open_page, name)
    assert page.locator(".question-text").inner_text() == twin.locator(".question-text").inner_text()
    for each in (page, twin):
        each.keyboard.press("1")
        each.keyboard.press("Enter")
        each.keyboard.press("Enter")
    expect(twin.locator(".saved")).to_contain_text("Saved")
    expect(page.locator(".saved")).to_contain_text("Saved")
    assert [len(given) for given in labels_of(served.store, name).values() if given] == [1]


def test_what_is_hidden_shows_only_after_the_verdict(open_page, served, study):
    name = study(2, reveal=True)
    judge_all(served.store, name)
    page = enter(open_page, name)
    assert page.locator(".after").is_hidden()
    assert "SECRET" not in page.content()
    assert "JUDGE" not in page.content()
    swapped = not left_first(page)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    line = page.locator(".reveal-line")
    expect(line).to_contain_text("you differ by 1")
    expect(line).to_contain_text("JUDGE-X")
    expect(page.locator(".pane.side-a .model")).to_have_text("SECRET-RIGHT" if swapped else "SECRET-LEFT")
    expect(page.locator(".part.side-a").first).to_contain_text("JUDGE-ON-A")
    page.get_by_role("button", name="I slipped").click()
    expect(page.get_by_role("button", name="I slipped")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("2")
    page.locator("[data-do=submit]").click()
    expect(page.locator(".after")).to_be_hidden()
    kept = list(served.store.all_verdicts(name))
    assert [verdict["after_reveal"] for verdict in kept if "claim_id" in verdict] == [False, True]


def test_no_byte_sent_before_the_verdict_tells_what_is_hidden(open_page, served, study, visitor):
    name = study(6, reveal=True, wanted=3)
    judge_all(served.store, name)
    for _ in range(6):
        other = served.store.claim_next(name, "XQ-PERSON")
        served.store.save_verdict(other.token, Submission("A++", "XQ-COMMENT"))
    received = []

    def keep(response):  # Playwright asks for a function of Python
        received.append(response)

    visitor.on("response", keep)
    page = enter(open_page, name, "blind")
    for key in "rdplg":
        page.keyboard.press(key)
    expect(page.locator(".prompt-pane pre")).to_be_visible()
    expect(page.locator("dialog[open]")).to_contain_text("Guidelines")
    page.keyboard.press("Escape")
    # Gradio's heartbeat is a stream without an end, and without a word.
    ours = [one for one in received if one.status == 200 and not one.url.rsplit("/", 1)[0].endswith("/heartbeat")]
    bodies = {one: one.body() + json.dumps(one.all_headers()).encode() for one in ours}
    sent = b"\n".join(bodies.values())
    doors = b"\n".join(body for one, body in bodies.items() if "/run/review" in one.url)
    assert b"Question" in doors
    assert [secret for secret in (b"SECRET-", b"JUDGE-", b"XQ-", b"judge-x") if secret in sent] == []
    telling = (b'"order"', b'"BA"', b'"AB"', b"swapped", b"candidate_A = ")
    assert [secret for secret in telling if secret in doors] == []


def test_the_prompt_panel_is_the_text_a_judge_is_sent_and_does_not_tell_the_order(open_page, served, study):
    name = study(4)
    page = enter(open_page, name)
    page.keyboard.press("p")
    pane = page.locator(".prompt-pane")
    for _ in range(3):
        expect(pane.locator("section[aria-label=Prompt] pre")).to_contain_text(
            page.locator(".question-text").inner_text()
        )
        assert "response_b" not in pane.inner_html()
        shown = pane.locator("section[aria-label=Prompt] pre").evaluate("pane => pane.textContent")
        a, b = shown.find("LEFT"), shown.find("RIGHT")
        assert (a < b) == left_first(page)
        question = page.locator(".question-text").inner_text()
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        expect(page.locator(".question-text")).not_to_have_text(question)


def test_scores_are_given_with_the_rubric_at_hand(open_page, served, study):
    name = study(1, protocol="prometheus-direct", wanted=1)
    page = enter(open_page, name)
    expect(page.locator(".pane.side-b")).to_be_hidden()
    expect(page.locator(".beside")).to_contain_text("wholly")
    assert page.locator("[data-label='5']").get_attribute("title") == "wholly"
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.locator(".gate")).to_contain_text("Thank you")
    assert labels_of(served.store, name) == {"q0": ["5"]}


def test_a_choice_of_two_is_made_with_a_and_b(open_page, served, study):
    name = study(1, protocol="prometheus-pairwise", wanted=1)
    page = enter(open_page, name)
    first = left_first(page)
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    expect(page.locator(".gate")).to_contain_text("Thank you")
    assert labels_of(served.store, name) == {"q0": ["B" if first else "A"]}


def test_ten_scores_have_ten_keys(open_page, served, study):
    name = study(1, protocol="score-1-10", wanted=1)
    page = enter(open_page, name)
    assert page.locator(".labels kbd").all_inner_texts() == list("1234567890")
    page.keyboard.press("0")
    page.keyboard.press("Enter")
    expect(page.locator(".gate")).to_contain_text("You have given a verdict")
    assert labels_of(served.store, name) == {"q0": ["10"]}


def test_a_closed_study_and_one_held_by_others_say_why_there_is_nothing_to_do(open_page, served, study):
    name = study(1, wanted=1)
    served.store.claim_next(name, "somebody")
    page = open_page(f"/?study={name}&annotator=ana")
    expect(page.locator(".gate")).to_contain_text("is with somebody else at the moment")
    served.store.close_study(name)
    page.get_by_role("button", name="Look again").click()
    expect(page.locator(".gate")).to_contain_text("This study is closed")


def test_a_study_that_is_not_there_is_told_and_another_can_be_chosen(open_page):
    name = "nosuch" * 20
    page = open_page(f"/?study={name}&annotator=ana", width=390, height=844)
    expect(page.locator(".gate")).to_contain_text(f"No study named '{name}'")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.get_by_role("link", name="Choose a study")).to_be_visible()


def test_a_verdict_whose_place_is_gone_is_told_and_stores_nothing(open_page, served, study):
    name = study(1, wanted=1, claim_seconds=1)
    page = enter(open_page, name)
    while isinstance(taken := served.store.claim_next(name, "quicker"), NothingToDo):
        page.wait_for_timeout(200)  # until the claim has run out
    served.store.save_verdict(taken.token, Submission("A+"))
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".banner")).to_contain_text("its place has gone to somebody else: nothing was stored")
    assert [v.rater for given in (g for _, g in rows_of(served.store, name)) for v in given] == ["quicker"]


def test_when_the_server_is_away_the_verdict_waits_here_and_is_sent_later(open_page, visitor, served, study):
    name = study(2)
    bar_the_way(open_page, visitor)
    page = enter(open_page, name)
    first = page.locator(".question-text").inner_text()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".banner")).to_contain_text("Your verdict is kept in this browser")
    expect(page.locator(".question-text")).to_have_text(first)
    assert sum(map(len, labels_of(served.store, name).values())) == 0
    visitor.unroute(SUBMIT)
    page.reload()
    expect(page.locator(".saved")).to_contain_text("Saved")
    expect(page.locator(".question-text")).not_to_have_text(first)
    assert sum(map(len, labels_of(served.store, name).values())) == 1


def test_a_verdict_that_waited_too_long_is_told_and_the_work_goes_on(open_page, visitor, served, study):
    name = study(1, wanted=1, claim_seconds=1)
    bar_the_way(open_page, visitor)
    page = enter(open_page, name)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator(".banner")).to_contain_text("Your verdict is kept in this browser")
    while isinstance(taken := served.store.claim_next(name, "quicker"), NothingToDo):
        page.wait_for_timeout(200)  # until the claim has run out
    served.store.save_verdict(taken.token, Submission("A+"))
    page.close()  # before the barrier: it would send the verdict itself
    visitor.unroute(SUBMIT)
    again = open_page(f"/?study={name}&annotator=ana")
    expect(again.get_by_role("alert").filter(has_text="Your last verdict could not be stored.")).to_be_visible()


def test_a_page_that_nobody_answers_says_so_and_goes_on_when_somebody_does(open_page, visitor, study):
    name = study(1)
    open_page.forgiven.append("net::ERR_FAILED")
    visitor.route("**/gradio_api/run/review_open", lambda route: route.abort())
    page = open_page(f"/?study={name}&annotator=ana")
    expect(page.locator(".gate")).to_contain_text("The server did not answer. Trying again.")
    visitor.unroute("**/gradio_api/run/review_open")
    expect(page.locator("#review")).to_have_attribute("data-state", "open")
    expect(page.locator(".gate")).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_one_response_at_a_time_over_a_bar_that_stays(open_page, study, theme):
    name = study(1)
    page = open_page(f"/?study={name}&annotator=ana&__theme={theme}", width=390, height=844)
    expect(page.locator("#review")).to_have_attribute("data-state", "open")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".pane.side-a")).to_be_in_viewport()
    page.get_by_role("button", name="Response B").click()
    expect(page.locator(".switch [data-pane='1']")).to_have_attribute("aria-pressed", "true")
    sizes = [box.bounding_box() for box in page.locator(".labels button").all()]
    assert all(box["height"] >= 44 and box["y"] + box["height"] <= 844 for box in sizes)
    assert max(box["width"] for box in sizes) - min(box["width"] for box in sizes) < 1.5


def test_the_judge_is_asked_here_after_ones_own_verdict_and_its_verdict_is_kept(open_page, served, study):
    name = study(1, wanted=3, reveal=True)
    with OpenAIServer(lambda seen: completion(REPLY)) as server:
        served.endpoints.save_preset(Preset("review judge", "gpt-x", server.url, ""))
        page = enter(open_page, name)
        page.keyboard.press("j")
        expect(page.locator(".banner")).to_contain_text("Give your own verdict first")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        expect(page.locator("#review")).to_have_attribute("data-state", "done")
        page.keyboard.press("j")
        page.get_by_label("Judge", exact=True).select_option("review judge")
        page.get_by_role("button", name="Ask it").click()
        live = page.locator("#judge-here .live[aria-busy=false]")
        expect(live.locator(".live-order")).to_have_count(2)
        expect(live).to_be_in_viewport()
        expect(live).to_contain_text("another label when the sides are exchanged")
        expect(live).to_contain_text("The whole reply is the JSON object that was asked for.")
        served.endpoints.remove_preset("review judge")
    kept = [v for _, given in rows_of(served.store, name) for v in given if v.kind == "judge"]
    assert {(v.order, v.label) for v in kept} == {("AB", "A+"), ("BA", "B+")}
