"""Agreement through the command: published figures, filters, rules, and reasons where there is no number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from scipy import stats
from small_studies import EDGES, LABELS, check_estimates, human, item, judged, label_of, many, put

import app
from exchange.agreeing import agree, list_cell, list_disagreements
from exchange.importing import ImportRequest, import_files
from exchange.panel import Options
from exchange.report import write_report
from judge.domain import InputError
from judge.protocol import load_protocol
from storage.ratings import Filters
from storage.store import Store

DATA = Path(__file__).parents[3] / "shared" / "data"
QUICK = Options(resamples=200)


@pytest.fixture
def command(tmp_path: Path, capfdbinary, monkeypatch) -> Callable[..., CompletedProcess[bytes]]:
    """Run the command line in this process: a new one for each of these cases would take minutes."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> CompletedProcess[bytes]:
        with pytest.raises(SystemExit) as ended:
            app.main([str(word) for word in words])
        told = capfdbinary.readouterr()
        return CompletedProcess(words, int(ended.value.code or 0), told.out, told.err)

    return run


@pytest.fixture
def database(sqlite_database: str) -> str:
    return sqlite_database


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not (DATA / "pandalm.jsonl").exists():
        pytest.skip(f"{DATA} is not here")
    folder = tmp_path_factory.mktemp("published")
    database = f"sqlite:///{folder / 'accord.db'}"
    store = Store.open(database)
    protocol = load_protocol(DATA / "preference-3way.md")
    for name in ("pandalm", "autoj"):
        import_files(store, ImportRequest([str(DATA / f"{name}.jsonl")], name, protocol), lambda _: None)
    store.close()
    return database


def test_pandalm_as_published_with_its_unreadable_verdicts_counted(published: str, command) -> None:
    value = json.loads(command("agreement", "--study", "pandalm", "--json", "--database", published).stdout)
    kappas = [pair["kappa"]["value"] for pair in value["pairs"] if pair["kinds"] == ["human", "human"]]
    assert kappas == pytest.approx([0.8520, 0.8789, 0.8617], abs=5e-5)
    gpt = next(rater for rater in value["raters"] if rater["name"] == "gpt-3.5-turbo")
    assert (gpt["verdicts"], gpt["unreadable"], gpt["missing"]) == (974, 25, 0)
    judge = next(judge for judge in value["judges"] if judge["name"] == "gpt-3.5-turbo")
    assert judge["vs_consensus"]["n"] == 974
    assert judge["left_out"]["unreadable"] == 25
    low, high = judge["left_out"]["bounds"]
    assert low < judge["vs_consensus"]["exact"]["value"] < high
    assert high - low == pytest.approx(25 / 999)


def test_pandalm_matches_the_golden_values(published: str, command) -> None:
    golden = json.loads((DATA / "golden.json").read_text(encoding="utf-8"))
    value = json.loads(command("agreement", "--study", "pandalm", "--json", "--database", published).stdout)
    pairs = {f"pandalm:{pair['a']}-{pair['b']}": pair for pair in value["pairs"]}
    pairs |= {f"pandalm:majority-{judge['name']}": judge["vs_consensus"] for judge in value["judges"]}
    checked = 0
    for name, truth in golden.items():
        if name in pairs:
            found, checked = pairs[name], checked + 1
            assert [row[::-1] for row in found["confusion"]][::-1] == truth["table"]  # golden: A, tie, B
            for weighting, key in (("nominal", "kappa"), ("linear", "kappa_linear"), ("quadratic", "kappa_quadratic")):
                assert found[key]["value"] == pytest.approx(truth[f"kappa_{weighting}"], abs=1e-9)
            assert found["ac1"]["value"] == pytest.approx(truth["gwet_nominal"], abs=6e-6)
    assert checked == 5


def test_autoj_as_published(published: str, command) -> None:
    value = json.loads(command("agreement", "--study", "autoj", "--json", "--database", published).stdout)
    swap = value["judges"][0]["swap"]
    assert swap["joint"]["value"] == pytest.approx(0.5496, abs=5e-5)
    assert value["judges"][0]["swap_consistency"]["value"] == pytest.approx(0.8341, abs=5e-5)
    assert swap["accuracy_ab"]["value"] == pytest.approx(0.5999, abs=5e-5)


PEOPLE = ("ana", "ben", "eva")


def filtered_items() -> list[dict[str, Any]]:
    def verdicts(n: int) -> list[dict[str, Any]]:
        day = f"2026-01-{n % 20 + 1:02d}T10:00:00Z"
        people = [human(name, label_of(n + at * (n % 4 == 3)), created=day) for at, name in enumerate(PEOPLE)]
        return [*people, judged(label_of(n + n % 2)), judged(label_of(n + n % 3), "BA")]

    tags = (["coding"], ["Coding"], ["maths", 'a "quoted" one'], [])
    return [item(n, verdicts(n), tags=tags[n % 4], model_a=f"m{n % 3}", model_b="base") for n in range(60)]


FILTERS = {
    "tag": (("--tag", "coding"), Filters(tags=("coding",)), lambda one: "coding" in one["tags"]),
    "quoted tag": (("--tag", 'a "quoted" one'), Filters(tags=('a "quoted" one',)), lambda one: len(one["tags"]) == 2),
    "model": (("--model", "m1"), Filters(models=("m1",)), lambda one: one["model_a"] == "m1"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_gives_what_a_study_of_those_items_alone_gives(
    name: str, store: Store, tmp_path: Path, command
) -> None:
    words, filters, chosen = FILTERS[name]
    items = filtered_items()
    put(store, tmp_path, items)
    put(store, tmp_path, [one for one in items if chosen(one)], "alone")
    value = json.loads(command("agreement", "--study", "s", "--json", "--resamples", 200, *words).stdout)
    alone = agree(store, "alone", QUICK)
    assert value["items"] == sum(map(chosen, items))
    assert value["pairs"] == json.loads(json.dumps(alone["pairs"]))
    assert value["judges"] == json.loads(json.dumps(alone["judges"]))
    assert agree(store, "s", Options(resamples=200, filters=filters))["pairs"] == alone["pairs"]


def test_filters_by_person_and_time_choose_human_verdicts(store: Store, tmp_path: Path, command) -> None:
    put(store, tmp_path, filtered_items())
    words = ("agreement", "--study", "s", "--json", "--resamples", 200)
    value = json.loads(command(*words, "--annotator", "ana", "--annotator", "eva").stdout)
    assert [rater["name"] for rater in value["raters"]] == ["ana", "eva", "j"]
    dated = json.loads(command(*words, "--since", "2026-01-06", "--until", "2026-01-11T00:00:00").stdout)
    assert [rater["verdicts"] for rater in dated["raters"]] == [15, 15, 15, 120]
    assert dated["options"]["filters"]["since"].startswith("2026-01-06")
    zoned = ("--since", "2026-01-06T00:00:00Z", "--until", "2026-01-11T02:00:00+02:00")
    assert json.loads(command(*words, *zoned).stdout)["raters"] == dated["raters"]


@pytest.mark.parametrize("share", ["nan", "-0.1", "1.5"])
def test_a_share_that_is_none_holds_nothing_out(store: Store, tmp_path: Path, command, share: str) -> None:
    put(store, tmp_path, filtered_items())
    done = command("agreement", "--study", "s", "--json", "--test-share", share)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--test-share" in done.stderr


def test_the_rules_asked_for_are_the_rules_in_force(store: Store, tmp_path: Path) -> None:
    put(store, tmp_path, filtered_items())
    strict, dropped, first = (
        agree(store, "s", Options(resamples=200, combine=rule))["judges"][0] for rule in ("strict", "drop", "first")
    )
    assert strict["vs_consensus"]["n"] > dropped["vs_consensus"]["n"]
    assert dropped["left_out"]["by_rule"] == {"orders_differ": strict["combined"]["made_ties"]}
    assert first["combined"] == {"rule": "first", "made_ties": 0, "one_order_only": 0, "ruled_by_length": 0}
    three = agree(store, "s", Options(resamples=200, levels="3"))
    assert three["scale"] == ["B", "tie", "A"]
    assert len(three["pairs"][0]["confusion"]) == 3
    two = agree(store, "s", Options(resamples=200, levels="2"))
    assert two["scale"] == ["B", "A"]
    full = agree(store, "s", QUICK)
    policies = {(p["levels"], p["combine"], p["length_k"]): p for p in full["judges"][0]["policies"]}
    assert policies["full", "strict", None]["exact"] == full["judges"][0]["vs_consensus"]["exact"]
    assert policies["3", "strict", None]["kappa"] == three["judges"][0]["vs_consensus"]["kappa"]


def test_clusters_widen_intervals_and_are_named(store: Store, tmp_path: Path, command) -> None:
    items = [
        {**item(n, [human("ana", LABELS[n // 4 % 5]), judged(LABELS[(n // 4 * 3) % 5])]), "instruction": f"Q{n // 4}"}
        for n in range(160)
    ]
    for n, one in enumerate(items):
        one |= {"tags": ["x", f"topic:{n // 8}"], "metadata": {"source": f"doc{n // 4}"}}
    put(store, tmp_path, items)
    alone = agree(store, "s", QUICK)
    assert any("share 40 questions" in warning for warning in alone["warnings"])
    width = {None: alone["judges"][0]["vs_consensus"]["exact"]}
    for named, clusters in (("prompt", 40), ("source", 40), ("tag:topic", 20), ("tag:2", 20)):
        value = agree(store, "s", Options(resamples=200, cluster=named))
        assert value["clusters"] == clusters
        width[named] = value["judges"][0]["vs_consensus"]["exact"]
        assert width[named]["value"] == width[None]["value"]
        assert width[named]["high"] - width[named]["low"] > width[None]["high"] - width[None]["low"]
    assert width["prompt"] == width["source"]
    with pytest.raises(InputError, match="--cluster tag:nosuch: no item has such a tag"):
        agree(store, "s", Options(resamples=20, cluster="tag:nosuch"))
    with pytest.raises(InputError, match="no item has such a field"):
        agree(store, "s", Options(cluster="nonesuch"))


def test_a_cell_of_the_confusion_lists_its_items_and_disagreements_come_furthest_first(
    store: Store, tmp_path: Path
) -> None:
    put(store, tmp_path, filtered_items())
    table = agree(store, "s", QUICK)["judges"][0]["vs_consensus"]["confusion"]
    for row, counts in enumerate(table):
        for column, count in enumerate(counts):
            assert len(list_cell(store, "s", QUICK, ("consensus", "j"), (row, column))) == count
    found = list_disagreements(store, "s", QUICK, "j")
    assert len(found) == sum(map(sum, table)) - sum(table[at][at] for at in range(5))
    distances = [entry["distance"] for entry in found]
    assert distances == sorted(distances, reverse=True)
    scale = agree(store, "s", QUICK)["scale"]
    apart = [abs(scale.index(entry["people"]) - scale.index(entry["judge"])) for entry in found]
    assert [entry["steps"] for entry in found] == apart


def test_of_equal_disagreements_the_one_the_judge_was_surest_of_comes_first(store: Store, tmp_path: Path) -> None:
    sure = {1: 1, 2: 3, 3: 2}
    put(
        store,
        tmp_path,
        many(
            lambda n: [
                human("ana", "A++" if n == 4 else "A+"),
                judged("B+", **({"confidence": sure[n]} if n in sure else {})),
            ],
            5,
        ),
    )
    ranked = [entry["position"] for entry in list_disagreements(store, "s", QUICK, "j")]
    assert store.names_at("s", ranked) == ["q4", "q2", "q3", "q1", "q0"]


def test_hidden_repeats_pace_and_drift_of_a_person(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        day = f"2026-01-{n + 1:02d}T10:00:00Z"
        right = label_of(n) if n < 10 else label_of(n + 1)
        first = [human("ana", right, seconds=float(n), created=day, order="AB" if n % 2 else "BA")]
        others = [human(name, label_of(n), created=day) for name in ("ben", "eva")]
        again = [human("ana", right if n < 5 else "A=B", repeat=True, order="AB")] if n < 8 else []
        return [*first, *others, *again]

    value = agree(store, put(store, tmp_path, many(verdicts, 20)), QUICK)
    ana = value["raters"][0]
    assert (ana["verdicts"], ana["repeats"]) == (20, 8)
    assert ana["self_consistency"]["n"] == 8
    assert ana["self_consistency"]["consistency"]["value"] >= 5 / 8
    assert ana["pace"]["median"] == 9.5
    assert (ana["drift"]["early"]["value"], ana["drift"]["late"]["value"]) == (1.0, 0.0)
    assert ana["position"]["first_position_rate"]["value"] is not None


def test_several_answers_of_a_judge_count_once_and_show_its_consistency(store: Store, tmp_path: Path) -> None:
    items = many(lambda n: [human("ana", "A+"), judged("A+"), judged("A+" if n % 2 else "B+", comment="again")])
    value = agree(store, put(store, tmp_path, items), QUICK)
    assert value["judges"][0]["vs_consensus"]["exact"]["value"] == 1.0
    assert value["raters"][1]["self_consistency"]["consistency"]["value"] == 0.5


def test_scores_have_their_own_statistics(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        people = [
            human(name, str(1 + (n * 3 + at * (n % 4 == 0)) % 5)) for at, name in enumerate(("ana", "ben", "eva"))
        ]
        return [*people, judged(str(1 + (n * 3 + n % 2) % 5))]

    items = [
        {"id": f"q{n}", "instruction": f"Q{n // 4}?", "response": "x" * (n + 1), "rubric": "helpfulness"}
        for n in range(40)
    ]
    for n, one in enumerate(items):
        one |= {"verdicts": verdicts(n), "model_a": f"m{n % 3}"}
    value = agree(store, put(store, tmp_path, items, protocol="prometheus-direct-no-reference"), QUICK)
    check_estimates(value)
    judge = value["judges"][0]
    assert judge["statistic"] == "pearson"
    assert judge["gap"]["value"] is not None
    assert 0 < judge["vs_consensus"]["ranking_accuracy"]["value"] <= 1
    assert value["groups"]["humans"]["icc"]["icc_2_1"]["value"] > 0.5
    assert value["models"][0]["mean_score"]["value"] is not None
    assert judge["corrected_win_rate"]["of"] == "mean score"
    write_report(value)
    with pytest.raises(InputError, match="three or two levels"):
        agree(store, "s", Options(levels="3"))


def test_wrong_calls_say_what_to_do(store: Store, tmp_path: Path, command) -> None:
    put(store, tmp_path, EDGES["one item"])
    for words in (("--study", "no"), ("--study", "s", "--epsilon", 7), ("--study", "s", "--cluster", "no")):
        done = command("agreement", *words)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr


def test_people_read_the_sentence_first(store: Store, tmp_path: Path, command) -> None:
    put(store, tmp_path, filtered_items())
    told = command("agreement", "--study", "s", "--resamples", 200, "--html", "report.html").stdout.decode()
    assert told.startswith("j agrees with people ")
    assert "60 items" not in told or "3 annotators" in told
    assert command("agreement", "--study", "s", "--resamples", 200).stdout.decode().startswith(told.strip())
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_dawid_and_skene_tell_each_person_s_confusion(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        right = [human(name, "A+" if n % 2 else "B+") for name in ("ana", "ben", "eva")]
        return [*right, human("zoe", "A+" if n % 2 and n % 4 == 1 else "B+"), judged("A+")]

    put(store, tmp_path, many(verdicts, 40))
    found = agree(store, "s", Options(resamples=50, consensus="dawid-skene"))["consensus"]
    assert list(found["confusion"]) == ["ana", "ben", "eva", "zoe"]
    right, left = LABELS[::-1].index("A+"), LABELS[::-1].index("B+")
    assert found["confusion"]["ana"][right][right] == pytest.approx(1, abs=0.01)
    assert found["confusion"]["zoe"][right][left] == pytest.approx(0.5, abs=0.01)  # misses half of what is A+
    assert all(sum(row) == pytest.approx(1) for matrix in found["confusion"].values() for row in matrix)
    assert "confusion" not in agree(store, "s", Options(resamples=50))["consensus"]


def test_comparisons_of_several_judges_have_both_kinds_of_q(store: Store, tmp_path: Path) -> None:
    def verdicts(n: int) -> list[dict[str, Any]]:
        said = [judged("B+" if n % every == 0 else "A+", name=f"j{every}") for every in (2, 3, 7)]
        return [human("ana", "A+"), *said]

    put(store, tmp_path, many(verdicts, 84))
    value = agree(store, "s", Options(resamples=50))
    chances = [pair["mcnemar_p"] for pair in value["comparisons"]]
    for key, method in (("q", "bh"), ("q_dependent", "by")):
        found = [pair[key] for pair in value["comparisons"]]
        assert found == pytest.approx(stats.false_discovery_control(chances, method=method).tolist())
    assert "q, dependent" in write_report(value)
