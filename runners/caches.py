"""How much must be written to push a program's data out of all caches of a device."""

from __future__ import annotations

from pathlib import Path

HOST_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
FACTOR = 2
"""Replacement is not exactly least-recently-used: a buffer of the cache's own size leaves some of the old data."""
UNKNOWN_BYTES = 64 * 2**20
MOST_BYTES = 2**30


def flush_bytes(device_bytes: int, on_host: bool, host_caches: Path = HOST_CACHES) -> int:
    """The size of the buffer: twice the last-level cache.

    `device_bytes` is what the driver says (OpenCL: CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, CUDA: the L2 cache; 0: unknown). A
    device `on_host` cores has the host's caches, whatever its driver says (Intel's names the second level). At most
    `MOST_BYTES`.
    """
    known = max(device_bytes, host_cache_bytes(host_caches) if on_host else 0)
    return min(FACTOR * known or UNKNOWN_BYTES, MOST_BYTES)


def host_cache_bytes(host_caches: Path = HOST_CACHES) -> int:
    """The largest cache of the first core, 0 where the system does not tell (Linux' sysfs does)."""
    sizes = [0]
    for file in host_caches.glob("index*/size"):
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
        sizes.append(int(number) * unit if number.isdecimal() else 0)
    return max(sizes)
