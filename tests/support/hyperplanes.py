"""Explicit schedules for tests: programs, random walks of the O3 space, random rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from math import gcd
from types import MappingProxyType

import numpy as np

from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.kit.components import strongly_connected
from generator.polyhedral.schedules.hyperplanes import O3
from generator.program import Program
from generator.schedules.hyperplanes import Hyperplanes, LoopNest, NestPath, Row, Vector
from graph.o3 import make_o3_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import Preferences, prefer, uniform
from tests.support.interpreter import run_original
from tests.support.orders import conflicts, differences
from tests.support.plans import TARGET, random_kernel, run_plan
from tests.support.programs import Pair, program_of, scop

SEIDEL_TILES = LoopNest(("S0",), (((1, 0, 0, 0),), ((1, 1, 0, 0),), ((2, 1, 1, 0),)), (), (2, 8, 16))
ARRAYS = "double A[16][16], B[16][16], C[16][16], x[64], y[64], s;"
PROGRAMS = {
    "seidel": "for (k = 0; k < 3; k++) for (i = 1; i < 6; i++) for (j = 1; j < 7; j++) A[i][j] = A[i-1][j-1] + "
        "A[i-1][j] "
    "+ A[i-1][j+1] + A[i][j-1] + A[i][j] + A[i][j+1] + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1];",
    "jacobi": "for (k = 0; k < 4; k++) { for (i = 1; i < 9; i++) y[i] = x[i-1] + x[i] + x[i+1]; "
    "for (i = 1; i < 9; i++) x[i] = y[i-1] + y[i] + y[i+1]; }",
    "waves": "for (k = 0; k < 3; k++) { for (j = 0; j < 6; j++) A[0][j] = k; for (i = 1; i < 5; i++) for (j = 0; j < "
        "6; j++) "
    "A[i][j] -= C[i][j] - C[i-1][j]; for (i = 0; i < 5; i++) for (j = 1; j < 6; j++) B[i][j] -= C[i][j] - C[i][j-1];"
    " for (i = 0; i < 4; i++) for (j = 0; j < 5; j++) C[i][j] -= B[i][j+1] - B[i][j] + A[i+1][j] - A[i][j]; }",
    "sweeps": "for (k = 0; k < 3; k++) { for (i = 0; i < 5; i++) for (j = 1; j < 6; j++) A[i][j] = A[i][j-1] * s + "
        "B[i][j]; "
    "for (i = 0; i < 5; i++) for (j = 1; j < 6; j++) B[j][i] = B[j-1][i] + A[j-1][i]; }",
    "product": "for (i = 0; i < 5; i++) for (j = 0; j < 6; j++) { A[i][j] *= s; for (k = 0; k < 4; k++) "
    "A[i][j] += B[i][k] * C[k][j]; }",
    "triangle": "for (i = 1; i < 8; i++) for (j = 0; j < i; j++) x[i] -= A[i][j] * x[j];",
    "backwards": "for (i = 6; i >= 0; i--) { s = x[i + 1]; for (j = 5; j > 0; j--) A[i][j] = A[i+1][j] + A[i][j+1] * "
        "s; "
    "x[i] = s + A[i][1]; }",
    "pair": "for (i = 0; i < 8; i++) for (j = 1; j < 7; j++) A[i][j] = A[i][j-1] + x[i]; "
    "for (i = 1; i < 8; i++) for (j = 0; j < 7; j++) B[i][j] = A[i-1][j] + B[i-1][j];",
}


@lru_cache
def program(name: str) -> Program:
    """Return one of PROGRAMS."""
    return program_of(scop(PROGRAMS[name], ARRAYS))


def random_walk_plan(
    found: Program, rng: np.random.Generator, preferred: Preferences = MappingProxyType({})
) -> Plan | None:
    """Return a plan of a random walk through the O3 space, with small tiles and random kernels; None if there is no
    walk.
    """
    space = make_o3_space(partial(kernel_shapes, found), O3(found), TARGET, reductions=reducible(found))
    walk = OptimizationGraph().walk(space, prefer(preferred, uniform(rng)))
    if walk is None:
        return None
    assert isinstance(walk.plan.schedule, Hyperplanes)
    schedule = replace(walk.plan.schedule, nests=tuple(_small(nest, rng) for nest in walk.plan.schedule.nests))
    return Plan(schedule, random_kernels(found, schedule, rng))


def random_kernels(found: Program, schedule: Hyperplanes, rng: np.random.Generator) -> tuple[KernelPlan, ...]:
    """Return random plans of all kernels, without shared copies, whose barriers skewed loops rarely allow.

    As in the space, skewed loops have no tiles inside, a thread runs one tile of a wavefront, and there are no options
    without effect. In most kernels a thread runs one point, since isl takes long for several. Raises IllegalPlan.
    """
    kernels = []
    for shape in kernel_shapes(found, schedule):
        kernel = replace(random_kernel(shape.statements, len(shape.extents), rng), shared=False)
        if shape.skewed:
            several = not shape.coarse and len(kernel.tile) < 2
            kernel = kernel if several else replace(kernel, tile=kernel.block, run=1)
            kernel = replace(kernel, inner_tile=1, padding=0, ahead=False,
                             registers=kernel.registers and shape.kept != (),
                             combine=kernel.combine if shape.reduces else "atomic",
                             points_inside=kernel.points_inside and kernel.tile != kernel.block,
                             vector=kernel.vector if kernel.vector <= max(kernel.run, kernel.unroll) else 1)
        kernels.append(kernel)
    return tuple(kernels)


def _small(nest: LoopNest, rng: np.random.Generator) -> LoopNest:
    """Return the nest with tiles of a few points, so that small programs have several."""
    sizes = tuple(int(rng.integers(1, 5)) for _ in nest.wavefront)
    return replace(nest, parts=tuple(_small(part, rng) for part in nest.parts), wavefront=sizes)


def random_rows(found: Program, rng: np.random.Generator) -> Hyperplanes:
    """Return rows that need not be legal: iterators in any order, sometimes mixed, for all statements together or
    separately.
    """
    names = [s.name for s in found.statements]
    together = bool(rng.integers(2))
    groups = [tuple(sorted(names))] if together else [(name,) for name in names]
    nests = []
    for group in groups:
        depth = max(len(found.statement(name).iterators) for name in group)
        rows = tuple(_random_row(found, group, k, rng) for k in range(depth))
        tiles = tuple(int(rng.integers(1, 4)) for _ in range(depth)) if depth > 1 and rng.integers(2) else ()
        nests.append(LoopNest(group, rows, (), tiles))
    return Hyperplanes(tuple(nests))


def _random_row(found: Program, group: tuple[str, ...], depth: int, rng: np.random.Generator) -> Row:
    row = []
    for name in group:
        count = len(found.statement(name).iterators)
        vector = [0] * (count + 1)
        if depth < count:
            vector[depth] = 1
            for k in range(depth):
                vector[k] = int(rng.choice([0, 0, 1, 2, -1]))
        vector[-1] = int(rng.choice([0, 0, 0, 1]))
        row.append(tuple(vector))
    return tuple(row)


def check(found: Program, plan: Plan, rng: np.random.Generator) -> str:
    """Run a plan in Python; return `right`, or why it is refused. Fails if the result is wrong."""
    try:
        memory = run_plan(found, plan, rng)
    except IllegalPlan as error:
        return str(error)
    assert not differences(found, memory, run_original(found)), plan.to_json()
    return "right"


def processor_s() -> float:
    """Return seconds of processor time of this process and of its finished children: isl runs in some."""
    return sum(os.times()[:4])


REACH = range(-2, 3)
NO_BOUND = 99


@dataclass(frozen=True, slots=True)
class BruteForce:
    """Rows for one or two statements inside a place, by trying all pairs of instances that it leaves unordered."""

    names: tuple[str, ...]
    outer: tuple[tuple[Vector, ...], ...]
    """Per statement, its vectors in the rows of the place, without constants."""
    dims: int
    pairs: frozenset[Pair]

    def rows(self, parallel: bool) -> set[Row]:
        """Return all legal (or parallel) rows with coefficients in [-2, 2] and a new direction for each statement, but:

        - of vectors of a statement that are equal up to the outer rows, only the simplest, and none that leaves holes;
        - constants are the least legal ones, and at most 4; multiples of a row are not included;
        - of a row and its negative, if both are legal, only the one that begins with a positive number.
        """
        own = [list(self._vectors(number)) for number in range(len(self.names))]
        found = {row for vectors in product(*own) if (row := self.legal(vectors, parallel, 4)) is not None
                 and gcd(*(c for vector in vectors for c in vector)) == 1}
        bare = {tuple(vector[:-1] for vector in row) for row in found}
        return {row for row in found if tuple(tuple(-c for c in v[:-1]) for v in row) not in bare
                or next(c for v in row for c in v[:-1] if c) > 0}

    def _vectors(self, number: int) -> Iterator[Vector]:
        """Yield new directions in all different ways, the simplest first."""
        basis = np.array(self.outer[number], float).reshape(-1, self.dims)
        seen = set()
        for vector in sorted(product(REACH, repeat=self.dims), key=_complexity):
            rest = tuple(np.round(np.array(vector) - np.array(vector) @ np.linalg.pinv(basis) @ basis, 5) + 0.0)
            if any(rest) and rest not in seen and _without_holes([*self.outer[number], vector]):
                seen.add(rest)
                yield vector

    def legal(self, vectors: tuple[Vector, ...], parallel: bool, most: int) -> Row | None:
        """Return the row with these vectors and the least constants (`most` at most); None if it is not legal."""
        least, greatest = -NO_BOUND, NO_BOUND  # of the second statement's constant minus the first's
        for (first, before), (second, after) in self.pairs:
            a, b = self.names.index(first), self.names.index(second)
            distance = _at(vectors[b], after) - _at(vectors[a], before)
            if a == b and (distance < 0 or (parallel and distance > 0)):
                return None
            if a < b or (a > b and parallel):
                least = max(least, -distance if a < b else distance)
            if a > b or (a < b and parallel):
                greatest = min(greatest, -distance if a < b else distance)
        shift = min(max(0, least), greatest)
        if least > greatest or abs(shift) > most:
            return None
        return tuple((*v, c) for v, c in zip(vectors, (max(0, -shift), max(0, shift)), strict=False))

    def promise(self, row: Row) -> int:
        """Return how many statements can have a parallel loop directly inside `row` (with coefficients in [-2, 2])."""
        below = self.inside(row)
        groups = strongly_connected(self.names, {(a, b) for (a, _), (b, _) in below.pairs if a != b})
        return sum(len(group) for group in groups if below.restricted(group)._any_parallel())

    def _any_parallel(self) -> bool:
        ways = product(product(REACH, repeat=self.dims), repeat=len(self.names))
        return any(
            self.legal(vectors, True, 16) is not None
            for vectors in ways
            if all(
                np.linalg.matrix_rank(np.array([*outer, v])) > len(outer)
                for outer, v in zip(self.outer, vectors, strict=True)
            )
        )

    def inside(self, row: Row) -> BruteForce:
        """Return the state one loop further inside."""
        vectors = dict(zip(self.names, row, strict=True))
        kept = {
            ((a, x), (b, y)) for (a, x), (b, y) in self.pairs if _at(vectors[a], (*x, 1)) == _at(vectors[b], (*y, 1))
        }
        outer = tuple((*rows, vector[:-1]) for rows, vector in zip(self.outer, row, strict=True))
        return replace(self, outer=outer, pairs=frozenset(kept))

    def restricted(self, names: tuple[str, ...]) -> BruteForce:
        """Return the same for some of the statements."""
        outer = tuple(self.outer[self.names.index(name)] for name in names)
        return replace(self, names=names, outer=outer,
                       pairs=frozenset(pair for pair in self.pairs if all(name in names for name, _ in pair)))


def brute_force(found: Program, place: NestPath) -> BruteForce:
    """Return the rows inside `place` for a program of one or two statements, all with the same number of iterators."""
    names = tuple(s.name for s in found.statements)
    (dims,) = {len(s.iterators) for s in found.statements}
    question = BruteForce(names, ((),) * len(names), dims, frozenset(conflicts(found, set())))
    for _, row in place:
        question = question.inside(row)
    return question


def _at(vector: Vector, point: tuple[int, ...]) -> int:
    return sum(c * x for c, x in zip(vector, point, strict=True))


def _complexity(vector: Vector) -> tuple[int, int, int, list[int]]:
    return sum(map(bool, vector)), sum(map(abs, vector)), sum(c < 0 for c in vector), [-c for c in vector]


def _without_holes(rows: Iterable[Vector]) -> bool:
    """Return whether one row, or two of two numbers, take all integer values."""
    first, *more = rows
    return abs(round(np.linalg.det(np.array([first, *more])))) == 1 if more else gcd(*first) == 1


def one(names: tuple[str, ...], *rows: tuple[int, ...], wavefront: tuple[int, ...] = (),
        parts: tuple[LoopNest, ...] = ()) -> LoopNest:
    """Return a nest in which all statements have the same rows, except for constants."""
    return LoopNest(names, tuple((row,) * len(names) for row in rows), parts, wavefront)
