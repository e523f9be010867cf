"""Protocols: one file each, YAML front matter between two `---` lines, then the template verbatim.

A protocol's identity is its name plus the hash of everything that reaches the model, so that
editing a prompt never silently mixes two prompts.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from judge.domain import AccordError, Kind, ProtocolError, ProtocolVersion, Scale, content_hash
from judge.frontmatter import parse_front_matter

BUILT_IN = Path(__file__).parent / "protocols"
LONGEST_MARKER = 60

CONVERSATION_FIELDS = ("history", "user_query", "orig_instruction")
SCORE_FIELDS = tuple(f"orig_score{score}_description" for score in range(1, 6))
REFERENCE_FIELD = "orig_reference_answer"
SIDE_A_FIELDS = ("candidate_A", "orig_response_A")
SIDE_B_FIELDS = ("candidate_B", "orig_response_B")
DIRECT_FIELDS = ("model_output", "orig_response")
FIELDS = (
    *CONVERSATION_FIELDS,
    *SIDE_A_FIELDS,
    *SIDE_B_FIELDS,
    *DIRECT_FIELDS,
    "checklist",
    REFERENCE_FIELD,
    "orig_criteria",
    *SCORE_FIELDS,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Where in a reply the label stands: under a JSON key, or after a marker."""

    form: Literal["json", "marker"]
    text: str


@dataclass(frozen=True)
class Protocol:
    """One way of asking for a verdict."""

    name: str
    title: str
    kind: Kind
    placeholder: str
    scale: Scale
    answer: Answer
    template: str
    system: str = ""
    request: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    without_reference: Protocol | None = None
    cut_words: int | None = None
    source: str = ""

    @cached_property
    def hash(self) -> str:
        """Return the tagged hash of everything that reaches the model."""
        settings = {"placeholder": self.placeholder, "cut_words": self.cut_words, "request": dict(self.request)}
        return content_hash("protocol", self.system, self.template, json.dumps(settings, sort_keys=True))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return what a field looks like in the template; the field's name is group 1."""
        return placeholder_pattern(self.placeholder, "|".join(FIELDS))

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Return the fields the template asks for, each once, in order of first use."""
        return tuple(dict.fromkeys(match[1] for match in self.pattern.finditer(self.template)))

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """Return the texts by which the judge tells the template from what was inserted.

        They are the short lines next to a field, and the marker or key of the answer.
        """
        lines = [line.strip() for line in self.template.split("\n") if line.strip()]
        holds_field = [bool(self.pattern.search(line)) for line in lines]
        beside = [
            line
            for index, line in enumerate(lines)
            if not holds_field[index]
            and len(line) <= LONGEST_MARKER
            and any(holds_field[max(index - 1, 0) : index + 2])
        ]
        answer = self.answer.text if self.answer.form == "marker" else f'"{self.answer.text}"'
        return tuple(dict.fromkeys([*beside, answer]))

    @property
    def wants_reference(self) -> bool:
        """Say whether the template shows a reference answer."""
        return REFERENCE_FIELD in self.fields

    @property
    def version(self) -> ProtocolVersion:
        """Return what a study keeps of this protocol."""
        twin = self.without_reference.version if self.without_reference else None
        return ProtocolVersion(self.name, self.hash, self.kind, self.scale, self.source, twin)

    def unswap(self, label: str, order: str) -> str:
        """Return what a label given in this order says of the sides as they were imported."""
        return self.scale.mirror(label) if order == "BA" and self.kind == "pairwise" else label


def placeholder_pattern(placeholder: str, names: str) -> re.Pattern[str]:
    """Return the pattern of a placeholder such as `{$name}` for the given alternatives of names."""
    before, after = placeholder.split("name")
    return re.compile(f"{re.escape(before)}({names}){re.escape(after)}")


def read_text(path: Path, error_kind: type[AccordError]) -> str:
    """Return a file's text with every line break as it is, which open() would fold."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise error_kind(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise error_kind(f"{path}: is not UTF-8 text (byte {error.start}): save it as UTF-8") from error


def load_protocol(path: Path) -> Protocol:
    """Load and check one protocol file; a bad one is refused with its line and the reason."""
    text = read_text(path, ProtocolError)

    def find_twin(name: str) -> Protocol:
        beside = path.parent / f"{name}.md"
        return load_protocol(beside if beside.exists() else BUILT_IN / f"{name}.md")

    return _parse(path, text, find_twin)


def load_version(version: ProtocolVersion) -> Protocol:
    """Load a protocol again as a study keeps it."""

    def find_twin(name: str) -> Protocol:
        if version.without_reference is None:
            raise ProtocolError(f"{version.name}: its protocol without reference, {name}, was not kept")
        return load_version(version.without_reference)

    return _parse(Path(f"{version.name}.md"), version.source, find_twin)


def parse_protocol(name: str, text: str, known: Mapping[str, Protocol]) -> Protocol:
    """Check a protocol file's text under a name; a twin it names is looked for among the known protocols."""

    def find_twin(twin: str) -> Protocol:
        if twin not in known:
            raise ProtocolError(f"without_reference: no protocol named {twin!r}{_nearest(twin, list(known))}")
        return known[twin]

    return _parse(Path(f"{name}.md"), text, find_twin)


def _parse(path: Path, text: str, find_twin: Callable[[str], Protocol]) -> Protocol:
    front, template, first_line = parse_front_matter(path, text)
    twin_name = front.pop("without_reference")
    protocol = Protocol(name=path.stem, template=template, answer=Answer(*front.pop("answer")), source=text, **front)
    _check_template(protocol, path, first_line)
    if twin_name is None:
        return protocol
    if not protocol.wants_reference:
        raise ProtocolError(f"{path}: without_reference: the template shows no reference answer; remove this key")
    twin = find_twin(twin_name)
    if twin.wants_reference or twin.kind != protocol.kind or twin.scale.labels != protocol.scale.labels:
        raise ProtocolError(
            f"{path}: without_reference: {twin_name} must have the same kind and labels and show no reference"
        )
    return replace(protocol, without_reference=twin)


def _check_template(protocol: Protocol, path: Path, first_line: int) -> None:
    def refuse(offset: int, reason: str) -> ProtocolError:
        return ProtocolError(f"{path}:{first_line + protocol.template.count(chr(10), 0, offset)}: {reason}")

    for match in placeholder_pattern(protocol.placeholder, r"[A-Za-z_]\w*").finditer(protocol.template):
        if match[1] not in FIELDS:
            raise refuse(
                match.start(), f"unknown field {match[0]!r}{_nearest(match[1], FIELDS)}; known: {', '.join(FIELDS)}"
            )
        wrong_kind = DIRECT_FIELDS if protocol.kind == "pairwise" else (*SIDE_A_FIELDS, *SIDE_B_FIELDS)
        if match[1] in wrong_kind:
            raise refuse(match.start(), f"field {match[0]!r} does not belong in a {protocol.kind} protocol")
    needed = (SIDE_A_FIELDS, SIDE_B_FIELDS) if protocol.kind == "pairwise" else (DIRECT_FIELDS,)
    for choices in needed:
        if not set(choices) & set(protocol.fields):
            shown = " or ".join(protocol.placeholder.replace("name", choice) for choice in choices)
            raise refuse(0, f"the template has no response: it must contain {shown}")
    if in_system := protocol.pattern.search(protocol.system):
        raise ProtocolError(f"{path}: system: {in_system[0]!r} would not be filled: fields belong in the template")


def list_protocols(folder: Path | None = None) -> dict[str, Protocol]:
    """Return the built-in protocols and those in the user's folder, by name."""
    found = {path.stem: load_protocol(path) for path in sorted(BUILT_IN.glob("*.md"))}
    if folder is None:
        return found
    if not folder.is_dir():
        raise ProtocolError(f"{folder}: the folder of protocols does not exist")
    for path in sorted(folder.glob("*.md")):
        if path.stem in found:
            raise ProtocolError(f"{path}: {path.stem} is the name of a built-in protocol: rename the file")
        found[path.stem] = load_protocol(path)
    return found


def find_protocol(name: str, folder: Path | None = None) -> Protocol:
    """Return the protocol of this name (built in, or in the user's folder), or the one in this file."""
    plain = name == Path(name).name
    for place in (BUILT_IN, folder):
        if plain and place is not None and (place / f"{name}.md").is_file():
            return load_protocol(place / f"{name}.md")
    if Path(name).is_file():
        return load_protocol(Path(name))
    known = [path.stem for place in (BUILT_IN, folder) if place for path in sorted(place.glob("*.md"))]
    raise ProtocolError(f"no protocol or file named {name!r}{_nearest(name, known)}; known: {', '.join(known)}")


def _nearest(word: str, choices: tuple[str, ...] | list[str]) -> str:
    near = difflib.get_close_matches(word, choices, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
