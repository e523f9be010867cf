"""The commands that count: `agreement`, `plan` and `verify`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from terminal.command import (
    BY,
    DEFAULT_DATABASE,
    AsJson,
    DatabaseUrl,
    StudyName,
    at_work,
    clear_errors,
    created,
    loading,
    number,
    opened,
    write,
)

Several = list[str] | None
SINCE = "Only human verdicts given at or after this time (UTC unless it says otherwise)."
Html = Annotated[Path | None, typer.Option(help="Write the report to this file.")]
Levels = Annotated[Literal["full", "3", "2"], typer.Option(help="The scale as it is, A/tie/B, or A/B.")]
Combine = Annotated[Literal["strict", "drop", "mean", "first"], typer.Option(help="What a judge's two orders become.")]
Consensus = Annotated[Literal["majority", "dawid-skene"], typer.Option(help="How people's labels become one.")]
Undecided = Annotated[Literal["missing", "tie"], typer.Option(help="What an item without a majority becomes.")]
LengthK = Annotated[float | None, number("A judge's slight win is a tie if longer by more characters.", metavar="K")]
Cluster = Annotated[str, typer.Option(metavar="item|prompt|tag:NAME|FIELD", help="What intervals resample.")]
Epsilon = Annotated[float, number("The margin of the alternative annotator test.")]
Seed = Annotated[int, typer.Option(help="The seed of the resamples.")]
Resamples = Annotated[int, typer.Option(help="How many resamples make an interval.")]
TwoWay = Annotated[bool, typer.Option("--two-way", help="With eight raters: alpha with other raters drawn too.")]
Scores = Annotated[
    str | None, typer.Option(metavar="STUDY", help="A study of scores on the same pairs, to check against.")
]
Chosen = Annotated[
    str,
    typer.Option(
        metavar="random|doubt|FIELD",
        help="How the items that people labelled were chosen; a FIELD holds each item's chance of it.",
    ),
]
Tag = Annotated[Several, typer.Option(help="Only items with this tag; repeatable.")]
Model = Annotated[Several, typer.Option(help="Only items with a response of this model; repeatable.")]
Annotator = Annotated[Several, typer.Option(help="Only this person's verdicts and the judges'; repeatable.")]
TIMES = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]
Since = Annotated[datetime | None, typer.Option(help=SINCE, formats=TIMES)]
Until = Annotated[datetime | None, typer.Option(help="Only human verdicts given before this time.", formats=TIMES)]
Part = Annotated[
    Literal["all", "development", "test"], typer.Option(help="All items, or one part of the held-out division.")
]
TestShare = Annotated[float, number("The share of questions that the test part holds out.", min=0, max=1)]


def agreement(
    study: StudyName,
    as_json: AsJson = False,
    html: Html = None,
    levels: Levels = "full",
    combine: Combine = "strict",
    consensus: Consensus = "majority",
    undecided: Undecided = "missing",
    length_k: LengthK = None,
    cluster: Cluster = "item",
    epsilon: Epsilon = 0.2,
    seed: Seed = 0,
    resamples: Resamples = 2000,
    two_way: TwoWay = False,
    scores: Scores = None,
    chosen: Chosen = "random",
    tag: Tag = None,
    model: Model = None,
    annotator: Annotator = None,
    since: Since = None,
    until: Until = None,
    part: Part = "all",
    test_share: TestShare = 0.5,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Say how far people and judges agree, with intervals, and what to beware of.

    Example: `python app.py agreement --study demo --json --resamples 500`
    """
    with loading():
        from exchange.agreeing import agree
        from exchange.panel import Options
        from storage.ratings import Filters

    first, last = (moment and moment.replace(tzinfo=moment.tzinfo or UTC) for moment in (since, until))
    filters = Filters(tuple(tag or ()), tuple(model or ()), tuple(annotator or ()), first, last, part, test_share)
    rules = Options(
        levels,
        combine,
        consensus,
        undecided,
        length_k,
        cluster,
        epsilon,
        seed,
        resamples,
        two_way,
        scores,
        chosen,
        filters,
    )
    with clear_errors(), opened(database) as store, at_work("Working the numbers out"):
        value = agree(store, study, rules)
        if html is not None:
            from exchange.report import write_report

            with created(html) as file:
                file.write(write_report(value).encode())
            store.record_event("export", study, format="agreement (html)", by=BY)
    if as_json:
        write(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    elif html is None:
        from exchange.tables import tell_all

        write(tell_all(value))
    else:
        write(f"{value['sentence']}\n")


def plan(
    study: Annotated[str | None, typer.Option(metavar="NAME", help="A pilot to learn from.")] = None,
    width: Annotated[float, number("The half-width wanted: ± so much.", min=0.001, max=1)] = 0.05,
    kappa: Annotated[float, number("The kappa expected, without a pilot.", min=-0.99, max=0.99)] = 0.5,
    labels: Annotated[int, typer.Option(help="The labels of the scale, without a pilot.", min=2, max=20)] = 5,
    annotators: Annotated[int, typer.Option(help="People per item.", min=2, max=30)] = 3,
    judge: Annotated[float, number("How often the judge is right, without a pilot.", min=0, max=1)] = 0.7,
    human: Annotated[float, number("How often a person is right, without a pilot.", min=0, max=1)] = 0.7,
    epsilon: Annotated[float, number("The margin of the alternative annotator test.", min=0, max=1)] = 0.2,
    power: Annotated[float, number("The chance wanted of passing that test.", min=0.05, max=0.99)] = 0.8,
    seed: Annotated[int, typer.Option(help="The seed of the simulation.", min=0)] = 0,
    difference: Annotated[float, number("Between two judges, to be seen.", min=0.001, max=1)] = 0.05,
    discordance: Annotated[
        float, number("Share of items on which exactly one of two judges is right.", min=0.001, max=1)
    ] = 0.25,
    correlation: Annotated[float, number("Of the judge with people, without a pilot.", min=-0.999, max=0.999)] = 0.6,
    cluster_size: Annotated[float, number("Items that belong together, such as one prompt's.", min=1)] = 1,
    cluster_correlation: Annotated[float, number("How much alike those are.", min=0, max=1)] = 0,
    levels: Levels = "full",
    combine: Combine = "strict",
    as_json: AsJson = False,
    database: DatabaseUrl = DEFAULT_DATABASE,
) -> None:
    """Say how many items and annotators a study needs, from a pilot or from what you expect.

    Example: `python app.py plan --kappa 0.6 --width 0.1`
    """
    from exchange.panel import Options
    from exchange.plan_told import tell_plan
    from exchange.planning import Wishes, plan_from_pilot, plan_without_pilot

    wishes = Wishes(
        *(width, kappa, labels, annotators, judge, human, epsilon, power, seed),
        difference=difference,
        discordance=discordance,
        correlation=correlation,
        cluster_size=cluster_size,
        cluster_correlation=cluster_correlation,
    )
    with clear_errors(), at_work("Working the plan out"):
        if study is None:
            value = plan_without_pilot(wishes)
        else:
            with opened(database) as store:
                value = plan_from_pilot(store, study, wishes, Options(levels, combine))
    write(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n" if as_json else tell_plan(value))


def verify(
    bundle: Annotated[Path, typer.Argument(metavar="STUDY.ZIP", help="A bundle that `bundle` wrote.")],
    as_json: AsJson = False,
) -> None:
    """Check a bundle: every checksum, and all that follows from its items, calls and verdicts made again.

    Exit status 1 when anything differs.
    """
    from exchange.verifying import tell_check, verify_bundle

    with clear_errors(), at_work("Making everything in the bundle again"):
        found = verify_bundle(bundle)
    write(json.dumps(found, ensure_ascii=False, indent=1) + "\n" if as_json else tell_check(found))
    if not found["ok"]:
        raise typer.Exit(1)
