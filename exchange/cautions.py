"""What to beware of in the estimates themselves: one sentence for each kind of weakness, naming whom it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agreement.comparison import PARADOX
from agreement.estimate import DEFINED_RESAMPLES, FEW_CLUSTERS, FEW_ITEMS, SKEWED_ITEMS, SKEWED_SHARE
from agreement.intervals import UNDEFINED_RESAMPLES
from agreement.pairs import top_share
from exchange.figures import write_decimal, write_percent
from exchange.panel import Panel

MOST_NAMED = 5
TOO_FEW = 10  # items, below which that alone is enough to know
KINDS = {
    "items": f"fewer than {FEW_ITEMS} items",
    "clusters": f"fewer than {FEW_CLUSTERS} clusters",
    "skew": f"one label has more than {write_percent(SKEWED_SHARE)} of the verdicts on fewer than {SKEWED_ITEMS} items,"
    " where intervals hold the truth less often than they say",
    "resamples": f"fewer than {write_percent(DEFINED_RESAMPLES)} of the resamples are defined, so there is no interval",
    "constant": "zero variance, since one of two raters always gives the same label",
    "paradox": "kappa and AC may tell different stories, so read both beside the labels' shares",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """Some raters whose estimates may be weak: who they are, on how much, and where there are two, their table."""

    name: str
    n: int
    clusters: int | None = None
    share: float | None = None
    undefined: list[str] = field(default_factory=list)
    table: list[list[int]] | None = None
    paradox: tuple[float, float] | None = None

    def weaknesses(self) -> Iterator[tuple[str, str]]:
        """Yield each kind of weakness with what shows it."""
        if self.n < FEW_ITEMS:
            yield "items", str(self.n)
        if self.n < TOO_FEW:
            return
        if self.clusters is not None and self.clusters < FEW_CLUSTERS:
            yield "clusters", str(self.clusters)
        if self.share is not None and self.share > SKEWED_SHARE and self.n < SKEWED_ITEMS:
            yield "skew", f"{write_percent(self.share)} of {self.n}"
        if self.undefined:
            yield "resamples", ", ".join(self.undefined)
        if self.table and any(np.count_nonzero(np.sum(self.table, axis=side)) == 1 for side in (0, 1)):
            yield "constant", ""
        if self.paradox is not None:
            yield "paradox", "kappa {}, AC1 {}".format(*map(write_decimal, self.paradox))


def list_cautions(panel: Panel, value: dict[str, Any]) -> list[str]:
    """Return one sentence for each kind of weakness among people, judges with people, and corrected rates."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for subject in _subjects(panel, value):
        for kind, shown in subject.weaknesses():
            found[kind].append(f"{subject.name} ({shown})" if shown else subject.name)
    return [f"{KINDS[kind]}: {list_some(names)}" for kind, names in found.items() if names]


def list_some(names: list[str]) -> str:
    """Return names as a list that does not grow without end."""
    rest = len(names) - MOST_NAMED
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:MOST_NAMED])} and {rest} more"


def _subjects(panel: Panel, value: dict[str, Any]) -> Iterator[Subject]:
    people = value["groups"]["humans"]
    if people["n_items"]:
        codes = panel.codes[:, list(panel.humans)]
        counts = np.bincount(codes[codes >= 0])
        clusters = people["alpha_nominal"].get("clusters")
        yield Subject(
            "all people", people["n_items"], clusters, float(counts.max() / counts.sum()), _without_interval(people)
        )
    for pair in value["pairs"]:
        if pair["kinds"] == ["human", "human"] and pair["n"]:
            yield _of_pair(f"{pair['a']} and {pair['b']}", pair)
    for judge in value["judges"]:
        if judge["vs_consensus"]["n"]:
            yield _of_pair(f"{judge['name']} and the consensus", judge["vs_consensus"])
        gap, headed = judge["gap"], judge["vs_consensus"]["n"]
        if gap["value"] is not None and gap["n"] != headed:
            yield Subject(f"{judge['name']} beside people's agreement", gap["n"], gap.get("clusters"))
        corrected = judge["corrected_win_rate"]
        if corrected["value"] is not None:
            yield Subject(f"rates corrected by {judge['name']}", corrected["n"], corrected.get("clusters"))


def _of_pair(name: str, pair: dict[str, Any]) -> Subject:
    share, kappa, ac = top_share(pair["confusion"]), pair["kappa"]["value"], pair["ac1"]["value"]
    apart = kappa is not None and ac is not None and (abs(kappa - ac) > PARADOX or share > SKEWED_SHARE)
    told = (kappa, ac) if apart else None
    return Subject(
        name, pair["n"], pair["exact"].get("clusters"), share, _without_interval(pair), pair["confusion"], told
    )


def _without_interval(value: dict[str, Any]) -> list[str]:
    """Return the names of estimates that too few resamples define."""
    made = {name: found for name, found in value.items() if isinstance(found, dict) and "value" in found}
    return [name.replace("_", " ") for name, found in made.items() if UNDEFINED_RESAMPLES in (found.get("why") or "")]
