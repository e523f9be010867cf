"""The judges one can ask: named servers and the embedded model, and the keys, which are in memory only."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from exchange.key_addresses import KeyAddresses
from judge.addresses import BlockedAddressError, Resolver, UnknownHostError, numeric_addresses, refuse_private
from judge.client import Client, Endpoint
from judge.domain import LONGEST_NAME, LONGEST_TEXT, Failure, InputError, Prompt, Reply, check_text
from judge.embedded import LABEL, EmbeddedModel, find_weights
from judge.protocol import Protocol
from judge.run import Prices
from judge.switches import is_on
from judge.traffic import Traffic
from storage.endpoints import NamedEndpoint
from storage.store import Store

TRIAL = Prompt("trial", "AB", "", "Reply with the one word: ready", ())
TRIAL_TOKENS, TRIAL_SECONDS = 16, 30.0
ALLOW = ": whoever runs Accord allows it with ACCORD_ALLOW_PRIVATE=on"
NO_CONSTRAINTS: Mapping[str, object] = {}
# What a visitor names here is sent to a server of their choice: no other secret of the environment may be.
KEY_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")


@dataclass(frozen=True, slots=True)
class Preset:
    """A judge by its name: a server and a model, or the embedded model."""

    name: str
    model: str = ""
    base_url: str | None = None
    key_env: str = "OPENAI_API_KEY"
    prices: Prices = field(default_factory=Prices)
    embedded: bool = False


EMBEDDED = Preset(LABEL, key_env="", prices=Prices(0.0, 0.0), embedded=True)


@dataclass(frozen=True, slots=True)
class Connected:
    """A judge ready to be asked."""

    preset: Preset
    endpoint: Endpoint
    client: Client
    constraints: Callable[[Protocol], Mapping[str, object]] = lambda _: NO_CONSTRAINTS

    def request(self, protocol: Protocol, said: Mapping[str, object] = NO_CONSTRAINTS) -> dict[str, object]:
        """Return a request's fields: the protocol's, what was said instead, and what the model is held to."""
        return {**protocol.request, **said, **self.constraints(protocol)}

    async def ask(
        self, prompt: Prompt, protocol: Protocol, said: Mapping[str, object] = NO_CONSTRAINTS
    ) -> Reply | Failure:
        """Send a prompt and return the reply, or the failure it ended in."""
        return await self.client.ask(prompt, self.request(protocol, said), protocol.scale)

    def stream(
        self, prompt: Prompt, protocol: Protocol, said: Mapping[str, object] = NO_CONSTRAINTS
    ) -> AsyncGenerator[str | Reply | Failure, None]:
        """Yield pieces of the text as they arrive, then the whole Reply; or a Failure, at any point."""
        return self.client.stream(prompt, self.request(protocol, said), protocol.scale)


class Endpoints:
    """The judges one can ask: the embedded model first, then stored presets; keys are in memory only."""

    def __init__(self, store: Store, weights: Path | None = None, environment: Mapping[str, str] = os.environ) -> None:
        self.store = store
        self._environment = environment
        self.private = is_on(environment, "ACCORD_ALLOW_PRIVATE")
        self._allowed = KeyAddresses(environment)
        self._embedded = EmbeddedModel(weights)
        self.embedded = replace(EMBEDDED, name=self._embedded.name)
        # By preset and person, with the address it was typed for: a preset that moves takes no key along.
        self._keys: dict[tuple[str, str], tuple[str | None, str]] = {}

    def presets(self) -> list[Preset]:
        """Return every judge by name; the embedded model is always the first."""
        return [self.embedded, *(_preset(row) for row in self.store.endpoints())]

    def preset(self, name: str) -> Preset:
        """Return the judge of this name, or say which there are."""
        check_text("an endpoint's name", name, LONGEST_NAME)
        known = {preset.name: preset for preset in self.presets()}
        if name not in known:
            raise InputError(f"there is no endpoint named {name!r}; there are: {', '.join(known)}")
        return known[name]

    def save_preset(self, preset: Preset, by: str = "") -> None:
        """Store a judge under its name, without any key."""
        check_text("an endpoint's name", preset.name, LONGEST_NAME)
        check_text("the model's name", preset.model, LONGEST_NAME)
        check_text("the address", preset.base_url or "", LONGEST_TEXT)
        if not preset.name.strip():
            raise InputError(f"give the endpoint a name of at most {LONGEST_NAME} characters")
        if preset.embedded or preset.name in (EMBEDDED.name, self.embedded.name):
            raise InputError("the embedded model is always there: give the endpoint another name")
        check_address(preset.base_url, self.private)
        if preset.key_env and not KEY_VARIABLE.fullmatch(preset.key_env):
            raise InputError(
                f"{preset.key_env!r} cannot be the name of the key's variable: it must end in _API_KEY, "
                "such as OPENAI_API_KEY"
            )
        prices = preset.prices
        if min(prices.prompt or 0, prices.completion or 0) < 0:
            raise InputError("a price cannot be less than nothing")
        self.store.keep_endpoint(
            NamedEndpoint(preset.name, preset.model, preset.base_url, preset.key_env, prices.prompt, prices.completion),
            by,
        )

    def remove_preset(self, name: str, by: str = "") -> None:
        """Forget a judge, and every key that was typed for it."""
        self.store.remove_endpoint(name, by)
        for known in [known for known in self._keys if known[0] == name]:
            del self._keys[known]

    def give_key(self, preset: str, key: str, who: str = "") -> None:
        """Keep a key that somebody typed until the process ends; an empty one takes it back."""
        wanted = self.preset(preset)
        if wanted.embedded:
            raise InputError("the embedded model needs no key")
        if not key.strip():
            self._keys.pop((preset, who), None)
            return
        Endpoint(wanted.base_url, wanted.model, key)  # says what is wrong with it, without showing it
        self._keys[preset, who] = wanted.base_url, key.strip()

    def has_key(self, preset: str, who: str = "") -> bool:
        """Say whether there is a key for a judge: typed by this person, or in the environment."""
        return bool(self._key(self.preset(preset), who))

    def key_source(self, preset: str, who: str = "") -> str:
        """Say where a judge's key comes from, in words for a page; empty when there is none."""
        wanted = self.preset(preset)
        if self._typed(wanted, who):
            return "typed for this session"
        if self._held_back(wanted, who):
            return self._allowed.refusal(wanted.key_env, wanted.base_url)
        return f"from the environment variable {wanted.key_env}" if self._key(wanted, who) else ""

    def _typed(self, preset: Preset, who: str) -> str:
        address, key = self._keys.get((preset.name, who), (None, ""))
        return key if address == preset.base_url else ""

    def _key(self, preset: Preset, who: str) -> str:
        if self._held_back(preset, who):
            return ""
        return self._typed(preset, who) or self._environment.get(preset.key_env, "")

    def _held_back(self, preset: Preset, who: str) -> bool:
        """Say whether the environment has a key for a judge that may not be sent to its address."""
        has_key = bool(preset.key_env and self._environment.get(preset.key_env)) and not self._typed(preset, who)
        return has_key and not self._allowed.allows(preset.key_env, preset.base_url)

    def model_of(self, preset: Preset, who: str = "") -> str:
        """Return the name of the model that would be asked, or say what is missing to ask it; nothing is started."""
        if preset.embedded:
            return find_weights(self._embedded.path).stem
        check_address(preset.base_url, self.private)
        if not preset.model.strip():
            raise InputError(f"no model is named for {preset.name or preset.base_url!r}: type the model's name")
        if self._held_back(preset, who):
            raise InputError(self._allowed.refusal(preset.key_env, preset.base_url))
        if preset.base_url is None and not self._key(preset, who):
            variable = preset.key_env or "OPENAI_API_KEY"
            raise InputError(
                f"there is no key for {preset.name or preset.model!r}: type one on the page Settings, "
                f"or start Accord with {variable} set"
            )
        return preset.model.strip()

    async def reach(self, preset: Preset, who: str = "") -> Endpoint:
        """Return where a judge is served, with its key; the first use of the embedded model starts it."""
        if preset.embedded:
            return await asyncio.to_thread(self._embedded.start)
        model = self.model_of(preset, who)
        if preset.base_url is not None and not self.private:
            host = urlsplit(preset.base_url).hostname or ""
            try:  # said here in words; whatever the name leads to later is refused when it is connected to
                await Resolver().address_of(host)
            except BlockedAddressError as error:
                raise InputError(f"{error}{ALLOW}") from error
            except UnknownHostError as error:
                raise InputError(str(error)) from error
        return Endpoint(preset.base_url, model, self._key(preset, who), private=self.private)

    @asynccontextmanager
    async def connect(
        self, preset: str | Preset, who: str = "", traffic: Traffic | None = None
    ) -> AsyncIterator[Connected]:
        """Give a judge, by its name or as described, ready to be asked for as long as the traffic lasts."""
        wanted = self.preset(preset) if isinstance(preset, str) else preset
        endpoint = await self.reach(wanted, who)
        async with Client(endpoint, traffic=traffic) as client:
            if wanted.embedded:
                yield Connected(wanted, endpoint, client, self._embedded.request)
            else:
                yield Connected(wanted, endpoint, client)

    async def try_out(self, preset: str, who: str = "") -> Reply | Failure:
        """Send a judge one tiny request, once, and return what came of it."""
        endpoint = replace(await self.reach(self.preset(preset), who), tries=1)
        if not self.preset(preset).embedded:
            endpoint = replace(endpoint, timeout=TRIAL_SECONDS)
        async with Client(endpoint) as client:
            return await client.ask(TRIAL, {"max_tokens": TRIAL_TOKENS})

    def close(self) -> None:
        """Stop the embedded model, if it runs, and forget every key."""
        self._embedded.close()
        self._keys.clear()


def check_address(base_url: str | None, private: bool = True) -> None:
    """Refuse what is no server's address, holds what must not be stored or shown, or may not be asked."""
    if base_url is None:
        return
    Endpoint(base_url, "", "")  # says what an address looks like
    try:
        parts = urlsplit(base_url)
        secret = parts.username or parts.password or parts.query or parts.fragment
    except ValueError as error:
        raise InputError(f"{base_url!r} is not the address of a server: {error}") from error
    if secret:
        raise InputError(
            "an endpoint's address may hold no user, password or ?…: it is stored and shown. Type the key by itself"
        )
    host = parts.hostname or ""
    try:
        if not private:
            refuse_private(host, numeric_addresses(host))
    except BlockedAddressError as error:
        raise InputError(f"{error}{ALLOW}") from error


def _preset(row: NamedEndpoint) -> Preset:
    return Preset(row.name, row.model, row.base_url, row.key_env, Prices(row.price_prompt, row.price_completion))
