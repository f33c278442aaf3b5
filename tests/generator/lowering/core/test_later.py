"""Copies that go on by themselves: two places for a tile, one barrier, and what kernels compute stays the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from antune import halide as hl
from experiments.benchmarks.inner_loops import nvdisasm, taken_apart
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan, InputError
from generator.frontend_py.problem import program_of as pipeline_of
from generator.lowering import lower
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import Assign, Barrier, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.target import LANGUAGES, Target
from metrics.outcome import Timed
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.cuda_double import found_in
from tests.support.gpu_plans import gpu_plans
from tests.support.plans import check_plan, lowered_kernels
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, TARGET, polybench_program, problem
from tests.support.targets import CUDA, HOPPER
from tests.support.watched_gpu import WatchedGpu

PRODUCT = "for (i = 0; i < 8; i++) for (j = 0; j < 12; j++) for (k = 0; k < {n}; k++) A[i][j] += B[i][k] * C[k][j];"
SIZES = ("NI=60", "NJ=100", "NK=40", "DATA_TYPE_IS_FLOAT")
TILES = KernelPlan((), (4, 8), (2, 4), shared=True, inner_tile=4, ahead=True, asynchronous=True)
GEMM = KernelPlan(("S0", "S1"), (32, 64), (8, 8), shared=True, inner_tile=8, unroll=4, points_inside=True,
                  registers=True, run=4, vector=4, ahead=True, asynchronous=True)


def plan_of(kernel: KernelPlan) -> Plan:
    return Plan(ScheduleChoice(), (kernel,))


@pytest.mark.parametrize("kind", ["float", "short"])
@pytest.mark.parametrize("n", few([10, 4, 20], 1))
def test_products(n: int, kind: str) -> None:
    """Elements of two bytes are held in registers, unless several go at once."""
    program = program_of(scop(PRODUCT.format(n=n), f"{kind} A[8][12], B[8][20], C[20][12];"))
    plan = plan_of(replace(TILES, statements=("S0",)))
    check_plan(program, plan, HOPPER, 2)
    [kernel] = lowered_kernels(program, plan)
    later = [node for node in walk(kernel.body) if isinstance(node, Assign) and node.later]
    barriers = [node for node in walk(kernel.body) if isinstance(node, Barrier)]
    if n > 4 and kind == "float":
        assert later and barriers == [Barrier(copies=True), Barrier()]
        assert all(box.sizes[0] == 2 and len(box.sizes) == 3 for box in kernel.shared)
    else:
        assert not later and barriers == [Barrier(), Barrier()], "one tile has no next one"


@pytest.mark.parametrize("later", [True, False])
def test_copies_ahead_of_partial_tiles_have_no_conditions(later: bool) -> None:
    """Subscripts stay inside the arrays instead; the interpreter checks them."""
    loops = "for (i = 0; i < 10; i++) for (j = 0; j < 13; j++) for (k = 0; k < 10; k++)"
    program = program_of(scop(f"{loops} A[i][j] += B[i][k] * C[k + j][j];", "float A[10][13], B[10][10], C[22][13];"))
    plan = plan_of(replace(TILES, statements=("S0",), asynchronous=later))
    check_plan(program, plan, HOPPER)
    lines = [line for line in lower(program, plan, HOPPER).source.splitlines() if "shared" in line or "if (" in line]
    assert any("&B[min(" in line or "= B[min(" in line for line in lines)
    assert not any(f"< {extent}" in line for line in lines for extent in (10, 13, 22))


def test_text(golden: Callable[[str, str], None]) -> None:
    golden("gemm-later.cu", lower(polybench_program("gemm", SIZES), plan_of(GEMM), HOPPER).source)


@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (12, 0)])
def test_nvrtc_makes_asynchronous_copies(capability: tuple[int, int]) -> None:
    target = replace(HOPPER, capability=capability)
    variant = lower(polybench_program("gemm", SIZES), plan_of(GEMM), target)
    cubin, _ = translator(Nvrtc).translate(variant.source, capability)
    assert cubin.startswith(ELF)


@in_turn
def test_machine_code_has_them() -> None:
    """LDGSTS: from global to shared memory, past the registers; 128 bits each."""
    translator(Nvrtc)
    try:
        nvdisasm()
    except InputError as missing:
        pytest.skip(str(missing))
    program = polybench_program("gemm", SIZES)
    texts = [taken_apart(lower(program, plan_of(kernel), HOPPER).source, (9, 0))[0]
             for kernel in (GEMM, replace(GEMM, asynchronous=False))]
    assert [("LDGSTS.E.128" in text or "LDGSTS.E.BYPASS.128" in text) for text in texts] == [True, False]


def test_copies_go_on_beside_stages_of_the_whole_tile() -> None:
    """A stage that a block computes for each inner tile stands between the copies and the barrier; then none go on."""
    x, y, one, out, r = hl.Var("x"), hl.Var("y"), hl.Func("one"), hl.Func("out"), hl.RDom([(0, 16)], name="r")
    image, weights = (hl.ImageParam(hl.Float(32), 2, name) for name in ("image", "weights"))
    one[x, y] = image[x, y] * 2.0
    out[x, y] = hl.f32(0)
    out[x, y] += one[x, y] * image[x + r, y] * weights[r, x]
    program, stages = pipeline_of([out], [16, 8]), Stages((("one", "block"),))
    for whole in ((), ("one",)):
        plan = Plan(stages, (replace(TILES, statements=("S0", "S1", "S2"), whole=whole),))
        check_plan(program, plan, HOPPER)
        source = lower(program, plan, HOPPER).source
        assert ("antune_copy" in source) == bool(whole)
        assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)


@pytest.mark.parametrize("target", [TARGET, CUDA, replace(HOPPER, capability=(7, 5))])
def test_other_devices_refuse_them(target: Target) -> None:
    with pytest.raises(IllegalPlan, match=r"asynchronous copies of kernel0 .* are for NVIDIA GPUs from"):
        lower(polybench_program("gemm", SIZES), plan_of(GEMM), target)


def test_only_tiles_ahead_are_copied_so() -> None:
    with pytest.raises(IllegalPlan, match="those of the next tile: want it ahead, too"):
        lower(polybench_program("gemm", SIZES), plan_of(replace(GEMM, ahead=False)), HOPPER)


def test_they_are_on_offer_where_two_tiles_fit() -> None:
    (shape,) = kernel_shapes(polybench_program("gemm", SIZES), ScheduleChoice(), LANGUAGES["cuda"])
    once = shape.shared_bytes(GEMM.tile, GEMM.inner_tile, registers=True)
    for room, offered in ((2 * once, True), (2 * once - 4, False)):
        made = nearest(GEMM, Known(shape, replace(HOPPER, local_bytes=room), True))
        assert (made == GEMM) == offered and made.ahead
    assert not nearest(GEMM, Known(shape, replace(HOPPER, capability=(7, 5)), True)).asynchronous
    assert plan_from_json(plan_of(GEMM).to_json()) == plan_of(GEMM)


@pytest.mark.slow
def test_no_races_and_faults_are_found(watched_gpu: WatchedGpu) -> None:
    """A thread waits for each of its copies; other threads may read them behind the barrier."""
    found, plan = problem("gemm", SIZES), plan_of(GEMM)
    watched_gpu.check(found, [plan])
    watched_gpu.check_fault(found, plan, "without waiting for its copies", "antune_wait_copies();")
    watched_gpu.check_fault(found, plan, "race in shared memory", "__syncthreads();")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemm", "syrk", "2mm", "doitgen", "covariance", "jacobi-2d"])
def test_random_plans(name: str, watched_gpu: WatchedGpu) -> None:
    """Those of which kernels copy a tile ahead."""
    found = problem(name, ODD_SIZES[name])
    made = gpu_plans(found.program, watched_gpu.target, "o2", 12, 3)
    plans = [replace(plan, kernels=tuple(replace(k, asynchronous=k.ahead) for k in plan.kernels)) for plan in made]
    outcomes = watched_gpu.outcomes(found, plans)
    wrong = [one for one in outcomes if not isinstance(one, Timed) and "bytes of local memory" not in str(one)]
    assert not wrong and not found_in(watched_gpu.calls), wrong
