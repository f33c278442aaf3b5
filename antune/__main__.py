"""The entry point of the command `antune` (or `python -m antune`): Ctrl-C during imports ends it quietly."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until `run` handles it: shells show 130 for that, too


def main() -> None:
    """Run the command line; Ctrl-C that no command handles is exit code 130."""
    from generator.garbage import collect_rarely

    collect_rarely()
    from antune.cli import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
