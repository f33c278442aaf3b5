"""The interface of cost models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from generator.decisions.fractions import sub_group
from generator.facts import KernelFacts
from generator.nest import Level
from metrics.costs.device import CostDevice
from metrics.costs.groups import Group, TileWork, column, kept_in_steps, tile_work


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a cost, or a figure in its formula; `unit` follows the number, and may be empty."""

    name: str
    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """A model's cost of a kernel: lower is better. Only costs of one model on one device can be compared."""

    number: float
    terms: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """The model cannot judge a kernel, or considers it impossible."""

    reason: str


STEPS_UNKNOWN = Refused("it runs several time steps, of which this model knows nothing")
"""For models of kernels with one launch."""

Judgement: TypeAlias = Cost | Refused


@dataclass(frozen=True, slots=True)
class PlannedKernel:
    """A kernel under a Plan.

    `group`: the stages that it computes, or why there are none. `tile` and `block` belong to the dimensions of the
    array that it stores, outermost first: points and threads of a block; whole extents and one thread for a
    dimension that is not cut. `points`: those of a thread, also beyond the extents (None: as many as `tile` and
    `block` say). `level`: which threads share a tile. `step`: for blocks that walk along their tiles, the dimension
    and the points of it per step (None: the whole tile). `facts` are those of its generated text, if there is one.
    `in_registers`: tenths of a warp's tile. `sums`: repeatedly updated elements are kept in registers. `launches`
    of a kernel that runs several time steps (None for other kernels). `whole`: the members that a block that walks
    computes for its whole tile before. `order`: all dimensions as blocks have them, the last one along x; empty if that
    is the order of the array.
    """

    statements: tuple[str, ...]
    group: Group | Refused
    tile: tuple[int, ...]
    block: tuple[int, ...]
    level: Level
    step: tuple[int, int] | None
    facts: KernelFacts | None
    in_registers: int = 0
    sums: bool = False
    launches: int | None = None
    whole: tuple[str, ...] = ()
    points: tuple[int, ...] | None = None
    order: tuple[int, ...] = ()

    @property
    def team(self) -> tuple[int, ...]:
        """The threads that share a tile, in each dimension."""
        match self.level:
            case "block":
                return self.block
            case "sub-group":
                return self._warp or self.block
            case "thread":
                return (1,) * len(self.block)
            case _:
                assert_never(self.level)

    @property
    def _warp(self) -> tuple[int, ...] | None:
        """The threads of a warp, in each dimension; None if blocks are not whole warps."""
        order = self.order or tuple(range(len(self.block)))
        found = sub_group(tuple(self.block[d] for d in order))
        return found and tuple(threads for _, threads in sorted(zip(order, found, strict=True)))

    @property
    def launched_tile(self) -> tuple[int, ...]:
        """The points that a block of one launch computes: of dimensions that host loops run, one at a time."""
        return self._launched(self.tile)

    @property
    def launched_points(self) -> tuple[int, ...]:
        """The points of a thread in a launch, also beyond the extents."""
        return self._launched(self.points or tuple(-(-t // b) for t, b in zip(self.tile, self.block, strict=True)))

    def _launched(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        hosted = 0 if isinstance(self.group, Refused) else self.group.hosted
        return (1,) * hosted + sizes[hosted:]

    @property
    def shared_tile(self) -> tuple[int, ...]:
        """The points within the extents that a team computes in a launch."""
        sizes = zip(self.launched_tile, self.launched_points, self.team, strict=True)
        return tuple(min(t, p * n) for t, p, n in sizes)

    @property
    def kept(self) -> tuple[int, ...]:
        """The points that a team computes at a time, which determine the size of the stages that it keeps."""
        points = list(self.shared_tile)
        if self.step is not None:
            points[self.step[0]] = min(self.step[1], points[self.step[0]])
        return tuple(points)

    def kept_work(self, group: Group) -> TileWork | None:
        """Return what a team keeps at a time, if it walks; None if it keeps the stages of its whole tile."""
        if self.step is None:
            return None
        tile, step = tile_work(group, column(self.shared_tile)), tile_work(group, column(self.kept))
        return kept_in_steps(group, tile, step, self.step[0], self.whole)


@dataclass(frozen=True, slots=True, eq=False)
class Wrong:
    """Why kernels are impossible, and which of several `are`; if the device `runs` them, they are only bad choices."""

    reason: str
    are: NDArray[np.bool_]
    runs: bool = False


def possible(wrongs: Sequence[Wrong], count: int) -> NDArray[np.bool_]:
    """Return which of `count` kernels have no objection."""
    found = np.ones(count, dtype=bool)
    for wrong in wrongs:
        found &= ~wrong.are
    return found


def refused(wrongs: Sequence[Wrong]) -> Refused | None:
    """Return why a device cannot run the only kernel; None if it can."""
    reasons = [wrong.reason for wrong in wrongs if wrong.are[0] and not wrong.runs]
    return Refused("; ".join(reasons)) if reasons else None


class CostModel(Protocol):
    """A pure function from a kernel under a Plan and a device to a cost."""

    @property
    def name(self) -> str:
        """Its name for the option --cost."""

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """Return the cost of `kernel` on `device`, in the model's own unit."""
