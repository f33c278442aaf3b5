"""Inner loops of device code, taken apart: what an outer product of registers costs besides its multiply-adds."""

from __future__ import annotations

from collections import Counter

import pytest

from experiments.benchmarks import inner_loops
from experiments.benchmarks.inner_loops import HOPPER, Loop, most_multiplied, taken_apart
from generator.errors import InputError
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import translator
from tests.support.slow import few, in_turn
from tests.support.suite import polybench_program

TEXT = """
.text.first:
.L_x_0:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   LDS.128 R4, [R2] ;
        /*0020*/                   FFMA R0, R4, R5, R0 ;
        /*0030*/              @!P0 FFMA R0, R6, R7, R0 ;
        /*0040*/              @P0  BRA `(.L_x_1) ;
        /*0050*/              @P1  BRA `(.L_x_0) ;
.text.second:
.L_x_2:
        /*0000*/                   BRA `(.L_x_2) ;
"""

REST = """
.text.kernel:
.L_x_0:
        /*0000*/                   BAR.SYNC 0x0 ;
        /*0010*/                   LDS.128 R4, [R2] ;
        /*0020*/                   MOV R1, R2 ;
        /*0030*/                   FFMA R0, R4, R5, R0 ;
        /*0040*/                   FFMA R0, R6, R7, R0 ;
.L_x_1:
        /*0050*/                   LDS R4, [R2] ;
        /*0060*/                   FFMA R0, R4, R5, R0 ;
        /*0070*/                   FFMA R0, R6, R7, R0 ;
        /*0080*/              @P0  BRA `(.L_x_1) ;
        /*0090*/              @P1  BRA `(.L_x_0) ;
"""


def test_loops_inside_a_loop_do_not_count_for_it() -> None:
    loop, around = Loop("first", Counter({"FFMA": 2, "LDS.128": 1, "BRA": 1})), Loop("first", Counter(["MOV", "BRA"]))
    assert list(inner_loops.inner_loops(TEXT)) == [loop, around]
    assert most_multiplied(iter([loop, around])) == {"first": loop}
    assert (loop.count, loop.share, loop.named("LDS")) == (4, 0.5, 1)


def test_the_loop_over_tiles_is_meant_not_that_for_the_rest_of_a_sum() -> None:
    """As many multiply-adds: a whole tile unrolled, with wide loads; the rest one by one in a loop inside."""
    [loop] = most_multiplied(inner_loops.inner_loops(REST)).values()
    assert loop.instructions == Counter({"BAR.SYNC": 1, "LDS.128": 1, "MOV": 1, "FFMA": 2, "BRA": 1})


@pytest.mark.parametrize("name", few(inner_loops.PROGRAMS[:3], 1))
def test_programs_are_read_without_running_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = polybench_program(name, ("MINI_DATASET", "DATA_TYPE_IS_FLOAT"))
    monkeypatch.setattr("generator.capture.record.execute", None)
    assert inner_loops.read(name, "MINI") == right


@in_turn
def test_four_vector_loads_feed_sixty_four_multiply_adds() -> None:
    """Eight by eight points per thread on sm_90: 128-bit loads from shared memory, and no others. The loop is that over
    tiles, with a whole tile unrolled, and with the copies of the next tile.
    """
    translator(Nvrtc)
    try:
        inner_loops.nvdisasm()
    except InputError as missing:
        pytest.skip(str(missing))
    program = polybench_program("gemm", ("NI=256", "NJ=256", "NK=256", "DATA_TYPE_IS_FLOAT"))
    plan = start_plans(program, HOPPER)[-1]
    text, _ = taken_apart(lower(program, plan, HOPPER).source, (9, 0))
    loop = most_multiplied(inner_loops.inner_loops(text))["kernel0"]
    wide = loop.named("LDS.128")
    assert wide == loop.named("LDS") and loop.named("FFMA") >= 16 * wide and loop.share > 0.8
    assert loop.named("FFMA") == 1024 and not loop.named("LDL", "STL")


def test_each_factor_of_a_tile_is_loaded_once() -> None:
    """Of 128 x 128 results: 128 + 128 floats per 128 x 128 multiply-adds, and once the results themselves."""
    program = polybench_program("gemm", ("NI=256", "NJ=256", "NK=256", "DATA_TYPE_IS_FLOAT"))
    plan = Plan(ScheduleChoice(), (KernelPlan(("S0", "S1"), (128, 128), (16, 16), shared=True, inner_tile=16, run=4,
                                              vector=4, points_inside=True, registers=True, prologue=True),))
    [facts] = kernel_facts(program, plan, HOPPER)
    assert facts.operations.total * facts.threads == pytest.approx(256 * 256 * (2 * 256 + 1), rel=0.02)
    assert inner_loops.loaded_bytes(facts) == pytest.approx(4 * 2 / 128 + 4 / 256, rel=0.02)
