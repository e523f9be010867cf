"""A study's agreement as markup: the sentence, the ceiling, the judges, and a card for every question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from exchange.charts import ceiling_chart
from exchange.detail_tables import chance
from exchange.drawing import WIDE
from exchange.glossary import AC1, KAPPA, MEANINGS, QUADRATIC, words_said
from ui.agreement_cards import list_cards
from ui.agreement_parts import (
    cell,
    count_cell,
    estimate_cell,
    show_both,
    show_cells,
    show_dash,
    show_estimates,
    show_figure,
    show_glossary,
    show_listing,
    show_number,
    show_rater,
    show_reasons,
)
from ui.display import escape
from ui.notices import count, show_hint, show_moment

Value = dict[str, Any]
SURE = 0.05  # the chance of a false alarm that is taken
INTERVAL = re.compile(r"[−\d.%\s]*\[[−\d.,%\s]+\]")  # a number with its ends stays on one line
HEADS = (
    ("Judge", ""),
    ("n", "Items with a label of the judge and a consensus of people"),
    ("Agreement", "Share of items on which judge and consensus have the same label"),
    ("Kappa", KAPPA),
    ("Quadratic", QUADRATIC),
    ("AC1", AC1),
    ("With people", "The judge against each person, on the same items as the next column"),
    ("Ceiling", "People against each other, on the items that have the judge and two people"),
    ("Gap", "The judge with people minus people with each other; negative is worse than a person"),
    (
        "Alt-test",
        "Whether the judge may stand in for a person: the share ω of people it may replace, at least one half",
    ),
    ("Silent", "Replies without a verdict: unreadable, refused, cut off or failed"),
)


def show_views(study: str, view: str, moment: datetime, holds: bool) -> str:
    """Return the study's name, the two views, as of when the numbers are, and whether they still hold."""
    links = "".join(
        f'<a data-view="{name}"{" aria-current=page" if name == view else ""}>{title}</a>'
        for name, title in (("", "Numbers"), ("disagreements", "Disagreements"))
    )
    since = "" if holds else ' <span data-renew role="status">· verdicts came since: computing …</span>'
    return (
        f'<div class="agreement-head"><h2><bdi>{escape(study)}</bdi></h2><nav class="views" aria-label="Views">{links}'
        f'</nav><span class="as-of">As of {show_moment(moment)}{since}'
        '</span><button type="button" data-refresh>Refresh</button></div>'
    )


def show_sentence(value: Value) -> str:
    """Return the sentence in large type, what its words mean, and what to beware of behind it."""
    whole = INTERVAL.sub(r'<span class="whole">\g<0></span>', escape(value["sentence"]))
    meant = show_glossary(words_said(value["sentence"]))
    return f'<p class="sentence"><bdi>{whole}</bdi></p>{meant}{_warnings(value["warnings"])}'


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    listed = "".join(f"<li><bdi>{escape(warning)}</bdi></li>" for warning in warnings)
    told = "One thing" if len(warnings) == 1 else f"{len(warnings)} things"
    return f'<details class="beware"><summary>{told} to beware of</summary><ul>{listed}</ul></details>'


def show_value(value: Value, chosen: str) -> str:
    """Return everything below the sentence; `chosen` is the judge in those cards that show one."""
    return "".join(_sections(value, chosen))


def _sections(value: Value, chosen: str) -> Iterator[str]:
    judges = value["judges"]
    if judges:
        yield _ceiling(judges)
        yield f"<h2>Judges</h2>{_judges(judges)}"
        if value["comparisons"]:
            yield _comparison(value)
    elif value["raters"]:
        yield show_hint("No judge has given a verdict yet: start one on the Judges page.")
    elif value["options"]["filters"]:
        yield show_hint("Numbers appear when the filters leave items with verdicts: clear or change some of them.")
    else:
        yield show_hint(
            "Numbers appear with the first verdicts: people give them on Review, judges on the Judges page."
        )
    at = next((place for place, judge in enumerate(judges) if judge["name"] == chosen), 0)
    yield _picker(judges, at)
    yield f'<div class="cards">{"".join(list_cards(value, at))}</div>'
    yield _takes()


def _ceiling(judges: Sequence[Value]) -> str:
    rows = []
    for judge in judges:
        rows.append(
            (f"{show_rater('human', 'people')}, items of <bdi>{escape(judge['name'])}</bdi>", judge["human_ceiling"])
        )
        rows.append((show_rater("judge", judge["name"]), judge["leave_one_out"]))
        rows.append((f"gap of <bdi>{escape(judge['name'])}</bdi>", judge["gap"]))
    numbers = show_estimates("The human ceiling", rows)
    if all(judge["leave_one_out"]["value"] is None for judge in judges):
        return show_reasons(numbers, judges[0]["leave_one_out"].get("why", ""))
    return show_figure("ceiling", show_both(partial(ceiling_chart, judges), WIDE), numbers)


def _judges(judges: Sequence[Value]) -> str:
    rows = []
    for judge in judges:
        pair, left = judge["vs_consensus"], judge["left_out"]
        silent = sum(left[reason] for reason in ("unreadable", "refused", "cut_off", "failed"))
        name = judge["name"]
        rows.append(
            cell(show_rater("judge", name), name)
            + count_cell(pair["n"])
            + estimate_cell(pair["exact"], percent=True)
            + "".join(estimate_cell(pair[key]) for key in ("kappa", "kappa_quadratic", "ac1"))
            + "".join(estimate_cell(judge[key]) for key in ("leave_one_out", "human_ceiling", "gap"))
            + _alt_test(judge["alt_test"])
            + count_cell(silent)
        )
    meanings = {name: meant for name, meant in HEADS if meant}
    if len(judges) > 1:
        meanings |= {"McNemar’s test": MEANINGS["McNemar p"], "q": MEANINGS["q"]}
    return show_listing("judges", show_cells("Judges", HEADS, rows, sorts=True), meanings=meanings)


def _alt_test(test: Value) -> str:
    if test["passes"] is None:
        return cell(show_dash(test["why"] or "undefined"), "")
    told = "passes" if test["passes"] else "fails"
    return cell(f"ω {test['winning_rate']:.2f}, {told}", test["winning_rate"])


def _comparison(value: Value) -> str:
    names = [judge["name"] for judge in value["judges"]]
    place = {name: at for at, name in enumerate(names)}
    options = "".join(f'<option value="{at}">{escape(name)}</option>' for at, name in enumerate(names))
    found = "".join(
        f'<p data-pair="{place[pair["a"]]}-{place[pair["b"]]}" hidden>{_difference(pair, value)}</p>'
        for pair in value["comparisons"]
    )
    return (
        f'<div class="compare"><p><label>Compare <select data-compare="0" aria-label="First judge">{options}</select>'
        f'</label> <label>with <select data-compare="1" aria-label="Second judge">{options}</select></label></p>'
        f'<div role="status">{found}<p data-pair="same" hidden>Choose two different judges.</p></div></div>'
    )


def _difference(pair: Value, value: Value) -> str:
    if not pair["n"]:
        return "There is nothing to compare: no item has both judges and a consensus of people."
    apart = f"<bdi>{escape(pair['b'])}</bdi> minus <bdi>{escape(pair['a'])}</bdi>"
    numbers = [f"agreement {show_number(pair['exact'], percent=True)}"]
    told_as = {"kappa": "kappa", "ac1": "AC1", "pearson": "Pearson’s r"}
    kept = [key for key in told_as if key != "pearson" or value["kind"] == "direct"]
    numbers += [f"{told_as[key]} {show_number(pair[key])}" for key in kept]
    many, pairs = "", len(value["comparisons"])
    if pairs > 1 and pair.get("q") is not None:
        q = f'<span title="{escape(MEANINGS["q"])}">q</span> {escape(chance(pair["q"], ""))}'
        many = f", {q} over {pairs} pairs of judges"
    return (
        f"{_told_apart(pair)}{apart}, on the same {count(pair['n'], 'item')} and people: {', '.join(numbers)}; "
        f'<span title="{escape(MEANINGS["McNemar p"])}">McNemar’s test</span> p {_chance(pair)}{many}.'
    )


def _chance(pair: Value) -> str:
    p = pair["mcnemar_p"]
    return show_dash(pair["mcnemar_p_why"]) if p is None else escape(chance(p, ""))


def _told_apart(pair: Value) -> str:
    """Return in plain words what interval and test say; they have to agree, the test for how many pairs there are."""
    low, high, (one, other) = pair["exact"]["low"], pair["exact"]["high"], (pair["b"], pair["a"])
    if low is None or high is None:
        return ""
    if low <= 0 <= high or pair.get("q", 1.0) > SURE:
        return "<strong>The two cannot be told apart by how often they agree with people.</strong> "
    if high < 0:
        one, other = other, one
    return f"<strong><bdi>{escape(one)}</bdi> agrees with people more often than <bdi>{escape(other)}</bdi>.</strong> "


def _picker(judges: Sequence[Value], at: int) -> str:
    if len(judges) < 2:
        return "<h2>Closer</h2>" if judges else ""
    options = "".join(
        f'<option value="{place}"{" selected" if place == at else ""}>{escape(judge["name"])}</option>'
        for place, judge in enumerate(judges)
    )
    choice = f'<select data-pick aria-label="Judge in the cards below">{options}</select>'
    return f'<div class="line"><h2>Closer</h2><label>Judge {choice}</label></div>'


def _takes() -> str:
    kinds = {"html": "HTML report", "json": "JSON", "md": "Markdown tables", "tex": "LaTeX tables"}
    buttons = "".join(f'<button type="button" data-file="{kind}">{told}</button>' for kind, told in kinds.items())
    return (
        '<h2>Take it away</h2><p class="meant">The report is one file with every number, chart and method; it loads '
        f'nothing and prints well.</p><p class="takes files">{buttons}</p><p class="told" role="status"></p>'
    )


def show_cell_items(study: str, listed: Sequence[str], many: int, told: str) -> str:
    """Return the items of one cell of a confusion matrix, or the first of so many, each with the way to it."""
    links = "".join(
        f'<li><a data-path="/studies" data-study="{escape(study)}" data-item="{escape(name)}">'
        f"<bdi>{escape(name)}</bdi></a></li>"
        for name in listed
    )
    rest = f'<p class="meant">The first {len(listed)} of them are listed.</p>' if len(listed) < many else ""
    items = "1 item" if many == 1 else f"{many:,} items"
    return f"<h4><bdi>{escape(told)}</bdi>: {items}</h4><ul>{links}</ul>{rest}"
