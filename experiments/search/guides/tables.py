"""The costs of a kernel for each way to tile it, computed once per kernel (memoised features, section 4.5 of the
paper).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from experiments.search.guides.candidates import Way, sizes, ways
from generator.dataflow import Dataflow
from generator.lowering.analysis.planned import hosted_dimensions
from generator.nest import Level
from graph.space import Option
from metrics.costs.device import CostDevice
from metrics.costs.groups import AXES, Group, Numbers, flat
from metrics.costs.learned.features import minimum_points
from metrics.costs.learned.layout import Layout, Sizes, layout
from metrics.costs.scoring import Scorer

EXCESS = 10.0
"""Ways that compute a stage's points more than this many times as often as necessary are excluded."""
MOST_COPIES = 256
"""The most expressions that inlining may put into one stage."""
UNROLLED, SERIAL, REGISTER_BYTES = 16, 64, 128
"""Limits on GPUs: points per thread along the axes at level `thread`, otherwise, and register bytes per thread."""


@dataclass(frozen=True, slots=True)
class KernelKey:
    """A kernel: the array that it stores, the stages that its blocks compute, and the stages that are inlined.

    All other stages that it reads count as stored, also those that are not decided yet.
    """

    output: str
    members: frozenset[str] = frozenset()
    inlined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The ways to tile a kernel along the parallel `axes` of its output, and the cost of each.

    `left` caches which ways remain after some answers (`sizing.Sizing`), `wanted` which further ones are possible.
    """

    axes: tuple[int, ...]
    ways: tuple[Way, ...]
    costs: Numbers
    left: dict[Hashable, NDArray[np.bool_]] = field(default_factory=dict, repr=False)
    wanted: dict[Hashable, tuple[Option, ...]] = field(default_factory=dict, repr=False)

    @property
    def best(self) -> float:
        """The least cost; infinite if no way is possible."""
        return float(self.costs.min()) if len(self.costs) else float("inf")


def usual_axes(extents: Sequence[int], launches: bool = False) -> tuple[int, ...]:
    """Return the dimensions that are probably parallel: three with more than one element. They are the first ones, and
    rows are loops inside a thread; with `launches`, they are the last ones.
    """
    several = _several(extents)
    return several[-AXES:] if launches else several[:AXES]


def _several(extents: Sequence[int]) -> tuple[int, ...]:
    """Return the dimensions with more than one element; all if there are none: others have no loops."""
    return tuple(d for d, extent in enumerate(extents) if extent > 1) or tuple(range(len(extents)))


@dataclass(frozen=True, slots=True, eq=False)
class _Cuts:
    """Ways to tile a kernel, and all of one level as arrays, with their numbers."""

    ways: tuple[Way, ...]
    alike: tuple[tuple[NDArray[np.intp], Sizes], ...]


@dataclass(slots=True)
class Tables:
    """The tables of a program's kernels. Without `memoised`, each is computed again at every request.

    `launches`: the outermost of more than three dimensions are host loops around launches. `made` counts the computed
    tables.
    """

    flow: Dataflow
    device: CostDevice
    scorer: Scorer
    memoised: bool = True
    launches: bool = False
    made: int = 0
    _known: dict[tuple[KernelKey, tuple[int, ...]], Table] = field(default_factory=dict)
    _cuts: dict[tuple[str, tuple[int, ...], bool], _Cuts] = field(default_factory=dict)

    def table(self, key: KernelKey, axes: tuple[int, ...] | None = None) -> Table:
        """Return the table of a kernel; `axes` are its parallel dimensions, if known."""
        along = usual_axes(self.flow.array(key.output).extents, self.launches) if axes is None else axes
        known = self._known.get((key, along)) if self.memoised else None
        if known is None:
            known = self._made(key, along, self._usual(key, along))
            if self.memoised:
                self._known[key, along] = known
        return known

    def cost(self, key: KernelKey, axes: tuple[int, ...], way: Way) -> float:
        """Return the cost of one way, which may be missing in the table."""
        table = self.table(key, axes)
        if way in table.ways:
            return float(table.costs[table.ways.index(way)])
        return self._made(key, axes, self._cut(key, axes, (way,))).best

    def group(self, key: KernelKey, axes: tuple[int, ...] | None = None) -> Group:
        """Return the kernel in the form that cost models use; `axes` as in `table`."""
        members = tuple(node.array for node in self.flow.nodes if node.array in key.members)
        return Group(self.flow, key.output, members, key.inlined, hosted=self._hosted(key.output, axes))

    def _hosted(self, output: str, axes: tuple[int, ...] | None) -> int:
        """Return how many dimensions host loops run: those with several elements that threads do not share out."""
        extents = self.flow.array(output).extents
        several = _several(extents)
        if not self.launches or len(several) <= AXES:
            return 0
        along = usual_axes(extents, self.launches) if axes is None else axes
        return hosted_dimensions(set(several).difference(along), extents)

    def _usual(self, key: KernelKey, axes: tuple[int, ...]) -> _Cuts:
        """Return all ways, which only depend on what the kernel stores and on whether its blocks compute stages."""
        asked = key.output, axes, bool(key.members)
        if (known := self._cuts.get(asked)) is not None:
            return known
        extents = self.flow.array(key.output).extents
        made = self._cut(key, axes, ways([extents[a] for a in axes], self.device, bool(key.members)))
        if self.memoised:
            self._cuts[asked] = made
        return made

    def _cut(self, key: KernelKey, axes: tuple[int, ...], found: tuple[Way, ...]) -> _Cuts:
        hosted, alike = self._hosted(key.output, axes), dict[Level, list[int]]()
        extents = (1,) * hosted + self.flow.array(key.output).extents[hosted:]  # of a launch
        for k, way in enumerate(found):
            alike.setdefault(way.level, []).append(k)
        return _Cuts(found, tuple((np.array(some, dtype=np.intp), sizes([found[k] for k in some], axes, extents))
                                  for some in alike.values()))

    def _made(self, key: KernelKey, axes: tuple[int, ...], cuts: _Cuts) -> Table:
        self.made += 1
        group, costs = self.group(key, axes), np.full(len(cuts.ways), np.inf)
        if any(flat(group.flow, stage, group.inlined).elements > MOST_COPIES for stage in group.stages):
            return Table(axes, cuts.ways, costs)
        for some, cut in cuts.alike:
            made = layout(group, self.device, cut)
            possible = _possible(made, axes)
            if possible.any():
                costs[some[possible]] = self.scorer.score(made if possible.all() else made.only(possible))
        return Table(axes, cuts.ways, costs)


def _possible(made: Layout, axes: Sequence[int]) -> NDArray[np.bool_]:
    """Return a mask of the ways that are legal and not pruned (section 4.6 of the paper).

    The paper's blocks and threads share out all dimensions of an output, ours those along `axes`: a thread computes
    all points of the others, so the limits of points are those along the axes.
    """
    device, kept = made.device, made.stored_by_team
    fine = np.ones(made.sizes.count, dtype=bool)
    own = made.sizes.level == "thread"
    if not own:
        fine &= kept * made.teams <= device.block_shared
    if not device.host:
        fine &= made.threads <= device.block_threads
        fine &= made.loops[made.group.output].box[list(axes)].prod(axis=0) <= (UNROLLED if own else SERIAL)
        fine &= ~(own & (kept > REGISTER_BYTES))
    for stage in made.group.members:
        fine &= made.loops[stage].total <= EXCESS * minimum_points(made.flow, stage)
    for stage in made.group.inlined:
        calls = sum((dict(flat(made.flow, one, made.group.inlined).within).get(stage, 0.0) * made.loops[one].total
                     for one in made.group.stages), 0.0 * kept)  # fmt: skip
        trivial = made.node(stage).arithmetic <= 1.0 + made.node(stage).element
        fine &= trivial | (calls <= EXCESS * minimum_points(made.flow, stage))
    return fine
