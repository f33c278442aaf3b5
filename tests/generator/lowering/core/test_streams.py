"""Stores past the caches: only of what a kernel does not read, and what kernels compute stays the same, checked in
Python.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.decisions.array_sets import arrays_text
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.decisions.streamed import exceeding
from generator.emit import streams as emitted
from generator.emit.streams import with_rows
from generator.errors import IllegalPlan
from generator.expr import loads_of
from generator.lowered_kernel import LoweredKernel
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.core.assemble import lowered_program
from generator.lowering.heuristics.starts import start_plans
from generator.lowering.heuristics.streams import with_streams
from generator.nest import Assign, Streamed, expressions, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES
from tests.support.interpreter import Device, run_original
from tests.support.plans import TARGET
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.streamed import DECLARED as MIXED_DECLARED
from tests.support.streamed import MIXED, streaming, writers
from tests.support.suite import ALL_NAMES, large_program, pipeline_program

DECLARED = "float A[7][400], B[7][400], D[9][403], s[400]; double W[7][150]; unsigned char P[5][1100]; int n;"
CPU = replace(TARGET, cache_bytes=1 << 20)


def rows(kernel: LoweredKernel) -> LoweredKernel:
    """The kernel as it is printed, for a thread that is alone."""
    streamed = [array for array in kernel.arrays if array.name in kernel.streamed]
    return replace(kernel, body=with_rows(kernel.body, streamed))


def streams(text: str, tile: tuple[int, ...], unroll: int = 1, declared: str = DECLARED) -> int:
    """The number of stores of rows of a program in blocks of one thread, which computes what the original does."""
    program = program_of(scop(text, declared))
    shapes = kernel_shapes(program, ScheduleChoice())
    kernels = tuple(KernelPlan(shape.statements, tile[-len(shape.extents):], (1,) * len(shape.extents), unroll=unroll,
                               streamed=tuple(name for name, _ in shape.written)) for shape in shapes)
    return len(checked(program, Plan(ScheduleChoice(), kernels)))


def checked(program: Program, plan: Plan) -> list[Streamed]:
    """The stores of rows of a plan, which computes what the original does."""
    right = run_original(program).global_values(program)
    made = lowered_program(program, plan, LANGUAGES["opencl"])
    device = Device(program, tuple(map(rows, made.kernels)), np.random.default_rng(1))
    device.run(made.host, {})
    assert device.memory.global_values(program) == right
    return [node for kernel in map(rows, made.kernels) for node in walk(kernel.body) if isinstance(node, Streamed)]


@in_turn
@pytest.mark.parametrize(("text", "tile", "found"), few([
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] = B[i][j];", (4, 16), 1),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] = B[i][j];", (4, 8), 0),  # half a line
    ("for (i = 0; i < 9; i++) for (j = 0; j < 403; j++) D[i][j] = s[399 - (j >> 1)];", (2, 512), 1),
    ("for (i = 1; i < 9; i++) for (j = 1; j < 400; j++) D[i][j] = s[j - 1];", (2, 512), 1),  # begins inside a line
    ("for (i = 0; i < 7; i++) for (j = 0; j < 150; j++) W[i][j] = B[i][j] * 2;", (2, 256), 1),
    ("for (i = 0; i < 5; i++) for (j = 0; j < 1100; j++) P[i][j] = B[i][j & 255];", (2, 2048), 1),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) if (s[j] > 0) A[i][j] = B[i][j];", (2, 512), 0),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 200; j++) A[i][2 * j] = B[i][j];", (2, 512), 0),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] += B[i][j];", (2, 512), 0),
    ("for (i = 0; i < 7; i++) for (j = i; j < 400; j++) A[i][j] = B[i][j];", (2, 512), 1),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) { A[i][j] = B[i][j]; D[i][j] = s[j]; }", (2, 512), 2),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] = B[i][j];", (4, 512), 1),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] = B[i][j];", (4, 64), 1),
], 11))
def test_rows(text: str, tile: tuple[int, ...], found: int) -> None:
    assert streams(text, tile) == found


@pytest.mark.parametrize("most", few([128, 4096, 320], 1))
def test_whatever_is_not_a_row_is_stored_where_it_stands(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards, triangles, strides, rows backwards, arrays that are written again, names that the text would use."""
    monkeypatch.setattr(emitted, "PART", most)
    program = program_of(scop(MIXED, MIXED_DECLARED))
    found = checked(program, streaming(program))
    assert {node.target.array for node in found} == {"whole", "upper", "lower", "B_row", "twice", "to",
                                                     "antune_stream_int"}


CASES = st.tuples(writers(), st.sampled_from([(1, 512), (3, 512), (2, 37), (2, 16)]),
                  st.sampled_from([64, 128, 200, 4096]))


@in_turn
@settings(max_examples=8, derandomize=True)  # for some such loops isl breaks the order of a schedule, which is refused
@given(CASES)
def test_any_loops_that_write(case: tuple[tuple[str, str], tuple[int, int], int]) -> None:
    check_loops(*case)


@pytest.mark.slow
@settings(max_examples=400)
@given(CASES)
def test_more_loops_that_write(case: tuple[tuple[str, str], tuple[int, int], int]) -> None:
    check_loops(*case)


def check_loops(written: tuple[str, str], tile: tuple[int, int], most: int) -> None:
    """`most`: bytes of a part of a row."""
    text, declared = written
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitted, "PART", most)
        program = program_of(scop(text, declared))
        checked(program, streaming(program, (2, 2, *tile)))


@settings(max_examples=15)
@given(st.integers(0, 70), st.integers(1, 330), st.integers(0, 5), st.sampled_from([16, 64, 256, 512]),
       st.sampled_from(["float", "double", "unsigned char", "short"]), st.sampled_from([1, 4]))
def test_any_part_of_any_row(first: int, count: int, beside: int, tile: int, kind: str, unroll: int) -> None:
    width = first + count + beside
    text = f"for (i = 0; i < 3; i++) for (j = {first}; j < {first + count}; j++) A[i][j] = s[j] + i;"
    streams(text, (2, tile), unroll, f"{kind} A[3][{width}], s[{width}];")


@pytest.mark.parametrize(("text", "name"), [
    ("for (i = 0; i < 7; i++) for (j = 1; j < 400; j++) A[i][j] = A[i][j - 1];", "A"),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] += B[i][j];", "A"),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] = B[i][j];", "B"),
    ("for (i = 0; i < 7; i++) for (j = 0; j < 400; j++) A[i][j] = B[i][j];", "Z"),
])
def test_a_plan_that_streams_what_a_kernel_reads_is_refused(text: str, name: str) -> None:
    program = program_of(scop(text, DECLARED))
    [shape] = kernel_shapes(program, ScheduleChoice())
    kernel = KernelPlan(shape.statements, (4,) * len(shape.extents), (1,) * len(shape.extents), streamed=(name,))
    with pytest.raises(IllegalPlan, match=rf"cannot write {name} past the caches.*`streamed` may name (A|no array)"):
        lower(program, Plan(ScheduleChoice(), (kernel,)), CPU)


@pytest.mark.parametrize("name", few((*ALL_NAMES, "blur", "unsharp", "harris"), 1))
def test_what_a_kernel_reads_is_never_on_offer(name: str) -> None:
    """Whatever the order of loops and the number of kernels: no statement of the kernel has a load of it."""
    program = large_program(name) if name in ALL_NAMES else pipeline_program(name)
    for choice in (ScheduleChoice(), ScheduleChoice(serialize_sccs=True)):
        for shape in kernel_shapes(program, choice):
            bodies = [program.statement(statement).body for statement in shape.statements]
            used = [expr for body in bodies for expr in (*body.computed, *body.target.index)]
            used += [body.guard for body in bodies if body.guard is not None]
            read = {load.array for expr in used for load in loads_of(expr)}
            read |= {body.target.array for body in bodies if body.op}
            assert not read.intersection(exceeding(shape, replace(CPU, cache_bytes=1)))


def test_the_offer_is_a_matter_of_what_one_launch_writes() -> None:
    """jacobi-2d writes 13 MB in every step; gramschmidt writes Q by columns."""
    shapes = kernel_shapes(large_program("jacobi-2d"), ScheduleChoice())
    assert [exceeding(shape, replace(CPU, cache_bytes=32 << 20)) for shape in shapes] == [("B",), ("A",)]
    assert [exceeding(shape, replace(CPU, cache_bytes=64 << 20)) for shape in shapes] == [(), ()]
    assert [exceeding(shape, replace(CPU, cache_bytes=0)) for shape in shapes] == [(), ()]
    columns = {name: size for shape in kernel_shapes(large_program("gramschmidt"), ScheduleChoice())
               for name, size in shape.written}
    assert columns["Q"] < 10_000


def test_only_threads_that_are_alone_have_the_offer_on_cpus() -> None:
    program = large_program("jacobi-2d")
    shapes = kernel_shapes(program, ScheduleChoice())
    wanted = KernelPlan(shapes[0].statements, (8, 512), (1, 1), streamed=("B",))
    assert nearest(wanted, Known(shapes[0], CPU, True)) == wanted
    for others in (replace(wanted, block=(1, 32)), replace(wanted, block=(2, 1))):
        assert nearest(others, Known(shapes[0], CPU, True)) == replace(others, streamed=())
    gpu, several = replace(CPU, shares_host_cores=False), replace(wanted, block=(2, 32))
    assert nearest(several, Known(shapes[0], gpu, True)) == several
    assert nearest(wanted, Known(shapes[0], CPU, False)).streamed == (), "the paper's space has no such decision"


def test_starts_of_cpus_have_a_version_with_streams() -> None:
    program = large_program("jacobi-2d")
    [rows_of_loops, *_] = start_plans(program, CPU)
    made = with_streams(program, rows_of_loops, CPU)
    assert made is not None and [kernel.streamed for kernel in made.kernels] == [("B",), ("A",)]
    assert replace(made, kernels=tuple(replace(k, streamed=()) for k in made.kernels)) == rows_of_loops
    assert with_streams(program, rows_of_loops, replace(CPU, cache_bytes=1 << 30)) is None
    assert with_streams(program, rows_of_loops, replace(CPU, shares_host_cores=False)) is None


def test_json_of_plans_without_streams_is_as_before() -> None:
    plain = Plan(ScheduleChoice(), (KernelPlan(("S0",), (8,), (1,)),))
    assert "streamed" not in plain.to_json()
    streamed = replace(plain, kernels=(replace(plain.kernels[0], streamed=("A", "B")),))
    assert plan_from_json(streamed.to_json()) == streamed and arrays_text(("A", "B")) == "A, B"


def test_stores_are_those_of_the_plan() -> None:
    """Nothing else changes: without the marked stores the text is that of the plan without streams."""
    program = large_program("jacobi-2d")
    plan = Plan(ScheduleChoice(), tuple(KernelPlan(shape.statements, (8, 64), (2, 32), streamed=(name,)) for shape, name
                                        in zip(kernel_shapes(program, ScheduleChoice()), "BA", strict=True)))
    plain = replace(plan, kernels=tuple(replace(kernel, streamed=()) for kernel in plan.kernels))
    lowered = [lowered_program(program, one, LANGUAGES["opencl"]).kernels for one in (plan, plain)]
    assert [k.body for k in lowered[0]] == [k.body for k in lowered[1]]
    for kernel in lowered[0]:
        read = {load.array for node in walk(kernel.body) for expr in expressions(node) for load in loads_of(expr)
                if not (isinstance(node, Assign) and expr is node.target)}
        assert kernel.streamed and not read.intersection(kernel.streamed)
