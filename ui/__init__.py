"""The pages: the only room besides the door that imports gradio, and this is where that happens first."""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any

# Read when gradio is first imported: without it, gradio asks its maker for the newest version.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
_file_of = inspect.getfile


def _file_but_of_components(object: Any) -> str:  # noqa: A002 (as it is named there)
    # Gradio writes a stub file beside every component whenever it is imported, which takes as long as the rest of the
    # import; what has no file it leaves alone.
    if sys._getframe(1).f_globals.get("__name__") == "gradio.component_meta":  # noqa: SLF001
        raise OSError
    return _file_of(object)


inspect.getfile = _file_but_of_components
try:
    import gradio  # noqa: F401
finally:
    inspect.getfile = _file_of
