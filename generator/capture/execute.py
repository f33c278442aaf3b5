"""Running the instrumented program: silent, in its own directory and process group, with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from generator.capture.build import first_errors
from generator.frontend_c.source import PLAIN_START, Invocation


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: `reason` in words; `output` are the first lines that it printed."""

    ok: bool
    reason: str
    output: str


def execute(program: Path, directory: Path, limit_s: float, threads: int | None = 1,
            invocation: Invocation = PLAIN_START) -> Ended:
    """Run `program` in `directory` as `invocation` says; what is left of its process group then, or after `limit_s`, is killed.

    OpenMP gets `threads`; None leaves it to the program and the environment.
    """
    limits = {} if threads is None else dict.fromkeys(("OMP_NUM_THREADS", "OMP_THREAD_LIMIT"), str(threads))
    given = Path(invocation.stdin or os.devnull)
    with given.open("rb") as stdin, (directory / "stdout").open("wb") as out, (directory / "stderr").open("wb") as err:
        process = subprocess.Popen([str(program), *invocation.arguments], cwd=directory, stdin=stdin, stdout=out, stderr=err,
                                   start_new_session=True, env={**os.environ, **limits})
        try:
            status: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _kill_group(process)
    printed = first_errors(_head(directory / "stderr") or _head(directory / "stdout"))
    return Ended(status == 0, _reason(status, limit_s), printed)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody is left in the group
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _head(file: Path) -> str:
    with file.open("rb") as stream:
        return stream.read(4096).decode(errors="replace")


def _reason(status: int | None, limit_s: float) -> str:
    if status is None:
        return f"it took more than {limit_s:g} s"
    if status < 0:
        return f"it was stopped by a signal: {signal.strsignal(-status) or -status}"
    return f"it ended with exit status {status}"
