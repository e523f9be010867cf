"""The agreement page's handlers, called as functions with a real store."""

import json
import re
from html import unescape

import gradio as gr
import pytest

from exchange.agreeing import agree
from exchange.importing import ImportRequest, import_files
from exchange.panel import Options
from judge.domain import InputError, Study
from judge.protocol import find_protocol
from storage.answers import MOST_KEPT
from storage.ratings import Filters
from ui.agreement import FILES, Agreement
from ui.agreement_rules import read_rules, read_words

pytestmark = pytest.mark.one_database

HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} {{value}} \"'` </script>"
LABELS = ("A++", "A+", "A=B", "B+", "B++")
QUICK = "resamples=100"
ANA = gr.Request(username="ana")


def human(name, label, **more):
    return {"rater": name, "kind": "human", "label": label, **more}


def judged(label, order="AB", name="j", **more):
    status = "ok" if label else "unreadable"
    return {"rater": name, "kind": "judge", "label": label, "order": order, "status": status, **more}


def item(n, verdicts, **more):
    texts = {"instruction": f"Question {n}?", "response_a": "left " * (n % 5 + 1), "response_b": "right"}
    return {"id": f"q{n}", **texts, "model_a": "m1", "model_b": "m2", "verdicts": verdicts, **more}


def label(n):
    return LABELS[n * 7 % 5]


def usual(n, judge="j"):
    return [
        human("ana", label(n), comment=f"because {n}"),
        human("ben", label(n + (n % 4 == 0))),
        judged(label(n + (n % 3 == 0)), name=judge),
        judged(label(n), "BA", name=judge),
    ]


@pytest.fixture
def put(sqlite, tmp_path):
    def make(items, study="s", protocol="wildbench-pairwise"):
        path = tmp_path / f"{study}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in items), encoding="utf-8")
        import_files(sqlite, ImportRequest([str(path)], study, find_protocol(protocol)), lambda _: None)
        return Agreement(sqlite)

    return make


@pytest.fixture
def page(put):
    return put([item(n, usual(n), tags=[f"t{n % 2}"]) for n in range(24)])


def at(search):
    return gr.Request(query_params={name: values[-1] for name, values in read_words(search).items()})


def test_the_sentence_comes_first_and_every_card_follows(page):
    shown = page.show(at(f"study=s&{QUICK}"))
    value = agree(page.store, "s", Options(resamples=100))
    assert value["sentence"].split(":")[0] in shown
    assert shown.index('class="sentence"') < shown.index("Ceiling") < shown.index('id="card-confusion"')
    for card in ("position", "length", "policy", "alt-test", "corrected", "models", "annotators", "flow", "pairs"):
        assert f'id="card-{card}"' in shown
    assert shown.count("<svg") == shown.count("</svg>") >= 7


EDGES = {
    "no humans": [item(n, [judged(label(n)), judged(label(n), "BA")]) for n in range(6)],
    "no judges": [item(n, [human("ana", label(n)), human("ben", label(n))]) for n in range(6)],
    "all unreadable": [item(n, [human("ana", label(n)), human("ben", label(n)), judged(None)]) for n in range(6)],
    "no verdicts": [item(n, []) for n in range(3)],
    "no overlap": [item(n, [human("ana", "A+")] if n % 2 else [judged("A+")]) for n in range(6)],
    "one item": [item(0, [human("ana", "A+"), human("ben", "B+"), judged("A++")])],
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("view", ["", "disagreements"])
def test_where_there_is_no_number_the_page_gives_a_reason(put, edge, view):
    shown = put(EDGES[edge]).show(at(f"study=s&view={view}&{QUICK}"))
    assert 'role="alert"' not in shown
    assert "None" not in re.sub(r"<[^>]*>", "", shown)
    for why in re.findall(r'<span class="none" title="([^"]*)">', shown):
        assert why


def test_an_empty_study_an_unknown_one_and_none_are_told_apart(sqlite):
    page = Agreement(sqlite)
    assert "There is no study yet" in page.show(at(""))
    sqlite.create_study(Study("bare", find_protocol("wildbench-pairwise").version))
    assert "0 items and no verdict yet" in page.show(at("study=bare"))
    assert 'data-study="bare"' in page.show(at(""))
    assert "nonesuch" in page.show(at("study=nonesuch"))
    assert 'role="alert"' in page.show(at("study=nonesuch"))


def test_scores_are_shown_too(put):
    rubric = {"criteria": "Is it right?", **{f"score{n}_description": f"level {n}" for n in range(1, 6)}}

    def direct(n):
        given = [human("ana", str(n % 5 + 1)), human("ben", str((n + n % 2) % 5 + 1)), judged(str(n % 4 + 1), None)]
        return {"id": f"d{n}", "instruction": "Q?", "response_a": "x", "rubric": rubric, "verdicts": given}

    page = put([direct(n) for n in range(12)], protocol="prometheus-direct-no-reference")
    shown = page.show(at(f"study=s&{QUICK}"))
    assert 'id="card-corrected"' in shown
    assert 'id="card-position"' not in shown


def test_an_address_names_the_same_rules_as_the_command_line():
    words = read_words(
        "?study=s&levels=3&combine=drop&consensus=dawid-skene&undecided=tie&length_k=50&epsilon=0.1&cluster=prompt"
        "&seed=7&resamples=300&tag=x&tag=y&model=m&annotators=ana&since=2026-01-02&until=2026-02-03T04:05:06"
        "&chosen=weight&part=test&test_share=0.3"
    )
    rules = read_rules(words)
    assert rules.as_dict() == {
        "levels": "3",
        "combine": "drop",
        "consensus": "dawid-skene",
        "undecided": "tie",
        "length_k": 50.0,
        "cluster": "prompt",
        "epsilon": 0.1,
        "two_way": False,
        "scores": None,
        "chosen": "weight",
        "filters": {
            "tags": ["x", "y"],
            "models": ["m"],
            "annotators": ["ana"],
            "since": "2026-01-02T00:00:00+00:00",
            "until": "2026-02-03T04:05:06+00:00",
            "part": "test",
            "test_share": 0.3,
        },
    }
    assert (rules.seed, rules.resamples) == (7, 300)
    assert read_rules({}) == Options()
    assert read_rules({"epsilon": ["0"]}).epsilon == 0


@pytest.mark.parametrize(
    "bad", ["levels=4", "combine=x", "length_k=long", "seed=-1", "resamples=99999999", "since=soon", "epsilon=2"]
)
def test_a_wrong_rule_in_the_address_is_explained(page, bad):
    assert 'role="alert"' in page.show(at(f"study=s&{bad}"))
    if not bad.startswith("epsilon"):
        with pytest.raises(InputError):
            read_rules(read_words(bad))


def test_filters_choose_the_numbers_that_the_command_gives(page):
    value = agree(page.store, "s", Options(resamples=100, filters=Filters(tags=("t1",), annotators=("ana",))))
    shown = page.show(at(f"study=s&{QUICK}&tag=t1&annotators=ana"))
    made = json.loads(page.make_file(f"?study=s&{QUICK}&tag=t1&annotators=ana", "json", ANA)["text"])
    assert made == json.loads(json.dumps(value))
    assert value["sentence"].split(" (")[0] in re.sub(r"<[^>]*>", "", shown)


def test_filters_that_are_set_are_told_and_so_is_that_they_leave_nothing(page):
    shown = unescape(page.show(at(f"study=s&{QUICK}&tag=t1&since=2020-01-01")))
    assert "Only items with the tag <bdi>t1</bdi>; people's verdicts since <bdi>2020-01-01</bdi>." in shown
    assert "Clear filters" not in page.show(at(f"study=s&{QUICK}"))
    assert "Only the test part." in page.show(at(f"study=s&{QUICK}&part=test"))
    assert "The filters leave 0 items and no verdict." in page.show(at(f"study=s&{QUICK}&tag=t1&model=nonesuch"))
    told = unescape(page.show(at(f"study=s&{QUICK}&until=2020-01-01")))
    assert "j gave verdicts on 24 items, but the filters leave no person's verdict." in told
    part = page.show(at(f"study=s&{QUICK}&view=disagreements&until=2020-01-01"))
    assert "There is no disagreement to show" in part


def test_where_every_number_of_a_chart_is_missing_the_reason_stands_instead(put):
    shown = put([item(n, [human("ana", label(n)), judged(label(n))]) for n in range(6)]).show(at(f"study=s&{QUICK}"))
    ceiling, position = (
        shown[: shown.index("<h2>Judges")],
        shown[shown.index('id="card-position"') :].split("</section>")[0],
    )
    for part, why in ((ceiling, "no item has two humans and the judge"), (position, "order")):
        assert "<svg" not in part
        assert why in re.search(r'<p class="hint">There is no answer yet: ([^<]*)', part)[1]


def test_a_table_s_words_are_explained_where_it_stands(page):
    shown = page.show(at(f"study=s&{QUICK}"))
    for card, word in (
        ("orders", "fairness"),
        ("otherwise", "PABAK"),
        ("people-together", "mean of pairwise kappas"),
        ("policy", "strict"),
    ):
        part = shown[shown.index(f'id="card-{card}"') :].split("</section>")[0]
        assert f"<dt>{word}</dt>" in part


def test_reasons_stand_under_the_item_s_sides_whichever_order_the_judge_saw(put):
    reply = json.dumps(
        {"analysis of A": "about its A", "analysis of B": "about its B", "reason of A=B": "", "choice": "A+"}
    )
    given = [human("ana", "B++"), judged("A+", raw=reply), judged("A=B", "BA", raw=reply.replace("A+", "A=B"))]
    shown = put([item(0, given)]).show(at(f"study=s&view=disagreements&{QUICK}"))
    assert "(its orders differ)" in shown
    for part in (
        '<div class="part side-a"><dt>analysis of A</dt><dd>about its A',
        '<div class="part side-b"><dt>analysis of A (here B)</dt><dd>about its A',
        '<div class="part side-a"><dt>analysis of B (here A)</dt><dd>about its B',
    ):
        assert part in shown
    assert "reason of A=B" not in shown  # it is empty


def test_a_disagreement_bears_the_raters_marks_and_how_sure_they_were(put):
    given = [human("ana", "B++", confidence=70), judged("A+", confidence=90)]
    shown = put([item(0, given)]).show(at(f"study=s&view=disagreements&{QUICK}"))
    head = re.sub(r"<[^>]*>", "", shown[shown.index('<article class="differ"') :].split("</header>")[0])
    assert "● people B++ · ◆ judge A+ · differ by 3" in head
    assert re.findall(r"confidence (\d+)", shown) == ["70", "90"]
    assert "the furthest apart first, and of those the judge's surest, where that is known" in shown


def test_a_cell_of_a_table_holds_its_number_and_the_ends_for_a_csv_file(page):
    shown = page.show(at(f"study=s&{QUICK}"))
    pair = agree(page.store, "s", Options(resamples=100))["judges"][0]["vs_consensus"]
    for key in ("kappa", "kappa_linear"):  # one of the page's own tables, one of the report's
        made = pair[key]
        assert f'<td data-low="{made["low"]}" data-high="{made["high"]}" data-value="{made["value"]}">' in shown


def test_two_judges_are_told_apart_in_words(put):
    def verdicts(n):
        wrong = label(n + (n % 4 > 0))
        return [human("ana", label(n)), judged(label(n), name="right"), judged(wrong, name="wrong")]

    shown = put([item(n, verdicts(n)) for n in range(24)]).show(at(f"study=s&{QUICK}"))
    assert "<strong><bdi>right</bdi> agrees with people more often than <bdi>wrong</bdi>.</strong>" in shown

    def by_a_few(n):  # an interval without 0, but only five items tell them apart
        return [human("ana", label(n)), judged(label(n), name="right"), judged(label(n + (n < 5)), name="wrong")]

    few = put([item(n, by_a_few(n)) for n in range(24)], "few").show(at(f"study=few&{QUICK}"))
    assert "agrees with people more often" not in few

    def alike(n):
        return [human("ana", label(n)), judged(label(n + n % 2), name="j"), judged(label(n + (n + 1) % 2), name="k")]

    same = put([item(n, alike(n)) for n in range(24)], "alike").show(at(f"study=alike&{QUICK}"))
    assert "<strong>The two cannot be told apart by how often they agree with people.</strong>" in same


def test_three_judges_are_compared_with_what_the_many_pairs_leave_of_a_p(put):
    def verdicts(n):
        judges = [judged(label(n + (n % 4 < place)), name=f"j{place}") for place in range(3)]
        return [human("ana", label(n)), human("ben", label(n)), *judges]

    shown = put([item(n, verdicts(n)) for n in range(24)]).show(at(f"study=s&{QUICK}"))
    told = re.sub(r"<[^>]*>", "", re.search(r'<p data-pair="0-1" hidden>(.*?)</p>', shown)[1])
    assert re.search(r"agreement −25 % \[.*%, .*%\], kappa −0\.\d\d \[", told)
    assert re.search(r"p 0\.031, q 0\.\d+ over 3 pairs of judges\.", told)


def test_scores_are_compared_by_the_statistic_of_the_sentence(put):
    def direct(n):
        given = [human("ana", str(n % 5 + 1)), human("ben", str(n % 5 + 1))]
        given += [judged(str((n + n % place) % 5 + 1), None, name=f"j{place}") for place in (2, 3)]
        texts = {"instruction": "Q?", "response": "x", "rubric": "helpfulness", "model_a": f"m{n % 2}"}
        return {"id": f"d{n}", **texts, "verdicts": given}

    page = put([direct(n) for n in range(20)], protocol="prometheus-direct-no-reference")
    shown = page.show(at(f"study=s&{QUICK}"))
    assert "Pearson’s r <span" in re.search(r'<p data-pair="0-1" hidden>(.*?)</p>', shown)[1]
    models = shown[shown.index('id="card-models"') :].split("</section>")[0]
    assert "mean score" in models
    assert "Bradley" not in models


def test_every_row_of_a_table_has_a_head_and_a_number_without_interval_says_why(put):
    given = [human("ana", "A+"), human("ben", "A+"), judged("A+"), judged("A+", "BA")]
    shown = put([item(n, given) for n in range(12)]).show(at(f"study=s&{QUICK}"))
    rows = re.findall(r"<tr>(<t[dh][^>]*>)", shown.replace("<thead><tr>", "<thead>"))
    assert rows
    assert all(row.startswith('<th scope="row"') for row in rows)
    votes = shown[shown.index('id="card-votes"') :].split("</section>")[0]
    assert re.search(r'>100 %<span class="unseen"> \([^<]+\)</span></span></td>', votes)


def test_numbers_of_models_say_from_how_many_they_are(put):
    tagged = [item(n, usual(n), tags=["Coding & Debugging"], model_a=f"m{n % 3}") for n in range(24)]
    shown = put(tagged).show(at(f"study=s&{QUICK}"))

    def card(name):
        return re.sub(r"<[^>]*>", " ", shown[shown.index(f'id="card-{name}"') :].split("</section>")[0])

    assert re.search(r"\] +\(n \d+\)", card("tasks"))
    assert re.search(r"judge +models +Spearman of strengths +Kendall tau-b of strengths +◆ +j +\d ", card("ranks"))
    assert re.search(r"judge +model +n +K = 0", card("length-rules"))


def test_what_a_judge_prefers_beyond_people_stands_in_the_chart_of_length(page):
    shown = page.show(at(f"study=s&{QUICK}"))
    chart = shown[shown.index('id="card-length"') :].split("</svg>")[0]
    assert re.search(r">gap −?\d+ % \[", chart)


def test_a_page_asked_for_again_is_not_computed_again_until_a_verdict_is_added(page, put, monkeypatch):
    first = page.show(at(f"study=s&{QUICK}"))
    monkeypatch.setattr("exchange.questions.agree", lambda *_: pytest.fail("computed again"))
    assert page.show(at(f"study=s&{QUICK}")) == first
    monkeypatch.undo()
    put([item(90, usual(90))])
    assert page.show(at(f"study=s&{QUICK}")) != first


def test_what_is_asked_for_again_and_again_stays_while_others_are_asked_for_once(page, monkeypatch):
    monkeypatch.setattr("exchange.kept_answers.MOST_KEPT", 2)
    first = page.show(at(f"study=s&{QUICK}"))
    for seed in (1, 2):
        page.show(at(f"study=s&{QUICK}&seed={seed}"))
        assert page.show(at(f"study=s&{QUICK}")) == first  # as of the same moment


@pytest.mark.parametrize("view", ["", "&view=disagreements"])
def test_what_took_long_is_given_as_it_was_until_it_has_been_made_anew(page, put, monkeypatch, view):
    monkeypatch.setattr("exchange.kept_answers.LONG", 0.0)
    search = f"study=s&{QUICK}{view}"
    first = page.show(at(search))
    put([item(90, usual(90))])
    older = page.show(at(search))
    assert re.sub("<span data-renew.*?</span>", "", older) == first.replace("UTC</time></span>", "UTC</time> </span>")
    assert "data-renew" in older
    assert page.renew(f"?{search}") == {"ready": True}
    newer = page.show(at(search))
    assert newer != first
    assert "data-renew" not in newer
    assert "problem" in page.renew("?study=none")


def took_long(monkeypatch):
    """Take every answer for one that took long to make."""
    for limit in ("KEPT", "LONG"):
        monkeypatch.setattr(f"exchange.kept_answers.{limit}", 0.0)


def test_an_answer_that_is_kept_for_the_next_start_is_made_anew_at_once_unless_it_takes_long(page, put, monkeypatch):
    monkeypatch.setattr("exchange.kept_answers.KEPT", 0.0)
    first = page.show(at(f"study=s&{QUICK}"))
    with monkeypatch.context() as changed:
        changed.setattr("exchange.questions.agree", lambda *_: pytest.fail("computed again"))
        assert Agreement(page.store).show(at(f"study=s&{QUICK}")) == first
    put([item(90, usual(90))])
    newer = page.show(at(f"study=s&{QUICK}"))
    assert newer != first
    assert "data-renew" not in newer


@pytest.fixture
def long_ago(page, monkeypatch):
    """A page whose answers took long, shown before the server was stopped."""
    took_long(monkeypatch)
    return {view: page.show(at(f"study=s&{QUICK}&view={view}")) for view in ("", "disagreements")}


@pytest.mark.parametrize("view", ["", "disagreements"])
def test_a_server_that_was_just_started_shows_what_took_long_as_it_was(page, put, long_ago, monkeypatch, view):
    search = f"study=s&{QUICK}&view={view}"
    with monkeypatch.context() as changed:
        for name in ("agree", "list_disagreements"):
            changed.setattr(f"exchange.questions.{name}", lambda *_: pytest.fail("computed again"))
        assert Agreement(page.store).show(at(search)) == long_ago[view]
        put([item(90, usual(90))])
        assert "data-renew" in Agreement(page.store).show(at(search))
    started = Agreement(page.store)
    started.renew(f"?{search}")
    assert "data-renew" not in started.show(at(search))


def test_what_one_process_made_anew_another_that_knew_an_older_answer_need_not_make(page, put, long_ago, monkeypatch):
    put([item(90, usual(90))])
    Agreement(page.store).renew(f"?study=s&{QUICK}")
    monkeypatch.setattr("exchange.questions.agree", lambda *_: pytest.fail("computed again"))
    assert "data-renew" in page.show(at(f"study=s&{QUICK}"))
    page.renew(f"?study=s&{QUICK}")
    assert "data-renew" not in page.show(at(f"study=s&{QUICK}"))


def test_numbers_of_another_program_or_of_verdicts_since_changed_are_made_anew(page, long_ago, monkeypatch):
    made = []
    monkeypatch.setattr("exchange.questions.agree", lambda *words: made.append(words) or agree(*words))
    monkeypatch.setattr("exchange.kept_answers.program_digest", lambda: "another program")
    Agreement(page.store).show(at(f"study=s&{QUICK}"))
    assert len(made) == 1
    monkeypatch.undo()
    monkeypatch.setattr("exchange.questions.agree", lambda *words: made.append(words) or agree(*words))
    with page.store.writing() as connection:
        connection.exec_driver_sql("UPDATE verdict SET label = 'A=B' WHERE id = 1")
    assert Agreement(page.store).show(at(f"study=s&{QUICK}")) != long_ago[""]
    assert len(made) == 2


def test_a_large_import_leaves_the_usual_numbers_for_whoever_opens_the_page_first(put, monkeypatch):
    took_long(monkeypatch)
    monkeypatch.setattr("exchange.importing.MANY_VERDICTS", 96)
    page = put([item(n, usual(n)) for n in range(24)])
    monkeypatch.setattr("exchange.questions.agree", lambda *_: pytest.fail("computed again"))
    assert "24 items" in page.show(at("study=s"))


def test_no_more_answers_are_stored_than_a_study_may_have(page, monkeypatch):
    took_long(monkeypatch)
    for seed in range(MOST_KEPT + 2):
        page.show(at(f"study=s&resamples=1&seed={seed}"))
    with page.store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM answer").scalar() == MOST_KEPT
    monkeypatch.setattr("exchange.questions.agree", lambda *_: pytest.fail("the newest was not kept"))
    Agreement(page.store).show(at(f"study=s&resamples=1&seed={MOST_KEPT + 1}"))


def test_scores_of_another_study_are_asked_for_again_when_that_has_a_new_verdict(page, put):
    rubric = {"criteria": "Is it right?", **{f"score{n}_description": f"level {n}" for n in range(1, 6)}}

    def scored(n, score):
        given = [human("ana", str(score))]
        texts = {"instruction": f"Question {n}?", "response_a": "x", "rubric": rubric}
        return [{"id": f"q{n}/{side}", **texts, "cluster": f"q{n}", "verdicts": given} for side in "ab"]

    put(scored(0, 3), "direct", "prometheus-direct-no-reference")
    first = page.show(at(f"study=s&{QUICK}&scores=direct"))
    put(scored(1, 4), "direct", "prometheus-direct-no-reference")
    assert page.show(at(f"study=s&{QUICK}&scores=direct")) != first


def test_a_cell_gives_its_items_under_the_rules_of_the_address(page):
    value = agree(page.store, "s", Options(resamples=100, filters=Filters(tags=("t0",))))
    counts = value["judges"][0]["vs_consensus"]["confusion"]
    for row, line in enumerate(counts):
        for column, count in enumerate(line):
            told = page.list_items(f"?study=s&{QUICK}&tag=t0", "j", row, column)
            assert told["shown"].count('data-path="/studies"') == count
    assert "problem" in page.list_items(f"?study=s&{QUICK}", "j", 9, 0)
    assert "The first" not in told["shown"]
    assert "problem" in page.list_items(f"?study=s&{QUICK}", "nobody", 0, 0)
    assert "problem" in page.list_items("?study=nonesuch", "j", 0, 0)


def test_a_cell_of_very_many_items_lists_the_first_of_them_and_says_how_many_there_are(page, monkeypatch):
    monkeypatch.setattr("ui.agreement.LISTED", 2)
    counts = agree(page.store, "s", Options(resamples=20))["judges"][0]["vs_consensus"]["confusion"]
    row, column = next((r, c) for r, line in enumerate(counts) for c, count in enumerate(line) if count > 2)
    shown = page.list_items(f"?study=s&{QUICK}", "j", row, column)["shown"]
    assert shown.count('data-path="/studies"') == 2
    assert f": {counts[row][column]} items</h4>" in shown
    assert "The first 2 of them are listed." in shown


def test_disagreements_show_both_reasons_and_keep_the_cause_a_reader_picks(page):
    shown = page.show(at(f"study=s&view=disagreements&{QUICK}"))
    entries = re.findall(r'<article class="differ" data-item="([^"]+)"', shown)
    assert entries
    assert f"because {entries[0][1:]}" in shown
    place = {"study": "s", "item": entries[0], "judge": "j"}
    assert "write your name" in page.keep_cause(place, "judge wrong", " ", at(""))["problem"]
    assert "is not one of" in page.keep_cause(place, "bad luck", "rita", at(""))["problem"]
    assert "problem" in page.keep_cause({**place, "judge": "nobody"}, "judge wrong", "rita", at(""))
    assert "problem" in page.keep_cause({**place, "item": "q999"}, "judge wrong", "rita", at(""))
    kept = page.keep_cause(place, "judge wrong", "rita", at(""))
    assert kept["told"] == "Kept, as rita."
    assert [(each.rater, each.kind) for each in page.store.item_detail("s", entries[0]).remarks] == [
        ("rita", "judge wrong")
    ]
    assert f"t{int(entries[0][1:]) % 2}" in kept["shown"]


@pytest.mark.parametrize("kind", FILES)
def test_every_file_can_be_taken_away(page, kind):
    made = page.make_file(f"?study=s&{QUICK}", kind, ANA)
    assert made["name"] == f"s-agreement.{kind}"
    assert "kappa" in made["text"]
    assert "problem" in page.make_file(f"?study=s&{QUICK}", "exe", ANA)
    taken = [(event["format"], event["by"]) for event in page.store.events("s") if event["kind"] == "export"]
    assert taken == [(f"agreement ({kind})", "ana")]


def test_programs_get_the_json_and_a_wrong_study_is_an_error_of_the_request(page):
    assert page.agreement("s", ANA) == agree(page.store, "s")
    with pytest.raises(gr.Error, match="nonesuch"):
        page.agreement("nonesuch", ANA)


def test_no_name_becomes_markup(put):
    given = [human(HOSTILE, "A+", comment=HOSTILE), human("ben", "A+"), judged("B+", name=HOSTILE, raw=HOSTILE)]
    items = [item(n, given, model_a=HOSTILE, tags=[HOSTILE], id=f"{n}{HOSTILE}") for n in range(4)]
    page = put(items)
    made = [
        page.show(at(f"study=s&{QUICK}")),
        page.show(at(f"study=s&{QUICK}&view=disagreements")),
        page.list_items(f"?study=s&{QUICK}", HOSTILE, 1, 3).get("shown", ""),
        page.show(at(f"study=s&{QUICK}&cluster=%3Cimg+src=x%3E")),
    ]
    for shown in made:
        assert "<img" not in shown
        assert "</script" not in shown
    assert "&lt;img" in made[0]
