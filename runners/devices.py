"""Which devices this machine has, through all drivers, and which one a user means. Loads no driver into this process.

A driver may crash when it is loaded, prints to the terminal, starts threads and must see its environment before it is
imported: all of that happens in child processes, one per driver, at the same time.
"""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from generator.errors import InputError
from runners.base import DeviceInfo
from runners.messages import Answer, Handler, Report, Startup
from runners.opencl_platforms import driver_environment
from runners.processes import Died, Event, Expired, Finished, Task, WorkerPool, wait_for

PROBE_S = 60.0
DIALECTS = ("cuda", "opencl")
NVIDIA_FILES = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvhost-ctrl", "/dev/dxg")
NO_NVIDIA = "there is no NVIDIA driver here; install it (`nvidia-smi` shows whether it works)"


@dataclass(frozen=True, slots=True)
class Survey:
    """All devices, best first. `cuda_obstacle`: why not all CUDA devices can be used (empty: they can)."""

    devices: tuple[DeviceInfo, ...]
    cuda_obstacle: str


def survey() -> Survey:
    """Ask all drivers.

    Raises:
        InputError: an OpenCL driver crashed or hung while it was asked.
    """
    with tempfile.TemporaryDirectory(prefix="antune-devices-") as name:
        folder = Path(name)
        environment = driver_environment(folder)
        kinds = {"opencl": _make_opencl_probe} | ({"cuda": _make_cuda_probe} if nvidia_driver() else {})
        pools = {kind: WorkerPool(f"probe-{kind}", 1, Startup(make, ()), environment, folder)
                 for kind, make in kinds.items()}
        try:
            answers = _ask(pools)
        finally:
            for pool in pools.values():
                pool.close()
    if isinstance(found := answers["opencl"], str):
        raise InputError(f"listing the OpenCL devices failed: {found}; try other drivers by setting OCL_ICD_VENDORS")
    devices, obstacle = _cuda_answer(answers.get("cuda"))
    return Survey((*devices, *found), obstacle)


def list_devices() -> tuple[DeviceInfo, ...]:
    """All devices, best first: the first one is the default. CUDA comes before OpenCL on the same hardware.

    Raises:
        InputError: an OpenCL driver crashed or hung while it was asked.
    """
    return survey().devices


def nvidia_driver() -> bool:
    """True when there are signs of NVIDIA's driver; nothing is loaded."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return any(map(os.path.exists, NVIDIA_FILES)) or any(
        (Path(folder) / "libcuda.so.1").exists() for folder in folders if folder)


def find_device(selector: str | None) -> DeviceInfo:
    """The device that `selector` means, as `choose` takes it.

    Raises:
        InputError: there is no such device; the message lists those that exist.
    """
    return choose(list_devices(), selector)


def choose(devices: tuple[DeviceInfo, ...], selector: str | None) -> DeviceInfo:
    """The one among `devices` that `selector` means; None is the first.

    A selector is a number in the list, `cuda` or `opencl` (the driver), or a part of a platform's or a device's name,
    upper or lower case; a platform's name goes before a device's. `NAME:1` is the second of those that NAME means.

    Raises:
        InputError: there is no such device; the message lists those that exist.
    """
    if selector is not None and re.split("[:/]", selector.lower())[0] == "cuda" and not _meant(devices, "cuda"):
        raise InputError(f"no CUDA device can be used: {survey().cuda_obstacle or 'none was found'}")
    if not devices:
        raise InputError("no device was found; install one with `pip install pyopencl[pocl]`")
    if selector is None:
        return devices[0]
    if selector.isdecimal() and int(selector) < len(devices):
        return devices[int(selector)]
    name, _, number = selector.rpartition(":")
    if matches := _meant(devices, selector):
        return matches[0]
    if name and number.isdecimal() and int(number) < len(matches := _meant(devices, name)):
        return matches[int(number)]
    known = "; ".join(f"{n}: {device.platform}, {device.name}" for n, device in enumerate(devices))
    raise InputError(f"no device is called {selector!r}; use a number or a part of a name of: {known}")


def _meant(devices: tuple[DeviceInfo, ...], name: str) -> list[DeviceInfo]:
    """All that a name means, best first, each once."""
    wanted = name.lower()
    if wanted in DIALECTS:
        return [device for device in devices if device.target.dialect == wanted]
    exact = [device for device in devices if device.key == name]
    by_platform = [device for device in devices if wanted in device.platform.lower()]
    by_name = [device for device in devices if wanted in device.name.lower()]
    return list(dict.fromkeys(exact + by_platform + by_name)) if wanted else []


def _make_opencl_probe() -> Handler:
    from runners.opencl_probe import probe  # here, because it loads pyopencl

    return probe()


def _make_cuda_probe() -> Handler:
    def handler(task: object, report: Report) -> Answer:  # a driver that crashes now costs the CUDA devices only
        del task, report
        from runners.cuda.probe import find

        return Answer(find())

    return handler


def _cuda_answer(answer: Any) -> tuple[tuple[DeviceInfo, ...], str]:
    """Devices and obstacle; `answer` is what the probe Found, how it failed, or None: there is no driver."""
    if answer is None:
        return (), NO_NVIDIA
    if isinstance(answer, str):
        return (), f"asking the NVIDIA driver failed: {answer}"
    return answer.devices, answer.obstacle


def _ask(pools: dict[str, WorkerPool]) -> dict[str, Any]:
    """What the worker of each pool answers; how it failed, if it did."""
    for pool in pools.values():
        pool.submit(Task(0, None, "generate", PROBE_S))
    answers: dict[str, Any] = {}
    while left := {kind: pool for kind, pool in pools.items() if kind not in answers}:
        wait_for(list(left.values()))
        for kind, pool in left.items():
            for event in pool.poll():
                answers[kind] = _answer(event)
    return answers


def _answer(event: Event) -> Any:
    match event:
        case Finished(_, value):
            return value
        case Died(_, _, message, _):
            return message
        case Expired():
            return f"it took longer than {PROBE_S:g} s"
        case _:
            assert_never(event)
