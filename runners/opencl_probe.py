"""Lists the OpenCL devices and describes them. Runs inside worker processes only: it loads the drivers."""

from __future__ import annotations

import re

import pyopencl as cl

from generator.errors import InputError
from generator.target import Target
from runners.base import DeviceInfo
from runners.messages import Answer, Handler, Report

SHORT_NAMES = {"Portable Computing Language": "PoCL", "Intel(R) OpenCL": "Intel OpenCL"}
SUB_GROUP = 32  # the size kernels ask for: that of a warp
SHUFFLES = {"cl_khr_subgroup_shuffle", "cl_intel_required_subgroup_size"}
NOT_A_DEVICE = "Oclgrind"  # an interpreter that checks kernels: last choice for timing


def probe() -> Handler:
    """The factory of a worker that answers any task with all devices, best first."""
    def handler(task: object, report: Report) -> Answer:
        del task, report
        return Answer(tuple(info for info, _ in _devices()))

    return handler


def open_device(key: str) -> cl.Device:
    """The pyopencl device with this key. Raises InputError when it is not there any more."""
    for info, device in _devices():
        if info.key == key:
            return device
    raise InputError(f"the OpenCL device {key} is not there; see `antune devices`")


def _devices() -> list[tuple[DeviceInfo, cl.Device]]:
    found: list[tuple[DeviceInfo, cl.Device]] = []
    for platform in _platforms():
        for device in platform.get_devices():
            found.append((_describe(platform, device, [info.key for info, _ in found]), device))
    return sorted(found, key=lambda pair: _rank(pair[0]))


def _platforms() -> list[cl.Platform]:
    try:
        return list(cl.get_platforms())
    except cl.LogicError:  # the loader found no driver at all
        return []


def _describe(platform: cl.Platform, device: cl.Device, taken: list[str]) -> DeviceInfo:
    title = SHORT_NAMES.get(platform.name.strip(), platform.name.strip())
    name = device.name.strip()
    key = f"opencl/{_slug(title)}/{_slug(name)}"
    if key in taken:
        key += f"#{1 + sum(other.startswith(key) for other in taken)}"
    return DeviceInfo(key, name, title, f"{device.driver_version} ({device.version.strip()})", _target(device))


def _target(device: cl.Device) -> Target:
    x, y, z = [*device.max_work_item_sizes, 1, 1, 1][:3]
    extensions = device.extensions.split()
    return Target(name=device.name.strip(), dialect="opencl", max_threads=device.max_work_group_size,
                  max_block=(x, y, z), local_bytes=device.local_mem_size,
                  compute_units=device.max_compute_units, fp64="cl_khr_fp64" in extensions,
                  shares_host_cores=bool(device.type & cl.device_type.CPU),
                  sub_group=SUB_GROUP if SHUFFLES <= set(extensions) else 0)


def _rank(info: DeviceInfo) -> int:
    """Real accelerators, then Intel's CPU runtime (several times faster than PoCL), then the rest."""
    if NOT_A_DEVICE in info.platform:
        return 4
    if not info.target.shares_host_cores:
        return 0
    return {"Intel OpenCL": 1, "PoCL": 2}.get(info.platform, 3)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
