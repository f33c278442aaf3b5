"""The cost model of Sioutas, Stuijk, Basten, Corporaal & Somers, "Schedule Synthesis for Halide Pipelines on GPUs"
(2020), section 3, listing 1; where the paper gives no details, those of the authors' public artifact.

    cost = tiles * (arithmetic + memory)
    arithmetic = sum over the stages m of a kernel of arithmetic(m) / (occupancy(m) * active threads(m))
    memory = sum over their loads: shared memory  bytes loaded
                                   global memory  (F * ramp(whole) + L * ramp(F)) / coalescing
    ramp(size) = min(1 + size * C / 64 KiB, C), C = 200;   F: bytes of the region of a tile, L: bytes loaded
    coalescing = min(points of a tile along x, 64 bytes)

The unit is one operation of one thread. In the phase in which tiles are final, memory is divided by occupancy * active
threads, too; before, traffic has a higher weight, which favours fusion. A kernel is impossible with too many threads or
bytes of shared memory, with an occupancy below 0.1 (0.2 with fewer than three stages), with fewer blocks than the
device has compute units, or, in the final phase, with blocks that are not whole warps.

All tiles must need equally large parts of a stage (`distances.py`). Where data decide which elements are read, that
part is the whole extent.

Rows of arrays with four dimensions may be loops inside a thread (an extension): on a GPU, nothing is coalesced then if
they are longer than 64 bytes.

The paper's block has as many threads as the largest region of a stage, in every dimension. Blocks of antune's kernels
compute the needed part of a stage in rounds, so a block may be as large as its tile: `evaluate` takes its threads, if
they are known.

On a CPU (an extension) a stage's active threads are the lanes of a vector, its occupancy is 1, and there are no limits
of threads. A block's intermediate data is in normal memory, and loaded from it in runs, too; and the start of a row of
a tile costs time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from metrics.costs.base import STEPS_UNKNOWN, Cost, Judgement, PlannedKernel, Refused, Term, Wrong, possible, refused
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
    parallel_dimensions,
    tile_work,
)
from metrics.costs.tile_sizes import cut
from metrics.nvidia import KIB


@dataclass(frozen=True, slots=True)
class SioutasConstants:
    """The paper's and the artifact's constants.

    `load_cost`: a load from global memory that misses all caches, in operations; it is reached at `cached_bytes`.
    `register_limit`: the assumed number of registers of a thread (the paper's example needs 64). `least_occupancy` of
    kernels with few and with more stages. `coalesced_bytes`: the longest run that one access uses.
    """

    load_cost: float = 200.0
    cached_bytes: float = 64.0 * KIB
    register_limit: int = 64
    least_occupancy: tuple[float, float] = (0.2, 0.1)
    coalesced_bytes: int = 64


GPU = SioutasConstants()
HOST = SioutasConstants(load_cost=40.0, cached_bytes=16.0 * 1024 * KIB)
"""For CPUs: the load cost ("balance") and the last-level cache that Halide's autoscheduler of 2016 assumes."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """A group with each of several tiles. `wrongs`: objections to some."""

    cost: Numbers
    arithmetic: Numbers
    memory: Numbers
    occupancy: Numbers
    active_threads: Numbers
    active_units: Numbers
    threads: Numbers
    shared: Numbers
    tiles: Numbers
    overlap: Numbers
    wrongs: tuple[Wrong, ...]
    work: TileWork

    @property
    def possible(self) -> NDArray[np.bool_]:
        """For each, whether there is no objection."""
        return possible(self.wrongs, len(self.cost))


@dataclass(frozen=True, slots=True)
class Sioutas:
    """The model. `final`: the phase in which the final tiles are chosen. `constants`: None for those of the device."""

    constants: SioutasConstants | None = None
    final: bool = True
    name: str = "sioutas"

    def judge(self, kernel: PlannedKernel, device: CostDevice) -> Judgement:
        """See CostModel."""
        if isinstance(kernel.group, Refused):
            return kernel.group
        if kernel.launches is not None:
            return STEPS_UNKNOWN
        group, tile = kernel.group, column(kernel.shared_tile)
        kept = kernel.kept_work(group)
        block, teams = np.array([float(prod(kernel.block))]), prod(kernel.block) / prod(kernel.team)
        found = self.evaluate(group, np.minimum(tile, column(group.extents)), device, block, kept, teams)
        return refused(found.wrongs) or cost_of(found, 0)

    def evaluate(
        self,
        group: Group,
        tiles: Numbers,
        device: CostDevice,
        block: Numbers | None = None,
        kept: TileWork | None = None,
        teams: float = 1.0,
    ) -> Evaluated:
        """Evaluate `group` with tiles of these extents, `tiles[d, k]`, in blocks of `block` threads (None: as in the
        paper).

        `kept`: the simultaneously stored part, if blocks walk along their tiles. `teams` of a block have a tile each.
        """
        work = tile_work(group, tiles, device.row_start)
        kept, teams = kept or work, 1.0 if device.host else teams  # a core runs them in sequence
        shared = teams * kept_bytes(group, kept)
        count = np.ceil(column(group.extents) / tiles).prod(axis=0)
        threads, launched = _threads(group, work, tiles)
        if block is not None:
            threads, launched = {stage: np.minimum(teams * kept.points[stage], block) for stage in group.stages}, block
        blocks = count / (teams * group.launches)
        of = {stage: self.occupied(threads[stage], shared, blocks, device) for stage in group.stages}
        arithmetic = sum((_arithmetic(group, stage, work, of[stage]) for stage in of), np.zeros_like(count))
        occupancy, active, units = (np.min([one[k] for one in of.values()], axis=0) for k in range(3))
        memory = self._memory(group, work, tiles, device)
        if self.final:
            memory = memory / np.maximum(occupancy * active, 1e-9)
        impossible = (*changing_distances(group, tiles, kept),
                      *self._impossible(group, launched, shared, occupancy, units, device))  # fmt: skip
        return Evaluated(count * (arithmetic + memory), count * arithmetic, count * memory, occupancy, active, units,
                         launched, shared, count, computed_again(group, work, tiles), impossible, work)  # fmt: skip

    def _constants(self, device: CostDevice) -> SioutasConstants:
        return self.constants or (HOST if device.host else GPU)

    def inlined_cost(self, group: Group, device: CostDevice) -> float:
        """Return the cost of a kernel without tiles, which the inline phase uses."""
        found, constants = flat(group.flow, group.output, group.inlined), self._constants(device)
        memory = sum(
            read.loads * _bytes(group, read.array) * _ramp(_whole(group, read.array), constants) for read in found.reads
        )
        return float(prod(group.extents) * (found.arithmetic + memory))

    def _memory(self, group: Group, work: TileWork, tiles: Numbers, device: CostDevice) -> Numbers:
        """Return the cost of the loads and stores of a tile."""
        total, constants = np.zeros(tiles.shape[1]), self._constants(device)
        inner = tiles[-1] if len(tiles) else np.ones(tiles.shape[1])
        for array, loaded in (*work.loads.items(), (group.output, None)):
            element = group.flow.array(array).element
            if array in group.members:
                assert loaded is not None
                total += loaded / (np.minimum(inner, constants.coalesced_bytes / element) if device.host else 1.0)
                continue
            region = work.points[array] * element
            moved = region if loaded is None else loaded
            run = np.minimum(inner, constants.coalesced_bytes / element)
            if not group.lanes_along_x and not device.host:
                run = np.where(inner * element > constants.coalesced_bytes, 1.0, run)
            if array != group.output:
                run = np.minimum(run, float(([*group.flow.array(array).extents] or [1])[-1]))
            first, again = _ramp(_whole(group, array), constants), _ramp(region, constants)
            total += (region * first + moved * again) / np.maximum(run, 1.0)
        return total

    def occupied(
        self, threads: Numbers, shared: Numbers, blocks: Numbers, device: CostDevice
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return occupancy, active threads of a unit and active units, for these threads and bytes of a block (3.4)."""
        units = np.minimum(blocks, device.units)
        if device.host:
            return np.ones_like(threads), np.full_like(threads, float(device.lanes)), units
        warps = np.ceil(threads / device.warp)
        registers = np.minimum(self._constants(device).register_limit, device.registers / threads)
        per_warp = np.ceil(registers * device.warp / device.register_step) * device.register_step
        by_registers = np.floor(np.floor(device.registers / per_warp) // 4 * 4 / warps)
        by_warps = np.minimum(device.unit_blocks, np.floor(device.unit_warps / warps))
        by_shared = np.floor(device.unit_shared / np.maximum(shared, 256.0))
        active_warps = np.minimum(np.minimum(by_warps, by_registers), by_shared) * warps
        active = np.minimum(active_warps * np.minimum(threads, device.warp), device.unit_threads)
        return active_warps / device.unit_warps, active, units

    def _impossible(
        self, group: Group, threads: Numbers, shared: Numbers, occupancy: Numbers, units: Numbers, device: CostDevice
    ) -> tuple[Wrong, ...]:
        least = self._constants(device).least_occupancy[len(group.stages) >= 3]
        found = [
            Wrong(
                f"its blocks need more than {device.block_shared} bytes of shared memory", shared > device.block_shared
            ),
            Wrong(f"fewer than {device.units} blocks: compute units would be idle", units < device.units, True),
        ]
        if not device.host:
            found += [
                Wrong(f"its blocks have more than {device.block_threads} threads", threads > device.block_threads),
                Wrong(f"an occupancy below {least:.0%}", occupancy < least, True),
            ]
            if self.final:
                found.append(Wrong("its blocks are not whole warps", threads % device.warp != 0, True))
        return tuple(found)


def cost_of(found: Evaluated, k: int) -> Cost:
    """Return the k-th tile of `found` with its terms."""
    terms = (
        Term("arithmetic", float(found.arithmetic[k])),
        Term("memory", float(found.memory[k])),
        Term("occupancy", 100.0 * float(found.occupancy[k]), "%"),
        Term("active threads", float(found.active_threads[k]), "per unit"),
        Term("active units", float(found.active_units[k])),
        Term("threads", float(found.threads[k]), "per block"),
        Term("shared memory", float(found.shared[k]), "bytes"),
        Term("computed again", 100.0 * float(found.overlap[k]), "%"),
        Term("tiles", float(found.tiles[k])),
    )
    return Cost(float(found.cost[k]), terms)


def _arithmetic(group: Group, stage: str, work: TileWork, occupied: tuple[Numbers, Numbers, Numbers]) -> Numbers:
    """Return a tile's arithmetic for a stage, over the threads that are active then."""
    each = flat(group.flow, stage, group.inlined).arithmetic
    return work.effort[stage] * each / np.maximum(occupied[0] * occupied[1], 1e-9)


def _threads(group: Group, work: TileWork, tiles: Numbers) -> tuple[dict[str, Numbers], Numbers]:
    """Return the threads of each stage, and the launched ones: the largest region in every dimension that is cut."""
    shared_out = cut(group.extents, parallel_dimensions(len(group.extents), group.hosted))
    ones = np.ones(tiles.shape[1])
    block = dict.fromkeys(shared_out, ones)
    threads = {}
    for stage in group.stages:
        own = ones
        for d, follows in enumerate(work.along[stage]):
            if follows in block:
                own = own * work.extents[stage][d]
                block[follows] = np.maximum(block[follows], work.extents[stage][d])
        threads[stage] = own
    return threads, prod(block.values(), start=ones)


def _ramp(size: Numbers | float, constants: SioutasConstants) -> Numbers | float:
    """Return the cost of a load from an array or a region of this size in bytes."""
    return np.minimum(1.0 + size * (constants.load_cost / constants.cached_bytes), constants.load_cost)


def _whole(group: Group, array: str) -> float:
    found = group.flow.array(array)
    return float(prod(found.extents) * found.element)


def _bytes(group: Group, array: str) -> int:
    return group.flow.array(array).element
