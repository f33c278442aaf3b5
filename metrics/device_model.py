"""What the static model knows of a device: limits per compute unit, how memory is accessed, and how many blocks fit.

The figures of NVIDIA devices are facts of the CUDA C++ Programming Guide (tables "Technical Specifications per Compute
Capability" and its sections on the architectures) and of NVIDIA's occupancy calculator.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from generator.facts import KernelFacts
from generator.target import Target

Capability = tuple[int, int]
KIB = 1024


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """A device with `units` compute units that each hold so many threads, blocks, registers and bytes of shared memory.

    `warp`: threads that execute one instruction together. `partitions` of a unit each have an equal part of its
    registers, given to warps in multiples of `register_step`; shared memory is given to blocks in multiples of
    `shared_step`, and `shared_reserved` bytes of every block belong to the system. Memory is read and written in
    sectors of `sector_bytes`; shared memory has `banks` of 4-byte words (0: no banks). `balance`: single-precision
    operations that a unit does in the time in which it moves one byte to or from its first cache. `host_cores`: a CPU,
    each unit of which runs one block at a time.
    """

    units: int
    warp: int = 32
    max_threads: int = 2048
    max_blocks: int = 32
    registers: int = 65536
    register_step: int = 256
    partitions: int = 4
    shared_bytes: int = 64 * KIB
    shared_step: int = 128
    shared_reserved: int = 0
    sector_bytes: int = 32
    banks: int = 32
    balance: float = 2.0
    host_cores: bool = False


@dataclass(frozen=True, slots=True)
class _Generation:
    """What differs between compute capabilities, per compute unit.

    `operations` (a fused multiply-add is two) and `cache_bytes` per clock.
    """

    max_threads: int
    max_blocks: int
    shared_bytes: int
    shared_step: int
    shared_reserved: int
    operations: int
    cache_bytes: int


_GENERATIONS: dict[Capability, _Generation] = {
    (7, 5): _Generation(1024, 16, 64 * KIB, 256, 0, 128, 64),
    (8, 0): _Generation(2048, 32, 164 * KIB, 128, KIB, 128, 128),
    (8, 6): _Generation(1536, 16, 100 * KIB, 128, KIB, 256, 128),
    (8, 9): _Generation(1536, 24, 100 * KIB, 128, KIB, 256, 128),
    (9, 0): _Generation(2048, 32, 228 * KIB, 128, KIB, 256, 128),
}
CAPABILITIES = tuple(sorted(_GENERATIONS))


def device_model(target: Target, capability: Capability | None = None) -> DeviceModel:
    """The model of a device; `capability` is that of an NVIDIA device, if known.

    A capability that is not in `CAPABILITIES` counts as the greatest one below it. Without any, a GPU is taken for a
    typical one. A CPU is taken for cores that do 32 operations and move 64 bytes per clock, on vectors of 16 floats,
    which fill a cache line of 64 bytes.
    """
    if target.shares_host_cores:
        return DeviceModel(target.compute_units, warp=16, max_threads=target.max_threads, max_blocks=1,
                           shared_bytes=target.local_bytes, sector_bytes=64, banks=0, balance=0.5, host_cores=True)
    known = [c for c in CAPABILITIES if capability is not None and c <= capability]
    if not known:
        return DeviceModel(target.compute_units, shared_bytes=max(64 * KIB, target.local_bytes))
    found = _GENERATIONS[known[-1]]
    return DeviceModel(target.compute_units, max_threads=found.max_threads, max_blocks=found.max_blocks,
                       shared_bytes=found.shared_bytes, shared_step=found.shared_step,
                       shared_reserved=found.shared_reserved, balance=found.operations / found.cache_bytes)


def resident_blocks(threads: int, shared_bytes: int, registers: int | None, device: DeviceModel) -> int:
    """How many blocks of `threads` threads one compute unit holds at once: the least of four limits.

    Blocks: `max_blocks`. Warps: the unit's warp slots over the warps of a block. Shared memory: the unit's bytes over
    the block's, rounded up to `shared_step`, the system's part included. Registers (per thread; None: no limit): each
    warp takes `warp * registers`, rounded up to `register_step`, from one partition.
    """
    if device.host_cores:
        return 1
    warps = ceil(threads / device.warp)
    limits = [device.max_blocks, device.max_threads // device.warp // warps]
    if shared_bytes + device.shared_reserved:
        step = device.shared_step
        limits.append(device.shared_bytes // (ceil((shared_bytes + device.shared_reserved) / step) * step))
    if registers:
        per_warp = ceil(registers * device.warp / device.register_step) * device.register_step
        limits.append(device.registers // device.partitions // per_warp * device.partitions // warps)
    return min(limits)


def occupancy(facts: KernelFacts, device: DeviceModel, registers: int | None = None) -> float:
    """Threads resident on a compute unit over the most it can hold, in [0, 1]: 1 = as many threads as can hide latency.

    `registers` per thread are the compiler's to say; None: they do not limit. 0: a block does not fit at all. On a CPU:
    the share of the cores that get a block, min(1, blocks / cores).
    """
    if device.host_cores:
        return min(1.0, facts.blocks / device.units)
    resident = resident_blocks(facts.block_threads, facts.local_bytes, registers, device)
    return resident * facts.block_threads / device.max_threads
