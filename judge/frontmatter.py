"""The front matter of a protocol file: YAML read by shape, so that every complaint has its line."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, NoReturn

import yaml

from judge.domain import Point, ProtocolError, Scale

REQUIRED = ("title", "kind", "placeholder", "scale", "answer")
MOST_LABELS = 127  # on a scale: what a table of two raters' labels and a stored verdict have room for
OPTIONAL = ("nominal", "system", "request", "without_reference", "cut_words")
_FENCE = re.compile(r"^---[ \t]*\r?\n", re.MULTILINE)


def parse_front_matter(path: Path, text: str) -> tuple[dict[str, Any], str, int]:
    """Return the checked settings, the template, and the file's line on which the template starts."""
    opening = _FENCE.match(text)
    if opening is None:
        raise ProtocolError(f"{path}:1: a protocol file begins with a line of three dashes, then its settings")
    closing = _FENCE.search(text, opening.end())
    if closing is None:
        raise ProtocolError(f"{path}:1: the settings are not closed by a second line of three dashes")
    settings = _FrontMatter(path, text[opening.end() : closing.start()]).read()
    return settings, text[closing.end() :], text.count("\n", 0, closing.end()) + 1


class _FrontMatter:
    """One reading of a front matter; every method takes a YAML node and returns a plain value."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)

    def refuse(self, node: Any, reason: str) -> NoReturn:
        line = node.start_mark.line + 2 if node is not None else 1
        raise ProtocolError(f"{self.path}:{line}: {reason}")

    def read(self) -> dict[str, Any]:
        try:
            root = self.loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 2 if mark else 1
            raise ProtocolError(f"{self.path}:{line}: the settings are not valid YAML: {error.problem}") from error
        except yaml.YAMLError as error:
            raise ProtocolError(f"{self.path}:1: the settings are not valid YAML: {error}") from error
        if root is None:
            self.refuse(None, "the settings are empty")
        nodes = self.mapping(root, "the settings", (*REQUIRED, *OPTIONAL))
        for key in REQUIRED:
            if key not in nodes:
                what = (
                    "no answer rule: add `answer: {json: KEY}` or `answer: {marker: TEXT}`"
                    if key == "answer"
                    else f"missing key {key!r}"
                )
                self.refuse(root, what)
        kind = self.choice(nodes["kind"], "kind", ("pairwise", "direct"))
        nominal = "nominal" in nodes and self.truth(nodes["nominal"], "nominal")
        if nominal and kind == "pairwise":
            self.refuse(nodes["nominal"], "a pairwise scale has an order, from B to A: only a direct one is nominal")
        return {
            "title": self.text(nodes["title"], "title"),
            "kind": kind,
            "placeholder": self.placeholder(nodes["placeholder"]),
            "scale": self.scale(nodes["scale"], kind, nominal=nominal),
            "answer": self.answer(nodes["answer"]),
            "system": self.text(nodes["system"], "system", empty=True) if "system" in nodes else "",
            "request": self.request(nodes["request"]) if "request" in nodes else {},
            "without_reference": self.twin(nodes["without_reference"]) if "without_reference" in nodes else None,
            "cut_words": self.count(nodes["cut_words"], "cut_words") if "cut_words" in nodes else None,
        }

    def mapping(self, node: Any, what: str, allowed: tuple[str, ...] | None = None) -> dict[str, Any]:
        if not isinstance(node, yaml.MappingNode):
            self.refuse(node, f"{what} must be a mapping of keys to values")
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                self.refuse(key_node, f"{what}: a key must be a word")
            if allowed is not None and key not in allowed:
                self.refuse(key_node, f"{what}: unknown key {key!r}; known: {', '.join(allowed)}")
            if key in found:
                self.refuse(key_node, f"{what}: key {key!r} stands twice")
            found[key] = value_node
        return found

    def scalar(self, node: Any, what: str) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            self.refuse(node, f"{what} must be a single value")
        try:
            return self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            self.refuse(node, f"{what} cannot be understood: {error}")

    def text(self, node: Any, what: str, *, empty: bool = False) -> str:
        value = self.scalar(node, what)
        if value is None and empty:
            return ""
        if not isinstance(value, str) or not (value.strip() or empty):
            self.refuse(node, f"{what} must be text (put it in quotes)")
        return value

    def choice(self, node: Any, what: str, choices: tuple[str, ...]) -> str:
        value = self.scalar(node, what)
        if value not in choices:
            self.refuse(node, f"{what} must be {' or '.join(choices)}, not {value!r}")
        return str(value)

    def truth(self, node: Any, what: str) -> bool:
        value = self.scalar(node, what)
        if not isinstance(value, bool):
            self.refuse(node, f"{what} must be true or false")
        return value

    def number(self, node: Any, what: str) -> float:
        value = self.scalar(node, what)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.refuse(node, f"{what} must be a number, not {value!r}")
        return float(value)

    def count(self, node: Any, what: str) -> int:
        value = self.number(node, what)
        if value < 1 or value != int(value):
            self.refuse(node, f"{what} must be a whole number above 0")
        return int(value)

    def placeholder(self, node: Any) -> str:
        value = self.text(node, "placeholder")
        before, *rest = value.split("name")
        if len(rest) != 1 or not before or not rest[0]:
            self.refuse(node, 'placeholder must be the word name between two marks, such as "{$name}" or "{name}"')
        return value

    def answer(self, node: Any) -> tuple[str, str]:
        found = self.mapping(node, "answer", ("json", "marker"))
        if len(found) != 1:
            self.refuse(node, "no answer rule: answer must be {json: KEY} or {marker: TEXT}")
        [(form, value)] = found.items()
        return form, self.text(value, f"answer.{form}").strip()

    def request(self, node: Any) -> dict[str, Any]:
        found = {
            key: (value, self.scalar(value, f"request.{key}")) for key, value in self.mapping(node, "request").items()
        }
        for key, (value, plain) in found.items():
            if not isinstance(plain, str | int | float | bool):
                self.refuse(value, f"request.{key} must be text, a number, true or false")
        return {key: plain for key, (_, plain) in found.items()}

    def twin(self, node: Any) -> str:
        name = self.text(node, "without_reference")
        if name != Path(name).name:
            self.refuse(node, "without_reference must be the name of a protocol, not a path")
        return name

    def scale(self, node: Any, kind: str, *, nominal: bool) -> Scale:
        if not isinstance(node, yaml.SequenceNode):
            self.refuse(node, "scale must be a list of labels, lowest to highest for response A")
        if len(node.value) < 2:
            self.refuse(node, "scale must have at least two labels")
        if len(node.value) > MOST_LABELS:
            self.refuse(node, f"scale has {len(node.value)} labels and may have at most {MOST_LABELS}")
        points: list[Point] = []
        for place, entry in enumerate(node.value):
            point = self.point(entry, place if nominal else None)
            if point.label.casefold() in {other.label.casefold() for other in points}:
                self.refuse(entry, f"duplicate label {point.label!r}")
            if points and point.value <= points[-1].value:
                self.refuse(entry, f"label {point.label!r}: values must rise from one label to the next")
            points.append(point)
        ties = [index for index, point in enumerate(points) if point.tie]
        if len(ties) > 1 or (ties and kind == "direct"):
            self.refuse(node.value[ties[-1]], "only a pairwise scale has a tie, and only one")
        if ties and 2 * ties[0] != len(points) - 1:
            self.refuse(node.value[ties[0]], "the tie must stand in the middle: the scale is mirrored when sides swap")
        if kind == "pairwise":
            self.check_mirrored(node.value, points)
        return Scale(tuple(points), nominal)

    def check_mirrored(self, nodes: list[Any], points: list[Point]) -> None:
        """Refuse a preference for A that is worth more, or less, than the same preference for B."""
        size = len(points)
        middle = (points[(size - 1) // 2].value + points[size // 2].value) / 2.0
        slack = 1e-9 * (points[-1].value - points[0].value)
        for at in range(size // 2):
            low, high = points[at], points[size - 1 - at]
            below, above = middle - low.value, high.value - middle
            if abs(below - above) > slack:
                self.refuse(
                    nodes[size - 1 - at],
                    f"label {high.label!r} is worth {above:g} from the middle and {low.label!r}, which it becomes when "
                    f"sides swap, {below:g}: give both the same distance",
                )

    def point(self, node: Any, place: int | None) -> Point:
        found = self.mapping(node, "a label", ("label", "value", "meaning", "tie"))
        if "label" not in found:
            self.refuse(node, "an entry of the scale has no label")
        label = self.scalar(found["label"], "label")
        if isinstance(label, bool) or not isinstance(label, str | int | float) or not str(label).strip():
            self.refuse(node, f"label {label!r} must be text (put it in quotes)")
        tie = "tie" in found and self.truth(found["tie"], "tie")
        meaning = self.text(found["meaning"], "meaning", empty=True) if "meaning" in found else ""
        return Point(str(label).strip(), self.value(node, found, str(label), place), meaning, tie)

    def value(self, node: Any, found: dict[str, Any], label: str, place: int | None) -> float:
        """Return a label's value; on a nominal scale, where `place` is given, it has none but its place."""
        if place is not None and "value" in found:
            self.refuse(found["value"], f"label {label!r}: the labels of a nominal scale have no values")
        if place is not None:
            return float(place)
        if "value" in found:
            return self.number(found["value"], f"value of {label!r}")
        if not re.fullmatch(r"[-+]?\d+(\.\d+)?", label.strip()):
            self.refuse(node, f"label {label!r} has no value")
        return float(label)
