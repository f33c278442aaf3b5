"""The processor time of the explorers: `python -m experiments.benchmarks.explorer_speed`.

Prints the milliseconds of processor time of ask and tell per evaluation, over the last 100 of 1,000 evaluations, on two
spaces: the O1 space of a program with six two-dimensional kernels, and one with a decision of 10,000 options.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from explorer.registry import EXPLORERS, make_explorer
from generator.decisions.shape import Shape
from generator.decisions.size_lists import InnerTiles, smallest_inner
from generator.decisions.thread_loops import Loops, ThreadLoop
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.target import Target
from graph.o1 import make_o1_space
from graph.space import Chooser, Decision, Space
from metrics.outcome import Durations, KernelTime, Outcome, Timed

EVALUATIONS, LAST, ANTS = 1000, 100, 10
TARGET = Target("benchmark", "opencl", 1024, (1024, 1024, 64), 48 * 1024, 8, True, False)


@dataclass(frozen=True, slots=True)
class TwoDimensional:
    """A kernel of 2000 x 2000 points."""

    statements: tuple[str, ...]
    extents: tuple[int, ...] = (2000, 2000)
    shareable: tuple[str, ...] = ("A",)
    operated: tuple[str, ...] = ()
    sequential: bool = True
    kept: tuple[tuple[int, ...], ...] = ()
    reduces: bool = False
    coarse: bool = False
    skewed: bool = False
    computes: bool = False
    launched: tuple[str, ...] = ()
    privatizes: bool = False
    timed: bool = False
    walkable: bool = False
    diagonals: tuple[int, ...] = ()
    contraction: tuple[int, int] | None = None
    apart: tuple[tuple[str, ...], ...] = ()
    cuts: tuple[tuple[str, ...], ...] = ()
    written: tuple[tuple[str, int], ...] = ()
    depths: tuple[int, ...] = ()
    summed: int = 1

    def steps_on(self, target: Target) -> bool:
        """Its loops inside a thread are steps on all devices."""
        return self.sequential

    def deeper(self, depth: int) -> TwoDimensional:
        """Not called."""
        raise AssertionError(f"it has no loops in one another, and none of {depth} around copies")

    def aligned(self, elements: int) -> TwoDimensional:
        """Its copies are aligned."""
        return self

    def without(self, stages: tuple[str, ...], tile: tuple[int, ...], padding: int) -> tuple[TwoDimensional, int]:
        """Nobody asks."""
        raise AssertionError(f"it computes no stages, not {stages}")

    def holding(self, whole: tuple[str, ...]) -> TwoDimensional:
        """Nobody asks."""
        raise AssertionError(f"it computes no stages, not {whole}")

    def walking(self, rows: int) -> TwoDimensional:
        """Not called."""
        raise AssertionError(f"{rows} rows per step")

    def loops(self, decided: Loops) -> tuple[ThreadLoop, ...]:
        """Return no loops: there is no decision about their unroll factors."""
        return ()

    def inner_extents(self, filled: bool) -> tuple[int, ...]:
        """Return no loops: all have the same tile size."""
        return ()

    def along_diagonals(self) -> TwoDimensional:
        """Not called."""
        raise AssertionError("it has no tiles")

    def inner_diagonals(self, size: int) -> tuple[int, ...]:
        """Not called."""
        raise AssertionError(f"it has no tiles, and none of {size} inside")

    def on_tensor_cores(self) -> TwoDimensional:
        """Not called."""
        raise AssertionError("it has no sums of products")

    def ordered(self, order: tuple[int, ...]) -> TwoDimensional:
        """Return the same kernel with reordered extents."""
        return replace(self, extents=tuple(self.extents[d] for d in order)) if order else self

    def lane_room(
        self, tile: tuple[int, ...], threads: tuple[int, ...], in_registers: int, padding: int
    ) -> None:
        """Return None: it computes no stages."""

    def next_copies(self, inner_tile: InnerTiles, uncopied: tuple[str, ...]) -> tuple[int, ...]:
        """Return the sizes for two operands."""
        return (4, 4)

    def swizzlable(self, tile: tuple[int, ...], inner_tile: InnerTiles, vector: int,
                   uncopied: tuple[str, ...]) -> tuple[str, ...]:
        """Return all: rows are long."""
        return tuple(array for array in self.shareable if array not in uncopied)

    def shared_bytes(self, tile: tuple[int, ...], inner_tile: InnerTiles, padding: int = 0,
                     registers: bool = False, copies: bool = True, private: bool = False,
                     uncopied: tuple[str, ...] = ()) -> int:
        """Return the bytes of two operands of four bytes."""
        return 4 * smallest_inner(inner_tile) * sum(tile) if copies else 0


def six_kernels(schedule: Schedule) -> Sequence[Shape]:
    """Return the same kernels for every schedule."""
    return tuple(TwoDimensional((f"S{number}",)) for number in range(6))


def many_options(chooser: Chooser) -> Plan:
    """Make one decision of 10,000 options, and one of two."""
    size = chooser.choose(Decision("size"), range(10_000))
    shared = chooser.choose(Decision("shared"), (False, True))
    assert isinstance(size, int)
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), (size + 1,), (1,), shared=bool(shared)),))


def outcome(plan: Plan) -> Outcome:
    """Return an invented time: best with 128 threads per block."""
    kernels = tuple(
        KernelTime(kernel.statements, 1.0 + abs(math.log2(math.prod(kernel.block) / 128) + math.log2(kernel.tile[0])))
        for kernel in plan.kernels
    )
    total = sum(kernel.median_ms for kernel in kernels)
    return Timed(total, total, total, (total,), total, kernels, plan.digest, False, Durations())


def measure(explorer_name: str, space: Space) -> float:
    """Return milliseconds of processor time of ask and tell per evaluation, at EVALUATIONS evaluations."""
    explorer = make_explorer(explorer_name, space, 0)
    total_s = 0.0
    for done in range(0, EVALUATIONS, ANTS):
        start = time.process_time()
        walks = explorer.ask(ANTS)
        asked_s = time.process_time() - start
        outcomes = [outcome(walk.plan) for walk in walks]
        start = time.process_time()
        for walk, result in zip(walks, outcomes, strict=True):
            explorer.tell(walk, result)
        if done >= EVALUATIONS - LAST:
            total_s += asked_s + time.process_time() - start
    return 1000 * total_s / LAST


def main() -> None:
    """Print a line per explorer and space."""
    spaces: dict[str, Space] = {
        "o1, 6 kernels": make_o1_space(six_kernels, TARGET),
        "10,000 options": many_options,
    }
    for name in EXPLORERS:
        for title, space in spaces.items():
            print(f"{name:20} {title:16} {measure(name, space):6.2f} ms per evaluation")


if __name__ == "__main__":
    main()
