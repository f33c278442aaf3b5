"""Operations on copied elements, once per copy: which ones a copy may hold, and that all results stay the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from antune import halide as hl
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.emit.cstyle import c_text
from generator.errors import IllegalPlan
from generator.frontend_py.problem import program_of as pipeline_of
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, Barrier, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES
from metrics.outcome import Timed
from runners.cuda.compiler import Nvrtc
from tests.support.bench import outcomes_of
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import device_named, has_intel
from tests.support.plans import check_plan, lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.slow import in_turn
from tests.support.suite import polybench_program, problem
from tests.support.targets import HOPPER
from tests.support.watched_gpu import WatchedGpu

LOOPS = "for (i = 0; i < 8; i++) for (j = 0; j < 12; j++) for (k = 0; k < 8; k++) "
DECLARED = "float A[8][12], B[8][8], C[8][12], a, b; double d; int n;"
TILES = KernelPlan(("S0",), (4, 8), (2, 4), shared=True, inner_tile=4, prologue=True)
SIZES = ("NI=60", "NJ=100", "NK=40", "DATA_TYPE_IS_FLOAT")
GEMM = KernelPlan(("S0", "S1"), (32, 64), (8, 8), shared=True, inner_tile=8, unroll=4, points_inside=True,
                  registers=True, run=4, vector=4, ahead=True, prologue=True)


def plan_of(kernel: KernelPlan) -> Plan:
    return Plan(ScheduleChoice(), (kernel,))


def held(program: Program, kernel: KernelPlan) -> dict[str, str]:
    """The operations that copies hold, as C text on the array's name."""
    [made] = lowered_kernels(program, plan_of(kernel))
    return {box.name: c_text(box.operation) for box in made.shared if isinstance(box, CopiedBox) and box.operation}


@in_turn
@pytest.mark.parametrize(("update", "found"), [
    ("a * B[i][k] * C[k][j]", {"B": "a * B"}),
    ("B[i][k] * a * C[k][j]", {"B": "B * a"}),
    ("B[i][k] * C[k][j] * a", {}),
    ("(a * B[i][k] + b) * C[k][j]", {"B": "a * B + b"}),
    ("(b - B[i][k] / a) + C[k][j]", {"B": "b - B / a"}),
    ("-(a * B[i][k]) * (C[k][j] + 1)", {"B": "-(a * B)", "C": "C + 1"}),
    ("B[i][k] * B[i][k] * C[k][j]", {"B": "B * B"}),
    ("(a + B[i][k]) * (a + B[i][k]) * C[k][j]", {"B": "(a + B) * (a + B)"}),
    ("(a + B[i][k]) * C[k][j] + (a + B[i][k])", {"B": "a + B"}),
    ("sqrtf(B[i][k]) * C[k][j]", {"B": "sqrtf(B)"}),
    ("a * B[i][k] + C[k][j]", {}),  # may be fused
    ("a * B[i][k]", {}),
    ("a * B[i][k] * C[k][j] + B[i][k]", {}),  # the element itself is used, too
    ("a * B[i][k] * C[k][j] + b * B[i][k]", {}),
    ("d * B[i][k] * C[k][j]", {}),  # a double
    ("(float)(d * B[i][k]) * C[k][j]", {"B": "(float)(d * B)"}),
    ("i * B[i][k] * C[k][j]", {}),
    ("(B[i][k] > a ? a : b) * C[k][j]", {}),
])
def test_what_copies_hold(update: str, found: dict[str, str]) -> None:
    """All of it is refused where there is nothing to hold."""
    program = program_of(scop(f"{LOOPS}A[i][j] += {update};", DECLARED))
    plain = replace(TILES, prologue=False)
    (shape,) = kernel_shapes(program, ScheduleChoice())
    assert shape.operated == tuple(sorted(found))
    if not found:
        with pytest.raises(IllegalPlan, match="used in one operation with scalars and literals only; leave it out"):
            held(program, TILES)
        return
    assert held(program, TILES) == {f"{array}_shared": text for array, text in found.items()}
    assert not held(program, plain)


def test_integers_are_left_alone() -> None:
    """An element that the program does not read might be divided by zero."""
    program = program_of(scop(f"{LOOPS}A[i][j] += B[i][k] / n * C[k][j];", "int A[8][12], B[8][8], C[8][12], n;"))
    assert not kernel_shapes(program, ScheduleChoice())[0].operated


def test_of_two_copies_of_an_array_one_holds_products() -> None:
    program = program_of(scop(
        "for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) for (k = 0; k < 8; k++) A[i][j] += a * B[i][k] * B[j][k];",
        DECLARED))
    assert held(program, TILES) == {"B_shared0": "a * B"}


def test_without_copies_there_is_none() -> None:
    program = program_of(scop(f"{LOOPS}A[i][j] += a * B[i][k] * C[k][j];", DECLARED))
    with pytest.raises(IllegalPlan, match="without shared memory nothing is copied; leave it out"):
        lowered_kernels(program, plan_of(replace(TILES, shared=False)))
    with pytest.raises(IllegalPlan, match="leave it out"):
        lowered_kernels(program, plan_of(replace(TILES, uncopied=("B",))))


SCALARS = st.sampled_from(["a", "b", "0.3f", "2"])


def on(element: str) -> st.SearchStrategy[str]:
    """C text that computes something from one element and scalars."""
    return st.recursive(st.just(element), lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), st.one_of(SCALARS, inner)),
        st.builds("({} {} {})".format, SCALARS, st.sampled_from("+-*"), inner), st.builds("(-{})".format, inner)),
        max_leaves=3)


@in_turn
@settings(max_examples=6, deadline=None, derandomize=True)
@given(on("B[i][k]"), on("C[k][j]"), st.sampled_from("+-*"), st.sampled_from([1, 4]), st.integers(0, 2), st.booleans())
def test_the_same_bits(left: str, right: str, op: str, vector: int, ahead: int, registers: bool) -> None:
    """Any expression on either side, one by one and in vectors, at once, ahead and asynchronously."""
    program = program_of(scop(f"{LOOPS}A[i][j] += {left} {op} {right};", DECLARED))
    assume(kernel_shapes(program, ScheduleChoice())[0].operated)
    plan = plan_of(replace(TILES, vector=vector, ahead=ahead > 0, asynchronous=ahead > 1, registers=registers,
                           points_inside=registers))
    check_plan(program, plan, HOPPER)


def test_beside_asynchronous_copies_there_is_one_barrier_per_tile() -> None:
    """The products are stored into the other buffer."""
    program = polybench_program("gemm", SIZES)
    [made] = lowered_kernels(program, plan_of(replace(GEMM, asynchronous=True)), "cuda")
    assert [node for node in walk(made.body) if isinstance(node, Barrier)] == [Barrier(copies=True)]
    assert {node.target.array for node in walk(made.body) if isinstance(node, Assign) and node.later} == {"B_shared"}
    assert {box.name: box.sizes[0] for box in made.shared} == {"A_shared": 2, "B_shared": 2}


@pytest.mark.parametrize("later", [False, True])
def test_text(later: bool, golden: Callable[[str, str], None]) -> None:
    source = lower(polybench_program("gemm", SIZES), plan_of(replace(GEMM, asynchronous=later)), HOPPER).source
    golden(f"gemm-prologue{'-later' * later}.cu", source)
    assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)


def test_it_is_on_offer_and_in_json() -> None:
    (shape,) = kernel_shapes(polybench_program("gemm", SIZES), ScheduleChoice(), LANGUAGES["cuda"])
    assert nearest(GEMM, Known(shape, HOPPER, True)) == GEMM
    assert not nearest(GEMM, Known(shape, HOPPER, False)).prologue, "not in the paper's space"
    assert not nearest(replace(GEMM, uncopied=("A",)), Known(shape, HOPPER, True)).prologue
    assert plan_from_json(plan_of(GEMM).to_json()) == plan_of(GEMM)
    assert "prologue" not in plan_of(replace(GEMM, prologue=False)).to_json(), "older digests stay"


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["pocl", pytest.param("intel", marks=pytest.mark.skipif(
    not has_intel(), reason="the extra `intel` is not installed"))])
def test_on_cpus(selector: str) -> None:
    device, found = device_named(selector), problem("gemm", SIZES)
    cut = replace(GEMM, tile=(16, 32), block=(4, 4), ahead=False)
    plans = [plan_of(cut), plan_of(replace(cut, ahead=True)), plan_of(replace(cut, vector=1)),
             plan_of(replace(cut, block=(1, 1), run=1))]
    assert all(isinstance(outcome, Timed) for outcome in outcomes_of(device, found, plans))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemm", "2mm", "syrk", "syr2k"])
def test_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    """All start plans with it, and the same asynchronously, on the stand-in driver."""
    found = problem(name, ("MINI_DATASET", "DATA_TYPE_IS_FLOAT"))
    starts = [plan for plan in start_plans(found.program, watched_gpu.target)
              if any(kernel.prologue for kernel in plan.kernels)]
    change = partial(replace, asynchronous=False)
    watched_gpu.check(found, [*starts, *(replace(plan, kernels=tuple(map(change, plan.kernels))) for plan in starts)])


def test_every_use_of_an_element_has_to_be_in_the_operation() -> None:
    """`0.04 * trace * trace` reads the element once, for two uses: one is in a product with a literal, one is not."""
    x, y, image, trace, out = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.Float(32), 2, "image"), *hl.funcs("trace out")
    trace[x, y] = image[x, y] + 1.0
    out[x, y] = image[x, y] - 0.04 * trace[x, y] * trace[x, y]
    program = pipeline_of([out], [16, 8])
    copies = KernelPlan(("S1",), (8, 8), (4, 4), shared=True)
    plan = Plan(ScheduleChoice(serialize_sccs=True), (KernelPlan(("S0",), (8, 8), (4, 4)), copies))
    check_plan(program, plan)
    with pytest.raises(IllegalPlan, match="no copied array is used in one operation"):
        check_plan(program, replace(plan, kernels=(plan.kernels[0], replace(copies, prologue=True))))
