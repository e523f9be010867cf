"""A study's agreement in plain words: one sentence first, then what to beware of."""

from __future__ import annotations

from typing import Any, Self

from exchange.cautions import list_cautions, list_some
from exchange.figures import write_decimal, write_percent
from exchange.panel import Panel

NAMES = {
    "exact": "exact agreement",
    "kappa": "Cohen's kappa",
    "kappa_quadratic": "quadratic kappa",
    "pearson": "Pearson's r",
}
FEW_RATERS = 2
WIDE_GAP = 0.1  # an interval around 0 that reaches further does not show that two things are alike


def tell(value: dict[str, Any]) -> str:
    """Return the sentence that a reader should see first."""
    part = value["split"]["part"]
    return _tell_whole(value) if part == "all" else f"On the {part} part: {_tell_whole(value)}"


def _tell_whole(value: dict[str, Any]) -> str:
    people = [rater for rater in value["raters"] if rater["kind"] == "human" and rater["verdicts"]]
    judges = value["judges"]
    chosen = bool(value["options"]["filters"].keys() - {"part", "test_share"})
    if not value["raters"] and chosen:
        return f"The filters leave {_many(value['items'], 'item')} and no verdict."
    if not value["raters"]:
        return f"The study has {_many(value['items'], 'item')} and no verdict yet."
    if not judges:
        return _tell_people(value, len(people))
    if not people:
        return _tell_judges(value, chosen)
    known = [judge for judge in judges if judge["gap"]["value"] is not None]
    if known:
        # By the gap, which holds judges against people on their own items: these may differ, and so may their ceilings.
        best = max(known, key=lambda judge: float(judge["gap"]["value"]))
        return _tell_gap(best, len(known))
    return _tell_consensus(value, len(people))


def _tell_judges(value: dict[str, Any], chosen: bool) -> str:
    """Say what there is without people; `chosen` says whether filters may have left them out."""
    names, readable = _names(value["judges"]), value["flow"]["readable"]
    if not readable:
        nobody = "the filters leave no person's verdict" if chosen else "no person has given one"
        return f"No verdict of {names} could be read, and {nobody}."
    nobody = "the filters leave no person's verdict" if chosen else "no person has yet"
    return f"{names} gave verdicts on {_many(readable, 'item')}, but {nobody}."


def _tell_gap(judge: dict[str, Any], judges: int) -> str:
    gap = judge["gap"]
    low, high = gap["low"], gap["high"]
    how, unsure = "as much as", ""
    if low is None or high is None:
        how, unsure = f"perhaps {_by_value(gap['value'])}", f" (no interval: {gap.get('why')})"
    elif high < 0:
        how = "less than"
    elif low > 0:
        how = "more than"
    elif low < -WIDE_GAP or high > WIDE_GAP:
        how, unsure = "perhaps as much as", "; the interval is too wide to tell"
    among = f" (the closest of {judges} judges)" if judges > 1 else ""
    counts = f"{_many(gap['n'], 'item')}, {_many(gap['humans'], 'annotator')}"
    return (
        f"{judge['name']}{among} agrees with people {how} people agree with each other: "
        f"gap {told(gap)} in {NAMES[gap['statistic']]}, {counts}{unsure}."
    )


def _by_value(gap: float) -> str:
    return "as much as" if abs(gap) <= WIDE_GAP else "more than" if gap > 0 else "less than"


def _tell_consensus(value: dict[str, Any], people: int) -> str:
    known = [judge for judge in value["judges"] if judge["vs_consensus"]["exact"]["value"] is not None]
    if not known and value["flow"]["overlapping"]:
        return "No item has both a judge's label and a consensus of people under these rules."
    if not known and not value["flow"]["readable"]:
        return (
            f"No verdict of {_names(value['judges'])} could be read, so nothing can be said of agreement with people."
        )
    if not known:
        return "The judges and the people have no item in common, so nothing can be said of their agreement."
    best = max(known, key=lambda judge: float(judge["vs_consensus"]["exact"]["value"]))
    pair = best["vs_consensus"]
    kappa = "" if pair["kappa"]["value"] is None else f"kappa {told(pair['kappa'])}, "
    among = best["ceilings"]["exact"]["human_human"]
    # People who agree, or not, are not unknown: only what chance would give is.
    unknown = (
        "; how far people agree with each other is unknown"
        if among["value"] is None
        else f", and people as each other on {told(among, percent=True)}; how far that is beyond chance is unknown"
    )
    return (
        f"{best['name']} gives the same label as people on {told(pair['exact'], percent=True)} of "
        f"{_many(pair['n'], 'item')} ({kappa}{_many(people, 'annotator')}){unknown}: {best['gap'].get('why', '')}."
    )


def _tell_people(value: dict[str, Any], people: int) -> str:
    group = value["groups"]["humans"]
    ordinal = len(value["scale"]) > 3 and not value["nominal"]
    found = group["alpha_ordinal"] if ordinal else group["alpha_nominal"]
    if found["value"] is None:
        return f"{_many(people, 'annotator')} and no judge: agreement cannot be told ({found['why']})."
    counts = f"{_many(group['n_items'], 'item')}, {_many(people, 'annotator')}"
    return f"People agree with each other at Krippendorff's alpha {told(found)}, {counts}; no judge has been run."


class Told(str):
    """A number for reading, why it is none or has no interval, and the estimate that it tells."""

    __slots__ = ("estimate", "why")
    estimate: dict[str, Any] | None
    why: str

    def __new__(cls, text: str, why: str = "", estimate: dict[str, Any] | None = None) -> Self:
        """Return the text with its reason and its estimate."""
        made = super().__new__(cls, text)
        made.why, made.estimate = why, estimate
        return made


def told(made: dict[str, Any], percent: bool = False) -> Told:
    """Return an estimate for reading: two decimals or whole percents, the interval in brackets, a dash for none."""
    why = made.get("why") or ""
    if made["value"] is None:
        return Told("–", why or "undefined")
    low, high = made["low"], made["high"]
    known = [made["value"]] if low is None or high is None else [made["value"], low, high]
    if percent:
        places = 1 if _is_narrow(low, high) else 0
        value, *ends = [write_percent(each, places) for each in known]
    else:
        value, *ends = [write_decimal(each, _places(low, high)) for each in known]
    return Told(f"{value} [{', '.join(ends)}]" if ends else value, why, made)


def _places(low: float | None, high: float | None) -> int:
    """Return two decimals, or as many as tell an interval's end beside 0 from 0; traces of rounding are 0."""
    usual = 3 if _is_narrow(low, high) else 2
    if low is None or high is None or low * high <= 0:
        return usual
    nearest = min(abs(low), abs(high))
    return next((places for places in range(usual, 5) if nearest >= 0.5 * 10**-places), usual)


def _is_narrow(low: float | None, high: float | None) -> bool:
    """Return whether two ends would read alike, or as the value does, without one digit more."""
    return low is not None and high is not None and 0 < high - low < 0.01


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _names(judges: list[dict[str, Any]]) -> str:
    names = [judge["name"] for judge in judges]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def list_warnings(panel: Panel, value: dict[str, Any]) -> list[str]:
    """Return what a reader must know before believing the numbers, most general first."""
    found = [*value["split"].get("warnings", ()), *_warn_of_sampling(panel, value), *_warn_of_people(panel)]
    for judge in value["judges"]:
        name, left = judge["name"], judge["left_out"]
        silent = [f"{left[reason]} {reason.replace('_', ' ')}" for reason in _SILENT if left[reason]]
        if silent:
            found.append(f"{name}: {', '.join(silent)}; counted, never imputed")
        if left["later_label"]:
            found.append(
                f"{name}: {left['later_label']} times the first of several answers has no verdict and a later one has; "
                "the first counts, so it is missing"
            )
        if panel.kind == "pairwise" and judge["orders"] == "one":
            found.append(f"{name} was asked in one order only: its position bias is unknown")
        if panel.kind == "pairwise" and judge["orders"] == "one an item":
            found.append(
                f"{name} was asked in one order an item, AB or BA: what an exchange of sides changes is unknown"
            )
        if judge["orders"] == "both" and judge["combined"]["one_order_only"]:
            found.append(
                f"{name}: {judge['combined']['one_order_only']} items asked in one order only are taken as they are"
            )
        for reason, count in left["by_rule"].items():
            if reason in ("one_order", "orders_differ"):
                found.append(f"{name}: {_many(count, 'item')} left out because {_BY_RULE[reason]}")
        found += [f"{name}, alternative annotator test: {text}" for text in judge["alt_test"]["warnings"]]
    return [*found, *list_cautions(panel, value)]


_SILENT = ("unreadable", "refused", "cut_off", "failed")
_BY_RULE = {"one_order": "the other order was asked and has no verdict", "orders_differ": "the two orders disagree"}


def _warn_of_sampling(panel: Panel, value: dict[str, Any]) -> list[str]:
    found = []
    questions = len(panel.ratings.facts.question.names)
    if panel.cluster is None and questions < panel.size:
        found.append(
            f"{panel.size} items share {questions} questions: intervals that take them for independent are too narrow; "
            "--cluster prompt takes each question as one, as the models' numbers do already"
        )
    if panel.cluster is not None:
        found.append(f"intervals resample {value['clusters']} clusters ({panel.options.cluster})")
    if "why" in value["consensus"]:
        found.append(value["consensus"]["why"])
    undecided = count_undecided(value)
    if undecided and value["judges"]:
        found.append(
            f"{_many(undecided, 'item')} left out wherever a judge is held against the consensus, "
            "because no label has more than half of people's votes"
        )
    raters = len(value["raters"])
    if raters * (raters - 1) // 2 > len(value["pairs"]):
        found.append(
            f"only the first {len(value['pairs'])} pairs of {raters} raters are listed, people with judges first"
        )
    if panel.kind == "pairwise" and value["ranking"]:
        why = value["ranking"]["why"] or value["ranking"]["without_intervals"]
        found += [f"Bradley-Terry: {why}"] if why else []
        unmet = value["ranking"]["without_games"]
        found += [f"no strength without a verdict against another model: {list_some(unmet)}"] if unmet else []
    return found


def count_undecided(value: dict[str, Any]) -> int:
    """Return on how many items people have no consensus and the rule leaves them out."""
    consensus = value["consensus"]
    return int(consensus["left_out"].get("undecided", 0)) if consensus.get("undecided") == "missing" else 0


def _warn_of_people(panel: Panel) -> list[str]:
    found = [f"{count} verdicts set aside: {_ASIDE[why]}" for why, count in panel.ratings.set_aside.items()]
    if 0 < len(panel.humans) <= FEW_RATERS:
        found.append(
            f"only {_many(len(panel.humans), 'annotator')}: what is said of people is said of no more than that"
        )
    return found


_ASIDE = {"after_reveal": "given after models or the judge were revealed", "withdrawn": "withdrawn by their rater"}
