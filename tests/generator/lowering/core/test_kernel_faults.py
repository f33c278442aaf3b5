"""Faults are noticed: in schedules by the exact check, in lowered kernels by the checks of the interpreter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pytest

from generator.decisions.combine import Combine
from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Name
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core.assemble import lower
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.model import model
from generator.polyhedral.dependences.reductions import order_of, reducible
from generator.polyhedral.kit.tree import Band, Tree, from_isl
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.schedules.kernels import dimension, schedule_kernels
from generator.polyhedral.schedules.legality import check_kernel, check_threads
from generator.polyhedral.schedules.scheduling import compute_schedule
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.cases import CASES
from tests.support.faults import Fault, faults
from tests.support.interpreter import Device, run_original
from tests.support.memory import Memory
from tests.support.orders import conflicts, differences
from tests.support.plans import TARGET, lowered_kernels
from tests.support.programs import Pair, isl_schedule, program_of, scop
from tests.support.slow import counted, few
from tests.support.trees import faulty, places, respects
from tests.support.values import Number, compiled, operate


@lru_cache
def program(name: str) -> Program:
    declarations, body = CASES[name]
    return program_of(scop(body, declarations))


def plan_of(name: str, tile: tuple[int, ...], block: tuple[int, ...], combine: Combine = "atomic",
            shared: bool = False) -> Plan:
    """All reductions parallel and all results in registers; sizes are those of the innermost parallel loops."""
    schedule = ScheduleChoice(reductions=reducible(program(name)))
    kernels = []
    for part in schedule_kernels(program(name), schedule).kernels:
        count = len(part.parallel)
        kernels.append(KernelPlan(part.statements, tile[len(tile) - count:], block[len(tile) - count:], shared=shared,
                                  inner_tile=3 if shared else 1, registers=True, combine=combine))
    return Plan(schedule, tuple(sorted(kernels, key=lambda k: k.statements)))


PLANS: dict[str, tuple[str, Callable[[], Plan]]] = {
    "copies and atomic updates": ("product", partial(plan_of, "product", (1, 4, 4), (1, 2, 2), shared=True)),
    "copies": ("three parallel loops", partial(plan_of, "three parallel loops", (2, 2, 4), (1, 2, 2), shared=True)),
    "full and partial tiles": ("backwards", partial(plan_of, "backwards", (4, 4), (2, 2))),
    "low ends": ("offsets", partial(plan_of, "offsets", (6, 6), (3, 2))),
    "in shared memory": ("columns", partial(plan_of, "columns", (4, 4), (2, 4), "shared")),
    "in time": ("sums in time", partial(plan_of, "sums in time", (3, 4), (3, 2), "shared")),
    "odd sizes": ("int product", partial(plan_of, "int product", (4, 5), (2, 5), "shared")),
    "in steps": ("long rows", partial(plan_of, "long rows", (2, 64), (1, 64), "shared")),
    "shuffles": ("long rows", partial(plan_of, "long rows", (2, 64), (1, 64), "shuffle")),
}
NEVER_HARMLESS = ("plain update", "condition dropped", "only full tiles", "limit dropped", "fewer lanes")


@lru_cache
def planned(name: str) -> tuple[str, Plan]:
    found, make = PLANS[name]
    return found, make()


def kernels_of(name: str) -> tuple[LoweredKernel, ...]:
    found, plan = planned(name)
    return lowered_kernels(program(found), plan)


def outcome(name: str, fault: Fault, number: int) -> str:
    """What the interpreter says of a plan whose kernel `number` has a fault; "unseen" if nothing."""
    found, plan = planned(name)
    kernels = [fault.kernel if n == number else k for n, k in enumerate(lowered_kernels(program(found), plan))]
    device = Device(program(found), tuple(kernels), np.random.default_rng(1))
    try:
        device.run(lower(program(found), plan, TARGET).host, {})
    except (AssertionError, KeyError) as error:  # a name that no loop defines is a KeyError
        return f"refused: {error}"
    return "wrong result" if differences(program(found), device.memory, run_original(program(found))) else "unseen"


@lru_cache
def studied(name: str) -> tuple[tuple[Fault, str], ...]:
    """All faults of all kernels of a plan, with what came of them."""
    return tuple((fault, outcome(name, fault, number))
                 for number, kernel in enumerate(kernels_of(name))
                 for fault in faults(kernel))


@pytest.mark.parametrize("name", few(PLANS, 4))
def test_faults_in_kernels(name: str) -> None:
    counts: Counter[tuple[str, bool]] = Counter()
    for fault, result in studied(name):
        counts[fault.kind, result != "unseen"] += 1
        assert fault.kind not in NEVER_HARMLESS or result != "unseen", (fault.kind, fault.before, fault.after)
    for kind, harmless in (("element shifted", 8), ("number changed", 2)):  # a few mean the same for these sizes
        assert counts[kind, False] <= counts[kind, True] / harmless


def test_every_kind_of_fault_is_tried() -> None:
    kinds = {fault.kind for name in PLANS for kernel in kernels_of(name) for fault in faults(kernel)}
    assert kinds == {*NEVER_HARMLESS, "barrier dropped", "number changed", "element shifted", "first value changed",
                     "choice dropped"}


def test_barriers_around_shared_copies_are_all_needed() -> None:
    for name in ("copies and atomic updates", "copies"):
        dropped = [result for fault, result in studied(name) if fault.kind == "barrier dropped"]
        assert all("write by thread" in result or "read by thread" in result for result in dropped)
    assert any(fault.kind == "barrier dropped" for fault, _ in studied("copies and atomic updates"))


@pytest.mark.parametrize(("name", "expected"), few([
    ("in shared memory", 1 + 1), ("in time", 1), ("odd sizes", 1), ("in steps", 2)], 2))
def test_barriers_of_combined_results(name: str, expected: int) -> None:
    """One before each step, and none behind the last: every one is needed."""
    dropped = [result for fault, result in studied(name) if fault.kind == "barrier dropped"]
    assert len(dropped) == expected and all("by thread" in result for result in dropped)


def test_faults_are_refused_for_what_they_are() -> None:
    found = {(fault.kind, word) for name in PLANS for fault, result in studied(name)
             for word in ("beside", "is outside of", "threads wait", "sub-group", "wrong result") if word in result}
    assert found >= {("plain update", "beside"), ("barrier dropped", "beside"), ("limit dropped", "is outside of"),
                     ("only full tiles", "is outside of"), ("fewer lanes", "wrong result"),
                     ("first value changed", "wrong result"), ("element shifted", "is outside of")}


def test_a_kernel_without_faults_passes() -> None:
    for name, plan in map(planned, PLANS):
        device = Device(program(name), lowered_kernels(program(name), plan), np.random.default_rng(1))
        device.run(lower(program(name), plan, TARGET).host, {})
        assert not differences(program(name), device.memory, run_original(program(name)))


def random_integers(rng: np.random.Generator, depth: int) -> Expr:
    """Sums and products of names and constants, many of which leave the range of `int`."""
    if depth == 0:
        return Name("abc"[rng.integers(3)]) if rng.integers(2) else Int(int(rng.choice([1, -1, 7, 65536, 2**31 - 1])))
    left, right = random_integers(rng, depth - 1), random_integers(rng, int(rng.integers(depth)))
    return Binary(str(rng.choice(["+", "-", "*"])), left, right)


def step_by_step(expr: Expr, names: dict[str, int]) -> Number:
    """The value of the same if every operation wraps around."""
    match expr:
        case Binary(op, left, right):
            return operate("int", op, step_by_step(left, names), step_by_step(right, names))
        case Name(name):
            return names[name]
        case Int(value):
            return value
    raise AssertionError(expr)


def test_the_interpreter_wraps_around_as_c_does_step_by_step() -> None:
    memory, rng, large = Memory(program(next(iter(CASES)))), np.random.default_rng(1), 0
    for _ in range(200):
        inner = random_integers(rng, int(rng.integers(1, 5)))
        comparison = Binary(str(rng.choice(["<", "<=", "==", "!="])), inner, random_integers(rng, 1))
        names = {name: int(rng.choice([0, 1, -3, 99999, -2**31])) for name in "abc"}
        for expr in (inner, comparison):
            kind, function = compiled(expr, {})
            assert (kind, function(names, memory)) == ("int", step_by_step(expr, names)), (expr, names)
        large += abs(step_by_step(inner, names)) > 2**20
    assert large > 20


# ---- schedules


def legal(tree: Tree, dependences: object) -> bool:
    try:
        check_threads(tree, dependences)
        check_kernel(tree, dependences)
    except IllegalPlan:
        return False
    return True


SMALL = {
    "sums": "for (i = 0; i < 3; i++) { y[i] = 0; for (j = 0; j < 4; j++) y[i] += A[i][j]; x[i] = y[i]; }",
    "columns": "for (i = 0; i < 3; i++) for (j = 0; j < 3; j++) { x[i] += A[i][j]; y[j] += A[i][j]; }",
    "partial": "for (i = 0; i < 3; i++) { for (j = 0; j < 3; j++) s += A[i][j]; x[i] = s; }",
    "two on one": "for (i = 0; i < 3; i++) for (j = 0; j < 2; j++) { x[i] += A[i][j]; x[i] *= B[i][j]; }",
    "triangle": "for (i = 0; i < 4; i++) for (j = 0; j <= i; j++) { x[i] += A[i][j] * y[j]; y[i] -= x[j]; }",
}


@pytest.mark.parametrize(("name", "count"), counted(SMALL, SMALL, 8, 25))
def test_faults_in_schedules_of_reductions(name: str, count: int) -> None:
    counts = check_trees(program_of(scop(SMALL[name])), 7, count)
    assert counts[True] >= 5
    assert counts[False] >= 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", SMALL)
def test_many_faults_in_schedules_of_reductions(name: str, seed: int) -> None:
    check_trees(program_of(scop(SMALL[name])), seed + 20, 120)


def check_trees(found: Program, seed: int, times: int) -> Counter[bool]:
    """Random faults in the original order and in isl's schedules: the check and brute force say the same."""
    rng, counts = np.random.default_rng(seed), Counter[bool]()
    for reductions in {(), reducible(found), reducible(found)[:1]}:
        order, wanted = order_of(found, reductions), conflicts(found, set(reductions))
        choices = [ScheduleChoice(reductions=reductions), ScheduleChoice("feautrier", reductions=reductions)]
        schedules = [isl_schedule(found.schedule), *(compute_schedule(found, choice) for choice in choices)]
        for schedule in schedules:
            for number in range(times):
                tree = from_isl(schedule)
                for _ in range(number % 4):
                    tree = faulty(tree, rng)
                expected = agrees(tree, found, wanted)
                assert legal(tree, order.dependences) == expected
                counts[expected] += 1
    return counts


def agrees(tree: Tree, found: Program, wanted: set[Pair]) -> bool:
    return respects(places(tree, model(found).domain), wanted)


def test_a_sequential_loop_in_parallel_needs_a_reduction() -> None:
    found = program("long rows")
    part, = schedule_kernels(found, ScheduleChoice()).kernels
    assert isinstance(part.tree, Band)
    members = (*(d.member for d in part.parallel), *part.tree.members)
    wrong = replace(part, parallel=tuple(dimension(m, part.domain) for m in members), tree=part.tree.child)
    mapped = map_kernel(wrong, KernelPlan(part.statements, (2, 64), (1, 32)), ())
    with pytest.raises(IllegalPlan, match=r"a dependence crosses threads of one launch: S0\(i=\d+, j=\d+\) depends on"):
        check_threads(mapped.tree, part.dependences)
    relaxed = order_of(found, ("S0",)).dependences
    check_threads(mapped.tree, relaxed)
    check_kernel(mapped.tree, relaxed)


def test_what_reads_partial_results_cannot_be_parallel_with_them() -> None:
    found = program("partial results")
    part = schedule_kernels(found, ScheduleChoice(reductions=("S0",))).kernels[0]
    loops = from_isl(isl_schedule(found.schedule))
    assert isinstance(loops, Band)
    assert "S0" in part.statements
    whole = replace(part, statements=("S0", "S1"), domain=model(found).domain, prefix=(),
                    parallel=(dimension(loops.members[0], model(found).domain),), tree=loops.child)
    mapped = map_kernel(whole, KernelPlan(("S0", "S1"), (2,), (2,)), ())
    with pytest.raises(IllegalPlan, match="crosses"):
        check_threads(mapped.tree, order_of(found, ("S0",)).dependences)
