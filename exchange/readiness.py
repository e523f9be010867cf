"""Numbers made before anybody asks for them, after many new verdicts: whoever opens the study first need not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from storage.store import Store

MANY_VERDICTS = 50_000  # new ones, which take so long to read that their numbers would be waited for


def make_ready(store: Store, study: str, tell: Callable[[str], None]) -> None:
    """Have a study's numbers under the usual rules ready."""
    # Statistics take longer to load than a small import takes.
    from exchange.kept_answers import KeptAnswers
    from exchange.panel import Options
    from exchange.questions import ask_numbers

    tell("making the numbers")
    KeptAnswers(store).answer(ask_numbers(store, study, Options()))
