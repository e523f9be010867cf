"""The studies page's handlers, called as functions with a real store."""

import json
from html.parser import HTMLParser
from pathlib import Path

import gradio as gr
import pytest

from exchange.exporting import interchange_lines
from exchange.panel import Options
from exchange.planning import Wishes, plan_from_pilot
from judge.domain import GivenVerdict, Item, Rubric, Study, Turn
from judge.protocol import find_protocol, list_protocols
from storage.imports import prepare
from ui.annotators import show_links
from ui.downloads import KINDS, DownloadsPanel, file_name
from ui.page import Settings
from ui.studies import Studies
from ui.study_form import SUITED
from ui.uploads import NAMES, Upload, map_fields

pytestmark = pytest.mark.one_database

PROTOCOLS = list_protocols()
WILDBENCH = find_protocol("wildbench-pairwise").version
HOSTILE = "<img src=x onerror=alert(1)> ${alert(1)} {{value}} \"'` \u202e </script>"
USUAL = (3, True, False, 0, 30, 0, "")


class Texts(HTMLParser):
    """The texts and elements of some markup, as a browser reads it."""

    def __init__(self, markup):
        super().__init__()
        self.texts, self.tags, self.data = [], [], []
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.data += [dict(attributes)]

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


@pytest.fixture
def page(sqlite):
    return Studies(sqlite, Settings(PROTOCOLS))


def at(study="", **more):
    return gr.Request(query_params={"study": study, **more})


def write(path, *values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return str(path)


def line(name, **more):
    return {"id": name, "instruction": f"{name}?", "response_a": "x", "response_b": "y", **more}


def fill(store, name="s", count=3):
    store.create_study(Study(name, WILDBENCH))
    made = [Item(f"q{n}", (Turn("user", f"Question {n}?"),), f"left {n}", f"right {n}") for n in range(count)]
    store.add_prepared(name, [prepare(item) for item in made])


def create(page, name, *, protocol=SUITED, files=None, mapping="", settings=USUAL):
    return page.form.create(at(""), protocol, files, mapping, False, name, *settings)


def test_an_empty_house_says_how_to_begin_and_opens_the_form(page):
    head, overview, chosen, form, *_ = page.show(at())
    assert "There is no study yet" in head
    assert (overview["visible"], chosen["visible"], form["open"]) == (True, False, True)


def test_an_empty_house_offers_the_example_studies(page, sqlite):
    assert "data-examples" in page.show(at())[0]
    assert page.load_examples(at("")) == {"study": "Example: WildBench"}
    assert "data-examples" not in page.show(at())[0]
    assert page.load_examples(at("")) == {"study": "Example: WildBench"}


def test_the_list_tells_how_far_each_study_is(page, sqlite):
    fill(sqlite)
    sqlite.close_study("s")
    shown = Texts(page.show(at())[0])
    assert "wildbench-pairwise" in shown.text
    assert "0 of 9" in shown.text
    assert "closed" in shown.text
    assert {"data-path": "/studies", "data-study": "s"} in shown.data


def test_a_study_that_is_not_there_is_told_with_those_that_are(page, sqlite):
    fill(sqlite)
    head, overview, chosen, *_ = page.show(at("other"))
    assert "No study named &#39;other&#39;; there are: s." in head
    assert (overview["visible"], chosen["visible"]) == (False, False)


def test_an_address_can_name_an_item(page, sqlite):
    fill(sqlite)
    shown = page.show(at("s", item="q2"))
    assert 'aria-label="Item q2"' in shown[9]


def test_creating_keeps_every_choice(page, sqlite):
    settings = (5, False, True, 10, 45, 7, "# Read both")
    assert 'data-go="/studies"' in create(page, " mine ", protocol="prometheus-direct", settings=settings)
    study = sqlite.study("mine")
    assert (study.protocol.name, study.wanted, study.blind, study.reveal) == ("prometheus-direct", 5, False, True)
    assert (study.repeat_share, study.claim_seconds, study.seed) == (0.1, 2700, 7)
    assert study.guidelines == "# Read both"


@pytest.mark.parametrize(
    ("name", "protocol", "settings", "complaint"),
    [
        ("", "prometheus-direct", USUAL, "needs a name"),
        ("s", "prometheus-direct", USUAL, "already a study named"),
        ("new", SUITED, USUAL, "choose a protocol"),
        ("new", "prometheus-direct", (None, *USUAL[1:]), "fill in the empty one"),
        ("new", "prometheus-direct", (0, *USUAL[1:]), "at least one verdict"),
        ("new", "prometheus-direct", (3, True, False, 120, *USUAL[4:]), "between 0 and 1"),
    ],
)
def test_a_wrong_choice_makes_nothing_and_says_why(page, sqlite, name, protocol, settings, complaint):
    fill(sqlite)
    told = Texts(create(page, name, protocol=protocol, settings=settings)).text
    assert told.startswith("Nothing was made.")
    assert complaint.lower() in told.lower()
    assert [study.name for study in sqlite.studies()] == ["s"]


def test_a_new_study_from_a_file_takes_the_protocol_that_suits(page, sqlite, tmp_path):
    file = write(tmp_path / "i.jsonl", line("q1"), line("q2"))
    preview, _ = page.form.preview(SUITED, [file], "", False)
    assert "2 items with 0 verdicts, for wildbench-pairwise." in preview
    assert sqlite.studies() == []
    create(page, "mine", files=[file], settings=(2, *USUAL[1:]))
    assert (sqlite.study("mine").items, sqlite.study("mine").wanted) == (2, 2)


def test_a_new_study_from_a_bad_file_is_not_made(page, sqlite, tmp_path):
    file = write(tmp_path / "bad.jsonl", line("q1"), {"id": "q2"})
    told = Texts(create(page, "mine", files=[file])).text
    assert "bad.jsonl:2: response_a: is missing" in told
    assert str(tmp_path) not in told
    assert sqlite.studies() == []


def test_a_preview_names_bad_lines_and_bars_the_import(page, sqlite, tmp_path):
    fill(sqlite)
    file = write(tmp_path / "bad.jsonl", line("new"), {"id": 4}, line("q0", response_a="other"))
    shown, _, button, _ = page.preview([file], "", False, at("s"))
    told = Texts(shown).text
    assert "2 lines cannot be taken" in told
    assert "bad.jsonl:2 response_a: is missing" in told
    assert "bad.jsonl:3 id: 'q0' is in the study with other content" in told
    assert str(tmp_path) not in shown
    assert button["interactive"] is False
    assert sqlite.study("s").items == 3


def test_importing_adds_and_the_same_again_adds_nothing(page, sqlite, tmp_path):
    fill(sqlite)
    file = write(tmp_path / "i.jsonl", line("new", verdicts=[{"rater": "ana", "label": "A+"}]))
    shown, _, button, _ = page.preview([file], "", False, at("s"))
    assert button["interactive"] is True
    assert "1 item with 1 verdict" in shown
    assert "added 1 item and 1 verdict" in page.store_upload([file], "", False, at("s"))[0]
    assert "nothing was added" in page.store_upload([file], "", False, at("s"))[0]
    assert "1 item of them is in the study already" in page.preview([file], "", False, at("s"))[0]
    assert sqlite.study("s").items == 4


def test_importing_never_makes_a_study(page, sqlite, tmp_path):
    file = write(tmp_path / "i.jsonl", line("new"))
    assert "No study named" in page.store_upload([file], "", False, at("other"))[0]
    assert sqlite.studies() == []


def test_columns_are_offered_with_guesses_and_take_another_meaning(page, sqlite, tmp_path):
    fill(sqlite)
    file = tmp_path / "t.csv"
    file.write_text("name,question,links,rechts,ana\nr1,why?,x,y,A+\n", encoding="utf-8")
    shown, *_ = page.preview([str(file)], "", False, at("s"))
    assert [each.get("data-column") for each in Texts(shown).data if "data-column" in each] == [
        "name",
        "question",
        "links",
        "rechts",
        "ana",
    ]
    chosen = [["name", "id"], ["question", "instruction"], ["links", "response_a"], ["rechts", "response_b"]]
    event = gr.EventData(None, {"fields": [*chosen, ["ana", "label:"]]})
    mapping, _, _, button, _ = page.assign([str(file)], False, event, at("s"))
    assert button["interactive"] is True
    page.store_upload([str(file)], mapping, False, at("s"))
    detail = sqlite.item_detail("s", "r1")
    assert (detail.item.response_a, [(given.rater, given.label) for given in detail.verdicts]) == ("x", [("ana", "A+")])


def test_every_field_of_a_table_can_be_chosen():
    from exchange.formats.columns import FIELDS

    assert set(NAMES) == FIELDS


@pytest.mark.parametrize("mapping", ["{}", "{", '[["x"]]', "nonsense", "[4]"])
def test_a_mapping_that_is_not_ours_is_refused(page, sqlite, mapping, tmp_path):
    fill(sqlite)
    file = write(tmp_path / "i.jsonl", line("new"))
    assert "choose the file again" in page.store_upload([file], mapping, False, at("s"))[0]
    assert sqlite.study("s").items == 3


@pytest.mark.parametrize("fields", [None, "x", [["one"]], [1], {"a": 1}, [[1, {}]]])
def test_choices_that_are_not_ours_are_errors(fields):
    with pytest.raises((TypeError, ValueError)):
        map_fields(fields)


def test_other_files_begin_without_a_mapping(page, sqlite, tmp_path):
    fill(sqlite)
    mapping, shown, *_ = page.receive([write(tmp_path / "i.jsonl", line("new"))], False, at("s"))
    assert (mapping, "1 item with" in shown) == ("", True)


@pytest.mark.parametrize("name", KINDS)
def test_every_export_is_written_and_recorded(sqlite, tmp_path, name):
    fill(sqlite)
    path = DownloadsPanel(sqlite).export("s", name, tmp_path, "ada")
    assert path.name == f"s.{KINDS[name].ending}"
    assert path.stat().st_size > 0
    recorded = [(event["format"], event["by"]) for event in sqlite.events("s") if event["kind"] == "export"]
    assert recorded == ([] if name == "codebook" else [(name, "ada")])


def test_an_export_comes_back_with_equal_bytes_and_leaves_no_file(page, sqlite, tmp_path):
    fill(sqlite)
    making = page.downloads.maker("jsonl")(at("s"))
    path = Path(next(making)[0])
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    assert list(making) == []
    assert not path.exists()
    create(page, "again", files=[str(copy)])
    assert list(interchange_lines(sqlite, "again")) == list(interchange_lines(sqlite, "s"))


def test_an_export_of_no_study_is_an_error(page):
    with pytest.raises(gr.Error, match="no study named"):
        next(page.downloads.maker("jsonl")(at("other")))


@pytest.mark.parametrize(
    ("study", "name"),
    [
        ("WildBench pilot", "WildBench-pilot"),
        ("../../etc/passwd", "etc-passwd"),
        ("<img>", "img"),
        ("…", "study"),
        ("日本", "日本"),
    ],
)
def test_a_file_is_named_after_its_study_and_stays_in_its_folder(study, name):
    assert file_name(study) == name


def test_settings_change_and_say_so(page, sqlite):
    fill(sqlite)
    told, head, _ = page.change_wanted(5, at("s"))
    assert "each item now wants 5 verdicts" in told.lower()
    assert "5 verdicts per item" in head
    assert sqlite.study("s").wanted == 5
    assert "version 2" in page.change_guidelines("New.", at("s"))[0]
    assert "no new version" in page.change_guidelines("New.", at("s"))[0]
    assert sqlite.study("s").guideline_version == 2
    _, head, button = page.close_or_open(at("s"))
    assert ("closed" in head, button["value"]) == (True, "Open the study again")
    _, head, button = page.close_or_open(at("s"))
    assert (sqlite.study("s").closed, button["value"]) == (None, "Close the study")


@pytest.mark.parametrize("wanted", [None, 0, -1, 1.5])
def test_a_wrong_n_changes_nothing(page, sqlite, wanted):
    fill(sqlite)
    assert "whole number" in page.change_wanted(wanted, at("s"))[0]
    assert sqlite.study("s").wanted == 3


def test_items_are_searched_and_turned_over(page, sqlite):
    fill(sqlite, count=60)
    first = page.items.search("", None, "any", at("s"))
    assert "1 to 25 of 60" in first
    [_, following] = [each["data-starts"] for each in Texts(first).data if "data-starts" in each]
    second = page.items.turn("", None, "any", gr.EventData(None, {"starts": following}), at("s"))
    assert "26 to 50 of 60" in second
    back, last = [each["data-starts"] for each in Texts(second).data if "data-starts" in each]
    assert (back, last) == ("0", "0,25,50")
    found = page.items.search("question 59?", None, "any", at("s"))
    assert [each["data-open"] for each in Texts(found).data if "data-open" in each] == ["q59"]
    assert "No item matches" in page.items.search("nowhere", "", "any", at("s"))


@pytest.mark.parametrize("starts", ["", "x", "-1", "1,2,<b>", "99999999999999"])
def test_a_page_that_is_not_there_is_no_error(page, sqlite, starts):
    fill(sqlite)
    assert "pager" in page.items.turn("", None, "any", gr.EventData(None, {"starts": starts}), at("s"))


def test_people_and_places_are_shown(page, sqlite):
    fill(sqlite)
    assert "Nobody has started yet" in page.annotators.follow(at("s"))
    sqlite.claim_next("s", "ana")
    shown = Texts(page.annotators.follow(at("s")))
    assert "Places are free on 3 of 3 items; 1 item held by somebody at the moment." in shown.text
    assert any("datetime" in each for each in shown.data)


def test_an_invitation_is_a_link_for_each_name(page, sqlite):
    fill(sqlite)
    shown = Texts(page.annotators.invite("ana\n\n ben \nana", at("s")))
    links = [(each["data-study"], each.get("data-annotator")) for each in shown.data if each.get("data-path") == "/"]
    assert links == [("s", "ana"), ("s", "ben")]
    assert "at most 200 characters" in page.annotators.invite("x" * 201, at("s"))
    assert "at most 200 at a time" in page.annotators.invite("\n".join(map(str, range(201))), at("s"))


RULES = ("full", "strict")


def test_the_plan_is_that_of_the_formula(page):
    assert "<strong>323 items</strong>, so 969 verdicts" in page.plan.answer(70, 5, 3)
    for wrong in (page.plan.answer, lambda *said: page.plan.plan(at(), *said, *RULES)):
        assert "above 0" in wrong(70, 0, 3)
        assert "at least one person" in wrong(None, 5, 3)


def test_the_whole_plan_is_from_the_study_chosen_or_from_what_is_expected(page, sqlite):
    expected = Texts(page.plan.plan(at(), 70, 5, 3, *RULES))
    assert "From what is expected" in expected.text
    assert expected.texts[expected.texts.index("agreement (if 70 %)") + 2] == "323"  # as the calculator says
    assert "From what is expected" in page.plan.plan(at(), 0, 5, 3, *RULES)
    sqlite.create_study(Study("s", WILDBENCH))
    assert "From what is expected" in page.plan.plan(at("s"), 70, 5, 3, *RULES)
    labels = WILDBENCH.scale.labels
    for n in range(40):
        people = [GivenVerdict(name, "human", labels[n * step % 5]) for step, name in enumerate(("ana", "ben"), 1)]
        judges = [GivenVerdict(HOSTILE + str(at), "judge", labels[(n + at) % 5], order="AB") for at in range(2)]
        sqlite.add_prepared("s", [prepare(Item(f"q{n}", (Turn("user", "?"),), "a", "b"), [*people, *judges])])
    value = plan_from_pilot(sqlite, "s", Wishes(width=0.07, judge=0.7))
    shown = Texts(page.plan.plan(at("s"), 70, 7, 3, *RULES))
    assert "From the verdicts of this study" in shown.text
    assert HOSTILE in shown.text
    for need in value["kappa"][0]["needed"]:
        for key in ("items", "items_for_kappa_linear", "items_for_kappa_quadratic"):
            assert f"{need[key]:,}" in shown.texts
    for row in value["by_annotators"]:
        assert f"{row['needed'][1]['verdicts']:,}" in shown.texts
    two, test = value["two_judges"], value["alt_test"]
    assert f"exactly one of them is right on {100 * two['discordance']:.0f} %: {two['items']:,} items" in shown.text
    assert f"in 80 % of such studies, with the margin ε {test['epsilon']:g}:" in shown.text
    for need in value["prediction_powered"]["needed"]:
        assert {f"{need[key]:,}" for key in ("labels", "labels_without_judge")} <= set(shown.texts)
    other = plan_from_pilot(sqlite, "s", Wishes(width=0.07, judge=0.7), Options("3", "first"))
    assert (
        f"{other['kappa'][0]['needed'][0]['items']:,}" in Texts(page.plan.plan(at("s"), 70, 7, 3, "3", "first")).texts
    )
    assert "one of" in page.plan.plan(at("s"), 70, 7, 3, "4", "first")


def test_a_mean_score_is_planned_in_points_of_its_own_scale(page, sqlite):
    protocol = find_protocol("prometheus-direct-no-reference").version
    sqlite.create_study(Study("scores", protocol))
    for n in range(40):
        people = [GivenVerdict(name, "human", str((n + n % step) % 5 + 1)) for step, name in ((2, "ana"), (3, "ben"))]
        judge = GivenVerdict("j", "judge", str((n + n % 4 // 3) % 5 + 1))
        item = Item(f"q{n}", (Turn("user", "?"),), "a", rubric=Rubric("Is it right?"))
        sqlite.add_prepared("scores", [prepare(item, [*people, judge])])
    value = plan_from_pilot(sqlite, "scores", Wishes(width=0.05, judge=0.7))
    shown = Texts(page.plan.plan(at("scores"), 70, 5, 3, *RULES))
    labels = value["prediction_powered"]
    saved = "; ".join(f"{need['labels']:,} for ± {need['half_width']:g}" for need in labels["needed"])
    assert f"If a judge reads many more (correlation {labels['correlation']:.2f}): {saved}." in shown.text
    assert not any(text.startswith("mean score") for text in shown.texts)  # its points are not those of the table


def test_hostile_names_are_text_everywhere(page, sqlite, tmp_path):
    sqlite.create_study(Study(HOSTILE, WILDBENCH))
    given = [
        GivenVerdict(HOSTILE, "human", "A+", comment=HOSTILE),
        GivenVerdict(HOSTILE, "judge", None, "refused", raw=HOSTILE),
    ]
    turns = (Turn(HOSTILE, HOSTILE), Turn("user", HOSTILE))
    item = Item(
        HOSTILE,
        turns,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        HOSTILE,
        (HOSTILE,),
        tags=(HOSTILE,),
        metadata={"k": HOSTILE},
    )
    sqlite.add_prepared(HOSTILE, [prepare(item, given)])
    table = tmp_path / "hostile.csv"
    table.write_text(f'"{HOSTILE.replace(chr(34), chr(34) * 2)}",question,answer\n"x",y,z\n', encoding="utf-8")
    shown = page.show(at(HOSTILE, item=HOSTILE))
    markup = [
        page.show(at())[0],
        *(part for part in shown if isinstance(part, str) and part.startswith("<")),
        show_links(HOSTILE, [HOSTILE]),
        page.preview([str(table)], "", False, at(HOSTILE))[0],
        page.items.search(HOSTILE, HOSTILE, "any", at(HOSTILE)),
        create(page, HOSTILE, protocol="prometheus-direct"),
    ]
    for part in markup:
        read = Texts(part)
        assert not {"img", "script", "b"} & set(read.tags)
        assert not any(name.startswith("on") for each in read.data for name in each)
    assert HOSTILE in Texts(markup[0]).text


def test_an_upload_is_named_as_its_owner_named_it():
    upload = Upload.taken(["/tmp/gradio/abc/my file.csv"], "", False)
    assert upload.named("/tmp/gradio/abc/my file.csv:3: id: is missing") == "my file.csv:3: id: is missing"
