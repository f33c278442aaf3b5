"""Lists the OpenCL devices and describes them. Runs inside worker processes only: it loads the drivers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyopencl as cl

from generator.errors import InputError
from generator.target import LANES, Target
from runners.backend import Listed
from runners.base import DeviceInfo
from runners.caches import host_cache_bytes
from runners.opencl.cpu_name import repair_cpu_name
from runners.opencl.images import image_support
from runners.opencl.platforms import NOT_A_DEVICE, POCL, SHORT_NAMES
from runners.opencl.sub_groups import shuffling, sub_group_sizes


def find() -> tuple[Listed, ...]:
    """Return all devices, best first."""
    found = []
    for key, title, device in _devices():
        name = repair_cpu_name(device)
        repair = f"its compiler does not know this CPU; antune makes it compile for the CPU {name}" if name else ""
        found.append(Listed(_describe(key, title, device), repair))
    return tuple(sorted(found, key=lambda listed: _rank(listed.info)))


def open_device(key: str) -> cl.Device:
    """Return the pyopencl device with this key, with its driver repaired if necessary and possible.

    Raises InputError if it is no longer there.
    """
    for found, _, device in _devices():
        if found == key:
            repair_cpu_name(device)
            return device
    raise InputError(f"the OpenCL device {key} is not there; see `antune devices`")


def _devices() -> Iterator[tuple[str, str, cl.Device]]:
    """Yield key, platform and device, in the order of the drivers."""
    taken: list[str] = []
    for platform in _platforms():
        title = SHORT_NAMES.get(platform.name.strip(), platform.name.strip())
        for device in platform.get_devices():
            key = f"opencl/{_slug(title)}/{_slug(device.name.strip())}"
            if key in taken:
                key += f"#{1 + sum(other.startswith(key) for other in taken)}"
            taken.append(key)
            yield key, title, device


def _platforms() -> list[cl.Platform]:
    try:
        return list(cl.get_platforms())
    except cl.LogicError:  # the loader found no driver
        return []


def _describe(key: str, title: str, device: cl.Device) -> DeviceInfo:
    driver = f"{device.driver_version} ({device.version.strip()})"
    return DeviceInfo(key, device.name.strip(), title, driver, _target(device), _features(device))


def _features(device: cl.Device) -> tuple[str, ...]:
    """Return the features for kernels, in words: for users, and to explain why a plan is refused."""
    extensions, images = device.extensions.split(), image_support(device)
    texels = f"{'8- to ' if images.image_narrow else ''}{'64' if images.image_pairs else '32'}-bit"
    atomics = ["32"] + ["64"] * ("cl_khr_int64_base_atomics" in extensions)
    sizes = sub_group_sizes(device)
    has_groups = "cl_khr_subgroups" in extensions or "cl_intel_subgroups" in extensions
    groups = f"sub-groups of {', '.join(map(str, sizes))}" if sizes else "sub-groups"
    words = {"fp64": "cl_khr_fp64" in extensions, f"images ({texels} texels)": images.images,
             groups: has_groups or bool(sizes),
             f"shuffles of {LANES}": shuffling(extensions, sizes) > 0,
             f"atomics ({'/'.join(atomics)} bit)": True, "float atomics": "cl_ext_float_atomics" in extensions}
    return tuple(word for word, there in words.items() if there)


def _target(device: cl.Device) -> Target:
    x, y, z = [*device.max_work_item_sizes, 1, 1, 1][:3]
    extensions = device.extensions.split()
    images = image_support(device)
    return Target(name=device.name.strip(), dialect="opencl", max_threads=device.max_work_group_size,
                  max_block=(x, y, z), local_bytes=device.local_mem_size,
                  compute_units=device.max_compute_units, fp64="cl_khr_fp64" in extensions,
                  shares_host_cores=bool(device.type & cl.device_type.CPU),
                  sub_group=shuffling(extensions, sub_group_sizes(device)),
                  images=images.images, image_1d=images.image_1d, image_2d=images.image_2d,
                  image_pairs=images.image_pairs, image_narrow=images.image_narrow, image_pitch=images.image_pitch,
                  constant_bytes=device.max_constant_buffer_size,
                  long_strides=device.platform.name.strip() == POCL, pocl=device.platform.name.strip() == POCL,
                  cache_bytes=_cache_bytes(device),
                  intel_cpu="Intel" in device.platform.name and bool(device.type & cl.device_type.CPU))


def _cache_bytes(device: cl.Device) -> int:
    """Return the size of the last-level cache; drivers for CPUs may report another level."""
    on_host = bool(device.type & cl.device_type.CPU)
    return max(device.global_mem_cache_size, host_cache_bytes() if on_host else 0)


def _rank(info: DeviceInfo) -> int:
    """Return the rank: real accelerators, then Intel's CPU runtime (several times faster than PoCL), then the rest."""
    if NOT_A_DEVICE in info.platform:
        return 4
    if not info.target.shares_host_cores:
        return 0
    return {"Intel OpenCL": 1, "PoCL": 2}.get(info.platform, 3)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
