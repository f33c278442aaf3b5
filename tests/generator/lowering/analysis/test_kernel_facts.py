"""Facts of kernels compared with what is counted by hand."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

import pytest

from antune import halide as hl
from generator.decisions.combine import Combine
from generator.expr import Binary, Expr, Int, Name
from generator.facts import Operations
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering.analysis.facts import kernel_facts, sampled_launches
from generator.lowering.analysis.sampling import samples
from generator.lowering.heuristics.default import default_plan
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.sections import kernels_of
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.target import Dialect
from generator.variant import HostLoop, Launch
from runners.rating import static_ratings
from tests.support.programs import program_of, scop
from tests.support.slow import in_turn
from tests.support.suite import TARGET, polybench_program

NESTS = {
    "triangle": ("for (i = 0; i < 60; i++) for (j = 0; j <= i; j++) P[i][j] = P[i][j] * 2.0;", 60 * 61 // 2),
    "tetrahedron": ("for (i = 0; i < 60; i++) for (j = 0; j <= i; j++) for (k = 0; k <= j; k++) P[i][j] += Q[k][i];",
                    60 * 61 * 62 // 6),
    "strided": ("for (i = 0; i < 60; i += 3) for (j = i; j < 60; j += 2) P[j][i] = Q[j][i];",
                sum(len(range(i, 60, 2)) for i in range(0, 60, 3))),
    "decreasing": ("for (i = 59; i >= 0; i--) for (j = 0; j < 60 - i; j++) P[i][j] = Q[j][i];", 60 * 61 // 2),
    "host loop": ("for (k = 0; k < 60; k++) for (i = k + 1; i < 60; i++) for (j = k + 1; j < 60; j++) "
                  + "P[i][j] -= P[i][k] * P[k][j];", sum((59 - k) ** 2 for k in range(60))),
}


@in_turn
@pytest.mark.parametrize("name", NESTS)
def test_executions_of_triangular_nests(name: str) -> None:
    text, instances = NESTS[name]
    program = program_of(scop(text, "double P[60][60], Q[60][60];"))
    facts = kernel_facts(program, default_plan(program, TARGET), TARGET)
    writes = sum(a.executions * k.threads * k.launches for k in facts for a in k.accesses
                 if a.mode == "write" and a.space == "global")
    assert writes == pytest.approx(instances, rel=0.02)
    assert all(0 < k.balance <= 1 for k in facts)


@pytest.mark.parametrize(("subscripts", "strides", "step"), [
    ("[i][j]", (1, 64), 0), ("[j][i]", (64, 1), 0), ("[i][k]", (0, 64), 1), ("[3][3]", (0, 0), 0),
    ("[k][2*j]", (2, 0), 64), ("[i+j][k]", (64, 64), 1),
])
def test_strides_along_threads_and_the_innermost_loop(subscripts: str, strides: tuple[int, ...], step: int) -> None:
    text = f"for (i = 0; i < 32; i++) for (j = 0; j < 32; j++) for (k = 0; k < 9; k++) C[i][j] += A{subscripts};"
    program = program_of(scop(text, "float A[64][64], C[32][32];"))
    plan = Plan(ScheduleChoice(), (KernelPlan(("S0",), (8, 32), (8, 32)),))
    facts, = kernel_facts(program, plan, TARGET)
    read, = (a for a in facts.accesses if a.array == "A")
    update = next(a for a in facts.accesses if a.array == "C")
    assert (read.strides, read.loops[-1].stride, read.element_bytes) == (strides, step, 4)
    assert read.uniform == (strides == (0, 0))
    assert read.executions == pytest.approx(9)
    assert read.transfers == pytest.approx(1 if step == 0 else 9)
    assert update.executions == pytest.approx(9) and update.transfers == pytest.approx(1)
    assert facts.operations.adds == facts.operations.total == pytest.approx(9)
    assert facts.balance == 1
    assert dict(facts.footprint) == {"A": 64 * 64 * 4, "C": 32 * 32 * 4}


def test_operations_are_told_apart() -> None:
    text = ("for (i = 0; i < 64; i++) { x[i] = sqrt(y[i] / s) * -y[i] + (y[i] > 1.0 ? fma(s, s, s) : 0.0); "
            "m[i] = m[i] * 3 + i; }")
    program = program_of(scop(text, "double x[64], y[64], s; int m[64];"))
    kernels = kernel_facts(program, default_plan(program, TARGET), TARGET)
    total = Operations()
    for kernel in kernels:
        total = total.plus(kernel.operations, kernel.threads / 64)
    # sum, comparison and that of fma; product and that of fma; quotient; sqrt; choice, product and sum of m
    assert (total.adds, total.muls, total.divs, total.special, total.integer) == pytest.approx((3, 2, 1, 1, 3))


def test_gathered_elements_have_no_stride_where_data_decides() -> None:
    program = program_of(scop("for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) C[i][j] = A[idx[i]][j] + x[idx[j]];",
                              "float A[64][64], C[64][64], x[64]; int idx[64];"))
    plan = Plan(ScheduleChoice(), (KernelPlan(("S0",), (8, 32), (8, 32)),))
    facts, = kernel_facts(program, plan, TARGET)
    strides = {(a.array, a.strides) for a in facts.accesses if a.mode == "read"}
    assert strides == {("A", (1, None)), ("x", (None, 0)), ("idx", (0, 1)), ("idx", (1, 0))}
    assert not any(a.uniform for a in facts.accesses)


def test_data_dependent_conditions_count_as_true() -> None:
    text = "for (i = 0; i < 64; i++) if (i >= 32 && y[i] > 0.0) x[i] = 1.0;"
    program = program_of(scop(text, "double x[64], y[64];"))
    facts, = kernel_facts(program, default_plan(program, TARGET), TARGET)
    executions = {a.array: a.executions * facts.threads for a in facts.accesses}
    assert executions["x"] == pytest.approx(32)


REDUCING = "for (i = 0; i < 64; i++) for (j = 0; j < 512; j++) x[i] += A[i][j];"


@pytest.mark.parametrize("combine", ["atomic", "shared", "shuffle"])
def test_reductions_over_threads(combine: Combine) -> None:
    program = program_of(scop(REDUCING, "double A[64][512], x[64];"))
    kernel = KernelPlan(("S0",), (4, 128), (2, 64), combine=combine)
    plan = Plan(ScheduleChoice(reductions=("S0",)), (kernel,))
    facts, = kernel_facts(program, plan, TARGET)
    reads, = (a for a in facts.accesses if a.array == "A")
    assert reads.strides == (1, 512)
    assert reads.executions == pytest.approx(4)
    updates, = (a for a in facts.accesses if a.array == "x" and a.mode == "atomic")
    per_block = {"atomic": 128 * 2, "shared": 2 * 2, "shuffle": 2 * 2 * 2}[combine]
    assert updates.executions * facts.block_threads == pytest.approx(per_block)
    shared = {a.array: prod(a.sizes) * 8 for a in facts.accesses if a.space == "shared"}
    assert facts.local_bytes == sum(shared.values())


def test_one_thread_and_no_parallel_loop() -> None:
    program = program_of(scop("for (i = 1; i < 64; i++) x[i] = x[i - 1] * 0.5;", "double x[64];"))
    facts, = kernel_facts(program, default_plan(program, TARGET), TARGET)
    assert (facts.block, facts.grid, facts.points, facts.threads) == ((1,), (1,), (1,), 1)
    assert [a.executions for a in facts.accesses] == [63, 63]


@pytest.mark.parametrize("most", [3, 5, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 20, 1000, 1001])
def test_samples_stand_for_all_iterations(count: int, most: int) -> None:
    chosen = samples(count, most)
    assert len(chosen) <= most
    assert len({k for k, _ in chosen}) == len(chosen)
    assert all(0 <= k < count for k, _ in chosen)
    assert sum(weight for _, weight in chosen) == pytest.approx(count)
    if count >= 20:
        for power in (1, 2, 3):
            exact = sum(k**power for k in range(count))
            assert sum(w * k**power for k, w in chosen) == pytest.approx(exact, rel=5 / count)


def test_launches_of_a_host_program() -> None:
    inner = HostLoop("j", Int(0), load_less("j", Name("i")), 1, (Launch("k", (Int(1),), (Name("i"), Name("j"))),))
    host = (HostLoop("i", Int(0), load_less("i", Int(400)), 1, (inner, Launch("m", (Int(1),), ()))),)
    runs = list(sampled_launches(host, {}, 1.0, 1))
    assert sum(w for name, w, _ in runs if name == "m") == 400
    assert sum(w for name, w, _ in runs if name == "k") == pytest.approx(400 * 399 / 2, rel=0.01)
    assert len(runs) <= 20


def load_less(name: str, bound: Expr) -> Expr:
    return Binary("<", Name(name), bound)


def test_every_shared_byte_is_described() -> None:
    for name in ("gemm", "2mm", "jacobi-2d"):
        program = polybench_program(name)
        for facts in kernel_facts(program, default_plan(program, TARGET), TARGET):
            shared = {a.array: prod(a.sizes) * a.element_bytes for a in facts.accesses if a.space == "shared"}
            assert sum(shared.values()) == facts.local_bytes
            assert ceil(facts.balance) == 1


@pytest.mark.parametrize("dialect", ["opencl", "cuda"])
def test_a_register_called_like_an_array_elsewhere_is_no_array(dialect: Dialect) -> None:
    """The third element of `repeat_edge` that a thread holds is `repeat_edge_2`, like the border of the other input."""
    x, y = hl.Var("x"), hl.Var("y")
    first, second = (hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, name)) for name in ("one", "two"))
    near, out = hl.Func("near"), hl.Func("out")
    near[x, y] = second[x, y - 1] + second[x, y + 1]
    out[x, y] = first[x - 1, y] + first[x, y] + first[x + 1, y] + near[x, y]
    program, target = pipeline_program([out], [37, 21]), replace(TARGET, dialect=dialect)
    schedule = Stages((("repeat_edge", "inline"), ("repeat_edge_2", "inline")))
    kernels = tuple(KernelPlan(kernel.statements, (8, 16), (4, 8)) for kernel in kernels_of(program, schedule))
    last = kernel_facts(program, Plan(schedule, kernels), target)[-1]
    assert [access.mode for access in last.accesses if access.space == "global"] == ["read"] * 4 + ["write"]
    assert sorted({name for name, _ in last.footprint}) == ["near", "one", "out"]
    assert static_ratings(program, Plan(schedule, kernels), target)


def test_dynamic_shared_memory_is_shared_memory() -> None:
    """CUDA takes no more than 48 KiB in declared arrays."""
    program = polybench_program("gemm", ("NI=512", "NJ=512", "NK=512"))
    target = replace(TARGET, dialect="cuda", local_bytes=96 * 1024)
    base = default_plan(program, target)
    plan = replace(base, kernels=tuple(replace(k, tile=(64,) * len(k.tile), block=(8,) * len(k.block), shared=True,
                                               inner_tile=64)
                                       for k in base.kernels))
    found = [facts for facts in kernel_facts(program, plan, target) if facts.local_bytes > 48 * 1024]
    assert found and all({access.space for access in facts.accesses} == {"global", "shared"} for facts in found)
