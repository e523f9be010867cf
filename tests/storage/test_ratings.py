"""Verdicts as columns: which of them count, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from judge.domain import GivenVerdict, Item, Study, Turn
from judge.protocol import load_protocol
from storage import ratings
from storage.columns import STATUSES
from storage.imports import prepare
from storage.ratings import Filters
from storage.store import Store
from storage.verdicts import Submission


def labels(store: Store, rater: str = "ana") -> dict[int, str]:
    found = store.ratings("s")
    names = [one.name for one in found.raters]
    if rater not in names:
        return {}
    mine = found.rater == names.index(rater)
    known = store.study("s").protocol.scale.labels
    return dict(zip(found.item[mine].tolist(), [known[code] for code in found.code[mine]], strict=True))


def test_of_several_revisions_the_last_one_counts(store, make_study) -> None:
    make_study(1)
    claim = store.claim_next("s", "ana")
    store.save_verdict(claim.token, Submission("tie"))
    store.save_verdict(claim.token, Submission("A" if claim.order == "AB" else "B"))
    assert labels(store) == {0: "A"}


def test_what_is_said_after_a_reveal_does_not_count_and_is_counted(store, make_study) -> None:
    make_study(1, reveal=True)
    claim = store.claim_next("s", "ana")
    store.save_verdict(claim.token, Submission("tie"))
    store.reveal(claim.token)
    store.save_verdict(claim.token, Submission("A"))
    assert labels(store) == {0: "tie"}
    assert store.ratings("s").set_aside == {"after_reveal": 1}


def test_a_withdrawn_verdict_does_not_count(store, make_study) -> None:
    make_study(1)
    claim = store.claim_next("s", "ana")
    store.save_verdict(claim.token, Submission("tie"))
    store.undo_verdict(claim.token)
    assert labels(store) == {}
    assert store.ratings("s").set_aside == {"withdrawn": 1}
    store.save_verdict(claim.token, Submission("A" if claim.order == "AB" else "B"))
    assert labels(store) == {0: "A"}


PREFERENCE = load_protocol(Path(__file__).parents[1] / "judge/protocols/preference-3way.md").version


@pytest.fixture
def collected(store) -> Store:
    store.create_study(Study("other", PREFERENCE))
    store.create_study(Study("s", PREFERENCE))
    start = datetime(2026, 1, 1, tzinfo=UTC)
    for study in ("other", "s"):
        made = []
        for n in range(6):
            item = Item(
                f"{study}{n}",
                (Turn("user", f"Q{n // 2}"),),
                "x" * n,
                "y" * (10 - n),
                f"m{n % 2}",
                "m9",
                tags=("t", f"u{n % 3}"),
                cluster="pair" if n < 2 else None,
            )
            given = [
                GivenVerdict("ana", "human", "A", order="BA", seconds=n + 0.5, created=start + timedelta(days=n)),
                GivenVerdict("ben", "human", ("A", "tie", "B")[n % 3]),
                GivenVerdict("ana", "human", "B", repeat=True),
                GivenVerdict("gpt", "judge", "B", order="AB"),
                GivenVerdict("gpt", "judge", None, STATUSES[n % 4 + 1], order="BA"),  # type: ignore[arg-type]
            ]
            made.append(prepare(item, given))
        store.add_prepared(study, made)
    return store


def test_seconds_come_back_to_the_last_digit(store) -> None:
    store.create_study(Study("s", PREFERENCE))
    rng = np.random.default_rng(0)
    odd = [0.0, 0.0005, 0.1, 1 / 3, 2.675, 31.5, 1234.5678, 1e-9, 0.1 + 0.2, 999_999_999.9995, 1e9, 3e15, 1e300]
    seconds = [*odd, *rng.random(20) * 90, *np.round(rng.random(20) * 90, 3)]
    given = [
        prepare(Item(f"q{n}", (Turn("user", "Q"),), "x", "y"), [GivenVerdict("ana", "human", "A", seconds=float(one))])
        for n, one in enumerate(seconds)
    ]
    store.add_prepared("s", given)
    assert store.ratings("s").seconds.tolist() == seconds


def test_every_column_is_what_was_imported(collected) -> None:
    found = collected.ratings("s")
    assert [(one.name, one.kind) for one in found.raters] == [("ana", "human"), ("ben", "human"), ("gpt", "judge")]
    assert len(found.facts) == 6
    assert found.facts.length_a.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.facts.length_b.tolist() == [10, 9, 8, 7, 6, 5]
    assert [found.facts.model_a.names[code] for code in found.facts.model_a.codes] == ["m0", "m1"] * 3
    assert [found.facts.tags.names[code] for code in found.facts.tags.codes] == [("t", f"u{n % 3}") for n in range(6)]
    assert found.facts.cluster.codes.tolist() == [0, 0, -1, -1, -1, -1]
    assert found.facts.question.codes.tolist() == [0, 0, 1, 1, 2, 2]
    first = (found.rater == 0) & ~found.repeat
    assert found.item[first].tolist() == list(range(6))
    assert found.order[first].tolist() == [1] * 6
    assert found.seconds[first].tolist() == [n + 0.5 for n in range(6)]
    assert np.diff(found.time[first]).tolist() == [86400.0] * 5
    assert np.isnan(found.time[found.rater == 1]).all()
    silent = found.code < 0
    assert [STATUSES[code] for code in found.status[silent]] == [STATUSES[n % 4 + 1] for n in range(6)]
    assert (found.status[~silent] == 0).all()


def test_filters_choose_in_the_database(collected) -> None:
    def counted(**wanted) -> tuple[int, int]:
        found = collected.ratings("s", Filters(**wanted))
        return len(found.facts), found.item.size

    assert counted() == (6, 30)
    assert counted(tags=("u1",)) == (2, 10)
    assert counted(tags=("u1", "u2")) == (4, 20)
    assert counted(tags=("U1",)) == (0, 0)
    assert counted(models=("m0",)) == (3, 15)
    assert counted(models=("m9",), tags=("u0",)) == (2, 10)
    assert counted(annotators=("ben",)) == (6, 18)
    assert counted(since=datetime(2026, 1, 3, tzinfo=UTC), until=datetime(2026, 1, 5, tzinfo=UTC)) == (6, 14)


@pytest.mark.parametrize("named", [1, 5_000])
def test_a_moment_divides_verdicts_to_the_microsecond(store, make_study, named, monkeypatch) -> None:
    monkeypatch.setattr(ratings, "MOST_NAMED", named)
    make_study(0)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    parts = [0, 1, 499_999, 500_000, 999_499, 999_500, 999_999, 1_000_000, 1_000_001, 1_999_999, 2_500_000]
    given = [start + timedelta(microseconds=part) for part in parts]
    made = [
        prepare(Item(f"q{n}", (Turn("user", f"Q{n}"),), "a", "b"), [GivenVerdict("ana", "human", "A", created=when)])
        for n, when in enumerate(given)
    ]
    store.add_prepared("s", made)
    for moment in (*given, start + timedelta(seconds=9), start - timedelta(seconds=9)):
        after = store.ratings("s", Filters(since=moment)).item.tolist()
        assert after == [n for n, when in enumerate(given) if when >= moment]
        before = store.ratings("s", Filters(until=moment)).item.tolist()
        assert before == [n for n, when in enumerate(given) if when < moment]


def test_a_reply_read_again_keeps_its_place_among_a_judges_answers(store, make_study) -> None:
    make_study(0)
    item = Item("q", (Turn("user", "Q"),), "a", "b")
    answers = [GivenVerdict("gpt", "judge", label, order="AB", raw=f"reply {label}") for label in ("A", "B")]
    store.add_prepared("s", [prepare(item, answers)])

    def read(call) -> tuple[str, str]:
        return "ok", "tie" if call.raw == "reply A" else "B"

    assert len(store.read_again("s", read)) == 1
    found = store.ratings("s")
    known = store.study("s").protocol.scale.labels
    assert [known[code] for code in found.code] == ["tie", "B"]


def test_imports_after_a_collected_verdict_come_before_it(store, make_study) -> None:
    make_study(1)
    claim = store.claim_next("s", "ana")
    store.save_verdict(claim.token, Submission("A" if claim.order == "AB" else "B"))
    item = store.item("s", claim.item.id)
    for label in ("tie", "B"):
        store.add_prepared("s", [prepare(item, [GivenVerdict("ana", "human", label)])])
        assert labels(store) == {0: "A"}
