"""What is asked of a study's verdicts, as questions whose answers are kept while no verdict and no item is added."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from exchange.agreeing import agree, list_disagreements
from exchange.kept_answers import Question
from exchange.panel import Options
from storage.store import Store


def ask_numbers(store: Store, study: str, rules: Options) -> Question:
    """Ask for everything that `agreement --json` says under these rules."""
    return _ask(store, study, rules, ("numbers", study, rules), lambda: agree(store, study, rules))


def ask_differences(store: Store, study: str, rules: Options, judge: str) -> Question:
    """Ask for the items on which a judge and the people differ."""
    make = partial(list_disagreements, store, study, rules, judge)
    return _ask(store, study, rules, ("differences", study, rules, judge), make)


def _ask(store: Store, study: str, rules: Options, asked: tuple[Any, ...], make: Callable[[], Any]) -> Question:
    # What was tried on the test part is counted over all studies, and scores may be those of another one.
    alone = rules.filters.part == "all" and rules.scores is None

    def state() -> str:
        return f"{store.study(study).items} {store.mark_verdicts(study if alone else None)}"

    return Question(study, asked, state, make)
