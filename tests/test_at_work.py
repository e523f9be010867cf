"""What a command that takes long shows meanwhile: seconds to a person at a terminal, nothing to a program."""

import io
import os
import pty
import sys
import time

from terminal.command import at_work


def test_a_person_at_a_terminal_sees_that_it_goes_on_and_then_an_empty_line(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with at_work("Copying"):
            time.sleep(1.2)
        shown = b""
        while not shown.endswith(b"K"):
            shown += os.read(ours, 1000)
    os.close(ours)
    assert shown.decode() == "\rCopying … 1 s\r\x1b[K"


def test_a_program_is_shown_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with at_work("Copying"):
        time.sleep(1.1)
    assert sys.stderr.getvalue() == ""
