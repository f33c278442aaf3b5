"""The cost model of Jangda & Guha, "Model-Based Warp Overlapped Tiling for Image Processing Programs on GPUs" (2020),
section 5, algorithm 2: seven weighted terms of a kernel whose tiles overlap per warp, or per block.

    cost = w1 * transactions + w2 * (1 - occupancy) + w3 * memory time / computing time + w4 * idle shared memory
           + w5 * idle registers + w6 * overlap + w7 * blocks of the last wave

A tile has T_i points per thread along dimension i, and W_i threads share it: those of a warp, or all of a block. With
`published` the terms are those of the paper, per warp tile. Otherwise, as extensions: transactions count per point of a
thread, so that they do not grow with the tile; stores count, too; the cost of a kernel is multiplied by its share of
the program's points (the stages of a pyramid differ in size); and an occupancy below 0.2 is refused, since nothing else
would prevent blocks that fill a unit's shared memory with the work of one warp.

For tiles of warps, different fractions in registers are compared (`metrics.costs.split`).

On CPUs (an extension) lanes are those of a vector, transactions cache lines, and the start of a row of a tile costs
time.

Distances between stages must be constant (`distances.py`): a reduction shares no kernel with other stages, and no
subscripts depend on data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from generator.dataflow import Dataflow, Read
from generator.facts import Operations
from generator.nest import Level
from metrics.costs.base import Cost, Judgement, PlannedKernel, Refused, Term, Wrong, possible, refused
from metrics.costs.configurations import Configurations, tiles_of
from metrics.costs.device import CostDevice
from metrics.costs.distances import changing_distances
from metrics.costs.groups import (
    Group,
    Numbers,
    TileWork,
    column,
    computed_again,
    flat,
    kept_bytes,
    tile_work,
)
from metrics.costs.split import Lanes, split_room, wrongs_of

TERMS = (
    "transactions",
    "lost occupancy",
    "memory / computing time",
    "idle shared memory",
    "idle registers",
    "overlap",
    "blocks of the last wave",
)


@dataclass(frozen=True, slots=True)
class Weights:
    """w1 to w7, in the order of TERMS."""

    values: tuple[float, float, float, float, float, float, float]


GTX_1080_TI = Weights((50.0, 0.5, 45.0, 20.0, 2.0, 100.0, 1.0))
TESLA_V100 = Weights((50.0, 0.5, 60.0, 10.0, 2.0, 100.0, 1.0))
"""The paper's, fitted by its authors to six programs on these devices, of compute capability 6.1 and 7.0."""


def usual_weights(device: CostDevice) -> Weights:
    """Return the paper's weights for a device: those of the GTX 1080 Ti for NVIDIA GPUs up to its generation, those of
    the V100 for all others.
    """
    return GTX_1080_TI if device.capability is not None and device.capability < (7, 0) else TESLA_V100


LATENCIES: Mapping[str, float] = MappingProxyType(
    {"adds": 4.0, "muls": 4.0, "divs": 36.0, "special": 40.0, "integer": 4.0}
)
"""Clocks of an operation in a thread that waits for each (Volta: Jia et al. 2018), for stages without a measured time.
"""
_LOAD = 28.0
"""Clocks of a load from shared memory (Jia et al.)."""
LAUNCH_S = 5e-6
"""The time of a launch on a GPU (`metrics.costs.static` has the same)."""
_BASE_REGISTERS = 16
"""The approximate number of registers for subscripts and loops of any kernel."""


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """A group with each configuration: the weighted terms by name, and figures for users. `wrongs`: objections to some.
    """

    cost: Numbers
    terms: tuple[Numbers, ...]
    occupancy: Numbers
    shared: Numbers
    registers: Numbers
    overlap: Numbers
    wrongs: tuple[Wrong, ...]

    @property
    def possible(self) -> NDArray[np.bool_]:
        """For each, whether there is no objection."""
        return possible(self.wrongs, len(self.cost))

    def cheapest(self, count: int) -> NDArray[np.intp]:
        """Return the places of the cheapest possible configurations, the best first."""
        cost = np.where(self.possible, self.cost, np.inf)
        best = np.argsort(cost, kind="stable")[:count]
        return best[np.isfinite(cost[best])]

    def at(self, places: NDArray[np.intp]) -> Weighed:
        """Return the figures of possible configurations."""
        return Weighed(self.cost[places], tuple(term[places] for term in self.terms), self.occupancy[places],
                       self.shared[places], self.registers[places], self.overlap[places], ())  # fmt: skip


@dataclass(frozen=True, slots=True)
class PolyMage:
    """The model. `weights`: None for those of the device. `level`: which threads share a tile. `measured`: nanoseconds
    of one thread per element of a stage, by its digest, and `registers` that it needs, if known.
    """

    weights: Weights | None = None
    level: Level = "block"
    published: bool = False
    least_occupancy: float = 0.2
    measured: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    registers: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    name: str = "polymage"

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See CostModel."""
        if isinstance(kernel.group, Refused):
            return kernel.group
        if reason := refusal(kernel.group):
            return Refused(reason)
        kept = kernel.kept_work(kernel.group)
        if device.host:  # a core runs the threads of a tile in sequence
            given = Configurations(column(kernel.shared_tile), np.ones((len(kernel.tile), 1)))
        else:
            given = Configurations(column(kernel.launched_points), column(kernel.block), order=kernel.order)
            if kernel.in_registers:
                given = replace(given, tenths=np.array([float(kernel.in_registers)]))
        model = replace(self, level=kernel.level)
        found = model.evaluate(kernel.group, given, device, kept)
        if kernel.launches is None:
            return refused(found.wrongs) or cost_of(found, 0)
        return refused(found.wrongs) or model.launched(cost_of(found, 0), kernel.group, given, device, kernel.launches)

    def launched(self, once: Cost, group: Group, given: Configurations, device: CostDevice, launches: int) -> Cost:
        """Return the cost of several launches, each with the cost `once` and the transactions that the device could
        move during its start (an extension: several time steps per launch save this).
        """
        in_block = np.ceil(given.block / given.sharing(self.level))
        teams = np.ceil(column(group.extents) / given.tile) * in_block
        points = 1.0 if self.published else float(self._points(group, given).prod())
        meanwhile = LAUNCH_S * device.bandwidth / device.transaction / float(teams.prod())
        term = self._weights(device).values[0] * meanwhile / points
        terms = (Term("launch", term), Term("launches", float(launches)))
        return Cost((once.number + term) * launches, (*once.terms, *terms))

    def evaluate(
        self, group: Group, given: Configurations, device: CostDevice, kept: TileWork | None = None
    ) -> Weighed:
        """Evaluate `group` with each of the configurations. `kept`: the simultaneously stored part of stages (None:
        whole tiles), if there is only one.

        Many configurations have the same tile: what depends on the tile alone is computed once for each.
        """
        team, tile, where = tiles_of(given, self.level, group.extents)
        threads = given.block.prod(axis=0)
        extents = np.array(group.extents, dtype=float)[:, None]
        points = self._points(group, given).prod(axis=0)
        work = tile_work(group, tile, device.row_start)
        teams = np.ceil(given.block / team).prod(axis=0)
        shared = teams * kept_bytes(group, kept or work)[where]
        registers, more = np.full_like(threads, float(self._registers(group))), tuple[Wrong, ...]()
        if given.tenths is not None:
            lanes = Lanes(team, given.points, given.tenths, given.x)
            split = split_room(group, _members_at(group, work, where), lanes)
            shared = np.where(given.tenths > 0, teams * split.bytes, shared)
            registers = registers + split.words
            more = () if self.published else wrongs_of(group, split.words, lanes)
        occupancy, resident = _occupancy(shared, registers, np.ceil(threads / device.warp), device)
        overlap, blocks = computed_again(group, work, tile)[where], np.ceil(extents / given.tile).prod(axis=0)
        moved, ratio = self._traffic(group, work, tile, where, team.prod(axis=0), device)
        held = registers * device.unit_warps * device.warp * occupancy / device.registers
        terms = (moved / (1.0 if self.published else points), 1.0 - occupancy, ratio,
                 1.0 - np.minimum(shared * resident / device.unit_shared, 1.0), 1.0 - np.minimum(held, 1.0), overlap,
                 np.mod(np.ceil(blocks / group.launches / device.units), np.maximum(resident, 1.0)))  # fmt: skip
        share = 1.0 if self.published else prod(group.extents) / _most_points(group.flow)
        terms = tuple(weight * term * share for weight, term in zip(self._weights(device).values, terms, strict=True))
        wrongs = (
            *changing_distances(group, tile[:, where], kept),
            *_impossible(shared, registers, threads, resident, device),
            *self._unoccupied(occupancy),
            *more,
        )
        return Weighed(np.sum(terms, axis=0), terms, occupancy, shared, registers, overlap, wrongs)

    def _weights(self, device: CostDevice) -> Weights:
        return self.weights or usual_weights(device)

    def _points(self, group: Group, given: Configurations) -> Numbers:
        """Return the points of a thread within the extents, per dimension; a fraction if threads are idle."""
        return np.minimum(given.points, column(group.extents) / given.sharing(self.level))

    def _traffic(self, group: Group, work: TileWork, tile: Numbers, where: NDArray[np.intp], team: Numbers,
                 device: CostDevice) -> tuple[Numbers, Numbers]:  # fmt: skip
        """Return transactions of a team for its tile, and the time of these over that of computing it; `where`: the
        tile of each configuration, `team`: its threads.
        """
        lanes = device.lanes if device.host else device.warp
        moved = self._transactions(group, work, tile, device, lanes)[where]
        seconds = np.maximum(self._seconds(group, work, device)[where] / team, 1e-15)
        bandwidth = device.bandwidth * lanes / (device.units * device.cores)
        return moved, device.transaction * moved / bandwidth / seconds

    def _unoccupied(self, occupancy: Numbers) -> tuple[Wrong, ...]:
        least = self.least_occupancy
        return () if self.published else (Wrong(f"an occupancy below {least:.0%}", occupancy < least, True),)

    def _transactions(self, group: Group, work: TileWork, tile: Numbers, device: CostDevice, lanes: int) -> Numbers:
        """Return transactions of a team for its tile: loads of a warp from the same segments are one."""
        total, along_x = np.zeros(tile.shape[1]), lanes if group.lanes_along_x or device.host else 1
        for stage in group.stages:
            iterations = work.effort[stage] / lanes
            across = np.minimum(work.extents[stage][-1] if len(work.extents[stage]) else np.ones_like(total), along_x)
            for read in flat(group.flow, stage, group.inlined).reads:
                if read.array not in group.members:
                    element = group.flow.array(read.array).element
                    total += iterations * _segments(read, across, lanes, element, device.transaction)
        if self.published:
            return total
        across = np.minimum(tile[-1] if len(tile) else np.ones_like(total), along_x)
        rows = work.points[group.output] / across
        return total + rows * np.ceil(across * group.flow.array(group.output).element / device.transaction)

    def _seconds(self, group: Group, work: TileWork, device: CostDevice) -> Numbers:
        """Return the time in seconds in which a single thread would compute a tile (TimePerIter * points)."""
        total = np.zeros_like(work.points[group.output])
        for stage in group.stages:
            total += self._iteration(group, stage, device) * work.effort[stage]
        return total

    def _iteration(self, group: Group, stage: str, device: CostDevice) -> float:
        """Return TimePerIter: seconds of a thread per element, including the stages inlined in it.

        It is measured if that is known for all of them, else estimated.
        """
        found = flat(group.flow, stage, group.inlined)
        known = [self.measured.get(digest) for digest in _digests(group, stage)]
        if None not in known:
            times = (1.0, *(n for _, n in found.within))
            return sum(ns * n for ns, n in zip(known, times, strict=True) if ns is not None) * 1e-9
        loads = sum(read.loads for read in found.reads)
        return (_clocks(found.operations) + _LOAD * loads) / device.hertz

    def _registers(self, group: Group) -> int:
        """Return RegUsage, summed over all stages as in the paper."""
        return _BASE_REGISTERS + sum(self._stage_registers(group, stage) for stage in group.stages)

    def _stage_registers(self, group: Group, stage: str) -> int:
        """Return the registers of a stage with those inlined in it, whose result takes one more: as reported if that is
        known for all of them, else estimated.
        """
        own, *inlined = (self.registers.get(digest) for digest in _digests(group, stage))
        if own is None or None in inlined:
            return flat(group.flow, stage, group.inlined).registers
        return max((own, *(count + 1 for count in inlined if count is not None)))


def _digests(group: Group, stage: str) -> Iterator[str]:
    """Yield the digests of a stage and of those inlined in it."""
    for array in (stage, *(name for name, _ in flat(group.flow, stage, group.inlined).within)):
        node = group.flow.node(array)
        assert node is not None
        yield node.digest


def refusal(group: Group) -> str:
    """Return why the distances between the stages of `group` are never constant; empty if they may be."""
    if not group.members:
        return ""
    for stage in group.stages:
        node = group.flow.node(stage)
        assert node is not None
        if node.reduces:
            return f"`{stage}` is a reduction: it shares no kernel with other stages"
        for read in flat(group.flow, stage, group.inlined).reads:
            if read.array not in group.members:
                continue
            if read.by_data:
                return f"data decide which elements of `{read.array}` `{stage}` reads"
            if any(sum(map(bool, reach.slopes)) > 1 for reach in read.reach):
                return f"`{stage}` reads `{read.array}` at places that depend on several of its dimensions"
    return ""


def cost_of(found: Weighed, k: int) -> Cost:
    """Return the k-th configuration of `found` with its terms."""
    terms = [Term(name, float(term[k])) for name, term in zip(TERMS, found.terms, strict=True)]
    figures = (
        Term("occupancy", 100.0 * float(found.occupancy[k]), "%"),
        Term("shared memory", float(found.shared[k]), "bytes"),
        Term("registers", float(found.registers[k]), "per thread"),
        Term("computed again", 100.0 * float(found.overlap[k]), "%"),
    )
    return Cost(float(found.cost[k]), (*terms, *figures))


def _members_at(group: Group, work: TileWork, where: NDArray[np.intp]) -> TileWork:
    """Return the work of members for each configuration; `where`: its tile."""
    extents = {stage: work.extents[stage][:, where] for stage in group.stages}
    return replace(work, extents=extents, points={member: work.points[member][where] for member in group.members})


def _segments(read: Read, across: Numbers, lanes: int, element: int, transaction: int) -> Numbers:
    """Return the segments that the lanes of a warp touch to read one element each, by all reads of `read` together."""
    if not read.reach:
        return np.ones_like(across)
    rows = prod(max(1.0, reach.high - reach.low + 1.0) for reach in read.reach[:-1])
    width = max(1.0, read.reach[-1].high - read.reach[-1].low + 1.0)
    rows = min(rows, max(read.different, 1.0))
    slope = abs(read.reach[-1].slopes[-1]) if read.reach[-1].slopes else 0.0
    if not slope and any(reach.slopes and reach.slopes[-1] for reach in read.reach[:-1]):
        return rows * np.full_like(across, float(lanes))  # each lane reads in a separate row
    span = ((across - 1.0) * slope + width) * element
    most = across * max(read.different, 1.0)
    return np.minimum(rows * np.ceil(span / transaction), most) * (lanes / across if slope else 1.0)


def _clocks(operations: Operations) -> float:
    return sum(clocks * float(getattr(operations, kind)) for kind, clocks in LATENCIES.items())


def _most_points(flow: Dataflow) -> int:
    return max(node.points for node in flow.nodes)


def _occupancy(shared: Numbers, registers: Numbers, warps: Numbers, device: CostDevice) -> tuple[Numbers, Numbers]:
    """Return occupancy, and the number of resident blocks of a unit."""
    if device.host:
        return np.ones_like(shared), np.ones_like(shared)
    blocks = np.minimum(np.floor(device.unit_shared / np.maximum(shared, 1.0)), device.unit_blocks)
    by_shared = np.minimum(blocks * warps, device.unit_warps)
    by_registers = np.minimum(device.registers / registers, device.unit_threads) / device.warp
    occupancy = np.minimum(by_shared, by_registers) / device.unit_warps
    return occupancy, np.minimum(blocks, np.floor(occupancy * device.unit_warps / warps))


def _impossible(
    shared: Numbers, registers: Numbers, threads: Numbers, resident: Numbers, device: CostDevice
) -> tuple[Wrong, ...]:
    return (
        Wrong(f"its blocks need more than {device.block_shared} bytes of shared memory", shared > device.block_shared),
        Wrong(f"its threads need more than {device.thread_registers} registers", registers > device.thread_registers),
        Wrong(f"its blocks have more than {device.block_threads} threads", threads > device.block_threads),
        Wrong("a compute unit has no room for a block", resident < 1.0),
    )
