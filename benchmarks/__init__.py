"""What the program costs, measured under the settings that its door makes."""

import app  # noqa: F401 (it says how many threads numpy has, before anything imports numpy)
