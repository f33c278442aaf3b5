"""Reading the schedules that Halide's autoschedulers print."""

from __future__ import annotations

from experiments.benchmarks.halide_groupings import Kernels, read_schedule

LI = """
unsharp.compute_root()
    .split(x,v0,v1,64,ShiftInwards)
    .gpu_blocks(v0)
    .gpu_threads(v1)
;
total.compute_root()
    .gpu_blocks(v2)
;
total.update(0)
    .gpu_blocks(v3)
;
"""
ANDERSON = """
Var xi("xi");
blur_y
    .compute_root()
    .gpu_blocks(x)
    .gpu_blocks(y)
    .gpu_threads(xi);
gray.in(blur_y).store_in(MemoryType::Register).compute_at(blur_y, xi)
    .unroll(x);
conv$1
    .compute_at(blur_y, xi);
conv$1
    .update(0)
    .compute_at(blur_y, xi);
"""


def test_stages_with_blocks_of_their_own_are_kernels_each_update_too() -> None:
    assert read_schedule(LI) == Kernels(3, ())


def test_stages_at_a_loop_of_another_are_in_its_kernel_and_copies_are_no_stages() -> None:
    assert read_schedule(ANDERSON) == Kernels(1, (("conv$1", "blur_y"),))
