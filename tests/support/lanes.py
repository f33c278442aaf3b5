"""Random stages that read each other at constant distances, for tiles of warps in shared memory and registers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from antune import halide as hl
from generator.errors import InputError
from generator.frontend_py.problem import program_of
from generator.plan import KernelPlan, Plan
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from tests.support.reading import problem_of

WHOLE = (hl.Int(32), hl.Int(16), hl.UInt(8), hl.Int(64))
REAL = (hl.Float(64), hl.Float(32), hl.Int(32))


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A pipeline, and the sizes of its output (x first)."""

    output: hl.Func
    sizes: tuple[int, ...]

    @property
    def program(self) -> Program:
        """Its program, which needs no run."""
        return program_of([self.output], self.sizes)

    @property
    def problem(self) -> Problem:
        """Its problem, with images of random numbers and the results."""
        return problem_of([self.output], self.sizes, "chain")


def three_stages(width: int = 300, height: int = 9) -> Chain:
    """Return stages that read neighbours of the previous one: along y, along x, along both."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Int(32), 2, "image")
    one, two, out = hl.Func("one"), hl.Func("two"), hl.Func("out")
    one[x, y] = image[x, y] + image[x, y + 1] + image[x, y + 2]
    two[x, y] = one[x, y] + one[x + 1, y] + one[x + 2, y]
    out[x, y] = two[x, y] + two[x + 1, y] + two[x, y + 1]
    return Chain(out, (width, height))


def random_chain(rng: np.random.Generator, dims: int, far: int, kinds: tuple[hl.Type, ...] = WHOLE) -> Chain:
    """Return two to five stages; each reads one to three earlier ones, or the image, up to `far` points away along x.
    """
    names = [hl.Var(name) for name in "xyz"[:dims]]
    while True:
        image = hl.ImageParam(hl.Int(32), dims, "image")
        count, found = int(rng.integers(2, 6)), list[hl.Func]()
        for number in range(count):
            kind = hl.Int(32) if number == count - 1 else kinds[int(rng.integers(len(kinds)))]
            one = hl.Func(f"stage{number}" if number < count - 1 else "out")
            one[tuple(names)] = hl.cast(kind, _sum(rng, names, image, found, far))
            found.append(one)
        chain = Chain(found[-1], (int(rng.integers(20, 150)), *map(int, rng.integers(3, 9, dims - 1))))
        try:
            program_of([chain.output], chain.sizes)
            return chain
        except InputError:  # an index below 0: try another one
            continue


def _sum(
    rng: np.random.Generator, names: list[hl.Var], image: hl.ImageParam, found: list[hl.Func], far: int
) -> hl.Expr:
    """Return a sum of elements of the last stage and of others."""
    total = hl.cast(hl.Int(32), hl.i32(int(rng.integers(1, 9))))
    for number in range(int(rng.integers(1, 4))):
        sources: list[hl.Func | hl.ImageParam] = [image, *found]
        source = found[-1] if found and not number else sources[int(rng.integers(len(sources)))]
        reach = [far, 2, 1][: len(names)]
        at = tuple(
            v + int(rng.integers(-n if found else 0, n + 1)) + (40 if source is image else 0)
            for v, n in zip(names, reach, strict=True)
        )
        factor = int(rng.integers(1, 4))
        total = total + hl.cast(hl.Int(32), source[at]) * factor
    return total


def split_plan(program: Program, block: tuple[int, ...], points: tuple[int, ...], tenths: int) -> Plan:
    """Return a plan with all stages in the tiles of warps, `tenths` of them in registers."""
    arrays = sorted(a.name for a in program.arrays if a.role == "temp")
    names = tuple(sorted(s.name for s in program.statements))
    tile = tuple(b * p for b, p in zip(block, points, strict=True))
    kernel = KernelPlan(names, tile, block, level="sub-group", in_registers=tenths)
    return Plan(Stages(tuple((a, "block") for a in arrays)), (kernel,))


def with_tenths(plan: Plan, tenths: int) -> Plan:
    """Return the same plan with `tenths` in registers."""
    return replace(plan, kernels=tuple(replace(kernel, in_registers=tenths) for kernel in plan.kernels))


def row_chain(rng: np.random.Generator) -> Chain:
    """Return two to four stages, each of which reads rows of the previous one.

    It reads them twice as fast, half as fast (only one stage: tiles of two rows repeat that), or at distances.
    """
    x, y = hl.Var("x"), hl.Var("y")
    while True:
        image, count = hl.ImageParam(hl.Int(32), 2, "image"), int(rng.integers(2, 5))
        source: hl.Func | hl.ImageParam = image
        half = int(rng.integers(1, count))
        for number in range(count):
            one, far = hl.Func(f"stage{number}" if number < count - 1 else "out"), int(rng.integers(0, 3))
            ways = [(y, y + far), (2 * y + far, 2 * y + 1), (hl.i32(far), hl.i32(0))]
            ways += [(y // 2, y // 2 + y % 2 + far)] * 2 if number == half else []
            total = hl.cast(hl.Int(32), y % 2 + 1)
            for row in ways[int(rng.integers(len(ways)))] if number else (y, y + 1):
                total = total * 3 + source[x + int(rng.integers(0, 4)), row]
            one[x, y] = total
            source = one
        chain = Chain(one, (int(rng.integers(40, 140)), int(rng.integers(4, 11))))
        try:
            program_of([chain.output], chain.sizes)
            return chain
        except InputError:  # an index below 0: try another one
            continue
