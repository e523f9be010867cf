"""The example studies: items written for Accord, with verdicts of simulated people and judges whose leanings are known.

The items are in `examples/studies`. Nobody gave these verdicts and no model was asked; every name says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exchange.importing import split_pair
from exchange.interchange import Record, record_from_json
from exchange.simulating import SimulatedRater, simulate_verdicts
from judge.domain import Item, Study
from judge.protocol import Protocol, find_protocol
from storage.imports import Added, prepare
from storage.store import Store

FOLDER = Path(__file__).parent.parent / "examples" / "studies"
SEED = 8
PEOPLE = (
    SimulatedRater("simulated-ana", "human", noise=0.35, repeats=0.25, seconds=41),
    SimulatedRater("simulated-ben", "human", noise=0.6, repeats=0.25, seconds=27),
    SimulatedRater("simulated-eva", "human", noise=0.9, repeats=0.25, seconds=19),
)
# One judge leans to whatever it reads first (and scores low), the other to whatever is longer.
JUDGES = (
    SimulatedRater("simulated-judge-first", "judge", noise=0.4, first=0.5, lift=-0.8),
    SimulatedRater("simulated-judge-long", "judge", noise=0.4, longer=2.5, silent=0.04),
)
RATERS = PEOPLE + JUDGES
GUIDELINES = """**This is an example.** The questions and answers were written for Accord; the verdicts by \
`simulated-…` raters come from a seeded simulation, not from people or models. Three simulated people differ in \
how noisy they are. One simulated judge prefers what it reads first, the other what is longer.

{how}

Two places per item are left, so you can give your own verdicts. Nothing here is secret: try everything.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """An example study: its name, its items, how a verdict is asked for, and what its annotators are told."""

    name: str
    file: str
    protocol: str
    how: str


EXAMPLES = (
    Example(
        "Example: WildBench",
        "wildbench.jsonl",
        "wildbench-pairwise",
        "Say which response is of more use to the person who asked, and how much. The checklist helps; it need not "
        "decide.",
    ),
    Example(
        "Example: Prometheus pairs",
        "prometheus.jsonl",
        "prometheus-pairwise",
        "Say which response is better by the rubric. There is no tie: decide.",
    ),
    Example(
        "Example: Prometheus scores",
        "prometheus.jsonl",
        "prometheus-direct",
        "Score the response by the rubric, from 1 to 5, with the reference beside it.",
    ),
)


def load_examples(store: Store, seed: int = SEED, by: str = "") -> Added:
    """Put the example studies into the database; what is there already stays as it is."""
    added = Added()
    for example in EXAMPLES:
        protocol = find_protocol(example.protocol)
        if store.find_study(example.name) is None:
            store.create_study(_study(example, protocol), by)
        items = list(read_example(example, protocol))
        verdicts = simulate_verdicts(items, protocol.version, RATERS, seed)
        batch = [prepare(item, given) for item, given in zip(items, verdicts, strict=True)]
        added += store.add_prepared(example.name, batch)
    return added


def _study(example: Example, protocol: Protocol) -> Study:
    return Study(
        example.name,
        protocol.version,
        wanted=len(PEOPLE) + 2,
        reveal=True,
        guidelines=GUIDELINES.format(how=example.how),
    )


def read_example(example: Example, protocol: Protocol) -> Iterator[Item]:
    """Yield an example's items as they are stored."""
    for line in (FOLDER / example.file).read_text(encoding="utf-8").splitlines():
        record = record_from_json(json.loads(line))
        for part in split_pair(Record(record.item), protocol):
            yield part.item
