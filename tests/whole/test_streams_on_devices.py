"""Stores past the caches are right on real devices: all types of elements, whole and partial lines, any first element.
"""

from __future__ import annotations

import pytest

from antune import halide as hl
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans
from tests.support.programs import scop, write_c
from tests.support.reading import problem_of, read_untimed
from tests.support.runners import needed_device
from tests.support.slow import few, in_turn
from tests.support.streamed import DECLARED, MIXED, streaming
from tests.support.suite import problem as polybench
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

PLATFORMS = few(["PoCL", "Intel OpenCL"], ["PoCL"])
KINDS = {"u8": hl.UInt(8), "i16": hl.Int(16), "f16": hl.Float(16), "u32": hl.UInt(32), "f32": hl.Float(32),
         "i64": hl.Int(64), "f64": hl.Float(64)}

SIZES = (((2, 4096), (1, 1)), ((4, 128), (1, 1)), ((1, 16), (1, 1)), ((4, 64), (2, 32)))
"""Tiles and blocks: rows in parts, rows of one tile, vectors of 16, and several threads, which store single elements.
"""


def outputs(width: int) -> Problem:
    """Return a pipeline with an output of every type, each with kernels of its own."""
    x, y = hl.Var("x"), hl.Var("y")
    image, made = hl.ImageParam(hl.UInt(8), 2, "image"), []
    for name, kind in KINDS.items():
        func = hl.Func(name)
        func[x, y] = hl.cast(kind, image[x, y]) + hl.cast(kind, image[x + 1, y])
        made.append(func)
    return problem_of(made, [width, 5], "outputs")


def plans(found: Problem, *sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Plan]:
    """Return a plan per tile and block, which streams all that kernels only write."""
    shapes = kernel_shapes(found.program, Stages())
    return [Plan(Stages(), tuple(KernelPlan(shape.statements, tile, block,
                                            streamed=tuple(name for name, _ in shape.written)) for shape in shapes))
            for tile, block in sizes]


@in_turn
@pytest.mark.parametrize(
    ("platform", "width", "sizes"),
    few(
        [(platform, width, one) for one in SIZES for width in (1037, 1280) for platform in ("PoCL", "Intel OpenCL")],
        1,
    ),
)
def test_all_types_of_elements(platform: str, width: int, sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    device, found = needed_device(platform), outputs(width)
    made = plans(found, sizes)
    for plan in made:
        source = lower(found.program, plan, device.target).source
        assert source.count("antune_stream_" if plan.kernels[0].block == (1, 1) else "antune_store(") >= len(KINDS)
    check_plans(device, found, made)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_sweeps_that_begin_inside_a_line(platform: str) -> None:
    """Both arrays are streamed in turn, each by the kernel that does not read it, within a loop of the host."""
    device, found = needed_device(platform), polybench("jacobi-2d", ("N=391", "TSTEPS=3"))
    shapes = kernel_shapes(found.program, ScheduleChoice())
    kernels = tuple(KernelPlan(shape.statements, (8, 512), (1, 1), streamed=tuple(n for n, _ in shape.written))
                    for shape in shapes)
    assert sorted(name for kernel in kernels for name in kernel.streamed) == ["A", "B"]
    check_plans(device, found, [Plan(ScheduleChoice(), kernels)])


@in_turn
@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_is_no_row_beside_rows(platform: str) -> None:
    """Guards, triangles, strides, rows backwards, arrays that are written again, names that the text would use."""
    device = needed_device(platform)
    found = read_untimed(write_c(scop(MIXED, DECLARED)), Compilation(), None, None, {}, 0)
    check_plans(device, found, [streaming(found.program), streaming(found.program, (1, 512))])


@in_turn
def test_single_elements_and_vectors_on_gpus(watched_gpu: WatchedGpu) -> None:
    """On the stand-in: runs of four, stored as vectors where there is such a store."""
    found = outputs(64)
    shapes = kernel_shapes(found.program, Stages())
    kernels = tuple(KernelPlan(shape.statements, (2, 64), (2, 16), run=4, vector=4,
                               streamed=tuple(name for name, _ in shape.written)) for shape in shapes)
    plan = Plan(Stages(), kernels)
    source = lower(found.program, plan, watched_gpu.target).source
    assert "antune_store(*(float4 *)&f32" in source and "antune_store(*(double2 *)&f64" in source
    assert "*(long2 *)&i64" in source and "antune_store(*(long2" not in source
    watched_gpu.check(found, [plan])


def test_nvidias_compiler_knows_the_stores() -> None:
    found = outputs(64)
    shapes = kernel_shapes(found.program, Stages())
    for width in (1, 4):
        plan = Plan(Stages(), tuple(KernelPlan(shape.statements, (2, 64), (2, 16), run=width, vector=width,
                                               streamed=tuple(name for name, _ in shape.written)) for shape in shapes))
        source = lower(found.program, plan, HOPPER).source
        assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)
