"""Swizzled rows of shared arrays: a bijection, the same in all accesses, with the bank conflicts that are counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antune import halide as hl
from experiments.benchmarks.inner_loops import nvdisasm, taken_apart
from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan, InputError
from generator.expr import Int, Name, evaluate
from generator.frontend_py.problem import program_of as pipeline_of
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.memory.swizzle import swizzle_of
from generator.nest import Assign, walk
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.program import ELEMENT_BYTES, Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from generator.target import LANGUAGES, Target
from metrics.transactions import passes
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans, device_named, has_intel
from tests.support.hyperplanes import SEIDEL_TILES
from tests.support.interpreter import run_original
from tests.support.plans import check_plan, lowered_kernels, run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET, polybench_program, problem
from tests.support.targets import CPU, CUDA, HOPPER, RDNA
from tests.support.watched_gpu import WatchedGpu

TRANSPOSED = "for (i = 0; i < {n}; i++) for (j = 0; j < {m}; j++) B[i][j] = A[j][i];"
PRODUCT = "for (i = 0; i < 12; i++) for (j = 0; j < 8; j++) for (k = 0; k < 24; k++) C[i][j] += A[i][k] * A[j][k];"
TILES = KernelPlan(("S0",), (4, 8), (2, 4), shared=True, inner_tile=16, swizzled=("A",))
SYRK = KernelPlan(("S0", "S1"), (128, 64), (16, 16), shared=True, inner_tile=16, unroll=4, points_inside=True,
                  registers=True, run=4, vector=4, ahead=True, swizzled=("A",))
SIZES = ("N=200", "M=160", "DATA_TYPE_IS_FLOAT")


def plan_of(kernel: KernelPlan) -> Plan:
    return Plan(ScheduleChoice(), (kernel,))


def transposed(n: int, m: int, kind: str = "float") -> Program:
    return program_of(scop(TRANSPOSED.format(n=n, m=m), f"{kind} A[{m}][{n}], B[{n}][{m}];"))


@given(st.integers(1, 40), st.integers(1, 100), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]),
       st.sampled_from([1, 2, 4, 8]))
def test_it_is_a_bijection_of_every_row(rows: int, row: int, element: int, lanes: int, stride: int) -> None:
    lanes = min(lanes, 16 // element)
    found = swizzle_of((rows, row), element, lanes, stride)
    together = max(lanes, 4 // element)
    if row % (2 * together):
        assert found is None
    if found is None:
        assert row % (2 * together) or rows <= 128 // gcd(128, row * element)
        return
    column, name = list(range(row)), Name("c")
    for r in range(rows):
        places = [found.moved(r, c) for c in column]
        assert sorted(places) == column
        assert all(places[c] == places[c - c % together] + c % together for c in column), "vectors stay together"
        assert not any(places[c] % together for c in column[::together]), "and aligned"
        for at in (Int(r), Name("r")):
            assert [evaluate(found.place(at, name), {"r": r, "c": c}) for c in column] == places
    assert {found.moved(r, 0) for r in range(rows)} != {0}


@given(st.integers(1, 40), st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 2, 4]), st.sampled_from([1, 2, 4, 8]))
def test_columns_are_in_different_banks(half: int, element: int, lanes: int, stride: int) -> None:
    """Threads that read one column, `stride` rows apart: as many as there are places for accesses in the banks."""
    unit = max(min(lanes, 16 // element), 4 // element)
    line = 2 * half * unit * element
    found = swizzle_of((4096, 2 * half * unit), element, min(lanes, 16 // element), stride)
    assert found is not None
    apart = 128 // gcd(128, stride * line) * (gcd(128, line) // (unit * element))
    for column in (0, unit, unit * (2 * half - 1)):
        starts = [stride * t * line + found.moved(stride * t, column) * element for t in range(apart)]
        assert len({at % 128 // (unit * element) for at in starts}) == apart


@in_turn
@pytest.mark.parametrize(("kernel", "target"), [
    (TILES, TARGET), (replace(TILES, points_inside=True, registers=True, order=(1, 0)), TARGET),
    (replace(TILES, vector=4, unroll=4, run=2), CUDA),
    (replace(TILES, tile=(8, 8), inner_tile=8, ahead=True, vector=2), RDNA),
    (replace(TILES, tile=(8, 8), inner_tile=8, ahead=True, asynchronous=True, vector=4), HOPPER),
])
def test_products(kernel: KernelPlan, target: Target) -> None:
    """Rows and columns of one matrix, read by rows: two copies, filled in several ways."""
    program = program_of(scop(PRODUCT, "float A[12][24], C[12][8];"))
    check_plan(program, plan_of(kernel), target)
    assert "^" in lower(program, plan_of(kernel), target).source


@pytest.mark.parametrize("case", few(["time steps", "stages", "sub-groups", "steps", "wavefront"], 3))
def test_other_parts_of_arrays(case: str) -> None:
    """By hand also: tiles of time steps, stages of a block and of sub-groups, rings of rows, copies of a wavefront."""
    program, plan = others(case)
    right = run_original(program).global_values(program)
    target = CUDA if case == "sub-groups" else TARGET
    assert "^" in lower(program, plan, target).source
    found = run_plan(program, plan, np.random.default_rng(0), target=target).global_values(program)
    assert {element: found[element] for element in right} == right, "tiles of time steps also copy the border"


def others(case: str) -> tuple[Program, Plan]:
    if case == "time steps":
        program = polybench_program("jacobi-2d", ("N=14", "TSTEPS=3"))
        return program, Plan(TimeTiles(1), (KernelPlan(("S0", "S1"), (6, 6), (3, 3), swizzled=("A",)),))
    if case == "wavefront":
        program = polybench_program("seidel-2d", ("N=20", "TSTEPS=3"))
        kernel = KernelPlan(("S0",), (1, 1), (2, 4), diagonals=True, shared=True, swizzled=("A",))
        return program, Plan(Hyperplanes((replace(SEIDEL_TILES, wavefront=(2, 8, 8)),)), (kernel,))
    x, y, light, out = hl.Var("x"), hl.Var("y"), hl.Func("light"), hl.Func("out")
    light[x, y] = hl.ImageParam(hl.Float(32), 2, "image")[y, x] * 3
    out[x, y] = light[x, y] + light[x, y + 1] - light[x, y + 2]
    program = pipeline_of([out], [40, 24])
    kernel = KernelPlan(tuple(sorted(s.name for s in program.statements)), (8, 16), (2, 4), swizzled=("light",))
    kernel = {"stages": kernel, "steps": replace(kernel, walk=2),
              "sub-groups": replace(kernel, tile=(8, 64), block=(2, 32), level="sub-group")}[case]
    return program, Plan(Stages((("light", "block"),)), (kernel,))


@pytest.mark.parametrize("kind", ["float", "double", "short", "char"])
@pytest.mark.parametrize(("tile", "block"), [((32, 32), (8, 32)), ((32, 16), (4, 16)), ((24, 32), (8, 8))])
def test_conflicts_are_those_of_every_address(tile: tuple[int, int], block: tuple[int, int], kind: str) -> None:
    """Threads read a copy down its columns: the model counts the words that each bank has to give."""
    program, size = transposed(96, 64, kind), ELEMENT_BYTES[kind]
    for padding, swizzled in ((0, ()), (1, ()), (0, ("A",))):
        plan = plan_of(KernelPlan(("S0",), tile, block, shared=True, padding=padding, swizzled=swizzled))
        [facts] = kernel_facts(program, plan, CUDA)
        [read] = [a for a in facts.accesses if a.space == "shared" and a.mode == "read"]
        moved = swizzle_of((tile[1], tile[0]), size, 1) if swizzled else None
        threads = [(y, x) for y in range(block[0]) for x in range(block[1])]
        group, counts = min(32, 128 // size), list[int]()
        for first in range(0, len(threads), group):
            starts = [size * (x * (tile[0] + padding) + (moved.moved(x, y) if moved else y))
                      for y, x in threads[first:first + group]]
            words = {byte // 4 for start in starts for byte in range(start, start + size)}
            counts.append(max(sum(word % 32 == bank for word in words) for bank in range(32)))
        assert passes(read, facts.block, 32, 32) == pytest.approx(sum(counts) / len(counts))


def test_a_transposition_has_no_conflicts_and_takes_no_memory() -> None:
    found = {}
    for padding, swizzled in ((0, ()), (1, ()), (0, ("A",))):
        plan = plan_of(KernelPlan(("S0",), (32, 32), (8, 32), shared=True, padding=padding, swizzled=swizzled))
        [facts] = kernel_facts(transposed(96, 64), plan, CUDA)
        found[padding, swizzled] = (*(passes(a, facts.block, 32, 32) for a in facts.accesses if a.space == "shared"),
                                    facts.local_bytes)
    assert found == {(0, ()): (1, 32, 4096), (1, ()): (1, 1, 4224), (0, ("A",)): (1, 1, 4096)}


def test_products_of_rows_have_fewer_conflicts_than_with_padding() -> None:
    """Neighbouring threads read float4 from rows at a distance of 4: padding by 4 leaves half of the conflicts."""
    program, found = polybench_program("syrk", SIZES), list[tuple[float, int]]()
    for one in (replace(SYRK, swizzled=()), replace(SYRK, swizzled=(), padding=4), SYRK):
        [facts] = kernel_facts(program, plan_of(one), HOPPER)
        wide = [a for a in facts.accesses if a.space == "shared" and a.element_bytes == 16 and a.mode == "read"]
        found.append((max(passes(a, facts.block, 32, 32) or 0.0 for a in wide), facts.local_bytes))
    assert found == [(8, 12288), (4, 15360), (2, 12288)]


@pytest.mark.parametrize(("target", "name"), [(TARGET, "transposed-swizzled.cl"), (CUDA, "transposed-swizzled.cu"),
                                              (RDNA, "transposed-swizzled.hip")])
def test_text(target: Target, name: str, golden: Callable[[str, str], None]) -> None:
    plan = plan_of(KernelPlan(("S0",), (32, 32), (8, 32), shared=True, swizzled=("A",)))
    golden(name, lower(transposed(70, 50), plan, target).source)


@in_turn
def test_vectors_stay_vectors() -> None:
    """As many accesses of four elements as without, in the kernel and in its machine code."""
    program = polybench_program("syrk", SIZES)
    plans = [plan_of(SYRK), plan_of(replace(SYRK, swizzled=()))]
    lanes = [[n.wide.lanes for n in walk(kernel.body) if isinstance(n, Assign) and n.wide]
             for plan in plans for kernel in lowered_kernels(program, plan, "cuda")]
    assert lanes[0] == lanes[1] and set(lanes[0]) == {4}
    translator(Nvrtc)
    try:
        nvdisasm()
    except InputError as missing:
        pytest.skip(str(missing))
    texts = [taken_apart(lower(program, plan, HOPPER).source, (9, 0))[0] for plan in plans]
    loads = [[text.count(word) for word in ("LDS.128", "STS.128")] for text in texts]
    assert loads[0] == loads[1] and all(loads[0])


@pytest.mark.parametrize(("capability",), few([((9, 0),), ((7, 5),), ((8, 0),), ((12, 0),)], 1))
def test_nvrtc_compiles_them(capability: tuple[int, int]) -> None:
    kernel = replace(SYRK, asynchronous=capability >= (8, 0))
    source = lower(polybench_program("syrk", SIZES), plan_of(kernel), replace(HOPPER, capability=capability)).source
    cubin, log = translator(Nvrtc).translate(source, capability)
    assert cubin.startswith(ELF) and "warning" not in log


@pytest.mark.parametrize(("changed", "words"), [
    ({"tile": (17, 32), "block": (1, 32)}, r"A_shared has 32 rows of 17 elements of 4 bytes, .* a multiple of 2 elem"),
    ({"tile": (2, 8), "block": (1, 8)}, r"8 rows of 2 elements .* more than 16 rows"),
    ({"padding": 1}, "padded by 1 elements, too; use one of both"),
    ({"swizzled": ("A", "B")}, "B would have some, but a block of several threads shares parts of A only"),
    ({"shared": False}, "A would have some, but .* of no array only"),
    ({"block": (1, 1)}, "a block of several threads shares parts of no array only"),
])
def test_refused(changed: dict[str, object], words: str) -> None:
    kernel = replace(KernelPlan(("S0",), (32, 32), (8, 32), shared=True, swizzled=("A",)), **changed)  # type: ignore[arg-type]  # fields of it
    with pytest.raises(IllegalPlan, match=words):
        lower(transposed(96, 64), plan_of(kernel), CUDA)


def test_refused_for_one_row() -> None:
    program = program_of(scop("for (i = 2; i < 16; i++) y[i] = x[i - 2] + x[i + 1];"))
    kernel = KernelPlan(("S0",), (8,), (4,), shared=True, swizzled=("x",))
    with pytest.raises(IllegalPlan, match="x_shared has 1 rows of 11 elements"):
        lower(program, plan_of(kernel), CUDA)


def test_not_on_tensor_cores() -> None:
    kernel = KernelPlan(("S0", "S1"), (64, 64), (4, 32), inner_tile=32, products="tf32", swizzled=("A",))
    with pytest.raises(IllegalPlan, match="leave out `swizzled`"):
        lower(polybench_program("gemm", SIZES), plan_of(kernel), replace(HOPPER, products="tf32"))


def test_offered_where_rows_can_be_swizzled() -> None:
    program = polybench_program("syrk", SIZES)
    (shape,) = kernel_shapes(program, ScheduleChoice(), LANGUAGES["cuda"])
    wanted = replace(SYRK, ahead=False)
    assert nearest(wanted, Known(shape, HOPPER, True)) == wanted
    for other in (CPU, HOPPER):
        made = nearest(wanted, Known(shape, other, other is CPU))
        assert made.swizzled == (), "neither on CPUs nor in the space of the paper"
    assert not nearest(replace(wanted, padding=4), Known(shape, HOPPER, True)).swizzled
    assert shape.swizzlable((128, 64), 16, 4, ()) == ("A",) and not shape.swizzlable((128, 64), 16, 4, ("A",))
    assert shape.swizzlable((128, 64), 4, 2, ()) == ("A",) and not shape.swizzlable((128, 64), 4, 4, ())
    lower(program, plan_of(wanted), HOPPER)


def test_plans_without_any_are_as_before() -> None:
    assert plan_from_json(plan_of(SYRK).to_json()) == plan_of(SYRK)
    assert "swizzled" not in plan_of(replace(SYRK, swizzled=())).to_json()
    with pytest.raises(InputError, match="sorted list of names"):
        plan_from_json(plan_of(SYRK).to_json().replace('"swizzled":["A"]', '"swizzled":"A"'))


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_races(asynchronous: bool, watched_gpu: WatchedGpu) -> None:
    kernel = replace(SYRK, tile=(16, 32), block=(4, 8), asynchronous=asynchronous)
    watched_gpu.check(problem("syrk", ("N=40", "M=36", "DATA_TYPE_IS_FLOAT")), [plan_of(kernel)])


@pytest.mark.slow
@pytest.mark.parametrize("device", ["pocl", "intel"])
def test_on_cpu_devices(device: str) -> None:
    """Devices without banks run them, too."""
    if device == "intel" and not has_intel():
        pytest.skip("the extra `intel` is not installed")
    kernel = replace(SYRK, tile=(16, 32), block=(4, 8))
    check_plans(device_named(device), problem("syrk", ("N=40", "M=36", "DATA_TYPE_IS_FLOAT")),
                [plan_of(kernel), plan_of(replace(kernel, ahead=False, vector=1, registers=False))])
