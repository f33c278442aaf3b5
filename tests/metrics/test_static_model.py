"""The static model: metrics of small kernels worked out by hand, occupancy by NVIDIA's rules, reports of compilers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antune.cli import main
from generator.facts import Access, AccessMode, Around, KernelFacts, Operations, Space
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from metrics.device_model import DeviceModel, device_model, occupancy
from metrics.resources import Resources, parse_ptxas
from metrics.static_model import (
    NAMES,
    Metrics,
    block_balance,
    global_bytes,
    intensity,
    kernel_metrics,
    load_efficiency,
    shared_efficiency,
    static_metrics,
    store_efficiency,
    tail,
)
from metrics.transactions import passes, traffic
from tests.support.slow import few
from tests.support.suite import NAMES as PROGRAMS
from tests.support.suite import TARGET, problem

GPU = device_model(replace(TARGET, capability=(8, 0)))
CPU = device_model(replace(TARGET, shares_host_cores=True))


def access(strides: tuple[int | None, ...] = (1,), *, size: int = 4, space: Space = "global", mode: AccessMode = "read",
           executions: float = 1.0, origin: int = 0, spacing: int = 0, loops: tuple[Around, ...] = ()) -> Access:
    return Access("A", space, mode, size, (1 << 20,), executions, strides, origin, spacing, loops)


def kernel(*accesses: Access, block: tuple[int, ...] = (32,), grid: tuple[int, ...] = (1,), adds: float = 0.0,
           local: int = 0, balance: float = 1.0, launches: float = 1.0, name: str = "kernel0") -> KernelFacts:
    return KernelFacts(name, ("S0",), block, grid, (1,) * len(block), launches, local, balance, Operations(adds=adds),
                       accesses, ())


@pytest.mark.parametrize(("strides", "size", "wanted"), [
    ((1,), 4, 1.0), ((1,), 8, 1.0), ((-1,), 4, 32 * 4 / (5 * 32)), ((2,), 4, 0.5), ((3,), 4, 32 * 4 / (12 * 32)),
    ((1000,), 4, 4 / 32), ((1000,), 8, 8 / 32), ((0,), 4, 1.0), ((1,), 1, 1.0), ((None,), 4, 4 / 32),
])
def test_coalescing_of_one_warp(strides: tuple[int, ...], size: int, wanted: float) -> None:
    read = kernel(access(strides, size=size))
    assert load_efficiency(read, GPU) == pytest.approx(wanted)
    assert store_efficiency(read, GPU) is None
    written = kernel(access(strides, size=size, mode="write"))
    assert store_efficiency(written, GPU) == pytest.approx(wanted)
    assert load_efficiency(written, GPU) is None


@pytest.mark.parametrize(("block", "strides", "wanted"), [
    ((16, 2), (1, 100), 1.0),  # each half starts at a sector: 100 floats are 12.5 of them, so the second half does not
    ((16, 2), (1, 96), 1.0), ((8, 8), (1, 64), 1.0), ((4, 8), (1, 64), 0.5), ((2, 16), (1, 64), 0.25),
    ((8, 4), (0, 1), 1.0), ((8,), (1,), 1.0), ((48,), (1,), 1.0), ((16, 2), (1, None), 1.0),
])
def test_coalescing_follows_the_block(block: tuple[int, ...], strides: tuple[int | None, ...], wanted: float) -> None:
    if strides == (1, 100):
        wanted = 128 / (2 * 32 + 3 * 32)
    assert load_efficiency(kernel(access(strides), block=block), GPU) == pytest.approx(wanted)


def test_misaligned_rows() -> None:
    assert load_efficiency(kernel(access(origin=1)), GPU) == pytest.approx(128 / 160)
    assert load_efficiency(kernel(access(origin=8)), GPU) == 1
    # rows of 71 floats begin at all eight places of a sector: once in eight, four sectors are enough
    assert load_efficiency(kernel(access(spacing=71)), GPU) == pytest.approx(128 / (32 * (4 + 7 * 5) / 8))
    assert load_efficiency(kernel(access(spacing=32)), GPU) == 1
    assert load_efficiency(kernel(access(spacing=4, size=8)), GPU) == 1


def test_accesses_count_by_what_reaches_memory() -> None:
    row, column = access((1,), executions=9), access((1000,), executions=3)
    assert load_efficiency(kernel(row, column), GPU) == pytest.approx((9 * 128 + 3 * 128) / (9 * 128 + 3 * 1024))
    invariant = Around("k", 3.0, 100.0, 0, False)
    held = replace(column, executions=300.0, loops=(invariant,))
    assert load_efficiency(kernel(row, held), GPU) == load_efficiency(kernel(row, column), GPU)
    for loop in (replace(invariant, waits=True), replace(invariant, stride=1), replace(invariant, stride=None)):
        assert replace(held, loops=(loop,)).transfers == 300
    assert replace(held, mode="atomic").transfers == 300
    assert replace(held, executions=0.5).transfers == 0.5


def bank_efficiency(strides: tuple[int | None, ...], size: int = 4, block: tuple[int, ...] = (32,)) -> float | None:
    return shared_efficiency(kernel(access(strides, size=size, space="shared"), block=block), GPU)


@pytest.mark.parametrize(("strides", "size", "wanted"), [
    ((32,), 4, 1 / 32), ((33,), 4, 1.0), ((1,), 4, 1.0), ((0,), 4, 1.0), ((2,), 4, 1 / 2), ((16,), 4, 1 / 16),
    ((1,), 8, 1.0), ((32,), 8, 1 / 16), ((33,), 8, 1.0), ((2,), 8, 1 / 2), ((0,), 8, 1.0), ((1,), 1, 1.0),
    ((-1,), 4, 1.0), ((3,), 4, 1.0),
])
def test_bank_conflicts(strides: tuple[int, ...], size: int, wanted: float) -> None:
    assert bank_efficiency(strides, size) == pytest.approx(wanted)


def test_bank_conflicts_of_two_dimensional_blocks() -> None:
    assert bank_efficiency((1, 32), block=(32, 8)) == 1
    assert bank_efficiency((1, 32), block=(16, 16)) == 1 / 2
    assert bank_efficiency((1, 48), block=(16, 16)) == 1
    assert bank_efficiency((0, 1), block=(16, 16)) == 1


def test_shared_efficiency_is_absent_where_nothing_is_known() -> None:
    assert shared_efficiency(kernel(access()), GPU) is None
    assert bank_efficiency((None,)) is None
    assert shared_efficiency(kernel(access((32,), space="shared")), CPU) is None
    both = kernel(access((32,), space="shared", executions=1), access((1,), space="shared", executions=3))
    assert shared_efficiency(both, GPU) == pytest.approx(4 / (32 + 3))


BLOCKS = st.sampled_from([(32,), (8,), (64,), (48,), (16, 4), (5, 7), (8, 4, 4), (3, 2, 9)])


@given(BLOCKS, st.lists(st.integers(-70, 70), min_size=3, max_size=3), st.sampled_from([1, 2, 4, 8]),
       st.integers(0, 40), st.integers(0, 40))
def test_transactions_are_those_of_every_address(block: tuple[int, ...], three: list[int], size: int, origin: int,
                                                 spacing: int) -> None:
    strides = tuple(three[:len(block)])
    one = access(strides, size=size, origin=origin, spacing=spacing)
    lanes = [sum(s * i for s, i in zip(strides, reversed(at), strict=True)) for at in np.ndindex(*reversed(block))]
    warps = [lanes[k:k + 32] for k in range(0, len(lanes), 32)]
    sectors = [len({(origin + spacing * k + lane) * size // 32 for lane in warp}) for k in range(32) for warp in warps]
    assert traffic(one, block, 32, 32).touched == pytest.approx(sum(sectors))
    groups = [lanes[k:k + min(32, 128 // size)] for k in range(0, len(lanes), min(32, 128 // size))]
    counts = []
    for group in groups:
        words = {byte // 4 for lane in group for byte in range(lane * size, lane * size + size)}
        counts.append(max(sum(w % 32 == bank for w in words) for bank in range(32)))
    assert passes(one, block, 32, 32) == pytest.approx(sum(counts) / len(counts))


def test_intensity() -> None:
    balanced = kernel(access(), adds=4 * GPU.balance)
    assert global_bytes(balanced, GPU) == 128
    assert intensity(balanced, GPU) == pytest.approx(1 / 2)
    assert intensity(replace(balanced, operations=Operations(muls=12 * GPU.balance)), GPU) == pytest.approx(3 / 4)
    assert intensity(kernel(access()), GPU) == 0
    assert intensity(kernel(access(space="shared"), adds=1), GPU) is None


def test_occupancy_and_tail() -> None:
    a100 = replace(GPU, units=108)
    full = kernel(block=(256,), grid=(108, 8))
    assert (occupancy(full, a100), tail(full, a100)) == (1, 1)
    assert (occupancy(full, a100, 64), tail(full, a100, 64)) == (0.5, 1)
    assert occupancy(replace(full, block=(48,)), a100) == 32 * 48 / 2048
    assert tail(replace(full, grid=(108, 9)), a100) == pytest.approx(9 / 16)
    assert tail(replace(full, grid=(1,)), a100) == pytest.approx(1 / 864)
    too_large = replace(full, local_bytes=200 * 1024)
    assert (occupancy(too_large, a100), tail(too_large, a100)) == (0, None)


def test_cpu_needs_as_many_blocks_as_cores() -> None:
    assert [occupancy(kernel(grid=(n,)), CPU) for n in (1, 4, 8, 9)] == [1 / 8, 1 / 2, 1, 1]
    assert [tail(kernel(grid=(n,)), CPU) for n in (1, 8, 9, 800)] == [1 / 8, 1, 9 / 16, 1]
    assert load_efficiency(kernel(access((1,))), CPU) == 1
    assert load_efficiency(kernel(access((100,))), CPU) == 4 / 64


def named(metrics: Metrics) -> dict[str, float]:
    return dict(metrics.values)


def test_program_metrics_are_weighted_by_work() -> None:
    small = kernel(access((1,)), name="a")
    large = kernel(access((1000,)), name="b", launches=5)
    metrics = static_metrics((small, large), GPU)
    weights = [k.work for k in metrics.kernels]
    assert weights == pytest.approx([128 * GPU.balance, 5 * 1024 * GPU.balance])
    assert named(metrics)["load_efficiency"] == pytest.approx((weights[0] + weights[1] * 4 / 32) / sum(weights))
    assert "store_efficiency" not in named(metrics) and "shared_efficiency" not in named(metrics)


def test_reported_registers_limit_occupancy() -> None:
    one = kernel(access(), block=(256,))
    free = named(static_metrics((one,), GPU))
    bound = named(static_metrics((one,), GPU, (Resources(registers=64),)))
    assert (free["occupancy"], bound["occupancy"]) == (1, 0.5)
    with pytest.raises(ValueError, match="argument"):
        static_metrics((one,), GPU, ())


@pytest.mark.parametrize("name", few(PROGRAMS, ("gemm", "mvt", "jacobi-2d")))
@pytest.mark.parametrize("device", [GPU, CPU], ids=["gpu", "cpu"])
def test_metrics_of_the_suite_are_shares(name: str, device: DeviceModel) -> None:
    program = problem(name).program
    metrics = static_metrics(kernel_facts(program, default_plan(program, TARGET), TARGET), device)
    for values in (metrics.values, *(k.values for k in metrics.kernels)):
        assert {name for name, _ in values} <= set(NAMES)
        assert all(0 <= value <= 1 for _, value in values)
    assert {"occupancy", "load_efficiency", "store_efficiency", "intensity"} <= set(named(metrics))


def gemm_metrics(change: Callable[[Plan], Plan]) -> dict[str, float]:
    program = problem("gemm", ("NI=256", "NJ=256", "NK=256")).program
    plan = change(default_plan(program, TARGET))
    return named(static_metrics(kernel_facts(program, plan, TARGET), GPU))


def test_decisions_move_the_metrics_as_they_should() -> None:
    def with_kernel(**fields: Any) -> Callable[[Plan], Plan]:
        return lambda plan: Plan(plan.schedule, tuple(replace(k, **fields) for k in plan.kernels))

    default = gemm_metrics(lambda plan: plan)
    assert default["load_efficiency"] == default["store_efficiency"] == default["block_balance"] == 1
    unshared = gemm_metrics(with_kernel(shared=False, inner_tile=1))
    assert "shared_efficiency" not in unshared
    assert unshared["intensity"] < default["intensity"]
    narrow = gemm_metrics(with_kernel(block=(32, 2)))
    assert narrow["store_efficiency"] == pytest.approx(2 * 8 / 32)
    partial = gemm_metrics(with_kernel(tile=(96, 32), block=(96, 4)))
    assert partial["block_balance"] < 0.9
    columns, rows = (gemm_metrics(with_kernel(tile=(2, 128), block=(2, 64), order=order)) for order in ((1, 0), (0, 1)))
    assert columns["store_efficiency"] == pytest.approx(8 / 32)
    assert rows["store_efficiency"] == 1
    crossed = gemm_metrics(with_kernel(order=(1, 0)))
    padded = gemm_metrics(with_kernel(order=(1, 0), padding=1))
    assert crossed["shared_efficiency"] < 0.5 < padded["shared_efficiency"]


def test_block_balance_of_partial_tiles() -> None:
    facts = kernel(balance=0.75)
    assert block_balance(facts) == dict(kernel_metrics(facts, GPU).values)["block_balance"] == 0.75


PTXAS = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'kernel0' for 'sm_80'
ptxas info    : Function properties for kernel0
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, 8192 bytes smem, 384 bytes cmem[0]
ptxas info    : Compiling entry function 'kernel1' for 'sm_80'
ptxas info    : Function properties for kernel1
    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 400 bytes cmem[0], 8 bytes cmem[2]
"""


def test_ptxas_reports() -> None:
    assert parse_ptxas(PTXAS) == {"kernel0": Resources(32, 0, 8192, 0), "kernel1": Resources(255, 36, 0, 40)}
    assert parse_ptxas("") == {}


def test_explain_shows_the_static_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "scale.c"
    source.write_text("void scale(float A[64][64], float B[64][64]) {\n#pragma scop\n  for (int i = 0; i < 64; i++)\n"
                      "    for (int j = 0; j < 64; j++)\n      B[i][j] = 2.0f * A[i][j];\n#pragma endscop\n}\n")
    monkeypatch.setattr("sys.argv", ["antune", "explain", str(source), "--device", "deterministic"])
    with suppress(SystemExit):
        main()
    section = capsys.readouterr().out.split("== Static model")[1].split("== Roofline")[0]
    assert "kernel0 {S0}: occupancy 1.00, load efficiency 1.00, store efficiency 1.00" in section
    assert section.rstrip().splitlines()[-1].startswith("all kernels, weighted by work: occupancy 1.00")
    assert section.endswith("\n\n"), "an empty line stands before every headline"
