"""Limits of a compute unit by the compute capability of an NVIDIA device.

The figures are from the CUDA C++ Programming Guide (table "Technical Specifications per Compute Capability" and its
sections on the architectures) and from cuda_occupancy.h of the CUDA toolkit 12.9; a test compares them with it.
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
Capability = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Generation:
    """The limits of one compute unit, and the granularity of its allocations.

    Threads, blocks and bytes of shared memory per unit (`shared_bytes`) and per block (`block_shared_bytes`, if a
    kernel requests more than the usual 48 KiB); registers per unit, per block and per thread. `partitions` of a unit
    each have an equal part of its registers, allocated to warps in multiples of `register_step`; a launch is accepted
    as if there were `checked_partitions`. Shared memory is allocated to blocks in multiples of `shared_step`, and
    `shared_reserved` bytes of every block belong to the system. `operations` (a fused multiply-add is two) and
    `cache_bytes` per clock.
    """

    max_threads: int
    max_blocks: int
    shared_bytes: int
    block_shared_bytes: int
    shared_step: int = 128
    shared_reserved: int = 0
    block_threads: int = 1024
    registers: int = 65536
    block_registers: int = 65536
    thread_registers: int = 255
    register_step: int = 256
    partitions: int = 4
    checked_partitions: int = 4
    operations: int = 256
    cache_bytes: int = 128

def _maxwell(shared_kib: int, partitions: int = 4, operations: int = 256) -> Generation:
    """Return the limits of compute capability 5 and 6, which have separate shared memory."""
    return Generation(2048, 32, shared_kib * KIB, 48 * KIB, 256, partitions=partitions, operations=operations)


GENERATIONS: dict[Capability, Generation] = {
    (5, 0): _maxwell(64),
    (5, 2): _maxwell(96),
    (6, 0): _maxwell(64, partitions=2, operations=128),
    (6, 1): _maxwell(96),
    (7, 0): Generation(2048, 32, 96 * KIB, 96 * KIB, 256, operations=128),
    (7, 5): Generation(1024, 16, 64 * KIB, 64 * KIB, 256, operations=128, cache_bytes=64),
    (8, 0): Generation(2048, 32, 164 * KIB, 163 * KIB, 128, KIB, operations=128),
    (8, 6): Generation(1536, 16, 100 * KIB, 99 * KIB, 128, KIB),
    (8, 7): Generation(1536, 16, 164 * KIB, 163 * KIB, 128, KIB),
    (8, 9): Generation(1536, 24, 100 * KIB, 99 * KIB, 128, KIB),
    (9, 0): Generation(2048, 32, 228 * KIB, 227 * KIB, 128, KIB),
    (10, 0): Generation(2048, 32, 228 * KIB, 227 * KIB, 128, KIB),
    (12, 0): Generation(1536, 24, 100 * KIB, 99 * KIB, 128, KIB),
}
