"""How Accord looks, and the launch settings that a study must not leave at gradio's defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import gradio as gr

FOLDER = Path(__file__).parent
ICON = FOLDER / "icon.svg"
SCRIPTS = [FOLDER / name for name in ("door.js", "at_work.js")]  # what every page has from its first moment
# What all pages share, and a file for each page that needs one; what holds on paper comes last, over all others.
STYLES = sorted(FOLDER.glob("*.css"), key=lambda path: (path.stem == "print", path.name))

# Gradio ships other weights of its fonts with most letters missing; 400 and 700 of these two are complete.
_SANS: list[Any] = [gr.themes.LocalFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif"]
_MONO: list[Any] = [gr.themes.LocalFont("IBM Plex Mono", weights=(400, 700)), "monospace"]


def make_theme() -> gr.themes.Base:
    """Return the theme; the colours of the two sides are in style.css."""
    theme = gr.themes.Base(primary_hue="blue", neutral_hue="slate", radius_size="md", font=_SANS, font_mono=_MONO)
    return theme.set(
        body_text_size="16px",
        # Gradio's own muted grey is too pale to read: it has less than 4.5:1 on white.
        body_text_color_subdued="*neutral_600",
        input_placeholder_color="*neutral_600",
        input_placeholder_color_dark="*neutral_400",
        body_text_color_subdued_dark="*neutral_400",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_400",
        block_label_text_weight="700",
        block_title_text_weight="700",
        block_title_text_size="14px",
        block_radius="8px",
        container_radius="8px",
        input_radius="8px",
        block_shadow="none",
        block_shadow_dark="none",
        input_shadow="none",
        input_shadow_focus="none",
        button_large_text_weight="700",
        # Gradio's own blue has less than 4.5:1 under white letters.
        button_primary_background_fill="#2f6fd6",
        button_primary_background_fill_dark="#2f6fd6",
        button_primary_background_fill_hover="#1d51a6",
        button_primary_background_fill_hover_dark="#1d51a6",
        checkbox_label_text_weight="400",
    )


# In the page itself, so that they are found under any root path.
LINK = f'<link rel="icon" type="image/svg+xml" href="data:image/svg+xml,{quote(ICON.read_text("utf-8"))}">'
HEAD = LINK + "".join(f"<script>{script.read_text('utf-8')}</script>" for script in SCRIPTS)

LAUNCH: dict[str, Any] = {
    "run_history": False,  # else every public event's texts are kept in the visitor's browser
    "footer_links": [],
    "enable_monitoring": False,
    "ssr_mode": False,
    "pwa": False,
    "share": False,
    "mcp_server": False,
    "max_file_size": "20mb",
    "allowed_paths": [],
    "show_error": False,
    "css_paths": STYLES,
    "head": HEAD,
    "theme": make_theme(),
}
