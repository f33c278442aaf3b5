"""Partitions: components and their order, groups that share loops, and what is refused with which words."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from explorer.registry import make_explorer
from generator.decisions.combine import Combine
from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.lowering.core.assemble import lower
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.polyhedral.schedules.partition import Component, level
from generator.program import Program
from generator.schedules.partition import Group, Partition
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named
from tests.support.interpreter import run_original
from tests.support.orders import conflicts, differences
from tests.support.plans import TARGET, random_kernel, random_partition, run_plan
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import ODD_SIZES, polybench_program, problem
from tests.support.updates import updates_text

PROGRAMS = {
    "chain": "for (i = 0; i < 8; i++) x[i] = i; for (i = 0; i < 8; i++) y[i] = x[i]; "
    "for (i = 0; i < 8; i++) A[i][0] = x[i] + y[7 - i];",
    "mvt": "for (i = 0; i < 9; i++) for (j = 0; j < 9; j++) x[i] += A[i][j]; "
    "for (i = 0; i < 9; i++) for (j = 0; j < 9; j++) y[i] += A[j][i];",
    "gemver": "for (i = 0; i < 7; i++) for (j = 0; j < 7; j++) A[i][j] += x[i] * y[j]; "
    "for (i = 0; i < 7; i++) for (j = 0; j < 7; j++) x[i + 9] += A[j][i] * y[j + 9]; "
    "for (i = 0; i < 7; i++) x[i + 9] += y[i + 20]; "
    "for (i = 0; i < 7; i++) for (j = 0; j < 7; j++) y[i + 30] += A[i][j] * x[j + 9];",
    "2mm": "for (i = 0; i < 5; i++) for (j = 0; j < 6; j++) { A[i][j] = 0; for (k = 0; k < 4; k++) "
    "A[i][j] += B[i][k] * B[k][j + 8]; } for (i = 0; i < 5; i++) for (j = 0; j < 6; j++) { C[i][j] *= s; "
    "for (k = 0; k < 6; k++) C[i][j] += A[i][k] * B[k][j]; }",
    "stencil": "for (k = 0; k < 3; k++) { for (i = 1; i < 8; i++) y[i] = x[i - 1] + x[i + 1]; "
    "for (i = 1; i < 8; i++) x[i] = y[i]; for (i = 0; i < 6; i++) s += y[i]; }",
    "shifted": "for (i = 0; i < 9; i++) x[i] = i * i; for (i = 2; i < 9; i++) y[i] = x[i - 2]; "
    "for (i = 3; i < 12; i++) A[i][1] = y[11 - i + 0] * x[i - 3];",
    "triangles": "for (i = 0; i < 7; i++) for (j = 0; j <= i; j++) A[i][j] += x[j]; "
    "for (i = 0; i < 7; i++) for (j = i; j < 7; j++) B[i][j] = A[j][i]; "
    "for (i = 6; i >= 0; i--) for (j = 0; j < 4; j++) y[i] += B[i][j + 3];",
    "ranges": "for (i = 0; i < 10; i++) for (j = 0; j < 4; j++) x[i] += A[i][j]; "
    "for (i = 3; i < 14; i++) for (j = 0; j < 5; j++) { y[i] -= B[14 - i][j]; x[i + 20] = fmin(x[i + 20], y[j + 40]); "
    "}",
    "search": "for (i = 0; i < 7; i++) for (j = 0; j < 6; j++) if (x[j] == A[i][1]) { y[i] = j; break; }",
    "cycle": "for (i = 1; i < 8; i++) { x[i] = y[i - 1] + 1; y[i] = 2 * x[i]; A[i][2] = y[i]; B[i][2] = s * i; }",
}
REASON = re.compile(
    r"have no loop that they can share|share no loop, so there are no parts inside|"
    r"would lose their parallel loops|S\d(\(.*\))? depends on S\d|a barrier would stand under a condition|no atomic "
    r"updates of|isl "
)
ARRAYS = "double A[16][16], B[16][16], C[16][16], x[64], y[64], s;"


@lru_cache
def program(name: str) -> Program:
    return program_of(scop(PROGRAMS[name], ARRAYS))


def component(parallel: int, *statements: str) -> Component:
    return Component(statements, parallel)


def test_levels() -> None:
    chain = level(program("chain"), (), ())
    assert chain.components == (component(1, "S0"), component(1, "S1"), component(1, "S2"))
    assert chain.before == {(0, 1), (0, 2), (1, 2)}
    assert level(program("mvt"), (), ()).components == (component(1, "S0"), component(1, "S1"))
    assert level(program("mvt"), ("S0", "S1"), ()).components == (component(2, "S0"), component(2, "S1"))
    assert level(program("mvt"), ("S1",), ()).components == (component(1, "S0"), component(2, "S1"))
    assert level(program("mvt"), (), ()).before == frozenset()
    cycle = level(program("cycle"), (), ())
    assert cycle.components == (component(0, "S0", "S1"), component(1, "S2"), component(1, "S3"))
    assert cycle.before == {(0, 1)}
    stencil = level(program("stencil"), (), ())
    assert [c.statements for c in stencil.components] == [("S0", "S1", "S2")]
    search = level(program("search"), (), ())  # all iterations of i read the same x[j]
    assert search.components == (component(1, "S0"), component(1, "S1", "S2"))
    product = level(program("2mm"), (), ())
    assert [c.parallel for c in product.components] == [2, 2, 2, 2]


def test_levels_inside_shared_loops() -> None:
    found = program("chain")
    inside = level(found, (), (("S0", "S1"),))
    assert [c.statements for c in inside.components] == [("S0",), ("S1",)]
    assert inside.before == {(0, 1)}
    with pytest.raises(IllegalPlan, match="S0, S1, S2 have no loop that they can share"):
        level(found, (), (("S0", "S1", "S2"),))
    with pytest.raises(IllegalPlan, match="S0, S1 would lose their parallel loops if they shared any"):
        level(polybench_program("jacobi-2d", ODD_SIZES["jacobi-2d"]), (), (("S0", "S1"), ("S0", "S1")))
    product = level(program("2mm"), (), (("S0", "S1"),))
    assert [c.statements for c in product.components] == [("S0",), ("S1",)]


def statement_links(found: Program, reductions: tuple[str, ...]) -> set[tuple[str, str]]:
    """Which statement must follow which (itself included), by brute force."""
    return {(a[0], b[0]) for a, b in conflicts(found, set(reductions))}


def closure(links: set[tuple[str, str]], names: list[str]) -> set[tuple[str, str]]:
    reach = set(links)
    for middle in names:
        reach |= {(a, b) for a in names for b in names if (a, middle) in reach and (middle, b) in reach}
    return reach


def check_level(found: Program, reductions: tuple[str, ...]) -> None:
    """Components and edges against brute force."""
    names = [s.name for s in found.statements]
    reach = closure(statement_links(found, reductions), names)
    expected = {tuple(sorted(b for b in names if b == a or ((a, b) in reach and (b, a) in reach))) for a in names}
    here = level(found, reductions, ())
    assert {c.statements for c in here.components} == expected
    assert sorted(name for c in here.components for name in c.statements) == sorted(names)
    assert all(c.statements == tuple(sorted(c.statements)) for c in here.components)
    number = {name: k for k, c in enumerate(here.components) for name in c.statements}
    assert closure({(str(a), str(b)) for a, b in here.before}, [str(k) for k in range(len(here.components))]) == {
        (str(number[a]), str(number[b])) for a, b in reach if number[a] != number[b]}
    assert all(a < b for a, b in here.before), "the components are in no possible order"


@pytest.mark.parametrize("name", PROGRAMS)
def test_components_by_brute_force(name: str) -> None:
    check_level(program(name), ())
    check_level(program(name), reducible(program(name)))


def plan_of(found: Program, partition: Partition, rng: np.random.Generator) -> Plan:
    """Random kernels for a partition. Raises IllegalPlan."""
    kernels = [random_kernel(part.statements, len(part.parallel), rng)
               for part in schedule_kernels(found, partition).kernels]
    return Plan(partition, tuple(sorted(kernels, key=lambda k: k.statements)))


def check_partition(found: Program, partition: Partition, rng: np.random.Generator) -> str:
    """Run a partition in Python; `right`, or why it is refused."""
    try:
        plan = plan_of(found, partition, rng)
        memory = run_plan(found, plan, rng)
    except IllegalPlan as error:
        assert REASON.search(str(error)), error
        return "refused"
    assert not differences(found, memory, run_original(found)), plan.to_json()
    return "right"


def random_ones(found: Program, rng: np.random.Generator, times: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for _ in range(times):
        reductions = tuple(name for name in reducible(found) if rng.integers(2))
        try:
            partition = random_partition(found, reductions, rng)
        except IllegalPlan as error:
            assert REASON.search(str(error)), error
            counts["refused"] += 1
            continue
        counts[check_partition(found, partition, rng)] += 1
        counts["fused"] += any(len(group.statements) > 1 for group in partition.groups)
    return counts


@pytest.mark.parametrize("name", few(PROGRAMS, 1))
def test_random_partitions(name: str) -> None:
    assert random_ones(program(name), np.random.default_rng(2), 3)["right"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_random_partitions(name: str) -> None:
    counts = random_ones(program(name), np.random.default_rng(3), 80)
    assert counts["right"] >= 15
    assert counts["fused"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_partitions_of_random_programs(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 100):
        try:
            found = program_of(updates_text(seed))
        except InputError:
            continue
        check_level(found, ())
        check_level(found, reducible(found))
        counts += random_ones(found, np.random.default_rng(seed), 3)
    assert counts["right"] >= 50
    assert counts["fused"] >= 10


@pytest.mark.parametrize("name", ["chain", "gemver", "2mm", "triangles"])
def test_orders_of_groups_that_break_a_dependence_are_refused(name: str) -> None:
    found = program(name)
    here, rng = level(found, (), ()), np.random.default_rng(4)
    refused = 0
    for _ in range(6):
        order = [int(k) for k in rng.permutation(len(here.components))]
        groups = tuple(Group(here.components[k].statements) for k in order)
        legal = all(order.index(a) < order.index(b) for a, b in here.before)
        try:
            schedule_kernels(found, Partition(groups))
        except IllegalPlan as error:
            assert not legal
            assert re.search(r"the launch order runs a dependence backwards: S\d\(.*\) depends on S\d\(", str(error))
            refused += 1
        else:
            assert legal
    assert refused


def test_parts_in_an_impossible_order_are_refused() -> None:
    groups = (Group(("S0", "S1"), (Group(("S1",)), Group(("S0",)))), Group(("S2",)))
    with pytest.raises(
        IllegalPlan, match=r"the order of statements runs a dependence backwards: S1\(i=0\) depends on S0"
    ):
        run_plan(program("chain"), plan_of(program("chain"), Partition(groups), np.random.default_rng(1)),
                 np.random.default_rng(1))


ONE, TWO, THREE = (Group((name,)) for name in ("S0", "S1", "S2"))
BAD: dict[str, tuple[tuple[Group, ...], str]] = {
    "missing": ((ONE, TWO), "must hold each of S0, S1, S2 once; they hold S0, S1"),
    "twice": ((ONE, TWO, THREE, ONE), "must hold each of S0, S1, S2 once; they hold S0, S0, S1, S2"),
    "twice in a group": ((Group(("S0", "S0")), TWO, THREE), "must hold each of S0, S1, S2 once"),
    "unknown": ((ONE, TWO, THREE, Group(("S9",))), "they hold S0, S1, S2, S9"),
    "none": ((), "must hold each of S0, S1, S2 once; they hold "),
    "empty": ((ONE, Group(()), TWO, THREE), "a group of S0, S1, S2 holds no statement"),
    "missing part": ((Group(("S0", "S1"), (ONE,)), THREE), "must hold each of S0, S1 once; they hold S0"),
    "part of another": ((Group(("S0", "S1"), (ONE, THREE)), TWO), "they hold S0, S1, S1"),
    "empty part": ((Group(("S0", "S1"), (ONE, Group(()), TWO)), THREE), "a group of S0, S1 holds no statement"),
    "no common loop": ((Group(("S0", "S1", "S2")),), "S0, S1, S2 have no loop that they can share"),
}


@pytest.mark.parametrize("name", BAD)
def test_groups_that_do_not_fit_the_program(name: str) -> None:
    groups, message = BAD[name]
    with pytest.raises(IllegalPlan, match=re.escape(message)):
        schedule_kernels(program("chain"), Partition(groups))


def test_a_reduction_that_is_none_is_refused() -> None:
    with pytest.raises(IllegalPlan, match="S0 is not a reduction"):
        schedule_kernels(program("chain"), Partition((ONE, TWO, THREE), ("S0",)))


def test_the_order_of_names_in_a_group_does_not_matter() -> None:
    one, other = (schedule_kernels(program("chain"), Partition((Group(names), THREE)))
                  for names in (("S0", "S1"), ("S1", "S0")))
    assert [k.statements for k in one.kernels] == [k.statements for k in other.kernels] == [("S0", "S1"), ("S2",)]


def test_a_group_is_one_kernel_of_all_its_parallel_loops() -> None:
    fused, = schedule_kernels(program("mvt"), Partition((Group(("S0", "S1")),), ("S0", "S1"))).kernels
    assert fused.statements == ("S0", "S1")
    assert [d.extent for d in fused.parallel] == [9, 9]
    fused, = schedule_kernels(program("mvt"), Partition((Group(("S0", "S1")),))).kernels
    assert [d.extent for d in fused.parallel] == [9]


@pytest.mark.parametrize("combine", few(["atomic", "shared"], 1))
def test_fused_mvt_reduces_in_two_dimensions_on_pocl(combine: Combine, tmp_path: Path) -> None:
    found = problem("mvt", ODD_SIZES["mvt"])
    names = ("S0", "S1")
    schedule = Partition((Group(names),), names)
    kernel, = schedule_kernels(found.program, schedule).kernels
    assert [d.extent for d in kernel.parallel] == [67, 67]
    plans = [Plan(schedule, (KernelPlan(names, tile, block, combine=combine, registers=True, order=order),))
             for tile, block, order in (((3, 5), (3, 5), (1, 0)), ((1, 32), (1, 16), (0, 1)))]
    outcomes = outcomes_of(device_named("pocl"), found, plans)
    assert all(isinstance(outcome, Timed) for outcome in outcomes), outcomes
    texts = [lower(found.program, plan, TARGET).kernels[0].source for plan in plans]
    assert all("antune_add_double(&x1[" in text and "antune_add_double(&x2[" in text for text in texts)
    assert all(("barrier(" in text) == (combine == "shared") for text in texts)


@pytest.mark.parametrize("name", few(["mvt", "gemver", "stencil", "cycle"], ["stencil"]))
def test_walks_of_the_o2_space_lead_to_kernels_that_are_right(name: str) -> None:
    found = program(name)
    options = RunOptions("program.c", Compilation(), Budget(evaluations=1), level="o2")
    space = PARTS.make_space(found, TARGET, options)
    expected = run_original(found)
    walks = make_explorer("random", space, 5).ask(4)
    assert len(walks) == 4
    for walk in walks:
        assert isinstance(walk.plan.schedule, Partition)
        rng = np.random.default_rng(1)
        small = Plan(
            walk.plan.schedule, tuple(random_kernel(k.statements, len(k.tile), rng) for k in walk.plan.kernels)
        )
        for plan in (walk.plan, small):
            assert not differences(found, run_plan(found, plan, rng), expected), plan.to_json()


def test_levels_are_asked_again_with_the_same_answer() -> None:
    found = program("gemver")
    asked = partial(level, found, reducible(found))
    for one, other in pairwise([asked(()) for _ in range(3)]):
        assert one == other
