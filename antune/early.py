"""Ctrl-C while the command `antune` is imported ends it quietly, as shells expect; programs that import antune keep
their own handling.
"""

from __future__ import annotations

import signal
import sys


def die_quietly() -> None:
    """Let Ctrl-C end this process without a message, until `antune.__main__.main` begins; only if it is the command."""
    if (sys.argv[:1] == ["-m"] and sys.orig_argv[1:3] == ["-m", "antune"]) or (
        sys.argv[:1] and sys.argv[0].endswith("/bin/antune")
    ):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
