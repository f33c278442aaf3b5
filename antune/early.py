"""Ctrl-C while the command `antune` is still being imported ends it quietly, as a shell expects; a program that imports
it keeps its own way.
"""

from __future__ import annotations

import signal
import sys


def die_quietly() -> None:
    """Until `antune.__main__.main` begins, if this process is the command."""
    if (sys.argv[:1] == ["-m"] and sys.orig_argv[1:3] == ["-m", "antune"]) or (
        sys.argv[:1] and sys.argv[0].endswith("/bin/antune")
    ):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
