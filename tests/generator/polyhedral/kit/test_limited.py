"""Calls that are computed in a child process with a limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator.errors import IllegalPlan
from generator.polyhedral.kit import limited as module
from generator.polyhedral.kit.limited import ChildError, limited


def test_the_answer_comes_back_whole() -> None:
    assert limited(lambda: "ä" * 300_000, "nothing") == "ä" * 300_000


def test_an_error_comes_back_as_its_message() -> None:
    def fail() -> str:
        raise ValueError("no such schedule")

    with pytest.raises(ChildError, match="no such schedule"):
        limited(fail, "nothing")


def test_endless_work_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def spin() -> str:
        while True:
            pass

    monkeypatch.setattr(module, "CPU_SECONDS", 1)
    start = time.monotonic()
    with pytest.raises(IllegalPlan, match="scheduling was given up after 1 s"):
        limited(spin, "scheduling")
    assert time.monotonic() - start < 60


def test_a_crash_costs_the_child_only() -> None:
    def crash() -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    with pytest.raises(IllegalPlan, match="scheduling crashed isl"):
        limited(crash, "scheduling")


def test_an_interrupt_ends_the_child_too(tmp_path: Path) -> None:
    def sleep() -> str:
        (tmp_path / "pid").write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)
        return ""

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            limited(sleep, "scheduling")
    finally:
        signal.signal(signal.SIGINT, usual)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_child_that_nobody_reads_runs_none_of_the_parents_code() -> None:
    """A child of a parent that was interrupted, and closed the pipe: writing raises BrokenPipeError."""
    reading, writing = os.pipe()
    read_by_nobody = os.dup(reading)
    child = os.fork()
    if child == 0:
        try:
            os.close(read_by_nobody)
            module._answer(lambda: "x" * 300_000, reading, writing)
        finally:
            os._exit(99)
    for descriptor in (reading, writing, read_by_nobody):
        os.close(descriptor)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1


def test_a_hard_limit_of_processor_time_stays() -> None:
    """`ulimit -Ht`: a process cannot raise it again, and asking for that is an error."""
    lines = ("import resource", "from generator.polyhedral.kit.limited import limited",
             "resource.setrlimit(resource.RLIMIT_CPU, (100, 100))",
             "ask = lambda: str(resource.getrlimit(resource.RLIMIT_CPU)[1])",
             "print(limited(ask, 'asking'))")
    found = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert found.stdout == "100\n"
