"""A judge at work on one item, as markup: its orders side by side, text as it arrives, then what was read from it."""

from __future__ import annotations

from exchange.live import Live, LiveCall
from judge.protocol import Protocol
from ui.display import escape, show_chip, show_reading

_ORDERS = {"AB": "A first", "BA": "B first"}


def show_live(live: Live) -> str:
    """Return the orders of an item side by side, and in one line what they say together."""
    calls = "".join(_call(live.protocol, call) for call in live.calls)
    return (
        f'<section class="live" aria-label="Judge" aria-busy="{"false" if live.ended else "true"}">'
        f'<p class="live-head"><span class="mark">◆</span> <strong>{escape(live.judge)}</strong> {_together(live)}</p>'
        f'<div class="live-orders">{calls}</div></section>'
    )


def _together(live: Live) -> str:
    """Return the labels for the item as imported, and whether the order of the sides changed them."""
    if not live.ended:
        return '<span class="muted" role="status">is judging …</span>'
    pairwise = live.protocol.kind == "pairwise"
    labels = [call.label for call in live.calls]
    chips = " ".join(show_chip(live.protocol.scale, label, pairwise=pairwise) for label in labels if label)
    if len(labels) < 2 or None in labels:
        return chips
    same = len(set(labels)) == 1
    words = "the same label in both orders" if same else "another label when the sides are exchanged"
    return f'{chips} <span class="muted" role="status">{words}</span>'


def _call(protocol: Protocol, call: LiveCall) -> str:
    order = f" · {_ORDERS[call.order]} ({call.order})" if protocol.kind == "pairwise" else ""
    return (
        f'<section class="live-order" aria-label="Reply{order}">'
        f'<p class="facts">{"Stored before" if call.stored else "Asked now"}{order}{_facts(call)}</p>'
        f"{_body(protocol, call)}</section>"
    )


def _body(protocol: Protocol, call: LiveCall) -> str:
    if call.failure is not None:
        return f'<p class="problem" role="alert"><strong>No reply.</strong> {escape(call.failure.message)}</p>'
    if call.reading is not None:
        return show_reading(protocol, call.reading, call.text, call.order)
    if not call.text:
        return '<p class="muted">Waiting for the first words …</p>'
    return f'<pre class="streaming" tabindex="0" aria-label="Reply so far">{escape(call.text)}</pre>'


def _facts(call: LiveCall) -> str:
    reply = call.reply
    if reply is None:
        return ""
    told = []
    if reply.prompt_tokens is not None or reply.completion_tokens is not None:
        told.append(f"{reply.prompt_tokens or 0:,} + {reply.completion_tokens or 0:,} tokens")
    if call.usd:  # what is free needs no price
        told.append(f"{call.usd:.6f} USD")
    if reply.seconds:
        told.append(f"{reply.seconds:.1f} s")
    return "".join(f" · {each}" for each in told)
