"""Tables from the literature, through the door that a reader has: a file, a protocol of its own, and the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_studies import check_estimates, human, judged, put, write_protocol

from exchange.agreeing import agree
from exchange.panel import Options
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


def scores(highest: int) -> dict[str, float]:
    return {str(score): score for score in range(1, highest + 1)}


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
    ],
)
def test_two_raters(tell, table: list[list[int]], found: dict[str, float]) -> None:
    value = tell(items_of_table(table), scores(len(table)))
    pair = value["judges"][0]["vs_consensus"]
    assert pair["confusion"] == table
    assert {name: round(pair[name]["value"], 4) for name in found} == found


@pytest.mark.parametrize(
    ("table", "homogeneity", "symmetry"),
    [
        ([[35, 5, 0], [15, 20, 5], [10, 5, 5]], (14.00, 2), (15.00, 3)),  # Maxwell 1970
        ([[794, 150], [86, 570]], (17.36, 1), (17.36, 1)),  # McNemar, as in Agresti 1990
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
