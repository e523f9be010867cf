"""The cards of the agreement page that look closer at judges: the report's own tables, each under its question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from exchange.detail_tables import (
    tabulate_balance,
    tabulate_ceilings,
    tabulate_domains,
    tabulate_labels,
    tabulate_left_out,
    tabulate_orders,
    tabulate_otherwise,
    tabulate_ranks,
    tabulate_reliability,
    tabulate_replaced,
    tabulate_scales,
    tabulate_scores,
    tabulate_votes,
)
from exchange.grid import Table, fit
from ui.agreement_parts import show_card, show_texts

MOST_BESIDE = 4  # columns that a card has room for while it shares its row


@dataclass(frozen=True, slots=True)
class Closer:
    """A card that shows one of the report's tables: its name, its title, what it means, and the table."""

    name: str
    title: str
    meant: str
    tabulate: Callable[[dict[str, Any]], Table]


CLOSER = (
    Closer(
        "other-ceilings",
        "The ceiling, otherwise measured",
        "Judges with people beside people with each other, on the same items, in the statistic above and in others.",
        tabulate_ceilings,
    ),
    Closer(
        "left-out",
        "What judges did not say",
        "Replies without a verdict are missing, never a tie: agreement lies between the two ends whatever they meant.",
        tabulate_left_out,
    ),
    Closer(
        "otherwise",
        "Agreement, counted otherwise",
        "The judges against people's consensus in other statistics than those above.",
        tabulate_otherwise,
    ),
    Closer(
        "labels",
        "Labels given",
        "How often each rater gave each label; where one label has nearly all, kappa and AC tell different stories.",
        tabulate_labels,
    ),
    Closer(
        "balance",
        "Which labels it gives",
        "Whether the judge uses the labels as people's consensus does, and how well it finds each of them.",
        tabulate_balance,
    ),
    Closer(
        "reliability",
        "What people say by the true label",
        "How often each person gives each label where Dawid and Skene's consensus has another, or the same.",
        tabulate_reliability,
    ),
    Closer(
        "votes",
        "Every vote counted",
        "Judges against each person's vote, and people against each other's, all pairs of votes in one table.",
        tabulate_votes,
    ),
    Closer(
        "orders",
        "A judge's two orders",
        "What changes when the sides are exchanged, and in which order the judge is right.",
        tabulate_orders,
    ),
    Closer(
        "scores",
        "Scores of judge and people",
        "Over all items, within prompts and between models: three questions whose answers must not be compared.",
        tabulate_scores,
    ),
    Closer(
        "replaced",
        "Whom may the judge replace?",
        "How often the judge, and each person, is at least as close to the other people; the judge may be worse by ε.",
        tabulate_replaced,
    ),
    Closer(
        "domains",
        "May it stand in, by first tag?",
        "The alternative annotator test for the items of each first tag, all of them tested together.",
        tabulate_domains,
    ),
    Closer(
        "ranks",
        "Are the models ranked alike?",
        "The order of the models by the judge's verdicts against that by people's.",
        tabulate_ranks,
    ),
    Closer(
        "scales",
        "Do scores tell the same?",
        "Preferences against the differences of scores given to the same responses.",
        tabulate_scales,
    ),
)


def list_closer_cards(value: dict[str, Any]) -> Iterator[str]:
    """Yield the cards there are numbers for."""
    for card in CLOSER:
        table = card.tabulate(value)
        if table.rows:
            shown = fit(table)
            wide = len(shown.head) > MOST_BESIDE
            yield show_card(card.name, card.title, card.meant, show_texts(card.name, shown), wide=wide)
