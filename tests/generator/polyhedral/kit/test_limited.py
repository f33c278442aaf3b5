"""Calls that are computed in a child process with a limit."""

from __future__ import annotations

import os
import signal
import time

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
