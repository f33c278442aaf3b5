"""Synthetic spaces with known contents and costs, and helpers that make Outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from experiments.values.options import RunOptions
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from graph.space import Chooser, DeadEnd, Decision, Option, Space
from graph.walk import Walk
from metrics.outcome import Durations, Illegal, KernelTime, MetricValues, Outcome, Timed


def timed(total_ms: float, kernels_ms: Mapping[tuple[str, ...], float] | None = None,
          metrics: MetricValues = ()) -> Timed:
    """Return a correct variant that takes `total_ms`, with the same metrics for each kernel."""
    kernels = tuple(KernelTime(statements, ms, metrics) for statements, ms in (kernels_ms or {}).items())
    return Timed(total_ms, total_ms, total_ms, (total_ms,), total_ms, kernels, "code", False, Durations())


def failed() -> Outcome:
    """Return a failure."""
    return Illegal("no", Durations())


def chosen(chooser: Chooser, decision: Decision, options: Sequence[int]) -> int:
    """Return an answer that is an int."""
    answer = chooser.choose(decision, options)
    assert isinstance(answer, int)
    return answer


def plan_of(values: Sequence[int], statements: tuple[str, ...] = ("S",)) -> Plan:
    """Return a Plan of one kernel that holds `values` (each from 0)."""
    numbers = tuple(value + 1 for value in values)
    return Plan(ScheduleChoice(), (KernelPlan(statements, numbers, numbers),))


@dataclass(frozen=True, slots=True)
class FlatSpace:
    """Independent decisions with `sizes` options each."""

    sizes: tuple[int, ...]

    def __call__(self, chooser: Chooser) -> Plan:
        return plan_of([chosen(chooser, Decision(f"d{i}"), range(n)) for i, n in enumerate(self.sizes)])


@dataclass(frozen=True, slots=True)
class Staircase:
    """`size` decisions of `size` options; each after the first must not be below the previous one."""

    size: int

    def __call__(self, chooser: Chooser) -> Plan:
        values = [chosen(chooser, Decision("s0"), range(self.size))]
        for i in range(1, self.size):
            decision = Decision(f"s{i}", depends=(("last", values[-1]),))
            values.append(chosen(chooser, decision, range(values[-1], self.size)))
        return plan_of(values)

    @property
    def count(self) -> int:
        """The number of its Plans."""
        return math.comb(2 * self.size - 1, self.size)


@dataclass(frozen=True, slots=True)
class DeadEnds:
    """Three decisions of `size` options; only sums divisible by 3 lead to a Plan, which is decided at the end."""

    size: int

    def __call__(self, chooser: Chooser) -> Plan:
        a = chosen(chooser, Decision("a"), range(self.size))
        b = chosen(chooser, Decision("b"), range(self.size))
        c = chosen(chooser, Decision("c", depends=(("a + b", a + b),)), range(self.size))
        if (a + b + c) % 3:
            raise DeadEnd
        return plan_of([a, b, c])

    @property
    def plans(self) -> set[str]:
        """The digests of its Plans."""
        values = range(self.size)
        return {plan_of([a, b, c]).digest for a in values for b in values for c in values if (a + b + c) % 3 == 0}


@dataclass(frozen=True, slots=True)
class NoWayOut:
    """A space in which all walks end in a dead end."""

    def __call__(self, chooser: Chooser) -> Plan:
        chosen(chooser, Decision("a"), range(3))
        chosen(chooser, Decision("b"), range(2))
        raise DeadEnd


LADDER = (1, 2, 4, 8, 16, 32, 64, 128)
UNROLLS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Kernels:
    """A program of `count` kernels (fused into pairs or not), each with tiles, blocks, unroll and shared memory.

    With `reverse`, kernels are decided in the opposite order. The cost has one optimum, interactions within a kernel
    and kernels of different weight; the best program is not fused.
    """

    count: int
    reverse: bool = False

    def __call__(self, chooser: Chooser) -> Plan:
        fused = bool(chooser.choose(Decision("fuse"), (False, True)))
        kernels = [self._kernel(chooser, statements) for statements in self.groups(fused)]
        return Plan(ScheduleChoice(serialize_sccs=not fused), tuple(sorted(kernels, key=lambda k: k.statements)))

    def groups(self, fused: bool) -> list[tuple[str, ...]]:
        """Return the statements of each kernel, in the order of the decisions."""
        width = 2 if fused else 1
        names = [f"S{i}" for i in range(self.count)]
        groups = [tuple(names[i : i + width]) for i in range(0, self.count, width)]
        return groups[::-1] if self.reverse else groups

    def _kernel(self, chooser: Chooser, statements: tuple[str, ...]) -> KernelPlan:
        tile, block = [], []
        for dim in ("x", "y"):
            t = chosen(chooser, Decision(f"tile {dim}", statements), LADDER)
            smaller = [size for size in LADDER if size <= t]
            tile.append(t)
            block.append(chosen(chooser, Decision(f"block {dim}", statements, (("tile", t),)), smaller))
        unroll = chosen(chooser, Decision("unroll", statements), UNROLLS)
        shared = chooser.choose(Decision("shared", statements), (False, True))
        return _kernel_plan(statements, tuple(tile), tuple(block), bool(shared), unroll)

    def outcome(self, plan: Plan) -> Timed:
        """Return the cost of a Plan of this space."""
        times = {kernel.statements: kernel_ms(kernel) for kernel in plan.kernels}
        return timed(sum(times.values()), times)

    @property
    def best_ms(self) -> float:
        """The cost of the best Plan."""
        return sum(weight((f"S{i}",)) for i in range(self.count))


@lru_cache(maxsize=4096)
def _kernel_plan(statements: tuple[str, ...], tile: tuple[int, ...], block: tuple[int, ...], shared: bool,
                 unroll: int) -> KernelPlan:
    return KernelPlan(statements, tile, block, shared=shared, unroll=unroll)


def weight(statements: tuple[str, ...]) -> float:
    """Return the best time of a kernel; fusion costs a fifth more."""
    total = sum(1.0 + int(name[1:]) for name in statements)
    return total * (1.2 if len(statements) > 1 else 1.0)


def kernel_ms(kernel: KernelPlan) -> float:
    """Return the time: best at 128 threads in a 32-wide block, 8 points per thread, unroll 4; large tiles need shared
    memory.
    """
    threads = math.prod(kernel.block)
    points = math.prod(kernel.tile) // threads
    off = abs(math.log2(threads / 128)) + 0.7 * abs(math.log2(points / 8)) + 0.5 * abs(math.log2(kernel.block[0] / 32))
    off += 0.3 * abs(math.log2(kernel.unroll / 4)) + (0.8 if kernel.shared != (math.prod(kernel.tile) >= 512) else 0.0)
    return weight(kernel.statements) * math.exp2(0.5 * off)


def options_of(walk: Walk) -> tuple[Option, ...]:
    """Return the options of a walk."""
    return tuple(choice.option for choice in walk.choices)


def large_space(_program: object, _target: Target, _options: RunOptions) -> Space:
    """Return a space of a hundred thousand plans of one kernel."""

    def space(chooser: Chooser) -> Plan:
        numbers = [chosen(chooser, Decision(name, ("S0",)), range(1, most)) for name, most in
                   (("tile", 9), ("block", 9), ("unroll", 11), ("inner", 11), ("padding", 17))]
        tile, block, unroll, inner, padding = numbers
        return Plan(ScheduleChoice(), (KernelPlan(("S0",), (32 * tile,), (block,), unroll=unroll, inner_tile=inner,
                                                  padding=padding),))

    return space
