"""Tables from the literature, through the door that a reader has: a file, a protocol of its own, and the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_studies import check_estimates, human, judged, put, write_protocol

from exchange.agreeing import agree
from exchange.importing import ImportRequest, import_files
from exchange.panel import Options
from judge.protocol import find_protocol
from storage.store import Store

pytestmark = pytest.mark.one_database

# Six psychiatrists on each of thirty patients: depression, personality disorder, schizophrenia, neurosis, other.
FLEISS = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""

# Four observers on twelve units, with gaps (Krippendorff 2011, section C).
KRIPPENDORFF = "11.1 2232 3333 3333 2222 1234 4444 1121 2222 .555 ..11 .3.."

# Games at home that the row's team won and lost against each of the others (American League 1987, Agresti 1990).
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
BASEBALL = """
43 42 43 61 42 60
33 42 43 60 61 43
25 43 24 43 42 60
33 51 25 43 42 61
51 25 33 42 52 60
25 33 34 43 42 24
25 15 16 24 16 34
""".strip()

# Three sittings of the first anaesthetist, then the other four, on 45 patients (Dawid and Skene 1979), and the classes
# that are most probable there.
ANAESTHETISTS = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212 1211111
1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 1111111 1121121
1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
"""
# Five observers on forty articles, with gaps (Hayes and Krippendorff 2007, table 1).
HAYES = """
112.2 1101. 2333. .00.0 000.0 000.0 102.1 1.20. 222.2 2111. .100. 0000. 1222. 33223 111.1 111.1 212.2 1233. 1101. 000.0
0011. 00.00 2333. 0000. 12.22 0111. 00010 1212. 1122. 112.2 110.0 2121. 22.22 3222. 222.2 223.2 222.2 22.12 2222. 111.1
"""

TRUE_CLASSES = "142222132243121111222222112111131224233111212"


def respond(number: int, verdicts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": f"q{number}", "instruction": f"Q{number}", "response": "x", "verdicts": verdicts}


@pytest.fixture
def tell(store: Store, tmp_path: Path):
    def told(items: Sequence[dict[str, Any]], scale: dict[str, float], **rules: Any) -> dict[str, Any]:
        protocol = write_protocol(tmp_path, "theirs", scale, kind="direct")
        put(store, tmp_path, list(items), "theirs", protocol)
        value = agree(store, "theirs", Options(**{"resamples": 100, **rules}))
        check_estimates(value)
        return value

    return told


def scores(highest: int, lowest: int = 1) -> dict[str, float]:
    return {str(score): score for score in range(lowest, highest + 1)}


def items_of(units: Iterable[str]) -> list[dict[str, Any]]:
    """Return an item for each unit: one character an observer, a full stop for nothing said."""
    return [
        respond(number, [human(f"observer {at}", label) for at, label in enumerate(said) if label != "."])
        for number, said in enumerate(units)
    ]


def items_of_table(table: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    cells = [
        (row, column) for row, counts in enumerate(table, 1) for column, n in enumerate(counts, 1) for _ in range(n)
    ]
    return [respond(n, [human("first", str(row)), judged(str(column))]) for n, (row, column) in enumerate(cells)]


def test_fleiss_1971(tell) -> None:
    names = ("depression", "personality disorder", "schizophrenia", "neurosis", "other")
    said = [
        [name for name, count in zip(names, counts, strict=True) for _ in range(int(count))]
        for counts in FLEISS.split()
    ]
    items = [respond(n, [human(f"one of six {at}", name) for at, name in enumerate(own)]) for n, own in enumerate(said)]
    people = tell(items, {name: at for at, name in enumerate(names)})["groups"]["humans"]
    assert round(people["fleiss_kappa"]["value"], 3) == 0.430
    assert people["fleiss_kappa"]["value"] == pytest.approx(people["fleiss_kappa_pairs"]["value"])


def test_krippendorff_2011_and_gwet_2014(tell) -> None:
    people = tell(items_of(KRIPPENDORFF.split()), scores(5))["groups"]["humans"]
    found = [round(people[f"alpha_{level}"]["value"], 3) for level in ("nominal", "ordinal", "interval")]
    assert found == [0.743, 0.815, 0.849]
    assert round(people["ac1"]["value"], 5) == 0.77544
    assert (people["n_items"], people["raters"]) == (11, 4)


@pytest.mark.parametrize(
    ("table", "found"),
    [
        # Cohen 1960; Landis and Koch 1977, two cities; two dermatologists (the SAS manual); Gwet's paradox.
        ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], {"kappa": 0.4915}),
        ([[38, 5, 0, 1], [33, 11, 3, 0], [10, 14, 5, 6], [3, 7, 3, 10]], {"kappa": 0.2079, "kappa_linear": 0.3797}),
        ([[5, 3, 0, 0], [3, 11, 4, 0], [2, 13, 3, 4], [1, 2, 4, 14]], {"kappa": 0.2965, "kappa_linear": 0.4773}),
        ([[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]], {"kappa": 0.3449, "kappa_linear": 0.5082}),
        ([[118, 5], [2, 0]], {"exact": 0.9440, "kappa": -0.0234, "ac1": 0.9408, "pabak": 0.8880}),
        # Gwet's three abstractors; Byrt and others 1993; job satisfaction and income (Agresti 2002).
        ([[13, 0, 0], [0, 20, 7], [0, 4, 56]], {"kappa": 0.7964, "scott_pi": 0.7962, "ac1": 0.8493}),
        ([[80, 10], [5, 5]], {"kappa": 0.3182, "pabak": 0.7, "prevalence_index": 0.75, "bias_index": 0.05}),
        ([[1, 3, 10, 6], [2, 3, 10, 7], [1, 6, 14, 12], [0, 1, 9, 11]], {"kendall": 0.1524}),
        # Fleiss's book; xeromammograms (Altman 1991); two film critics and two pathologists (Agresti); two coders of
        # dialogue acts (Artstein and Poesio 2008).
        ([[75, 1, 4], [5, 4, 1], [0, 0, 10]], {"kappa": 0.6765}),
        ([[21, 12, 0, 0], [4, 17, 1, 0], [3, 9, 15, 2], [0, 0, 0, 1]], {"kappa": 0.4728, "kappa_linear": 0.5684}),
        ([[24, 8, 13], [8, 13, 11], [10, 9, 64]], {"kappa": 0.3888}),
        ([[22, 2, 2, 0], [5, 7, 14, 0], [0, 2, 36, 0], [0, 1, 17, 10]], {"kappa": 0.4930}),
        ([[46, 6, 0], [0, 32, 0], [0, 6, 10]], {"exact": 0.88, "kappa": 0.8013, "scott_pi": 0.7995}),
        # A label that one rater never gives (a SAS listing); husbands and wives (Hout and others 1987, in R's vcd).
        ([[0, 4, 1], [0, 8, 0], [0, 1, 5]], {"kappa": 0.4842, "kappa_linear": 0.4701}),
        ([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]], {"kappa": 0.1293, "kappa_linear": 0.2374}),
        ([[20, 5], [10, 15]], {"kappa": 0.4}),
        ([[25, 35], [5, 35]], {"kappa": 0.2593}),
    ],
)
def test_two_raters(tell, table: list[list[int]], found: dict[str, float]) -> None:
    value = tell(items_of_table(table), scores(len(table)))
    pair = value["judges"][0]["vs_consensus"]
    assert pair["confusion"] == table
    assert {name: round(pair[name]["value"], 4) for name in found} == found


@pytest.mark.parametrize(
    ("table", "found", "error"),
    [
        # Two ways of diagnosing 223 patients, and the three abstractors (Gwet 2014, to three digits in irrCAC).
        (
            [[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]],
            {"kappa": 0.432, "ac1": 0.456, "kappa_linear": 0.407, "kappa_quadratic": 0.383, "ac2": 0.299},
            0.046,
        ),
        ([[13, 0, 0], [0, 20, 7], [0, 4, 56]], {"kappa_linear": 0.843, "kappa_quadratic": 0.892, "ac2": 0.940}, 0.059),
        ([[0, 4, 1], [0, 8, 0], [0, 1, 5]], {"kappa": 0.484}, 0.138),
        ([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]], {"kappa": 0.129}, 0.069),
    ],
)
def test_weights_and_standard_errors(tell: Any, table: list[list[int]], found: dict[str, float], error: float) -> None:
    pair = tell(items_of_table(table), scores(len(table)))["judges"][0]["vs_consensus"]
    assert {name: round(pair[name]["value"], 3) for name in found} == pytest.approx(found, abs=5.1e-4)
    assert round(pair["table"]["kappa_standard_error"], 3) == error


@pytest.mark.parametrize(
    ("table", "homogeneity", "symmetry"),
    [
        ([[35, 5, 0], [15, 20, 5], [10, 5, 5]], (14.00, 2), (15.00, 3)),  # Maxwell 1970
        ([[794, 150], [86, 570]], (17.36, 1), (17.36, 1)),  # McNemar, as in Agresti 1990
        ([[20, 10, 5], [3, 30, 15], [0, 5, 40]], (13.76, 2), (13.77, 3)),  # Uebersax
        ([[101, 121], [59, 33]], (21.36, 1), (21.36, 1)),
    ],
)
def test_margins_and_symmetry(tell, table: list[list[int]], homogeneity: tuple[float, int], symmetry: Any) -> None:
    found = tell(items_of_table(table), scores(len(table)))["judges"][0]["vs_consensus"]["table"]
    for wanted, name in ((homogeneity, "homogeneity"), (symmetry, "symmetry")):
        assert (round(found[name]["statistic"], 2), found[name]["freedom"]) == wanted


def test_dawid_and_skene_1979(tell) -> None:
    items = items_of(ANAESTHETISTS.split())
    for own, label in zip(items, TRUE_CLASSES, strict=True):
        own["verdicts"].append(judged(label))
    value = tell(items, scores(4), consensus="dawid-skene")
    assert value["consensus"]["rule"] == "dawid-skene"
    # The third patient alone falls otherwise when the first one's three sittings are taken for three people.
    against = value["judges"][0]["vs_consensus"]
    assert (against["n"], against["exact"]["value"]) == (45, pytest.approx(44 / 45))
    second = np.array(value["consensus"]["confusion"]["observer 3"])
    assert second[1] == pytest.approx([0.05, 0.63, 0.32, 0.0], abs=0.03)


def test_agresti_1990_teams_and_the_advantage_of_playing_at_home(store: Store, tmp_path: Path) -> None:
    items = []
    for home, row in zip(TEAMS, BASEBALL.splitlines(), strict=True):
        for away, (won, lost) in zip([team for team in TEAMS if team != home], row.split(), strict=True):
            first, second = sorted((home, away))
            for winner in [home] * int(won) + [away] * int(lost):
                said = human("umpire", "A" if winner == first else "B", order="AB" if home == first else "BA")
                both = {"response_a": "x", "response_b": "x", "model_a": first, "model_b": second}
                items.append({"id": f"g{len(items)}", "instruction": f"{len(items)}", **both, "verdicts": [said]})
    put(store, tmp_path, items, "teams", write_protocol(tmp_path, "who", {"B": 0, "A": 1}))
    value = agree(store, "teams", Options(resamples=100))
    strength = {model["name"]: model["bradley_terry"]["value"] for model in value["models"]}
    ahead = [round(strength[team] - strength["Baltimore"], 2) for team in TEAMS]
    assert ahead == [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]
    assert round(value["ranking"]["by"]["humans"]["terms"]["side"]["value"], 3) == 0.302


def test_hayes_and_krippendorff_2007_as_a_table_with_a_column_for_each_observer(store: Store, tmp_path: Path) -> None:
    lines = ["unit,question,answer,obs1,obs2,obs3,obs4,obs5"]
    lines += [f"{n},{n}?,x,{','.join(said.replace('.', ' '))}" for n, said in enumerate(HAYES.split())]
    (tmp_path / "hayes.csv").write_text("\n".join(lines), encoding="utf-8")
    protocol = write_protocol(tmp_path, "theirs", scores(3, 0), kind="direct")
    columns = {"id": "unit"} | {f"label:observer {at}": f"obs{at}" for at in range(1, 6)}
    request = ImportRequest(
        [str(tmp_path / "hayes.csv")], "s", find_protocol(protocol), mapping=columns, guess_rest=True
    )
    import_files(store, request, lambda _: None)
    people = agree(store, "s", Options(resamples=100))["groups"]["humans"]
    found = [round(people[f"alpha_{level}"]["value"], 4) for level in ("ordinal", "nominal", "interval")]
    assert found == [0.7598, 0.4765, 0.7574]


@pytest.mark.parametrize(
    ("units", "labels", "found"),
    [
        # Krippendorff 2011, sections A and B; three coders with many gaps, as in an encyclopaedia.
        ("01 11 01 00 00 01 00 00 10 00", "01", {"alpha_nominal": 0.095}),
        ("ab aa bb bb db cc cc cc ee dd dd ad", "abcde", {"alpha_nominal": 0.692}),
        (
            ".1. ... .22 .11 .33 334 444 13. 2.2 1.1 1.1 3.3 3.3 ... 3.4",
            "1234",
            {"alpha_nominal": 0.691, "alpha_ordinal": 0.807, "alpha_interval": 0.811},
        ),
    ],
)
def test_alpha(tell: Any, units: str, labels: str, found: dict[str, float]) -> None:
    people = tell(items_of(units.split()), {label: at for at, label in enumerate(labels)})["groups"]["humans"]
    assert {name: round(people[name]["value"], 3) for name in found} == found


def test_shrout_and_fleiss_1979(tell: Any) -> None:
    targets = ("9 2 5 8", "6 1 3 2", "8 4 6 8", "7 1 2 6", "10 5 6 9", "6 2 4 7")
    items = [
        respond(n, [human(f"judge {at}", score) for at, score in enumerate(row.split())])
        for n, row in enumerate(targets)
    ]
    found = tell(items, scores(10))["groups"]["humans"]["icc"]
    assert [round(found[name]["value"], 2) for name in ("icc_2_1", "icc_2_k")] == [0.29, 0.62]


def test_anxiety_by_three_raters_of_the_package_irr(tell: Any) -> None:
    ratings = zip("33345523522615221243", "36462424332333221334", "21443216111233113322", strict=True)
    value = tell(items_of(map("".join, ratings)), scores(6))
    assert round(value["groups"]["humans"]["icc"]["icc_2_1"]["value"], 3) == 0.198
    assert round(value["pairs"][0]["kappa_quadratic"]["value"], 3) == 0.297


def test_ranks_with_ties(tell: Any) -> None:
    tied = tell(items_of(("c1", "b4", "a7", "c1", "b0")), {label: at for at, label in enumerate("0147abc")})
    assert round(tied["pairs"][0]["kendall"]["value"], 4) == -0.4714


def test_intelligence_and_hours_before_a_screen(tell: Any) -> None:
    hours = zip((106, 86, 100, 101, 99, 103, 97, 113, 112, 110), (7, 0, 27, 50, 28, 29, 20, 12, 6, 17), strict=True)
    items = [respond(n, [human("iq", str(one)), human("hours", str(two))]) for n, (one, two) in enumerate(hours)]
    pair = tell(items, scores(113, 0))["pairs"][0]
    assert (pair["spearman"]["value"], pair["kendall"]["value"]) == pytest.approx((-29 / 165, -1 / 9))


def test_wilsons_interval_where_all_or_none_agree(tell: Any) -> None:
    none = tell(items_of(["12"] * 20), scores(2))["pairs"][0]["exact"]
    assert (none["method"], none["low"], round(none["high"], 4)) == ("wilson", 0.0, 0.1611)


@pytest.mark.parametrize(
    ("observers", "labels", "found"),
    [
        # Gwet 2014, as the package irrCAC has them: with gaps, in two groups, of two raters one of whom left one out.
        (
            ("112.001122.0131", "1130000.2110231", "203000222100221", ".13....0.10022.", "2..0001.2....31"),
            "0123",
            {"alpha_nominal": 0.481, "ac1": 0.497},
        ),
        (
            ("abccbadab...bb", "abccbbdabe..ba", ".cccbcdbbeaccc", "abccbddabea.bb"),
            "abcde",
            {"alpha_nominal": 0.632, "ac1": 0.685},
        ),
        (
            ("aaaaabbbcaaaaab", "aaaababccaaaaba", "abbcaabbcabbcaa", "ccccaabbcccccaa"),
            "abc",
            {"alpha_nominal": 0.143, "ac1": 0.208, "fleiss_kappa": 0.129},
        ),
        (("aabbdcccedda", "babbbccce.dd"), "abcde", {"alpha_nominal": 0.665, "ac1": 0.661}),
    ],
)
def test_gwets_raters(tell: Any, observers: tuple[str, ...], labels: str, found: dict[str, float]) -> None:
    units = map("".join, zip(*observers, strict=True))
    people = tell(items_of(units), {label: at for at, label in enumerate(labels)})["groups"]["humans"]
    assert {name: round(people[name]["value"], 3) for name in found} == found


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [
        # Fourteen raters, in an encyclopaedia; five raters (Fleiss's book, and the manual of Stata).
        (
            "0,0,0,0,14 0,2,6,4,2 0,0,3,5,6 0,3,9,2,0 2,2,8,1,1 7,7,0,0,0 3,2,6,3,0 2,5,3,2,2 6,5,2,1,0 0,2,2,3,7",
            0.2099,
        ),
        ("1,4,0 2,0,3 0,0,5 4,0,1 3,0,2 1,4,0 5,0,0 0,4,1 1,0,4 3,0,2", 0.4179),
    ],
)
def test_many_raters_of_ten_subjects(tell: Any, counts: str, kappa: float) -> None:
    units = ("".join(str(at) * int(n) for at, n in enumerate(row.split(","), 1)) for row in counts.split())
    assert round(tell(items_of(units), scores(5))["groups"]["humans"]["fleiss_kappa"]["value"], 4) == kappa


def test_four_judges_of_eight_wines(tell: Any) -> None:
    tasted = zip("11366789", "23845579", "03135679", "12436298", strict=True)
    found = tell(items_of(map("".join, tasted)), scores(9, 0))["groups"]["humans"]["icc"]
    assert [round(found[name]["value"], 3) for name in ("icc_2_1", "icc_2_k")] == [0.728, 0.914]


def test_scores_with_decimals_of_hollander_and_wolfe_1973(tell: Any) -> None:
    lightness = (44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1)
    quality = (2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8)
    pairs = enumerate(zip(lightness, quality, strict=True))
    items = [respond(n, [human("lightness", str(one)), human("quality", str(two))]) for n, (one, two) in pairs]
    pair = tell(items, {str(score): score for score in sorted(lightness + quality)})["pairs"][0]
    found = [round(pair[name]["value"], 4) for name in ("pearson", "spearman", "kendall")]
    assert found == [0.5712, 0.6, 0.4444]


def test_strengths_of_four_that_an_encyclopaedia_works_out(store: Store, tmp_path: Path) -> None:
    wins = {"AB": 2, "AD": 1, "BA": 3, "BC": 5, "CB": 3, "CD": 1, "DA": 4, "DC": 3}
    games = [won for won, times in wins.items() for _ in range(times)]
    items = []
    for n, won in enumerate(games):
        sides = {"response_a": "x", "response_b": "y", "model_a": won[0], "model_b": won[1]}
        items.append({"id": f"g{n}", "instruction": f"{n}", **sides, "verdicts": [human("umpire", "A")]})
    put(store, tmp_path, items, "games", write_protocol(tmp_path, "who", {"B": 0, "A": 1}))
    models = agree(store, "games", Options(resamples=20))["models"]
    found = {one["name"]: round(float(np.exp(one["bradley_terry"]["value"])), 3) for one in models}
    assert found == {"A": 0.640, "B": 1.043, "C": 0.660, "D": 2.270}
