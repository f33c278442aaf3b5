"""The device data that cost models use.

The limits of NVIDIA's generations are those of `metrics.nvidia`; bandwidths and clocks are those of one typical card of
each (vendor data), for lack of better data: models compare plans on a device, not devices.

On a CPU, a block runs on a core, in one thread, whose points along x are vectors. Blocks do not compete for resources,
so occupancy is 1 if there are enough blocks; a block's intermediate data must fit in a core's second-level cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generator.target import LANES, Target
from metrics.device_model import DeviceModel, device_model
from metrics.nvidia import KIB, Capability

CACHE_BYTES = 256 * KIB
"""The bytes of a core's second-level cache for a block's intermediate data (as in
`generator.lowering.heuristics.starts`)."""


@dataclass(frozen=True, slots=True)
class CostDevice:
    """A device with `units` compute units.

    `warp` threads execute together; at most `block_threads` are in a block, `unit_threads` and `unit_blocks` on a unit.
    Shared memory in bytes per block and per unit; registers per unit and per thread, allocated to warps in multiples of
    `register_step`. `bandwidth`: bytes per second of global memory; `transaction`: bytes that move together. `cores` do
    one operation each per clock of `hertz` in a unit. `host`: a CPU; `lanes` neighbours are one vector there, and the
    start of a row of a tile costs as much as `row_start` further elements. `shuffles`: threads of a warp exchange
    values; `rows_in_warps`: they are neighbours in x, then in y (otherwise only those of a row are known to be in one).
    `capability`: of NVIDIA's GPUs.
    """

    units: int
    warp: int
    block_threads: int
    unit_threads: int
    unit_blocks: int
    block_shared: int
    unit_shared: int
    registers: int
    thread_registers: int
    register_step: int
    bandwidth: float
    transaction: int
    cores: int
    hertz: float
    model: DeviceModel
    host: bool = False
    lanes: int = 1
    row_start: float = 0.0
    shuffles: bool = False
    rows_in_warps: bool = False
    capability: Capability | None = None

    @property
    def unit_warps(self) -> int:
        """The maximum number of warps on a compute unit."""
        return max(1, self.unit_threads // self.warp)


_CARDS: Mapping[Capability, tuple[float, float]] = MappingProxyType(
    {
        (5, 0): (86e9, 1.1e9),
        (5, 2): (336e9, 1.1e9),
        (6, 0): (732e9, 1.3e9),
        (6, 1): (484e9, 1.48e9),
        (7, 0): (898e9, 1.53e9),
        (7, 5): (616e9, 1.55e9),
        (8, 0): (1555e9, 1.41e9),
        (8, 6): (760e9, 1.71e9),
        (8, 7): (205e9, 1.3e9),
        (8, 9): (1008e9, 2.5e9),
        (9, 0): (3350e9, 1.76e9),
        (10, 0): (8000e9, 1.9e9),
        (12, 0): (1792e9, 2.4e9),
    }
)
"""Bytes per second and clock in Hz: Quadro M2000 and GTX 980 Ti, P100, GTX 1080 Ti, V100, RTX 2080 Ti, A100, RTX 3080,
Orin, RTX 4090, H100, B200, RTX 5090."""
_TYPICAL = (600e9, 1.5e9)
_MANY = 1 << 16
_ROW_START = 32.0
"""Two vectors: the start and the rest of a loop, which do less than a whole vector each."""
_HOST_BANDWIDTH, _HOST_HERTZ, _HOST_LANES = 10e9, 2.5e9, 16
"""Per core: bytes per second of main memory; the vectors are those of `metrics.device_model`."""


def cost_device(target: Target) -> CostDevice:
    """Return the cost device of a Target."""
    model = device_model(target)
    if target.shares_host_cores:
        return _host(target, model)
    limits = model.generation
    known = [c for c in _CARDS if (target.capability or (0, 0)) >= c]
    bandwidth, hertz = _CARDS[max(known)] if known else _TYPICAL
    return CostDevice(
        units=model.units, warp=model.warp, block_threads=min(target.max_threads, limits.block_threads),
        unit_threads=limits.max_threads, unit_blocks=limits.max_blocks, block_shared=target.local_bytes,
        unit_shared=limits.shared_bytes, registers=limits.registers, thread_registers=limits.thread_registers,
        register_step=limits.register_step, bandwidth=bandwidth, transaction=model.sector_bytes,
        cores=limits.operations // 2, hertz=hertz, model=model, shuffles=target.sub_group >= LANES,
        rows_in_warps=target.language.rows_in_sub_groups,
        capability=target.capability)  # fmt: skip


def _host(target: Target, model: DeviceModel) -> CostDevice:
    """Return the cost device of a CPU, without limits of threads and registers."""
    room = min(target.local_bytes, CACHE_BYTES)
    return CostDevice(
        units=model.units, warp=1, block_threads=1, unit_threads=1, unit_blocks=1, block_shared=room, unit_shared=room,
        registers=_MANY, thread_registers=_MANY, register_step=1, bandwidth=_HOST_BANDWIDTH * model.units,
        transaction=model.sector_bytes, cores=_HOST_LANES, hertz=_HOST_HERTZ, model=model, host=True,
        lanes=_HOST_LANES, row_start=_ROW_START)  # fmt: skip
