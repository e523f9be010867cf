"""Everything that is said of a study's agreement, as one plain value from which JSON, report and page are drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from agreement.categories import IntArray, number_clusters
from agreement.intraclass import intraclass_correlation
from agreement.many import compare_every_pair, count_labels, describe_raters, gwet_together
from agreement.two_way import alpha_two_way
from agreement.votes import pool_people
from exchange.annotators import describe_rater
from exchange.comparisons import compare_two_judges
from exchange.cross_scale import check_across_scales
from exchange.findings import PEOPLE, compare_codes, describe_votes, estimates
from exchange.held_out import WHOLE, describe_split
from exchange.judge_findings import describe_judge
from exchange.model_findings import describe_models
from exchange.panel import Options, Panel
from exchange.sentences import list_warnings, tell
from exchange.unordered import blank_ordered
from judge.domain import InputError, ProtocolVersion
from storage.ratings import Ratings
from storage.store import Store

MOST_PAIRS = 300  # of raters, beyond which a table of all of them serves nobody
CONSENSUS = "consensus"
ONLY_A_MEAN = "a mean over pairs of raters, each of which has its own interval"


@dataclass(frozen=True, slots=True)
class Source:
    """A study's verdicts, wherever they come from: the database, or a bundle that is being checked."""

    study: str
    protocol: ProtocolVersion
    ratings: Ratings
    field_of: Callable[[str], Sequence[Any]]


def agree(store: Store, study: str, options: Options | None = None) -> dict[str, Any]:
    """Return the whole JSON of `agreement --json` for a study under these rules."""
    chosen = options or Options()
    split = describe_split(store, study, chosen)
    source = read_source(store, study, chosen)
    value = agree_on(source, chosen, split)
    if chosen.scores is not None:
        scored = make_panel(read_source(store, chosen.scores, Options()), Options())
        names = store.item_names(study), store.item_names(chosen.scores)
        found = check_across_scales(make_panel(source, chosen), scored, names)
        value["cross_scale"] = {"study": chosen.scores, **found}
    return value


def read_source(store: Store, study: str, options: Options) -> Source:
    """Return a study's verdicts from the database."""
    ratings = store.ratings(study, options.filters)

    def field_of(name: str) -> list[Any]:
        bodies = store.item_bodies(study)
        return [find_field(json.loads(bodies[int(at)]), name) for at in ratings.facts.position]

    return Source(study, store.study(study).protocol, ratings, field_of)


def find_field(item: dict[str, Any], name: str) -> Any:
    """Return an item's own field, or that of its metadata."""
    return item.get(name, item.get("metadata", {}).get(name))


def make_panel(source: Source, options: Options) -> Panel:
    """Return everyone's labels under the rules."""
    if not 0 <= options.epsilon <= 1 or options.resamples < 1 or options.seed < 0:
        raise InputError("epsilon lies between 0 and 1, resamples are at least 1 and a seed is at least 0")
    if options.length_k is not None and not 0 <= options.length_k < math.inf:
        raise InputError("the length rule's K is a number of characters, 0 or more; without it there is no rule")
    return Panel(source.ratings, source.protocol.scale, source.protocol.kind, options, source.field_of)


def agree_on(source: Source, options: Options, split: dict[str, Any] = WHOLE) -> dict[str, Any]:
    """Return the whole JSON for verdicts from anywhere; `split` is what is known of the held-out part."""
    panel = make_panel(source, options)
    cluster = panel.cluster
    raters = [describe_rater(panel, place) for place in range(len(panel.ratings.raters))]
    value: dict[str, Any] = {
        "study": source.study,
        "sentence": "",
        "protocol": source.protocol.name,
        "protocol_hash": source.protocol.hash,
        "kind": panel.kind,
        "nominal": panel.scale.nominal,
        "scale": list(panel.labels),
        "values": list(panel.categories.values),
        "declared_scale": list(panel.scale.labels),
        "items": panel.size,
        "clusters": panel.size if cluster is None else number_clusters(cluster)[1],
        "seed": options.seed,
        "resamples": options.resamples,
        "options": options.as_dict(),
        "split": split,
        "flow": count_flow(panel),
        "consensus": panel.consensus[1],
        "raters": raters,
        "pairs": list_pairs(panel),
        "groups": {
            "humans": describe_group(panel, panel.humans) | {"pooled_pairs": pool_votes(panel)},
            "all": describe_group(panel, panel.humans + panel.judges),
        },
        "judges": [describe_judge(panel, judge, raters[judge]["position"]) for judge in panel.judges],
        "comparisons": compare_two_judges(panel),
        **describe_models(panel),
        "warnings": [],
    }
    if panel.scale.nominal:
        value = blank_ordered(value)
    value["sentence"] = tell(value)
    value["warnings"] = list_warnings(panel, value)
    return value


def count_flow(panel: Panel) -> dict[str, Any]:
    """Return how many items were sampled, judged, readable, labelled by people and have both, and why not more."""
    codes, ratings = panel.declared, panel.ratings
    people, judges = list(panel.humans), list(panel.judges)
    by_judge = np.isin(ratings.rater, judges)
    judged = np.count_nonzero(np.bincount(ratings.item[by_judge], minlength=1))
    readable = (codes[:, judges] >= 0).any(axis=1)
    labelled = (codes[:, people] >= 0).any(axis=1)
    twice = (codes[:, people] >= 0).sum(axis=1) >= 2
    status = np.bincount(ratings.status[by_judge], minlength=5)
    return {
        "sampled": panel.size,
        "judged": int(judged),
        "readable": int(readable.sum()),
        "labelled": int(labelled.sum()),
        "labelled_twice": int(twice.sum()),
        "overlapping": int((readable & labelled).sum()),
        "verdicts": int((ratings.status == 0).sum()),
        "reasons": {
            "not_judged": panel.size - int(judged) if judges else 0,
            "unreadable": int(status[1]),
            "refused": int(status[2]),
            "cut_off": int(status[3]),
            "failed": int(status[4]),
            "not_labelled": panel.size - int(labelled.sum()),
            **ratings.set_aside,
        },
    }


def list_pairs(panel: Panel) -> list[dict[str, Any]]:
    """Return every two raters' agreement."""
    raters = panel.ratings.raters
    chosen = list(combinations(range(len(raters)), 2))
    if len(chosen) > MOST_PAIRS:  # people with judges are what a study is about
        chosen = sorted(chosen, key=lambda pair: raters[pair[0]].kind == raters[pair[1]].kind)[:MOST_PAIRS]
    found = []
    for one, two in chosen:
        names = raters[one].name, raters[two].name
        pair = compare_codes(panel, panel.codes[:, one], panel.codes[:, two], names)
        pair["kinds"] = [raters[one].kind, raters[two].kind]
        found.append(pair)
    return found


def pool_votes(panel: Panel) -> dict[str, Any]:
    """Return every two people's votes on the same item in one table, which has each pair both ways."""
    found = pool_people(panel.people, panel.categories, panel.sampling, panel.cluster)
    return describe_votes(found, (PEOPLE, PEOPLE), panel.labels)


def describe_group(panel: Panel, members: tuple[int, ...]) -> dict[str, Any]:
    """Return the agreement of several raters together."""
    codes, categories, sampling = panel.codes[:, list(members)], panel.categories, panel.sampling
    counts = panel.people_counts if members == panel.humans else count_labels(codes, len(categories))
    nominal, quadratic = categories.weights("nominal"), categories.weights("quadratic")
    matrix = compare_every_pair(codes, nominal)
    value = {
        "n_items": int((counts.sum(axis=1) >= 2).sum()),
        "raters": len(members),
        **estimates(describe_raters(counts, categories, sampling, panel.cluster)),
        **estimates(gwet_together(counts, {"ac1": nominal, "ac2": quadratic}, sampling, panel.cluster)),
        "mean_kappa": {"why": ONLY_A_MEAN, **matrix.mean.as_dict()},
        "mean_kappa_by_overlap": {"why": ONLY_A_MEAN, **matrix.weighted_mean.as_dict()},
    }
    if panel.kind == "direct":
        scores = np.where(codes >= 0, categories.array[codes], np.nan)
        value["icc"] = estimates(intraclass_correlation(scores, sampling, panel.cluster))
    if panel.options.two_way:
        value["alpha_two_way"] = alpha_two_way(codes, "ordinal", categories, sampling, panel.cluster).as_dict()
    return value


def list_cell(store: Store, study: str, options: Options, names: tuple[str, str], cell: tuple[int, int]) -> list[int]:
    """Return the positions of the items in one cell of two raters' confusion matrix; `consensus` is a rater too."""
    panel = make_panel(read_source(store, study, options), options)
    one, two = (_codes_of(panel, name) for name in names)
    return _positions_of(panel, np.flatnonzero((one == cell[0]) & (two == cell[1])))


def list_disagreements(store: Store, study: str, options: Options, judge: str) -> list[dict[str, Any]]:
    """Return the items on which a judge and the people's consensus differ, by position.

    The furthest apart come first, and of those the ones of which the judge was surest, as far as that is known.
    """
    panel = make_panel(read_source(store, study, options), options)
    people, model = _codes_of(panel, CONSENSUS), _codes_of(panel, judge)
    differ = np.flatnonzero((people >= 0) & (model >= 0) & (people != model))
    values = panel.categories.array
    apart, steps = np.abs(values[people] - values[model])[differ], np.abs(people - model)[differ]
    if panel.scale.nominal:
        apart, steps = np.ones(differ.size), np.ones(differ.size, dtype=np.int64)
    sure = _rank_certainty(store, study, panel, judge)
    unsure = np.array([sure.get(position, math.inf) for position in _positions_of(panel, differ)])
    rank = np.lexsort((unsure, -apart))
    ranked = differ[rank]
    columns = people[ranked].tolist(), model[ranked].tolist(), apart[rank].tolist(), steps[rank].tolist()
    return [
        {
            "position": position,
            "people": panel.labels[person],
            "judge": panel.labels[machine],
            "distance": distance,
            "steps": step,
        }
        for position, person, machine, distance, step in zip(_positions_of(panel, ranked), *columns, strict=True)
    ]


def _rank_certainty(store: Store, study: str, panel: Panel, judge: str) -> dict[int, float]:
    """Return by position how unsure the judge was: less of the confidence it named, or further from its label."""
    return {
        position: -float(known.confidence)
        if known.confidence is not None
        else abs((known.soft_score or 0.0) - panel.scale.value(known.label))
        for position, known in store.judge_certainty(study, judge).items()
    }


def _codes_of(panel: Panel, name: str) -> IntArray:
    if name == CONSENSUS:
        return panel.consensus[0]
    place = next((at for at, rater in enumerate(panel.ratings.raters) if rater.name == name), None)
    if place is None:
        raise InputError(f"no rater named {name!r} has a verdict in this study")
    return panel.codes[:, place]


def _positions_of(panel: Panel, places: IntArray) -> list[int]:
    positions: list[int] = panel.ratings.facts.position[places].tolist()
    return positions
