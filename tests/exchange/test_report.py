"""The report and its charts: self-contained, safe whatever the names are, and readable without eyes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from small_studies import human, judged, label_of, many, put

from exchange.agreeing import agree
from exchange.charts import (
    Row,
    ceiling_chart,
    confusion_chart,
    corrected_chart,
    curve_chart,
    interval_chart,
    strength_chart,
)
from exchange.detail_tables import tabulate_replaced
from exchange.drawing import NARROW, PHONE, WIDE
from exchange.grid import Table, all_as_latex, all_as_markdown, as_latex, as_markdown
from exchange.panel import Options
from exchange.report import list_charts, write_report
from exchange.tables import list_tables
from judge.domain import GivenVerdict, Item, Turn
from storage.imports import prepare

EVIL = "<script>alert(1)</script>\"'&|$_{}\\"
LABELS = ("A", "tie", "B")


@pytest.fixture
def value(store, make_study):
    make_study(0)
    made = []
    for n in range(40):
        given = [
            GivenVerdict(f"h{at}{EVIL}", "human", LABELS[(n + at * (n % 4 == 0)) % 3], order="AB") for at in range(3)
        ]
        given += [GivenVerdict(f"j{EVIL}", "judge", LABELS[(n + n % 2) % 3], order=order) for order in ("AB", "BA")]
        item = Item(
            f"q{n}", (Turn("user", f"Q{n}"),), "left " * (n % 7 + 1), "right", f"m{n % 2}{EVIL}", "m2", tags=(EVIL,)
        )
        made.append(prepare(item, given))
    store.add_prepared("s", made)
    return agree(store, "s", Options(resamples=200))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        self.attributes += attrs


def test_the_report_runs_nothing_and_loads_nothing(value):
    page = write_report(value)
    seen = Tags()
    seen.feed(page)
    assert not seen.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name in ("src", "href")]
    assert "url(" not in page
    assert "@import" not in page
    assert "alert(1)" in page  # the names are there, as text


def test_the_report_holds_the_sentence_every_table_and_the_methods(value):
    page = write_report(value)
    seen = Tags()
    seen.feed(page)
    assert {"svg", "table", "dl", "pre"} <= seen.tags
    for word in ("Methods", value["protocol_hash"], "seed 0", "Markdown", "LaTeX"):
        assert word in page


def test_every_chart_is_well_formed_and_says_its_numbers(value):
    charts = [chart for section in list_charts(value).values() for _, chart in section]
    assert len(charts) >= 7
    for chart in charts:
        root = ET.fromstring(chart)
        parts = {child.tag.rpartition("}")[2]: child.text for child in root}
        assert parts["title"]
        assert re.search(r"\d", parts["desc"])


def test_undefined_is_a_dash_with_its_reason():
    none = {"value": None, "low": None, "high": None, "n": 0, "why": "nobody knows"}
    chart = interval_chart("t", [Row("x", "human", none)], reference=0.5)
    assert "–" in chart
    assert "nobody knows" in ET.fromstring(chart)[1].text
    assert "NaN" not in interval_chart("t", [])


def test_a_cell_can_be_clicked_only_where_asked():
    plain, linked = (confusion_chart(("B", "A"), [[1, 2], [3, 4]], ("x", "y"), links) for links in (False, True))
    assert "data-row" not in plain
    # A stands before B, as on Review; the places are those of the scale.
    assert re.findall(r'data-row="(\d)" data-column="(\d)"', linked) == [("1", "1"), ("1", "0"), ("0", "1"), ("0", "0")]


FRAMES = pytest.mark.parametrize("frame", [WIDE, NARROW, PHONE])


def texts_in(chart):
    return [found.text or "" for found in ET.fromstring(chart).iter("{http://www.w3.org/2000/svg}text")]


@FRAMES
def test_long_names_that_begin_alike_stay_apart(frame):
    made = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    names = [f"some-organisation/a-model-with-a-rather-long-name-v{n}-and-a-long-ending-too" for n in range(6)]
    shown = [
        text
        for text in texts_in(interval_chart("t", [Row(name, "judge", made) for name in names], frame=frame))
        if "◆" in text
    ]
    assert len(set(shown)) == 6
    assert max(map(len, shown)) <= frame.name


@FRAMES
def test_each_judge_is_held_against_people_on_its_own_items(frame):
    def made(value, n):
        return {"value": value, "low": value - 0.1, "high": value + 0.1, "n": n}

    def judge(name, ceiling, n):
        parts = {"human_ceiling": made(ceiling, n), "leave_one_out": made(0.7, n), "gap": made(0.7 - ceiling, n)}
        return {"name": name, "statistic": "kappa", **parts}

    chart = ceiling_chart([judge("few", 0.6, 10), judge("many", 0.8, 90)], frame)
    people, few, many = map(float, re.findall(r'<line x1="([\d.]+)"[^>]*stroke-dasharray', chart))
    assert people == many > few
    assert "0.80 [0.70, 0.90]" in texts_in(chart)


@FRAMES
def test_strengths_keep_their_ranks_whole(frame):
    strength = {"value": -1.161, "low": -1.582, "high": -0.832, "n": 60}
    models = [
        {"name": f"model-{n}-chat-large", "source": "humans", "bradley_terry": strength | {"rank": [n, n + n % 2]}}
        for n in range(9, 13)
    ]
    shown = " ".join(texts_in(strength_chart(models, frame)))
    for ranks in ("rank 9–10", "rank 10", "rank 11–12", "rank 12"):
        assert re.search(rf"{ranks}(?!–)\b", shown)


@FRAMES
def test_each_curve_is_named_beside_a_piece_of_its_line(frame):
    curve = [{"epsilon": 0.0, "winning_rate": 0.0}, {"epsilon": 0.3, "winning_rate": 1.0}]
    judges = [{"name": f"j{n}", "alt_test": {"curve": curve, "why": None}} for n in range(6)]
    chart = curve_chart(judges, frame)
    drawn = re.findall(r"<polyline[^>]*stroke-dasharray:([^;\"]*)", chart)
    named = re.findall(r"<line[^>]*stroke-width:2;stroke-dasharray:([^;\"]*)\"/><text[^>]*>◆ j\d", chart)
    assert drawn == named
    assert len(set(drawn)) == 6
    assert float(re.search(r'viewBox="0 0 \d+ (\d+)"', chart)[1]) > max(map(float, re.findall(r' y="([\d.]+)"', chart)))


@FRAMES
def test_no_two_of_many_curves_have_the_same_line(frame):
    curve = [{"epsilon": 0.0, "winning_rate": 0.0}, {"epsilon": 0.3, "winning_rate": 1.0}]
    judges = [{"name": f"j{n}", "alt_test": {"curve": curve, "why": None}} for n in range(15)]
    chart = curve_chart(judges, frame)
    drawn = re.findall(r"<polyline[^>]*(stroke-width:\d;stroke-dasharray:[^;\"]*)", chart)
    assert len(set(drawn)) == 15
    assert drawn == re.findall(r"<line[^>]*(stroke-width:\d;stroke-dasharray:[^;\"]*)\"/><text[^>]*>◆ j\d", chart)


@FRAMES
def test_a_chart_says_how_many_its_numbers_are_from(frame):
    def rows(*counts):
        return [Row("x", "human", {"value": 0.5, "low": 0.4, "high": 0.6, "n": n}) for n in counts]

    none = Row("y", "judge", {"value": None, "low": None, "high": None, "n": 0, "why": "nobody knows"})
    assert "n = 90 to 1,200" in texts_in(interval_chart("t", [*rows(90, 1200, 100), none], frame=frame))
    assert "n = 90" in texts_in(interval_chart("t", rows(90, 90), frame=frame))
    noted = Row("x", "judge", rows(90)[0].estimate, "gap 0.10")
    assert ET.fromstring(interval_chart("t", [noted], frame=frame))[1].text == "x: 0.50 [0.40, 0.60], gap 0.10, n = 90"
    assert not [text for text in texts_in(interval_chart("t", [none], frame=frame)) if text.startswith("n =")]


def test_what_speaks_of_no_rater_has_no_rater_s_mark():
    made = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9}
    judge = {"name": "j", "corrected_win_rate": {**made, "of": "win rate", "human_only": made, "judge_only": made}}
    chart = corrected_chart(judge)
    assert (chart.count("<circle"), chart.count("<path")) == (1, 1)  # people, judge, and neither for what is corrected
    strengths = strength_chart([{"name": "m", "source": "j", "bradley_terry": {**made, "rank": [1, 1]}}])
    assert "Bradley–Terry strengths by ◆ j" in texts_in(strengths)
    assert "<circle" not in strengths
    assert "<path" not in strengths


def test_a_matrix_says_how_many_items_are_in_it():
    chart = confusion_chart(("B", "A"), [[1, 2], [3, 4]], ("● consensus", "◆ j"))
    assert "● consensus (rows) against ◆ j (columns), n = 10" in texts_in(chart)


def test_on_a_phone_a_matrix_still_says_which_way_its_judge_goes():
    title = confusion_chart(("B", "A"), [[1, 2], [3, 4]], ("● consensus", "◆ a-judge-with-a-long-name"), frame=PHONE)
    assert "● consensus ↓ ◆ a-judg…long-name →" in texts_in(title)


def test_no_chart_is_drawn_of_nothing(store, tmp_path):
    items = many(lambda n: [human("ana", label_of(n)), judged(label_of(n))])
    charts = list_charts(agree(store, put(store, tmp_path, items), Options(resamples=100)))
    assert not {"The human ceiling", "Position"} & charts.keys()
    assert "Length" in charts


def test_the_report_explains_the_words_of_its_tables(value):
    page = write_report(value)
    for word in ("kappa", "PABAK", "fairness", "order effect"):
        assert f"<dt>{word}</dt>" in page
    assert "<dt>RMSE</dt>" not in page  # a word that is not in it


def test_tables_to_copy_keep_their_columns_whatever_the_cells_hold(value):
    table = Table("t", ["a|b", "c"], [["50 %", EVIL], ["−1", "●"]])
    for line in as_markdown(table).splitlines():
        assert len(re.findall(r"(?<!\\)\|", line)) == 3
    latex = as_latex(table)
    assert r"50 \%" in latex
    assert r"\textless" in latex or "$<$script$>$" in latex
    assert all(line.count("&") - line.count(r"\&") == 1 for line in latex.splitlines() if line.endswith(r"\\"))
    assert all(len(row) == len(one.head) for one in list_tables(value) for row in one.rows)


def test_titles_and_names_are_text_in_latex_and_markdown():
    table = Table("Models, by gpt_4 & 50 %", ["model", "n"], [["[base]*", "1"], ["__init__ <b> `x` \\ |", "2"]])
    latex, markdown = all_as_latex([table]), all_as_markdown([table])
    assert r"Models, by gpt\_4 \& 50 \%" in latex
    assert "\n{}[base]* & 1" in latex  # else the line break before it takes the bracket for its own
    assert latex.startswith("% In the preamble: \\usepackage{booktabs,amssymb}\n")
    assert r"Models, by gpt\_4 & 50 %" in markdown
    assert r"| \_\_init\_\_ \<b> \`x\` \\ \| | 2 |" in markdown


def test_latex_has_no_sign_that_a_plain_compiler_does_not_know(value):
    assert "mean (ρ)" in all_as_markdown(list_tables(value))
    assert all_as_latex(list_tables(value)).isascii()  # as the names in it are


def rows_of(value, title):
    table = next(one for one in list_tables(value) if one.title == title)
    return [dict(zip(table.head, row, strict=True)) for row in table.rows]


@pytest.fixture
def open_study(store, tmp_path):
    """Return a study in which some replies cannot be read and people are undecided on some items."""

    def verdicts(n):
        people = [human(name, label_of(n + (n % 6 == 0) * at)) for at, name in enumerate(("ana", "ben", "cyd"))]
        return [*people, judged(None if n % 5 == 0 else label_of(n + (n % 4 == 0)))]

    items = many(verdicts, 40)
    return agree(store, put(store, tmp_path, items), Options(resamples=100))


def test_what_a_judge_did_not_say_bounds_its_agreement(open_study):
    left = open_study["judges"][0]["left_out"]
    silent = {row["judge"]: row["◆ j"] for row in rows_of(open_study, "What judges did not say")}
    assert silent["unreadable"] == "8"
    assert silent["items without a label"] == str(left["items"])
    low, high = left["bounds"]
    assert silent["agreement if none agreed"] == f"{100 * low:.0f} %"
    assert silent["agreement if all agreed"] == f"{100 * high:.0f} %"


def test_items_without_a_consensus_are_counted_and_warned_of(open_study):
    undecided = open_study["consensus"]["left_out"]["undecided"]
    assert undecided == 7
    flow = {row["step"]: row["count"] for row in rows_of(open_study, "Items, from sampled to overlapping")}
    assert flow["items without a consensus of people"] == "7"
    assert flow["replies unreadable"] == "8"
    assert [text for text in open_study["warnings"] if text.startswith("7 items left out wherever a judge is held")]
    assert "items without are left out (7)" in write_report(open_study)


def test_the_report_has_the_ceiling_in_each_statistic_and_the_test_person_by_person(open_study):
    judge = open_study["judges"][0]
    ceilings = rows_of(open_study, "The human ceiling in each statistic")
    assert [row["statistic"] for row in ceilings] == ["exact agreement", "Cohen's kappa", "quadratic kappa"]
    assert ceilings[2]["gap"].estimate == judge["ceilings"]["kappa_quadratic"]["gap"]
    tested = tabulate_replaced(open_study)
    assert tested.title in [table.title for table in list_tables(open_study)]
    assert [row[1] for row in tested.rows] == ["● ana", "● ben", "● cyd", "mean (ρ)"]
    assert tested.rows[-1][3] == f"{100 * judge['alt_test']['advantage_probability']:.0f} %"
    labels = rows_of(open_study, "Labels given")
    assert {row["rater"]: row["● ana"] for row in labels}["n"] == "40"


def test_the_methods_name_every_rule_in_force(store, tmp_path):
    items = many(lambda n: [human("ana", label_of(n)), judged(label_of(n))])
    study = put(store, tmp_path, items)
    usual = write_report(agree(store, study, Options(resamples=100)))
    assert "strict: where they differ the item is a tie" in usual
    assert "<dt>Length rule</dt><dd>none.</dd>" in usual
    ruled = write_report(agree(store, study, Options(resamples=100, length_k=50, combine="drop", undecided="tie")))
    assert "drop: where they differ the item is left out" in ruled
    assert "longer by more than 50 characters" in ruled
    assert "an item without is a tie" in ruled
