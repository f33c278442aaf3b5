"""`antune explain` shows bank conflicts with each choice against them."""

from __future__ import annotations

from antune.shared_memory import shared_lines
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import program_of, scop
from tests.support.targets import CPU, HOPPER


def test_conflicts_are_listed_with_the_choices_against_them() -> None:
    program = program_of(scop("for (i = 0; i < 96; i++) for (j = 0; j < 64; j++) B[i][j] = A[j][i];",
                              "float A[64][96], B[96][64];"))
    plan = Plan(ScheduleChoice(), (KernelPlan(("S0",), (32, 32), (8, 32), shared=True),))
    assert list(shared_lines(program, plan, HOPPER)) == [
        "",
        "== Shared memory (32 banks; passes of a warp's access, 1 without bank conflicts)",
        "kernel0 {S0}:",
        "    write A_shared, 4 bytes each: 1 pass; 4 per thread",
        "    read A_shared, 4 bytes each: 32 passes; 4 per thread",
        "    all accesses, mean: 16.5 with padding 0; 1 with padding 1; 1 with swizzled A",
    ]
    assert not list(shared_lines(program, plan, CPU)), "CPUs have no banks"
