"""Metrics from a profiler's counters, scaled to [0, 1] with 1 = the device's peak; missing counters are left out.

    ipc                  instructions per cycle, over the most that a core or multiprocessor can execute
    achieved_occupancy   warps resident per active cycle, over the most that a multiprocessor holds (GPU)
    load_throughput      bytes that reads of global memory ask for per second, over the first cache's peak (GPU)
    store_throughput     the same of writes (GPU)
    cache_hit_rate       mean of the hit rates of the first and the second cache (GPU), of the last one (CPU)
    dram_throughput      bytes to and from device memory per second, over its peak (GPU)
    first_cache_hit_rate reads of the first data cache that hit (CPU)
    core_use             processor time of all threads, over wall time times cores (CPU)

The first five are those of Coding Ants (table 2), which names nvprof's metrics; Nsight Compute's successors of them are
in NVIDIA's table "nvprof Metric Comparison" of its CLI documentation. On CPUs they come from the Linux kernel's
perf events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from metrics.outcome import MetricValues

NAMES = ("ipc", "achieved_occupancy", "load_throughput", "store_throughput", "cache_hit_rate", "dram_throughput",
         "first_cache_hit_rate", "core_use")

NCU: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "ipc": ("sm__inst_executed.avg.pct_of_peak_sustained_active",),
    "achieved_occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
    "load_throughput": ("l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum.pct_of_peak_sustained_elapsed",),
    "store_throughput": ("l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum.pct_of_peak_sustained_elapsed",),
    "cache_hit_rate": ("l1tex__t_sector_hit_rate.pct", "lts__t_sector_op_read_hit_rate.pct"),
    "dram_throughput": ("dram__throughput.avg.pct_of_peak_sustained_elapsed",),
})
"""For each metric, the quantities of Nsight Compute (in percent of the peak) of which it is the mean."""

WIDTH = 6
"""The most instructions per cycle that a current x86 core retires (AMD Zen 3 and later, Intel since Golden Cove)."""


def from_ncu(percents: Mapping[str, float]) -> MetricValues:
    """Return the metrics of one kernel from the quantities that Nsight Compute reported, in percent."""
    found = []
    for name, quantities in NCU.items():
        shares = [percents[q] / 100 for q in quantities if math.isfinite(percents.get(q, math.nan))]
        if shares:
            found.append((name, _share(sum(shares) / len(shares))))
    return tuple(found)


def from_perf(counts: Mapping[str, float], seconds: float, cores: int) -> MetricValues:
    """Return the metrics of one kernel from `counts` of perf events over `seconds` of wall time on `cores` cores.

    Events: instructions, cycles, cache-references, cache-misses, L1-dcache-loads, L1-dcache-load-misses, and task-clock
    in nanoseconds.
    """
    found = (
        ("ipc", _over(counts, "instructions", "cycles", 1 / WIDTH)),
        ("cache_hit_rate", _hits(counts, "cache-references", "cache-misses")),
        ("first_cache_hit_rate", _hits(counts, "L1-dcache-loads", "L1-dcache-load-misses")),
        ("core_use", counts["task-clock"] * 1e-9 / (seconds * cores) if "task-clock" in counts and seconds else None),
    )
    return tuple((name, _share(value)) for name, value in found if value is not None)


def _over(counts: Mapping[str, float], above: str, below: str, factor: float) -> float | None:
    if above not in counts or not counts.get(below):
        return None
    return factor * counts[above] / counts[below]


def _hits(counts: Mapping[str, float], all_of_them: str, misses: str) -> float | None:
    missed = _over(counts, misses, all_of_them, 1.0)
    return None if missed is None else 1 - missed


def _share(value: float) -> float:
    """Clip to [0, 1]: counters are not read at the same instant, so values such as 1.003 occur."""
    return min(1.0, max(0.0, value))
