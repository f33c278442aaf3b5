"""Random small image pipelines, and random plans of them that compute stages in their readers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antune import halide as hl
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from explorer.registry import make_explorer
from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.frontend_py.bounds import Bounds
from generator.frontend_py.images import Image
from generator.frontend_py.interpret import interpret
from generator.frontend_py.lower import lower as lowered_program
from generator.frontend_py.realize import bounds_of
from generator.frontend_py.types import Type
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.dependences.reductions import reducible
from generator.polyhedral.pipelines.joining import sharable
from generator.polyhedral.pipelines.sections import kernels_of
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import ELEMENT_BYTES, NUMPY_TYPES, Program, Where, computed_by, lines_of
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.stages import Stages
from generator.target import Target
from tests.support.memory import Memory
from tests.support.plans import random_kernel

MOST = 4000
"""The maximum number of elements of all arrays of a pipeline."""
SMALL = Target("small", "opencl", 32, (32, 16, 8), 1 << 16, 4, True, True)
"""A device whose blocks are small enough for the interpreter in Python."""

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
INTEGERS = (hl.UInt(8), hl.UInt(16), hl.Int(32), hl.Int(16), hl.UInt(32))


@dataclass(slots=True)
class Builder:
    """A pipeline under construction; every value in `found` is a function of two coordinates."""

    rng: np.random.Generator
    floats: bool
    found: list[Callable[[Any, Any], Any]] = field(default_factory=list)
    count: int = 0

    def pick(self, *options: Any) -> Any:
        """Return one of `options`."""
        return options[int(self.rng.integers(len(options)))]

    def number(self, low: int, high: int) -> int:
        """Return a number from `low` to `high`."""
        return int(self.rng.integers(low, high + 1))

    def func(self, kind: str) -> hl.Func:
        """Return a new Func."""
        self.count += 1
        return hl.Func(f"{kind}{self.count}")

    def image(self) -> None:
        """Add an input, sometimes with repeated edges."""
        kind = self.pick(hl.Float(32), *INTEGERS[:3]) if self.floats else self.pick(*INTEGERS)
        self.count += 1
        image = hl.ImageParam(kind, 2, f"image{self.count}")
        edge = self.pick("repeat_edge", "mirror_interior", "constant_exterior", "", "")
        if not edge:
            self.found.append(lambda a, b: image[a, b])
            return
        image.set_estimates([(0, self.number(3, 9)), (0, self.number(3, 9))])
        more = (7,) if edge == "constant_exterior" else ()
        bounded = getattr(hl.BoundaryConditions, edge)(image, *more)
        self.found.append(lambda a, b: bounded[a, b])

    def source(self) -> Callable[[Any, Any], Any]:
        """Return one of the values, preferring later ones."""
        last = len(self.found) - 1
        return self.found[max(self.number(0, last), self.number(0, last))]

    def near(self, limit: int = 2) -> Any:
        """Return a value at a nearby place."""
        return self.source()(x + self.number(-limit, limit), y + self.number(-limit, limit))

    def converted(self, value: Any) -> Any:
        """Return `value`, in its own or another type."""
        kinds = (hl.Float(32), hl.UInt(8), hl.Int(32)) if self.floats else INTEGERS
        return hl.cast(self.pick(*kinds), value) if self.number(0, 1) else value

    def combined(self, one: Any, two: Any) -> Any:
        """Combine two values, in a type without undefined overflows."""
        if one.type.is_float() or two.type.is_float():
            one, two = hl.f32(one), hl.f32(two)
            return self.pick(one + two, one * two, one - two * 3.0, hl.select(x % 3 == 0, one, two))
        kind = self.pick(hl.UInt(8), hl.UInt(16), hl.UInt(32))
        one, two = hl.cast(kind, one), hl.cast(kind, two)
        return self.pick(one + two, one * two + 3, one - two, hl.max(one, two), hl.select(one > two, two, one),
                         one ^ two, one // 3 + two % 5, hl.select((x + y) % 2 == 0, one, two), hl.absd(one, two))

    def take(self, func: hl.Func) -> None:
        """Keep a Func of two coordinates."""
        self.found.append(lambda a, b: func[a, b])

    def step(self) -> None:
        """Add a stage."""
        kinds = ("point", "point", "stencil", "stencil", "down", "up", "clamped", "tuple", "sum", "update", "table",
                 "histogram", "column", "transposed", "scan", "where", "deep", "swap")
        getattr(self, "_" + self.pick(*kinds))()

    def _point(self) -> None:
        f = self.func("point")
        f[x, y] = self.converted(self.combined(self.near(0), self.near(1)))
        self.take(f)

    def _stencil(self) -> None:
        f, g = self.func("stencil"), self.source()
        across, down = self.pick((1, 0), (0, 1), (1, 1), (2, -1))
        first = self.combined(g(x - across, y - down), g(x, y))
        f[x, y] = self.converted(self.combined(first, g(x + across, y + down)))
        self.take(f)

    def _down(self) -> None:
        f, g = self.func("down"), self.source()
        k = self.number(-1, 1)
        f[x, y] = self.pick(self.combined(g(2 * x + k, y), g(2 * x + 1, y)),
                            self.combined(g(x, 2 * y), g(x, 2 * y + 1)))
        self.take(f)

    def _up(self) -> None:
        f, g = self.func("up"), self.source()
        f[x, y] = self.pick(hl.select(x % 2 == 0, g(x // 2, y), g((x + 1) // 2, y)),
                            self.combined(g(x // 2, y // 2), g((x - 1) // 2, y)),
                            self.combined(g(x, y // 2), g(x, (y + 1) // 2)))
        self.take(f)

    def _clamped(self) -> None:
        f, g = self.func("clamped"), self.source()
        low, high = self.number(-1, 1), self.number(3, 6)
        f[x, y] = self.combined(g(hl.clamp(x + self.number(-2, 2), low, high), y), g(x, hl.max(y - 1, low)))
        self.take(f)

    def _tuple(self) -> None:
        f = self.func("pair")
        f[x, y] = (self.combined(self.near(), self.near(0)), self.near(1))
        self.found += [lambda a, b: f[a, b][0], lambda a, b: f[a, b][1]]

    def _swap(self) -> None:
        f = self.func("swapped")
        one, two = self.near(0), self.near(1)
        kind = hl.Float(32) if one.type.is_float() or two.type.is_float() else hl.UInt(16)
        f[x, y] = (hl.cast(kind, one), hl.cast(kind, two))
        f[x, y] = (f[x, y][1] + hl.cast(kind, 1), f[x, y][0])
        self.found += [lambda a, b: f[a, b][0], lambda a, b: f[a, b][1]]

    def _domain(self) -> hl.RDom:
        self.count += 1
        ranges = [(self.number(-1, 0), self.number(1, 3))]
        if self.number(0, 1):
            ranges.append((self.number(-1, 0), self.number(1, 3)))
        return hl.RDom(ranges, f"r{self.count}")

    def _sum(self) -> None:
        f, g, r = self.func("summed"), self.source(), self._domain()
        value = g(x + r[0], y + (r[1] if len(r) > 1 else 1))
        kind = hl.Float(32) if value.type.is_float() else self.pick(hl.UInt(16), hl.UInt(8), hl.UInt(32))
        value = hl.cast(kind, value)
        reduced = self.pick(hl.sum, hl.maximum, hl.minimum, hl.sum)
        f[x, y] = self.converted(reduced(value, name=f"inner{self.count}"))
        if self.number(0, 1):
            f[x, y] = f[x, y] + hl.cast(f.types()[0], self.near(1))
        self.take(f)

    def _update(self) -> None:
        f, g, r = self.func("updated"), self.source(), self._domain()
        first = self.near(1)
        kind = hl.Float(32) if first.type.is_float() else hl.UInt(16)
        f[x, y] = hl.cast(kind, first)
        at = (2 * x + r[0], y + (r[1] if len(r) > 1 else 0)) if self.number(0, 1) else (x + r[0], y)
        if self.number(0, 1):
            f[x, y] += hl.cast(kind, g(*at))
        else:
            f[x, y] = f[x, y] * 3 - hl.cast(kind, g(*at))
        if self.number(0, 1):
            f[x, y] = hl.select(x % 2 == 0, f[x, y], hl.cast(kind, self.near(0)))
        self.take(f)

    def _where(self) -> None:
        f, g = self.func("chosen"), self.source()
        r = hl.RDom([(-1, 3), (-1, 3)], f"rw{self.count}")
        r.where(self.pick(r.x + r.y < 2, r.x * r.x + r.y * r.y < 2, r.x != r.y))
        value = g(x + r.x, y + r.y)
        kind = hl.Float(32) if value.type.is_float() else hl.UInt(16)
        f[x, y] = hl.cast(kind, 1)
        f[x, y] += hl.cast(kind, value)
        self.take(f)

    def _table(self) -> None:
        table, f = self.func("table"), self.func("looked_up")
        g, n = self.source(), self.number(4, 12)
        table[x] = hl.cast(hl.UInt(16), g(x % 5, x // 5)) * 3 + 1
        if self.number(0, 1):
            table[x] = table[x] + hl.u16(x)
        value = self.near(1)
        f[x, y] = table[hl.clamp(hl.i32(value) % n, 0, n - 1)] + table[hl.clamp(x, 0, n)]
        self.take(f)

    def _histogram(self) -> None:
        bins, f, g = self.func("bins"), self.func("counted"), self.source()
        r = hl.RDom([(0, 6), (0, 4)], f"rh{self.count}")
        bins[x] = hl.u16(0)
        bins[hl.clamp(hl.i32(g(r.x, r.y)) % 7, 0, 6)] += hl.u16(1)
        f[x, y] = bins[hl.clamp(hl.i32(self.near(0)) % 7, 0, 6)]
        self.take(f)

    def _column(self) -> None:
        line, f, g = self.func("line"), self.func("spread"), self.source()
        r = hl.RDom([(0, 4)], f"rc{self.count}")
        value = g(r, y)
        kind = hl.Float(32) if value.type.is_float() else hl.UInt(32)
        line[y] = hl.cast(kind, 0)
        line[y] += hl.cast(kind, value)
        f[x, y] = self.combined(line[y], line[x])
        self.take(f)

    def _transposed(self) -> None:
        f, g = self.func("transposed"), self.source()
        f[x, y] = self.combined(g(y, x), g(y + 1, x))
        self.take(f)

    def _scan(self) -> None:
        f, g = self.func("scan"), self.source()
        r = hl.RDom([(1, 4)], f"rs{self.count}")
        value = g(x, y)
        kind = hl.Float(32) if value.type.is_float() else hl.UInt(16)
        f[x, y] = hl.cast(kind, value)
        f[r, y] = f[r - 1, y] + f[r, y]
        self.take(f)

    def _deep(self) -> None:
        f, g = self.func("planes"), self.source()
        h, value = self.func("flat"), g(x + c, y)
        f[x, y, c] = self.combined(value, g(x, y + c))
        h[x, y] = self.combined(f[x, y, 0], self.combined(f[x + 1, y, 1], f[x, y, self.number(0, 2)]))
        self.take(h)


def random_pipeline(rng: np.random.Generator, floats: bool) -> Bounds:
    """Return a pipeline of up to eight stages with known regions. Raises InputError for an impossible one."""
    builder = Builder(rng, floats)
    for _ in range(builder.number(1, 2)):
        builder.image()
    for _ in range(builder.number(1, 6)):
        builder.step()
    outputs = []
    for number in range(builder.pick(1, 1, 1, 2)):
        out = hl.Func(f"out{number}")
        out[x, y] = builder.combined(builder.near(1), builder.combined(builder.near(0), builder.near(0)))
        outputs.append(out)
    return bounds_of(outputs, [builder.number(3, 11), builder.number(2, 7)])


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A pipeline as a Program; without real numbers, also the results of the numpy interpreter for the inputs of
    `Memory`.
    """

    program: Program
    results: Mapping[str, NDArray[Any]]


def case(seed: int) -> Case:
    """Return the pipeline of this seed; if a rule of the language refuses it, or it is too large, the next one."""
    rng, floats = np.random.default_rng(seed), seed % 3 == 0
    while True:
        with suppress(InputError):
            bounds = random_pipeline(rng, floats)
            program = expand(lowered_program(bounds, "random", "", ()))
            if sum(array.elements for array in program.arrays) <= MOST:
                return Case(program, {} if floats else results_of(program, bounds))


def results_of(program: Program, bounds: Bounds) -> Mapping[str, NDArray[Any]]:
    """Return the results of the numpy interpreter."""
    memory = Memory(program)
    images = {id(image): inputs_of(memory, program, bounds, image) for image in bounds.collected.images}
    values = interpret(bounds, images)
    return {array: value for func in bounds.collected.outputs
            for array, value in zip(bounds.collected.arrays(func), values[id(func)], strict=True)}


def inputs_of(memory: Memory, program: Program, bounds: Bounds, image: Image) -> NDArray[Any]:
    """Return the data of an image in `memory`."""
    shape = tuple(extent for _, extent in reversed(bounds.regions[id(image)]))
    kind: Type = image.type
    data = np.zeros(shape, kind.numpy)
    name = bounds.collected.name(image)
    if any(a.name == name for a in program.arrays):
        for index in np.ndindex(*shape):
            data[index] = memory.load(name, index)
    return data


def values_of(memory: Memory, name: str, program: Program) -> NDArray[Any]:
    """Return an array of integers in `memory`."""
    array = program.array(name)
    found = np.zeros(array.extents, NUMPY_TYPES[array.type])
    for index in np.ndindex(*array.extents):
        found[index] = memory.load(name, index)
    return found


def random_stages(program: Program, rng: np.random.Generator) -> Stages:
    """Choose some of the possible stages and their places at random."""
    share = int(rng.integers(1, 5))
    kinds: tuple[Where, ...] = ("inline", "block")
    chosen: dict[str, Where] = {}
    for array, steps in possible_stages(program).items():
        if array in computed_by(steps) and chosen.keys().isdisjoint(computed_by(steps)) and rng.integers(5) < share:
            kind: Where = "block" if lines_of(steps) else kinds[int(rng.integers(2))]
            if rng.integers(2) or not lines_of(steps):
                chosen |= {one: kind for one in computed_by(steps) if one in possible_stages(program)}
    computed = {step.statement.name for array in chosen for step in possible_stages(program)[array]}
    wide = [name for name in reducible(program) if name not in computed
            and ELEMENT_BYTES[program.array(program.statement(name).body.target.array).type] >= 4]
    reductions = tuple(sorted(name for name in wide if rng.integers(2)))
    return Stages(tuple(sorted(chosen.items())), reductions, random_sets(program, chosen, rng))


def random_sets(program: Program, chosen: Collection[str], rng: np.random.Generator) -> tuple[tuple[str, ...], ...]:
    """Return arrays that share kernels, pair by pair, if that is legal."""
    able = [array for array in sharable(program) if array not in chosen]
    found: tuple[tuple[str, ...], ...] = ()
    for one, two in combinations(able, 2):
        mine = [arrays for arrays in found if one in arrays or two in arrays]
        wanted = tuple(sorted({one, two}.union(*mine)))
        if rng.integers(2):
            others = [arrays for arrays in found if arrays not in mine]
            with suppress(IllegalPlan):
                stages = Stages(tuple(sorted((array, "inline") for array in chosen)), (), (*others, wanted))
                count = min(3, len(program.array(one).extents))  # fewer: one reads neighbours of the other
                if all(len(kernel.part.parallel) == count for kernel in kernels_of(program, stages)
                       if isinstance(kernel.section.schedule, Hyperplanes)):
                    found = tuple(sorted((*others, wanted)))
    return found


def any_plan(program: Program, rng: np.random.Generator) -> Plan:
    """Return random stages with kernels of odd sizes, which no space offers. Raises IllegalPlan."""
    schedule = random_stages(program, rng)
    kernels = []
    for one in kernels_of(program, schedule):
        kernel = random_kernel(one.statements, len(one.part.parallel), rng)
        computes = any(stage.where == "block" for stage in one.section.program.stages)
        walks = computes and len(kernel.tile) > 1 and not one.section.schedule.reductions and rng.integers(2)
        kernels.append(in_steps(kernel, rng) if walks else kernel)
    return Plan(schedule, tuple(sorted(kernels, key=lambda k: k.statements)))


def in_steps(kernel: KernelPlan, rng: np.random.Generator) -> KernelPlan:
    """Return the same for blocks that walk along their tiles."""
    d = len(kernel.tile) - 2
    walk = kernel.block[d] * int(rng.integers(1, 3))
    tile = (*kernel.tile[:d], walk * int(rng.integers(2, 5)), *kernel.tile[d + 1:])
    return replace(kernel, tile=tile, walk=walk, registers=False, shared=False, inner_tile=1)


def offered_plans(program: Program, target: Target, count: int, seed: int) -> list[Plan]:
    """Return plans drawn decision by decision from the space `pipeline`."""
    options = RunOptions("pipeline.py", Compilation(), Budget(evaluations=1), space="pipeline")
    space = PARTS.make_space(program, target, options)
    return [walk.plan for walk in make_explorer("random", space, seed).ask(count)]
