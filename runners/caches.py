"""The number of bytes to write to remove a program's data from all caches of a device."""

from __future__ import annotations

from pathlib import Path

HOST_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
FACTOR = 2
"""Cache replacement is not exactly least-recently-used, so a buffer of the cache's size leaves some of the old data."""
UNKNOWN_BYTES = 64 * 2**20
MOST_BYTES = 2**30


def flush_bytes(device_bytes: int, on_host: bool, host_caches: Path = HOST_CACHES) -> int:
    """Return the size of the buffer in bytes: twice the last-level cache, at most `MOST_BYTES`.

    `device_bytes`: the cache size that the driver reports (OpenCL: CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, CUDA: the L2 cache;
    0: unknown). `on_host`: the device uses the host's cores, and so its caches; drivers may report less (Intel's
    reports the second level).
    """
    known = max(device_bytes, host_cache_bytes(host_caches) if on_host else 0)
    return min(FACTOR * known or UNKNOWN_BYTES, MOST_BYTES)


def host_cache_bytes(host_caches: Path = HOST_CACHES) -> int:
    """Return the size of the largest cache of the first core in bytes (from Linux' sysfs); 0 if unknown."""
    sizes = [0]
    for file in host_caches.glob("index*/size"):
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
        sizes.append(int(number) * unit if number.isdecimal() else 0)
    return max(sizes)
