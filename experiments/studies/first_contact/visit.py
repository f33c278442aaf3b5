"""A visit: run the steps in sequence, each in its own process and with a time limit, until time is up.

A finished step is never run again. An unfinished step continues after all others had their turn, or at the next visit,
which is the same command. A step that did nothing, such as tests that were all skipped, is not finished.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments.files import make_folder
from experiments.studies.first_contact.steps import ROOT, Step
from experiments.studies.first_contact.told import (
    State,
    Told,
    judged,
    read_result,
    read_told,
    write_summary,
    write_told,
)
from experiments.words import describe_seconds

STEP_S = 480.0
GRACE_SHARE, MOST_GRACE_S = 0.15, 60.0
"""The time after Ctrl-C for a step to write its results: a fraction of its time, and the most seconds."""
LEAST_S = 20.0
"""No step is started with less time than this, in seconds."""
OUTPUT_CHARS = 4000


@dataclass(frozen=True, slots=True)
class _Ended:
    exit_code: int | None
    output: str


def visit(list_steps: Callable[[], tuple[Step, ...]], folder: Path, seconds: float, say: Callable[[str], None],
          step_s: float = STEP_S) -> tuple[Told, ...]:
    """Run steps for at most `seconds`; return the results of all steps, from this and earlier visits.

    `list_steps` is called again before each step, because results may make further steps possible.

    Raises:
        InputError: `folder` cannot be made.
        OSError: a file in it cannot be written.
    """
    make_folder(folder)
    end = time.monotonic() + seconds
    had: set[str] = set()
    while True:
        found = list_steps()
        waiting = open_steps(found, folder)
        fresh = [step for step in waiting if step.name not in had]
        again = [step for step in waiting if step.resumes and _state(step, folder) == "not finished"]
        left_s = end - time.monotonic()
        if (not fresh and not again) or left_s < min(LEAST_S, seconds / 2):
            break
        if not fresh:
            had -= {step.name for step in again}
            continue
        had.add(fresh[0].name)
        write_told(_begun(fresh[0]), fresh[0], folder)  # in case the machine is lost meanwhile
        told = _run(fresh[0], folder, min(step_s, left_s), say)
        write_told(told, fresh[0], folder)
        write_summary(_all_told(found, folder), folder)
        say(f"{told.name}: {told.state} after {describe_seconds(told.seconds)}{_reason(told)}; {folder / told.name}.md")
    return _all_told(list_steps(), folder)


def open_steps(found: tuple[Step, ...], folder: Path) -> list[Step]:
    """Return the steps that are not done, or were done with another command."""
    return [step for step in found if _is_open(step, folder)]


def _reason(told: Told) -> str:
    """Return why a step was not done, for the terminal: its last line tells why it failed."""
    lines = told.output.strip().splitlines()
    if not lines or told.state not in ("failed", "cannot be run"):
        return ""
    return f": {lines[0] if told.state == 'cannot be run' else lines[-1].strip()}"


def _all_told(found: tuple[Step, ...], folder: Path) -> tuple[Told, ...]:
    return tuple(told for step in found if (told := read_told(step.name, folder)) is not None)


def _state(step: Step, folder: Path) -> str:
    told = read_told(step.name, folder)
    return "" if told is None else told.state


def _is_open(step: Step, folder: Path) -> bool:
    """Return whether a step is unfinished, or its command has changed."""
    told = read_told(step.name, folder)
    return told is None or told.state != "done" or told.command != step.command


def _begun(step: Step) -> Told:
    """Return the result to record when a step begins: unfinished, with the results of earlier visits."""
    return Told(step.name, step.title, "not finished", 0.0, None, step.command, "", read_result(step))


def _run(step: Step, folder: Path, limit_s: float, say: Callable[[str], None]) -> Told:
    if step.obstacle:
        return Told(step.name, step.title, "cannot be run", 0.0, None, step.command, step.obstacle)
    say(f"{step.name}: {step.title}, for {describe_seconds(limit_s)} at most")
    begin = time.monotonic()
    if not step.resumes:
        step.result.unlink(missing_ok=True)  # remove the result of an earlier attempt
    ended = _process(step.command, folder / f"{step.name}.log", limit_s)
    state: State = "done" if ended.exit_code == 0 else "not finished" if ended.exit_code is None else "failed"
    return judged(Told(step.name, step.title, state, time.monotonic() - begin, ended.exit_code, step.command,
                       ended.output, read_result(step)))


def _process(command: tuple[str, ...], log: Path, limit_s: float) -> _Ended:
    """Run a command. Shortly before its time is up it receives Ctrl-C; then all its processes are killed."""
    environment = os.environ | {"ANTUNE_PICTURE": "0", "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as file:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT,
                                 env=environment, start_new_session=True)
    exit_code = None
    grace_s = min(GRACE_SHARE * limit_s, MOST_GRACE_S)
    try:
        exit_code = child.wait(limit_s - grace_s)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
        _wait(child, grace_s)
    finally:
        _end(child)
    return _Ended(exit_code, log.read_text(encoding="utf-8", errors="replace")[-OUTPUT_CHARS:])


def _wait(child: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:  # all its processes have ended
        return
    finally:
        child.wait()
