"""The device data of the static model: limits per compute unit, memory access, and resident blocks.

The figures of NVIDIA's generations are in `nvidia.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from generator.facts import KernelFacts
from generator.target import Target
from metrics.nvidia import GENERATIONS, KIB, Generation


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """A device with `units` compute units whose limits are those of `generation`.

    `sector_bytes`: the unit of memory transfers. `banks`: banks of shared memory with 4-byte words (0: none).
    `balance`: single-precision operations that a unit executes in the time to move one byte to or from its first cache.
    `warp`: threads that execute an instruction together. `host_cores`: a CPU, whose units run one block at a time; of
    `generation`, only the number of threads counts then.
    """

    units: int
    generation: Generation
    warp: int = 32
    sector_bytes: int = 32
    banks: int = 32
    balance: float = 2.0
    host_cores: bool = False


def device_model(target: Target) -> DeviceModel:
    """Return the model of a device.

    An unknown capability is replaced by the greatest known one below it. A GPU without capability gets typical values.
    A CPU core is modelled with 32 operations and 64 bytes per clock, vectors of 16 floats and cache lines of 64 bytes.
    """
    if target.shares_host_cores:
        limits = Generation(target.max_threads, 1, target.local_bytes, target.local_bytes)
        return DeviceModel(target.compute_units, limits, warp=16, sector_bytes=64, banks=0, balance=0.5,
                           host_cores=True)
    known = [c for c in GENERATIONS if target.capability is not None and c <= target.capability]
    if not known:
        shared = max(64 * KIB, target.local_bytes)
        return DeviceModel(target.compute_units, Generation(2048, 32, shared, shared))
    found = GENERATIONS[max(known)]
    return DeviceModel(target.compute_units, found, balance=found.operations / found.cache_bytes)


def resident_blocks(threads: int, shared_bytes: int, registers: int | None, device: DeviceModel) -> int:
    """Return how many blocks of `threads` threads fit on one compute unit at once: the least of four limits; 0: none.

    Blocks: the unit's block slots. Warps: its warp slots over the warps of a block. Shared memory: the unit's bytes
    over the block's, rounded up to a step, including the system's part. Registers (per thread; None: no limit): each
    warp takes its threads' registers, rounded up to a step, from one of the unit's partitions. Source: the CUDA
    toolkit's cuda_occupancy.h, for caching in whole units.
    """
    if device.host_cores:
        return 1
    limits, warps = device.generation, ceil(threads / device.warp)
    if threads > limits.block_threads:
        return 0
    return min(limits.max_blocks, limits.max_threads // device.warp // warps,
               _by_shared(shared_bytes, limits), _by_registers(registers, warps, device))


def _by_shared(shared_bytes: int, limits: Generation) -> int:
    taken = ceil((shared_bytes + limits.shared_reserved) / limits.shared_step) * limits.shared_step
    if taken > limits.block_shared_bytes + limits.shared_reserved:
        return 0
    return limits.shared_bytes // taken if taken else limits.max_blocks


def _by_registers(registers: int | None, warps: int, device: DeviceModel) -> int:
    limits = device.generation
    if not registers:
        return limits.max_blocks
    per_warp = ceil(registers * device.warp / limits.register_step) * limits.register_step
    checked = limits.checked_partitions  # a launch is refused unless all partitions could hold their part at once
    if per_warp * ceil(warps / checked) * checked > limits.block_registers or registers > limits.thread_registers:
        return 0
    return limits.registers // limits.partitions // per_warp * limits.partitions // warps


def occupancy(facts: KernelFacts, device: DeviceModel, registers: int | None = None) -> float:
    """Return the threads resident on a compute unit over their maximum, in [0, 1]: 1 = best hiding of latency.

    `registers` per thread are reported by the compiler; None: they do not limit. 0: a block does not fit at all. On a
    CPU: the share of the cores that get a block, min(1, blocks / cores).
    """
    if device.host_cores:
        return min(1.0, facts.blocks / device.units)
    resident = resident_blocks(facts.block_threads, facts.local_bytes, registers, device)
    return resident * facts.block_threads / device.generation.max_threads
