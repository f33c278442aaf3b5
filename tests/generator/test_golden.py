"""The generated text, kept under version control so that a change shows in review."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from antune import halide as hl
from generator.explain import host_lines
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import Dialect
from tests.support.suite import NAMES, ODD_SIZES, TARGET, polybench_program


@pytest.mark.parametrize("name", NAMES)
def test_default_plan_text(name: str, golden: Callable[[str, str], None]) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    variant = lower(program, default_plan(program, TARGET), TARGET)
    host = "".join(f"// host: {line}\n" for line in host_lines(variant.host))
    golden(f"{name}.cl", host + variant.source)


def test_rows_are_counted_in_64_bits_where_the_target_says_so() -> None:
    program = polybench_program("gemm", ODD_SIZES["gemm"])
    plan = default_plan(program, TARGET)
    plain, long = (lower(program, plan, replace(TARGET, long_strides=wide)).source for wide in (False, True))
    assert " * 53 + " in plain
    assert " * 53L + " in long
    assert re.sub(r"\b(\d+)L\b", r"\1", long) == plain


@pytest.mark.parametrize("name", ["gemm", "mvt"])
def test_unshared_unrolled_text(name: str, golden: Callable[[str, str], None]) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    plan = default_plan(program, TARGET)
    kernels = tuple(replace(k, shared=False, inner_tile=1, unroll=4) for k in plan.kernels)
    golden(f"{name}-unshared.cl", lower(program, Plan(plan.schedule, kernels), TARGET).source)


@pytest.mark.parametrize(("dialect", "name"), [("opencl", "gemm-vectors.cl"), ("cuda", "gemm-vectors.cu")])
def test_text_of_vector_accesses(dialect: Dialect, name: str, golden: Callable[[str, str], None]) -> None:
    """An outer product of registers: runs of four columns, four steps of the sum at once. Rows end within a tile."""
    program = polybench_program("gemm", ("NI=60", "NJ=100", "NK=40", "DATA_TYPE_IS_FLOAT"))
    kernel = KernelPlan(("S0", "S1"), (32, 64), (8, 8), shared=True, inner_tile=8, unroll=4, points_inside=True,
                        registers=True, run=4, vector=4)
    golden(name, lower(program, Plan(ScheduleChoice(), (kernel,)), replace(TARGET, dialect=dialect)).source)


@pytest.mark.parametrize(
    ("dialect", "name", "block"),
    [("opencl", "streams.cl", (1, 1)), ("opencl", "streams-threads.cl", (2, 32)), ("cuda", "streams.cu", (2, 32)),
     ("hip", "streams.hip", (2, 32))],
)
def test_text_of_streaming_stores(dialect: Dialect, name: str, block: tuple[int, ...],
                                  golden: Callable[[str, str], None]) -> None:
    """Parts of rows that begin inside a line; single elements where there are several threads."""
    program = polybench_program("jacobi-2d", ("N=390", "TSTEPS=3"))
    kernels = tuple(KernelPlan((statement,), (8, 512), block, streamed=(array,)) for statement, array
                    in (("S0", "B"), ("S1", "A")))
    golden(name, lower(program, Plan(ScheduleChoice(), kernels), replace(TARGET, dialect=dialect)).source)


@pytest.mark.parametrize("name", ["gemm", "jacobi-2d"])
def test_same_plan_same_text_in_any_order(name: str) -> None:
    """Lowering keeps no state: other plans in between change nothing."""
    program = polybench_program(name, ODD_SIZES[name])
    plan = default_plan(program, TARGET)
    other = Plan(plan.schedule, tuple(replace(k, shared=False, inner_tile=1) for k in plan.kernels))
    first = lower(program, plan, TARGET)
    lower(program, other, TARGET)
    assert lower(program, plan, TARGET) == first


@pytest.mark.parametrize(("dialect", "name"), [("opencl", "stages.cl"), ("cuda", "stages.cu"), ("hip", "stages.hip")])
def test_text_of_stages(dialect: Dialect, name: str, golden: Callable[[str, str], None]) -> None:
    """`rows` is computed by blocks, in shared memory; `doubled` by each thread that needs it, `total` with a loop."""
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 3)], "r")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    doubled, rows, total, out = hl.Func("doubled"), hl.Func("rows"), hl.Func("total"), hl.Func("out")
    doubled[x, y] = hl.u16(image[x, y]) * 2
    rows[x, y] = doubled[x, y] + doubled[x + 1, y]
    total[x, y] = hl.u16(0)
    total[x, y] += rows[x, y + r]
    out[x, y] = total[x, y] - hl.select(x % 2 == 0, rows[x, y], doubled[x, y])
    program = pipeline_program([out], [37, 21])
    kernel = KernelPlan(tuple(sorted(s.name for s in program.statements)), (8, 16), (4, 8), unroll=2)
    schedule = Stages((("doubled", "inline"), ("rows", "block"), ("total", "inline")))
    golden(name, lower(program, Plan(schedule, (kernel,)), replace(TARGET, dialect=dialect)).source)


@pytest.mark.parametrize(
    ("dialect", "name", "block", "walk"),
    [("opencl", "steps.cl", (1, 1), 1), ("cuda", "steps.cu", (2, 8), 2), ("hip", "steps.hip", (2, 8), 2)],
)
def test_text_of_blocks_that_walk(dialect: Dialect, name: str, block: tuple[int, ...], walk: int,
                                  golden: Callable[[str, str], None]) -> None:
    """Rows of `light` and `blurred` stay from step to step, each at its number modulo a power of two."""
    x, y = hl.Var("x"), hl.Var("y")
    image, light, blurred, out = hl.ImageParam(hl.UInt(8), 2, "image"), *map(hl.Func, ("light", "blurred", "out"))
    light[x, y] = hl.u16(image[x, y]) * 3
    blurred[x, y] = light[x, y - 1] + light[x, y] + light[x, y + 1]
    out[x, y] = blurred[x, y] + blurred[x + 1, y + 1]
    program = pipeline_program([out], [37, 24])
    kernel = KernelPlan(tuple(sorted(s.name for s in program.statements)), (8, 64), block, walk=walk)
    schedule = Stages((("blurred", "block"), ("light", "block")))
    golden(name, lower(program, Plan(schedule, (kernel,)), replace(TARGET, dialect=dialect)).source)


@pytest.mark.parametrize(("dialect", "name"), [("opencl", "together.cl"), ("cuda", "together.cu")])
def test_text_of_two_outputs(dialect: Dialect, name: str, golden: Callable[[str, str], None]) -> None:
    """One kernel writes both outputs; its blocks compute `light` once for both."""
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(-1, 3)], "r")
    light, across, down = hl.Func("light"), hl.Func("across"), hl.Func("down")
    light[x, y] = hl.u16(hl.ImageParam(hl.UInt(8), 2, "image")[x, y]) * 3
    across[x, y] = light[x + 1, y] - light[x - 1, y]
    down[x, y] = hl.u16(0)
    down[x, y] += light[x, y + r]
    program = pipeline_program([across, down], [37, 21])
    kernel = KernelPlan(tuple(sorted(s.name for s in program.statements)), (8, 16), (4, 8))
    schedule = Stages((("light", "block"),), (), (("across", "down"),))
    golden(name, lower(program, Plan(schedule, (kernel,)), replace(TARGET, dialect=dialect)).source)


@pytest.mark.parametrize(
    ("dialect", "name"), [("opencl", "time-tiles.cl"), ("cuda", "time-tiles.cu"), ("hip", "time-tiles.hip")]
)
def test_text_of_time_tiles(dialect: Dialect, name: str, golden: Callable[[str, str], None]) -> None:
    """Chunks of one and of two steps; B is written anew in every step, A goes from chunk to chunk."""
    program = polybench_program("jacobi-2d", ODD_SIZES["jacobi-2d"])
    plan = Plan(TimeTiles(2), (KernelPlan(("S0", "S1"), (8, 16), (2, 8), unroll=2, padding=1),))
    variant = lower(program, plan, replace(TARGET, dialect=dialect))
    host = "".join(f"// host: {line}\n" for line in host_lines(variant.host))
    golden(name, host + variant.source)


@pytest.mark.parametrize(("dialect", "name"), [("opencl", "rows.cl"), ("cuda", "rows.cu"), ("hip", "rows.hip")])
def test_text_of_rows_in_one_thread(dialect: Dialect, name: str, golden: Callable[[str, str], None]) -> None:
    """A block of one thread: in OpenCL with functions of its own, and with loops cut at the borders of the image."""
    x, y = hl.Var("x"), hl.Var("y")
    edge, out = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image")), hl.Func("out")
    out[x, y] = hl.max(edge[x - 1, y], edge[x + 1, y - 1])
    program = pipeline_program([out], [300, 21])
    kernel = KernelPlan(tuple(sorted(s.name for s in program.statements)), (4, 128), (1, 1))
    golden(
        name,
        lower(program, Plan(Stages((("repeat_edge", "inline"),)), (kernel,)), replace(TARGET, dialect=dialect)).source,
    )


def test_text_of_a_triangle_in_registers(golden: Callable[[str, str], None]) -> None:
    """Tiles along the diagonal are computed whole, and stored as far as they belong to the triangle."""
    program = polybench_program("syrk", ("N=41", "M=29"))
    schedule = ScheduleChoice()
    (shape,) = kernel_shapes(program, schedule)
    kernel = KernelPlan(shape.statements, (4, 16), (1, 8), unroll=2, points_inside=True, registers=True)
    text = lower(program, Plan(schedule, (kernel,)), TARGET).source
    begin = text.index("for (int k")
    assert "if" not in text[begin:text.index("} else {", begin)], "no condition is inside the loop over k"
    golden("triangle.cl", text)
