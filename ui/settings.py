"""The settings' page: endpoints by name, where their keys come from, and whether they answer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from exchange.endpoints import Endpoints, Preset
from judge.domain import AccordError, Failure, InputError, Reply
from judge.run import Prices
from ui.display import escape
from ui.numbers import number_box, read_amount
from ui.page import INSTANT, on_choice, on_load, signed_in, who_asks
from ui.run_views import show_problem_line

SCRIPT = (Path(__file__).parent / "settings.js").read_text(encoding="utf-8")
PRICES = ("USD per million prompt tokens", "USD per million answer tokens")
LONGEST_SHOWN = 200  # letters of a trial's answer
TEMPLATES = {
    preset.name: preset
    for preset in (
        Preset("OpenAI"),
        Preset("OpenRouter", "", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        Preset("vLLM", "", "http://localhost:8000/v1", ""),
        Preset("Ollama", "", "http://localhost:11434/v1", ""),
        Preset("llama.cpp", "", "http://localhost:8080/v1", ""),
        Preset("LM Studio", "", "http://localhost:1234/v1", ""),
    )
}


@dataclass(frozen=True, slots=True)
class Controls:
    """The components of the page that take part in an event."""

    message: gr.HTML
    endpoints: gr.HTML
    template: gr.Dropdown
    form: tuple[Any, ...]
    save: gr.Button
    key_of: gr.Dropdown
    key: gr.Textbox
    use: gr.Button


class SettingsPage:
    """The page's handlers."""

    title = "Settings"
    path = "/settings"

    def __init__(self, endpoints: Endpoints) -> None:
        self.endpoints = endpoints

    def show(self, who: str, results: Mapping[str, str] | None = None) -> str:
        """Return the endpoints with the state of their keys, and what came of a trial, if there was one."""
        told = results or {}
        cards = "".join(self._card(preset, who, told.get(preset.name, "")) for preset in self.endpoints.presets())
        # The moment makes every answer a new one: the same markup twice would leave a button at "Trying …".
        return f'<div class="endpoints" data-at="{time.monotonic_ns()}">{cards}</div>'

    def _card(self, preset: Preset, who: str, result: str) -> str:
        name = escape(preset.name)
        if preset.embedded:
            facts = [("Where", "inside Accord; needs no key and no network")]
        else:
            facts = [
                ("Address", preset.base_url or "OpenAI’s own"),
                ("Model", preset.model or "typed when a run is started"),
                ("Key", self.endpoints.key_source(preset.name, who) or "none"),
                ("Prices", _prices(preset.prices)),
            ]
        listed = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(fact)}</dd></div>" for term, fact in facts)
        actions = ("try",) if preset.embedded else ("try", "edit", "remove")
        words = {"try": "Try it", "edit": "Edit", "remove": "Remove"}
        buttons = "".join(
            f'<button type="button" class="plain" data-do="{what}" data-name="{name}" '
            f'aria-label="{words[what]}: {name}">{words[what]}</button>'
            for what in actions
        )
        return (
            f'<section class="endpoint" aria-label="{name}"><div class="endpoint-head"><h2><span class="mark">◆</span> '
            f'{name}</h2><span class="buttons">{buttons}</span></div><dl>{listed}</dl>{result}</section>'
        )

    def open(self, request: gr.Request) -> tuple[str, Any]:
        """Fill the page."""
        return self.show(who_asks(request)), self._keyed()

    def _keyed(self, chosen: str | None = None) -> Any:
        """Return the endpoints that may have a key, to choose from."""
        names = [preset.name for preset in self.endpoints.presets() if not preset.embedded]
        return gr.update(choices=names, value=chosen if chosen in names else next(iter(names), None))

    @staticmethod
    def fill(template: str) -> list[Any]:
        """Fill the form from a template."""
        return _filled(TEMPLATES[template])

    def save(self, request: gr.Request, *values: Any) -> tuple[str, str, Any]:
        """Keep the endpoint in the form."""
        # A box that nobody has touched holds None.
        name, address, model, key_env, price_prompt, price_completion = ((value or "").strip() for value in values)
        who = who_asks(request)
        try:
            prices = Prices(read_amount(PRICES[0], price_prompt), read_amount(PRICES[1], price_completion))
            preset = Preset(name, model, address or None, key_env, prices)
            self.endpoints.save_preset(preset, signed_in(request))
        except AccordError as error:
            return show_problem_line(str(error)), self.show(who), gr.skip()
        return _done(f"{preset.name} is saved."), self.show(who), self._keyed(preset.name)

    def give_key(self, request: gr.Request, name: str | None, key: str | None) -> tuple[str, str, str]:
        """Keep a typed key in memory for this person; the box is emptied whatever happens."""
        who = who_asks(request)
        try:
            if not name:
                raise InputError("save an endpoint first; then its key can be typed here")
            if not who:
                raise InputError(
                    "this browser keeps no cookies, so a key typed here could serve others too: allow them for this "
                    "page, or start Accord with the key in the environment"
                )
            self.endpoints.give_key(name, key or "", who)
        except AccordError as error:
            return show_problem_line(str(error)), self.show(who), ""
        told = f"The key for {name} is used until the browser or the server is closed; it is stored nowhere."
        return _done(told if (key or "").strip() else f"The key typed for {name} is forgotten."), self.show(who), ""

    async def act(self, request: gr.Request, event: gr.EventData) -> list[Any]:
        """Do what a button of an endpoint asks: try, edit or remove it."""
        who, what, name = who_asks(request), str(event.what), str(event.name)
        form = [gr.skip()] * 6
        try:
            if what == "edit":
                return ["", gr.skip(), gr.skip(), *_filled(self.endpoints.preset(name))]
            if what == "remove":
                self.endpoints.remove_preset(name, signed_in(request))
                return [_done(f"{name} is removed. Its runs stay."), self.show(who), self._keyed(), *form]
            result = told_trial(await self.endpoints.try_out(name, who))
        except AccordError as error:
            result = show_problem_line(str(error))
        return ["", self.show(who, {name: result}), gr.skip(), *form]

    def layout(self) -> Controls:
        """Put the components on the page; what they show is filled in when it is opened."""
        message = gr.HTML(apply_default_css=False, elem_id="message")
        with gr.Row():
            with gr.Column(scale=6, min_width=320):
                endpoints = gr.HTML(apply_default_css=False, js_on_load=SCRIPT, elem_id="endpoints")
            with gr.Column(scale=5, min_width=320):
                template, form, save = self._form()
                with gr.Group(elem_classes="key-box"):
                    key_of = gr.Dropdown([], label="A key for this session, for", filterable=False, elem_id="key-of")
                    key = gr.Textbox(
                        label="Key",
                        info="Kept in the server’s memory for you alone; never stored, never shown again. "
                        "Send an empty one to forget it.",
                        type="password",
                        max_lines=1,
                        html_attributes=gr.InputHTMLAttributes(autocomplete="off", spellcheck=False),
                        elem_id="key",
                    )
                use = gr.Button("Use this key", elem_id="use-key")
        return Controls(message, endpoints, template, form, save, key_of, key, use)

    @staticmethod
    def _form() -> tuple[gr.Dropdown, tuple[Any, ...], gr.Button]:
        template = gr.Dropdown(
            list(TEMPLATES), value=None, label="Add an endpoint: start from", filterable=False, elem_id="template"
        )
        with gr.Row():
            name = gr.Textbox(label="Name", max_lines=1, min_width=200, elem_id="endpoint-name")
            model = gr.Textbox(label="Model", placeholder="typed later", max_lines=1, min_width=200, elem_id="model")
        address = gr.Textbox(
            label="Address",
            info="Of any server that speaks OpenAI’s protocol; it usually ends in /v1. Empty: OpenAI’s own.",
            max_lines=1,
            elem_id="address",
        )
        key_env = gr.Textbox(
            label="Environment variable of the key",
            info="Its name ends in _API_KEY; the key goes only where the server’s environment says that it may. "
            "Leave it empty for servers without keys.",
            max_lines=1,
            elem_id="key-env",
        )
        with gr.Row():
            price_prompt = number_box(PRICES[0], "unknown", name="price-prompt")
            price_completion = number_box(PRICES[1], "unknown", name="price-completion")
        save = gr.Button("Save the endpoint", variant="primary", elem_id="save")
        return template, (name, address, model, key_env, price_prompt, price_completion), save

    def wire(self, on: Controls) -> None:
        """Connect the components."""
        form = list(on.form)
        on_load(self.open, [on.endpoints, on.key_of])
        on_choice(on.template, self.fill, [on.template], form)
        on.save.click(self.save, form, [on.message, on.endpoints, on.key_of], **INSTANT)
        on.use.click(self.give_key, [on.key_of, on.key], [on.message, on.endpoints, on.key], **INSTANT)
        on.key.submit(self.give_key, [on.key_of, on.key], [on.message, on.endpoints, on.key], **INSTANT)
        on.endpoints.act(self.act, None, [on.message, on.endpoints, on.key_of, *form], **INSTANT)


def told_trial(answer: Reply | Failure) -> str:
    """Return what came of a trial, in a sentence."""
    if isinstance(answer, Failure):
        return show_problem_line(answer.message)
    text = " ".join(answer.text.split())
    said = f"“{text[:LONGEST_SHOWN]}”" if text else "nothing, but it answered"
    model = f" as {answer.model}" if answer.model else ""
    return f'<p class="done" role="status">{escape(f"It answered in {answer.seconds:.1f} s{model}: {said}")}</p>'


def _filled(preset: Preset) -> list[Any]:
    """Return the values of the form for a preset."""
    prices = preset.prices
    told = ("" if price is None else f"{price:g}" for price in (prices.prompt, prices.completion))
    return [preset.name, preset.base_url or "", preset.model, preset.key_env, *told]


def _prices(prices: Prices) -> str:
    if prices.prompt is None or prices.completion is None:
        return "unknown, so costs are too"
    return f"{prices.prompt:g} and {prices.completion:g} USD per million prompt and answer tokens"


def _done(text: str) -> str:
    return f'<p class="done" role="status">{escape(text)}</p>'
