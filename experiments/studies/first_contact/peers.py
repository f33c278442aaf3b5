"""Run programs of other projects for comparison: `python -m experiments.studies.first_contact.peers FOLDER FILE`.

Every executable file of the folder is run without arguments. Lines `NAME MILLISECONDS` of its output are its times; the
time of the whole process is recorded next to them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.files import write_atomically

LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Peer:
    """A time that a program printed, or a row with an error if it printed none."""

    program: str
    name: str
    milliseconds: float | None
    process_s: float
    message: str = ""


def times_of(text: str) -> list[tuple[str, float]]:
    """Return the names and times in those lines of `text` that have them."""
    found = []
    for line in text.splitlines():
        name, _, number = line.strip().rpartition(" ")
        try:
            found += [(name.strip(), float(number))] if name else []
        except ValueError:  # not a line with a time
            continue
    return found


def run_peer(file: Path, limit_s: float = LIMIT_S) -> list[Peer]:
    """Run one program."""
    begin = time.monotonic()
    try:
        done = subprocess.run([str(file)], capture_output=True, text=True, errors="replace", timeout=limit_s,
                              check=False, cwd=file.parent, stdin=subprocess.DEVNULL)
        message = f"exit code {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else "no times"
        found = times_of(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        message, found = str(error), []
    seconds = time.monotonic() - begin
    rows = [Peer(file.name, name, milliseconds, seconds) for name, milliseconds in found]
    return rows or [Peer(file.name, "", None, seconds, message)]


def main(folder: Path, file: Path) -> None:
    """Run all programs and write their times."""
    peers = [path for path in sorted(folder.iterdir()) if path.is_file() and os.access(path, os.X_OK)]
    if not peers:
        sys.exit(f"{folder} has no executable file; make the programs in it executable (chmod +x)")
    rows: list[Peer] = []
    for path in peers:
        rows += run_peer(path.resolve())
        write_atomically(file, json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    print(f"{len(peers)} programs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
