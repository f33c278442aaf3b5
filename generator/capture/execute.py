"""Run the instrumented program: without output, in its own directory and session, with a time limit, and never longer
than antune itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from generator.capture.build import first_errors
from generator.frontend_c.source import PLAIN_START, Invocation

Tell: TypeAlias = Callable[[str], None]
"""Receives progress messages."""

_GUARD = Path(__file__).with_name("guard.py")
_MOST_BYTES = 1 << 20  # of output are kept, per stream
_FIRST_WORD_S = 10.0
_GUARD_S = 10.0  # extra time before a guard that does not answer is given up


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a program: whether it is `ok`, the `reason` in words; `output`: its first lines."""

    ok: bool
    reason: str
    output: str


def execute(program: Path, directory: Path, scratch: Path, limit_s: float, threads: int | None = 1,
            invocation: Invocation = PLAIN_START, tell: Tell = lambda _: None) -> Ended:
    """Run `program` in `directory` as `invocation` says. Then, or after `limit_s`, kill the rest of its process group.

    If this process ends, for whatever reason, the program is killed and the folder `scratch` deleted (`guard.py`).
    `threads`: the number of OpenMP threads; None leaves it to the program and the environment. `tell` receives the
    running time now and then.
    """
    limits = {} if threads is None else dict.fromkeys(("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"), str(threads))
    life, held = os.pipe()
    words = [
        str(life),
        repr(limit_s),
        str(_MOST_BYTES),
        str(scratch),
        str(directory),
        invocation.stdin or os.devnull,
        str(program),
        *invocation.arguments,
    ]
    try:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARD), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            pass_fds=(life,),
            env={**os.environ, **limits},
        ) as guard:
            os.close(life)
            try:
                said = _watched(guard, limit_s, tell)
            finally:
                os.close(held)  # the guard then kills the program, if it still runs, and ends
    except subprocess.TimeoutExpired:
        said = ["limit"]
    printed = first_errors(_head(directory / "stderr") or _head(directory / "stdout"))
    return Ended(said == ["exit", "0"], _reason(said, limit_s), printed)


def _watched(guard: subprocess.Popen[bytes], limit_s: float, tell: Tell) -> list[str]:
    """Return the guard's last line. Raises subprocess.TimeoutExpired if it prints nothing."""
    begun_s, wait_s = time.monotonic(), _FIRST_WORD_S
    while True:
        left_s = begun_s + limit_s + _GUARD_S - time.monotonic()
        try:
            return guard.communicate(timeout=min(wait_s, left_s))[0].decode(errors="replace").split()
        except subprocess.TimeoutExpired:
            if left_s <= wait_s:
                raise
            tell(
                f"the program has been running for {time.monotonic() - begun_s:.0f} s; it is stopped after "
                f"{limit_s:g} s (--program-limit)"
            )
            wait_s *= 2


def _head(file: Path) -> str:
    if not file.is_file():
        return ""
    with file.open("rb") as stream:
        return stream.read(4096).decode(errors="replace")


def _reason(said: list[str], limit_s: float) -> str:
    match said:
        case ["limit"]:
            return f"it took more than {limit_s:g} s"
        case ["signal", number]:
            return f"it was stopped by a signal: {signal.strsignal(int(number)) or number}"
        case ["exit", number]:
            return f"it ended with exit status {number}"
        case _:
            return "how it ended is not known: the process that watched over it is gone"
