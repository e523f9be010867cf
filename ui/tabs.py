"""Tabs whose panels are all on the page from the start.

Gradio's own tabs make their boxes when they are first opened, and a box that was not made yet does not tell that
its text has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gradio as gr

from ui.display import escape

SCRIPT = (Path(__file__).parent / "tabs.js").read_text(encoding="utf-8")


def put_tabs(labels: Mapping[str, str]) -> gr.HTML:
    """Put a row of tabs by name; the panel of each is the column with the id `tab-NAME` in the same group.

    The value is the name of the tab that is shown; the prop `marked` names one whose text was changed.
    """
    buttons = "".join(
        f'<button type="button" role="tab" id="choose-{escape(name)}" aria-controls="tab-{escape(name)}" '
        f'data-name="{escape(name)}">{escape(label)}</button>'
        for name, label in labels.items()
    )
    return gr.HTML(
        next(iter(labels)),
        html_template=f'<div class="tab-row" role="tablist">{buttons}</div>',
        js_on_load=SCRIPT,
        marked="",
        apply_default_css=False,
    )
