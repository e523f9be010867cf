"""A plan in plain words: what to know, to within what, and the items it takes."""

from __future__ import annotations

from typing import Any

from exchange.figures import write_decimal, write_percent

KAPPAS = {
    "kappa": ("items", "kappa"),
    "kappa_linear": ("items_for_kappa_linear", "linear kappa"),
    "kappa_quadratic": ("items_for_kappa_quadratic", "quadratic kappa"),
}


def tell_plan(value: dict[str, Any]) -> str:
    """Return a plan for people."""
    lines = [f"From {'the pilot ' + value['study'] if value['source'] == 'pilot' else 'what you expect'}:"]
    for made in value["kappa"]:
        lines += _tell_agreement(made)
    test, wishes = value["alt_test"], value["wishes"]
    told = f"epsilon {test['epsilon']:g}, power {write_percent(wishes['power'])}: {tell_test(test)}"
    lines.append(f"  alternative annotator test, {told}")
    lines += [
        f"    {one['items']} items: passes in {write_percent(one['passes'])} of simulated studies"
        for one in test["power"]
    ]
    lines += [*_tell_annotators(value), _tell_judges(value["two_judges"])]
    lines += [*_tell_mean(value["mean_score"]), *_tell_labels(value["prediction_powered"])]
    if value["design_effect"] != 1:
        lines.append(f"  items that belong together: all but the test's are {value['design_effect']:.2f} times as many")
    return "\n".join([*lines, value["advice"]]) + "\n"


def kinds_of(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what is planned of two raters: the value's key, the key of its items, and its name.

    Kappas that are all the same, as they are on two labels, stand once.
    """
    first = made["needed"][0]
    alike = all(made[name] == made["kappa"] and first[key] == first["items"] for name, (key, _) in KAPPAS.items())
    chosen = [(name, key, told) for name, (key, told) in KAPPAS.items() if name == "kappa" or not alike]
    if made.get("correlation") is not None:
        chosen.append(("correlation", "items_for_correlation", "Pearson's r"))
    return [*chosen, ("agreement", "items_for_agreement", "agreement")]


def _tell_agreement(made: dict[str, Any]) -> list[str]:
    kinds = kinds_of(made)
    values = ", ".join(f"{told} {tell_value(made, name)}" for name, _, told in kinds)
    lines = [f"  {made['of']} ({values})"]
    for need in made["needed"]:
        items = ", ".join(f"{_items(need[key])} for {told}" for _, key, told in kinds)
        lines.append(f"    ± {need['half_width']:g}: {items}")
    return lines


def tell_value(made: dict[str, Any], name: str) -> str:
    """Return what is known or expected of two raters by its key."""
    value = made[name]
    return "–" if value is None else write_percent(value) if name == "agreement" else write_decimal(value)


def _items(count: int | None) -> str:
    return "it cannot be told" if count is None else f"{count} items"


def tell_test(test: dict[str, Any]) -> str:
    """Return the items that the alternative annotator test needs, or why there are none."""
    if test["items"]:
        return f"{test['items']} items"
    return f"{'not within reach' if test['power'] else 'cannot be told'} ({test['why']})"


def _tell_annotators(value: dict[str, Any]) -> list[str]:
    width = value["wishes"]["width"]
    lines = [f"  people per item, for a judge's agreement with them to ± {width:g}, and for that test"]
    for row in value["by_annotators"]:
        need = next(need for need in row["needed"] if need["half_width"] == width)
        verdicts = f" ({need['verdicts']} verdicts)" if need["verdicts"] else ""
        lines.append(
            f"    {row['annotators']}: {_items(need['items'])}{verdicts}; the test: {tell_test(row['alt_test'])}"
        )
    return lines if value["by_annotators"] else []


def _tell_judges(told: dict[str, Any]) -> str:
    items = f"{told['items']} items" if told["items"] else f"not within reach ({told['why']})"
    return (
        f"  two judges whose accuracies differ by {told['difference']:g}, power {write_percent(told['power'])}: {items}"
        f" (exactly one is right on {write_percent(told['discordance'])})"
    )


def _tell_mean(told: dict[str, Any] | None) -> list[str]:
    if told is None:
        return []
    head = f"  mean score (standard deviation {told['sd']:.2f})"
    return [head, *(f"    ± {need['half_width']:g} points: {_items(need['items'])}" for need in told["needed"])]


def _tell_labels(told: dict[str, Any]) -> list[str]:
    if told["why"]:
        return [f"  {told['of']} with a judge on many more items: cannot be told ({told['why']})"]
    head = f"  {told['of']} with a judge on many more items (correlation {told['correlation']:.2f} with people)"
    lines = []
    for need in told["needed"]:
        labels = f"{need['labels']} human labels" if need["labels"] else "fewer human labels than can be told"
        lines.append(f"    ± {need['half_width']:g}: {labels} instead of {need['labels_without_judge']}")
    return [head, *lines]
