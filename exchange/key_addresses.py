"""Where a key of the environment may be sent: whoever opens Settings names addresses, but not for the server's keys."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from judge.domain import InputError

OPENAI = "https://api.openai.com/v1"
# Whose keys these are is in their names; for all others the environment has to say.
KNOWN = {"OPENAI_API_KEY": OPENAI, "OPENROUTER_API_KEY": "https://openrouter.ai/api/v1"}
Origin = tuple[str, str, int | None]


class KeyAddresses:
    """The addresses that the person who runs the server allows for its keys.

    A key goes to the provider it is known to be of, to the address that `X_BASE_URL` names for `X_API_KEY`, and to
    those in `ACCORD_KEY_ADDRESSES`, which are trusted with every key. What counts is scheme, host and port.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        listed = environment.get("ACCORD_KEY_ADDRESSES", "").replace(",", " ").split()
        self._trusted = {self._named("ACCORD_KEY_ADDRESSES", address) for address in listed}

    @staticmethod
    def _named(variable: str, address: str) -> Origin:
        origin = origin_of(address)
        if origin is None:
            raise InputError(f"{variable}: {address!r} is no address: write it with http:// or https://")
        return origin

    def allows(self, variable: str, base_url: str | None) -> bool:
        """Say whether the key in a variable may be sent to an address; none is OpenAI's own."""
        named = self._environment.get(base_variable(variable), "").strip()
        allowed = {origin_of(KNOWN.get(variable, "")), origin_of(named)} | self._trusted
        # Without an address the client asks where OPENAI_BASE_URL says.
        asked = base_url or self._environment.get("OPENAI_BASE_URL", "").strip() or OPENAI
        return origin_of(asked) in allowed - {None}

    @staticmethod
    def refusal(variable: str, base_url: str | None) -> str:
        """Return why a key is not sent to an address, and how that is changed."""
        return (
            f"the key in {variable} is not sent to {base_url or OPENAI}: whoever runs Accord allows it with "
            f"{base_variable(variable)} or ACCORD_KEY_ADDRESSES; or type a key on the page Settings"
        )


def base_variable(variable: str) -> str:
    """Return the variable that names the address for the key in another."""
    return f"{variable.removesuffix('_API_KEY')}_BASE_URL"


def origin_of(address: str) -> Origin | None:
    """Return scheme, host and port of an address; None if it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return parts.scheme, parts.hostname.lower().rstrip("."), port or {"http": 80, "https": 443}[parts.scheme]
