"""Compiling the many kernels of one plan by all workers that have nothing else to do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.reading import read_problem
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import CompileFailed, Outcome, Timed
from runners.base import Job
from runners.batch import Batch
from runners.host_program import first_launches
from runners.pool_runner import DeviceRunner, default_lower
from runners.processes import Task
from runners.shares import LEAST, data_lead, shares
from runners.tasks import Compile, Compiled, Lower
from tests.support.bench import LIMITS
from tests.support.programs import program_of, scop, write_c
from tests.support.runners import needed_device
from tests.support.suite import TARGET

MANY = 2 * LEAST + 2


LOOPS = "\n".join(["for (j = 0; j < 3; j++) {", "  for (i = 1; i < 40; i++) x[i] = x[i] * 0.5 + j;",
                   "  for (i = 1; i < 40; i++) y[i] = x[39 - i] + y[i]; }",
                   *(f"for (i = 1; i < 39; i++) A[{k + 1}][i] = A[{k}][i - 1] + {k}.5 * A[{k}][i + 1];"
                     for k in range(MANY - 2))])
"""The first two loops are launched by a loop of the host, which gives them its iterator."""


@lru_cache
def many() -> Problem:
    file = write_c(scop(LOOPS, f"double A[{MANY}][40], x[40], y[40];"))
    return read_problem(file, Compilation(), None, None, {}, 0, baselines=False)


@given(st.integers(0, 40))
@settings(max_examples=20, deadline=None)
def test_each_kernel_is_in_one_share_with_its_own_launch(workers: int) -> None:
    program = many().program
    variant = lower(program, default_plan(program, TARGET), TARGET)
    found = shares(variant, workers)
    assert len(found) == (min(workers, len(variant.kernels) // LEAST) if workers > 1 else 0)
    if found:
        assert sum((share.kernels for share in found), ()) == variant.kernels
        assert min(len(share.kernels) for share in found) >= LEAST
        launched = [(share.kernels[one.kernel].name, replace(one, kernel=0)) for share in found
                    for one in first_launches(share)]
        assert sorted(launched, key=str) == sorted(
            ((variant.kernels[one.kernel].name, replace(one, kernel=0)) for one in first_launches(variant)), key=str)


@pytest.mark.parametrize("leads, text", [
    (False, "for (i = 0; i < 64; i++) y[i] = x[63 - i] * idx[i];"),
    (True, "for (i = 0; i < 64; i++) y[i] = x[idx[i] % 64];"),
    (True, "for (i = 0; i < 64; i++) y[idx[i] % 64] = x[i];"),
    (True, "for (i = 0; i < 64; i++) { int m = idx[i] % 64; y[i] = x[m] + m; }"),
    (True, "for (i = 0; i < 64; i++) { double t = 0; for (k = 0; k < idx[i]; k++) t += x[i] * t; y[i] = t; }"),
])
def test_whether_data_lead(leads: bool, text: str) -> None:
    assert data_lead(program_of(scop(text))) == leads


def evaluated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, lowered: Lower = default_lower) -> tuple[
        Outcome, Sequence[Compile], Sequence[Compiled]]:
    """The outcome of the default plan with two workers, what these had to compile, and what they answered."""
    asked, answered = list[Compile](), list[Compiled]()
    hear = Batch._on_event

    def heard(self: Batch, event: Any) -> None:
        if isinstance(getattr(event, "value", None), Compiled):
            answered.append(event.value)
        hear(self, event)

    monkeypatch.setattr(Batch, "_on_event", heard)
    with closing(DeviceRunner(many(), needed_device("PoCL"), LIMITS, tmp_path, workers=2, lower=lowered)) as runner:
        submit = runner._compilers.submit

        def submitted(task: Task) -> None:
            if isinstance(task.payload, Compile):
                asked.append(task.payload)
            submit(task)

        monkeypatch.setattr(runner._compilers, "submit", submitted)
        plan = default_plan(many().program, runner.device.target)
        return dict(runner.evaluate([Job(0, plan)]))[0], asked, answered


def test_two_workers_compile_the_kernels_of_one_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcome, asked, answered = evaluated(monkeypatch, tmp_path)
    assert isinstance(outcome, Timed) and outcome.durations.compile_s > 0
    *some, whole = [task.variant.kernels for task in asked]
    assert len(some) == 2 and some[0] + some[1] == whole and len(whole) >= 2 * LEAST
    assert answered[-1].variant.kernels == whole and answered[-1].seconds == 0  # nothing was left to compile
    assert outcome.durations.compile_s == max(one.seconds for one in answered[:-1])


def broken(program: Program, plan: Plan, target: Target) -> Variant:
    """As it should be, but for the last kernel's text."""
    variant = lower(program, plan, target)
    *others, last = variant.kernels
    text = replace(last.text, after=last.text.after.replace("{", "{ no_such_thing = 1;", 1))
    return replace(variant, kernels=(*others, replace(last, text=text)))


def test_a_kernel_that_does_not_compile_fails_in_a_share_and_is_told_of_the_plan(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outcome, asked, _ = evaluated(monkeypatch, tmp_path, broken)
    assert isinstance(outcome, CompileFailed) and "no_such_thing" in outcome.message
    assert len(asked) == 3
