"""The first sentence: which judge it speaks of, and that it calls nothing unknown that is known."""

from __future__ import annotations

from small_studies import human, judged, many, put

from exchange.agreeing import agree
from exchange.glossary import words_said
from exchange.panel import Options
from exchange.sentences import tell

QUICK = Options(resamples=100)


def judge(name: str, with_people: float, ceiling: float) -> dict:
    def made(value: float) -> dict:
        return {"value": value, "low": value - 0.05, "high": value + 0.05, "n": 90}

    gap = made(with_people - ceiling) | {"statistic": "kappa", "humans": 3}
    return {"name": name, "leave_one_out": made(with_people), "human_ceiling": made(ceiling), "gap": gap}


def test_the_closest_judge_is_the_one_with_the_smallest_gap():
    people = [{"kind": "human", "verdicts": 90}]
    judges = [judge("hard items", 0.55, 0.70), judge("easy items", 0.58, 0.75)]
    value = {"split": {"part": "all"}, "options": {"filters": {}}, "raters": people, "judges": judges}
    assert tell(value).startswith("hard items (the closest of 2 judges) agrees with people less than")


def test_where_all_say_the_same_only_chance_is_unknown(store, tmp_path):
    verdicts = [human("ana", "A=B"), human("ben", "A=B"), judged("A=B"), judged("A=B", "BA")]
    told = agree(store, put(store, tmp_path, many(lambda _: verdicts, 20)), QUICK)["sentence"]
    assert "of 20 items (2 annotators), and people as each other on 100 %; how far that is beyond chance is" in told
    assert "–" not in told


def test_the_words_of_a_sentence_are_explained():
    told = words_said("j agrees with people less: gap −0.16 [−0.25, −0.08] in quadratic kappa, 193 items.")
    assert list(told) == ["gap", "quadratic kappa", "[…, …]"]
    assert "1 is perfect, 0 is chance" in told["quadratic kappa"]
    assert list(words_said("j gives the same label (kappa 0.20, 2 annotators)")) == ["kappa"]
    assert words_said("The study has 3 items and no verdict yet.") == {}
