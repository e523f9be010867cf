"""The pages: the only room besides the door that imports gradio."""

import os

# Read when gradio is first imported: without it, gradio asks its maker for the newest version.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
