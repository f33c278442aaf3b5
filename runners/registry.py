"""Opens a runner for the device that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from generator.errors import InputError
from generator.problem import Problem
from runners.base import DeviceInfo, Limits, Runner
from runners.many import Place, asks_for_all, pick_devices

if TYPE_CHECKING:
    from runners.devices import Broken

DETERMINISTIC = "deterministic"


def open_runner(problem: Problem, device: str | None, limits: Limits, workdir: Path) -> Runner:
    """Return the runner for `device`: "deterministic", "deterministic:SECONDS" (a pause per evaluation), or a device as
    for `find_device` (None: the default device).

    Raises:
        InputError: there is no such device, or SECONDS is not a number.
    """
    if device is not None and is_deterministic(device):
        from runners.deterministic import DeterministicRunner

        return DeterministicRunner(problem, limits, delay_of(device))
    from runners.devices import find_device
    from runners.pool_runner import DeviceRunner

    return DeviceRunner(problem, find_device(device), limits, workdir)


def open_place(problem: Problem, place: Place, limits: Limits, workdir: Path) -> Runner:
    """Return the runner for `place`: this machine with its devices, or a cluster.

    Raises:
        InputError: there is no such device or no such cluster, or the devices are of different models.
    """
    if place.cluster is not None:
        check_extra()
        from runners.cluster.runner import open_cluster

        return open_cluster(problem, place, limits, workdir)
    deterministic = any(is_deterministic(selector) for selector in place.devices)
    if deterministic or (not place.found and len(place.devices) <= 1 and not asks_for_all(place.devices)):
        return open_runner(problem, place.devices[0] if place.devices else None, limits, workdir)
    from runners.pool_runner import DeviceRunner

    first, *others = place.found or find_devices(place.devices)
    return DeviceRunner(problem, first, limits, workdir, others=others)


def check_place(place: Place) -> Place:
    """Return `place` with its devices. Raises InputError if `open_place` would, within a few seconds."""
    if place.cluster is None:
        return replace(place, found=find_devices(place.devices))
    check_extra()
    from runners.cluster.runner import check_cluster

    check_cluster(place)
    return place


def check_extra() -> None:
    """Raise InputError if the package that clusters need is not installed."""
    if find_spec("distributed") is None:
        raise InputError(
            "clusters need the package distributed, which is not installed: `pip install distributed`, or antune with "
            "its "
            "extra `cluster`"
        )


def find_devices(selectors: Sequence[str]) -> tuple[DeviceInfo, ...]:
    """Return the devices of this machine that one run may share; see `many.pick_devices`. Raises InputError."""
    if any(is_deterministic(selector) for selector in selectors):
        return pick(selectors, ())
    from runners.devices import survey

    seen = survey()
    return pick(selectors, seen.devices, seen.broken)


def pick(
    selectors: Sequence[str], listed: tuple[DeviceInfo, ...], broken: Sequence[Broken] = ()
) -> tuple[DeviceInfo, ...]:
    """Return `find_devices` among those in `listed`; those in `broken` cannot be chosen, but their errors are reported.
    """
    if not any(is_deterministic(selector) for selector in selectors):
        from runners.devices import choose

        return pick_devices(selectors, listed, partial(choose, broken=broken))
    if len(selectors) > 1:
        raise InputError(f"--device {DETERMINISTIC} stands alone: it is not a device of this machine")
    from runners.deterministic import DEVICE

    delay_of(selectors[0])
    return (DEVICE,)


def is_deterministic(selector: str) -> bool:
    """Return whether the selector names the device that computes times instead of measuring."""
    return selector.split(":")[0] == DETERMINISTIC


def delay_of(device: str) -> float:
    """Return the seconds of `deterministic:SECONDS`, 0 for `deterministic`. Raises InputError if they are invalid."""
    _, colon, text = device.partition(":")
    if not colon:
        return 0.0
    try:
        delay = float(text)
    except ValueError:
        delay = -1.0
    if not 0 <= delay < 3600:
        raise InputError(f"the pause in {device!r} is not a number of seconds; write {DETERMINISTIC}:0.1")
    return delay
