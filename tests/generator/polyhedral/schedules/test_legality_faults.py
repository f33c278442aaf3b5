"""Random faults in schedule trees: the exact check says what brute-force enumeration says."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.plan import KernelPlan
from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.tree import Tree, from_isl
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.polyhedral.schedules.legality import check_host, check_kernel, check_threads
from generator.polyhedral.schedules.scheduling import compute_schedule
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import isl_schedule, pairs, program_of, scop
from tests.support.slow import few
from tests.support.trees import faulty, places, respects

PROGRAMS = {
    "gemm": "for (i = 0; i < 3; i++) for (j = 0; j < 2; j++) { A[i][j] *= s; for (k = 0; k < 3; k++) "
            "A[i][j] += B[i][k] * B[k][j]; }",
    "jacobi": "for (k = 0; k < 2; k++) { for (i = 1; i < 5; i++) y[i] = x[i-1] + x[i] + x[i+1]; "
              "for (i = 1; i < 5; i++) x[i] = y[i]; }",
    "seidel": "for (k = 0; k < 2; k++) for (i = 1; i < 4; i++) for (j = 1; j < 4; j++) "
              "A[i][j] = A[i-1][j] + A[i][j-1] + A[i][j+1];",
    "chain": "for (i = 0; i < 5; i++) x[i] = i; for (i = 1; i < 5; i++) y[i] = x[i] + x[i-1]; "
             "for (i = 1; i < 4; i++) A[i][0] = y[i+1];",
    "backwards": "for (i = 6; i > 0; i--) x[i - 1] += x[i];",
    "triangle": "for (i = 0; i < 5; i++) { y[i] = x[i]; for (j = 0; j < i; j++) y[i] -= A[i][j] * y[j]; "
                "y[i] = y[i] / A[i][i]; }",
    "reduction": "s = 0; for (i = 0; i < 6; i++) s += x[i] * x[i]; y[0] = s;",
    "steps": "for (i = 0; i < 12; i += 3) for (j = i; j > 0; j--) A[i][j] = A[i][j - 1] + A[j][i];",
}
NAMED = re.compile(r"S\d(\([ijk]=-?\d+(, [ijk]=-?\d+)*\))? depends on S\d")
CHOICES = (ScheduleChoice(), ScheduleChoice("feautrier"), ScheduleChoice(serialize_sccs=True, outer_coincidence=False))


@lru_cache
def program(name: str) -> Program:
    return program_of(scop(PROGRAMS[name]))


def verdict(tree: Tree, dependences: object) -> bool:
    """Whether the check accepts `tree` as one launch; what it refuses names two instances."""
    try:
        check_threads(tree, dependences)
        check_kernel(tree, dependences)
    except IllegalPlan as error:
        assert NAMED.search(str(error)), error
        return False
    return True


def compare(tree: Tree, domain: object, dependences: object, rng: np.random.Generator, faults: int) -> Counter[bool]:
    """Both verdicts on trees with 0, 1, 2, ... faults; they must be equal."""
    counts: Counter[bool] = Counter()
    wanted = pairs(dependences)
    for number in range(faults):
        changed = tree
        for _ in range(number % 4):
            changed = faulty(changed, rng)
        expected = respects(places(changed, domain), wanted)
        assert verdict(changed, dependences) == expected, changed
        counts[expected] += 1
    return counts


def check_launches(name: str, seed: int, faults: int) -> Counter[bool]:
    """One launch that runs the whole program: its original order and isl's schedules."""
    rng, facts = np.random.default_rng(seed), model(program(name))
    schedules = [isl_schedule(program(name).schedule), *(compute_schedule(program(name), c) for c in CHOICES)]
    total: Counter[bool] = Counter()
    for schedule in schedules:
        total += compare(from_isl(schedule), facts.domain, facts.dependences, rng, faults)
    return total


def check_mapped(name: str, seed: int, faults: int) -> Counter[bool]:
    """Kernels with blocks, threads, tiles and stages."""
    rng, total = np.random.default_rng(seed), Counter[bool]()
    for choice in CHOICES:
        for part in schedule_kernels(program(name), choice).kernels:
            count = len(part.parallel)
            blocks = tuple(int(rng.integers(1, 3)) for _ in range(count))
            plan = KernelPlan(part.statements, tuple(b * int(rng.integers(1, 3)) for b in blocks), blocks,
                              shared=bool(rng.integers(2)), inner_tile=int(rng.integers(1, 3)))
            mapped = map_kernel(part, plan, fill_points(program(name), part))
            assert verdict(mapped.tree, part.dependences)
            total += compare(mapped.tree, part.domain, part.dependences, rng, faults)
    return total


def check_hosts(name: str, seed: int, faults: int) -> Counter[bool]:
    """Host trees: what is ordered by launches, and which dependences are left to each of them."""
    rng, facts, total = np.random.default_rng(seed), model(program(name)), Counter[bool]()
    wanted = pairs(facts.dependences)
    for choice in CHOICES:
        host = schedule_kernels(program(name), choice).host
        for _ in range(faults):
            changed = faulty_host(host, rng)
            found = places(changed, facts.domain)
            expected = all(found[a].time <= found[b].time for a, b in wanted)
            try:
                left = check_host(changed, facts.dependences, {})
            except IllegalPlan:
                assert not expected
            else:
                assert expected
                for number, dependences in left.items():
                    assert pairs(dependences) == {(a, b) for a, b in wanted if found[a] == found[b]
                                                  and found[a].launch == number}
            total[expected] += 1
    return total


def faulty_host(tree: Tree, rng: np.random.Generator) -> Tree:
    """`tree` with 0 to 2 changes; host trees hold no block or thread indices."""
    for _ in range(int(rng.integers(3))):
        changed = faulty(tree, rng)
        tree = tree if "Mapping" in repr(changed) else changed
    return tree


@pytest.mark.parametrize("name", few(PROGRAMS, 3))
def test_launches(name: str) -> None:
    counts = check_launches(name, 1, 16)
    assert counts[True] >= 10
    assert counts[False] >= 10


@pytest.mark.parametrize("name", few(PROGRAMS, 2))
def test_mapped_kernels(name: str) -> None:
    assert check_mapped(name, 2, 12)[True] >= 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_host_programs(name: str) -> None:
    assert check_hosts(name, 3, 8)[True] >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(10, 20))
def test_many_faults(name: str, seed: int) -> None:
    assert check_launches(name, seed, 60)[True]
    assert check_mapped(name, seed, 60)[True]
    assert check_hosts(name, seed, 40)[True]
