"""Settings of the environment that are on or off."""

from __future__ import annotations

from collections.abc import Mapping

from judge.domain import InputError

ON, OFF = ("on", "yes", "true", "1"), ("off", "no", "false", "0", "")


def is_on(environment: Mapping[str, str], name: str) -> bool:
    """Say whether a setting is on; a word that says neither is refused, since it may have meant the other one."""
    word = environment.get(name, "").strip().lower()
    if word not in ON + OFF:
        raise InputError(f"{name} is {environment[name]!r}: write on or off")
    return word in ON
