"""Several devices for one run: which ones, whether their times can be compared, and sharing the work among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from generator.errors import InputError
from runners.base import DeviceInfo

ALL = "all"
Choose: TypeAlias = Callable[[tuple[DeviceInfo, ...], str | None], DeviceInfo]
"""The one device among some that a selector means; raises InputError when there is none."""


def model_key(key: str) -> str:
    """The part of a device's key that all devices of its model have: without the number that tells them apart."""
    return key.split("#")[0]


def same_model(one: DeviceInfo, other: DeviceInfo) -> bool:
    """True when times of the two can be compared: the same model with the same limits, by the same driver."""
    return _model(one) == _model(other)


def _model(info: DeviceInfo) -> tuple[object, ...]:
    return model_key(info.key), info.name, info.platform, info.driver, info.target


def check_one_model(devices: Sequence[DeviceInfo], places: Sequence[str] = ()) -> None:
    """Raise InputError when `devices` are not all of one model; `places` say where each is, if not here."""
    if all(same_model(devices[0], device) for device in devices):
        return
    where = [f" on {place}" for place in places] or [""] * len(devices)
    listed = dict.fromkeys(f"{device.key} ({device.name}, driver {device.driver}){place}"
                           for device, place in zip(devices, where, strict=True))
    raise InputError("times of different devices cannot be compared, and here are several models: "
                     f"{'; '.join(listed)}; start one run per model, each with --device")


def pick_devices(selectors: Sequence[str], listed: tuple[DeviceInfo, ...], choose: Choose) -> tuple[DeviceInfo, ...]:
    """The devices of one run among those that are `listed`, best first.

    Without selectors it is the best one. `all` means all devices of the best one's platform, `NAME:all` those of
    NAME's platform: a platform shows every piece of hardware once, two may show the same one. `KEY:all` means all
    devices of the model of the one with that key.

    Raises:
        InputError: no such device, one is named twice, or they are of different models.
    """
    if not selectors:
        return (choose(listed, None),)
    found: list[DeviceInfo] = []
    for selector in selectors:
        for device in _meant(selector, listed, choose):
            if device in found:
                raise InputError(f"--device {selector} means {device.key}, which was named before; name each once")
            found.append(device)
    check_one_model(found)
    return tuple(found)


def _meant(selector: str, listed: tuple[DeviceInfo, ...], choose: Choose) -> tuple[DeviceInfo, ...]:
    name, colon, last = selector.rpartition(":")
    if last != ALL or (colon and not name):
        return (choose(listed, selector),)
    best = choose(listed, name or None)
    if name == best.key:
        return tuple(device for device in listed if same_model(device, best))
    return tuple(device for device in listed if device.platform == best.platform)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run measures. `devices` are selectors as a user gives them (none: the best device found).

    `cluster` is None for this machine, `local:N` for a Dask cluster of N workers on this machine, else the address of
    a Dask scheduler or the scheduler file that it wrote. `found`: the devices that `registry.check_place` has found
    (empty: nobody has looked), so that drivers are asked once.
    """

    devices: tuple[str, ...] = ()
    cluster: str | None = None
    found: tuple[DeviceInfo, ...] = field(default=(), compare=False, repr=False)


HERE = Place()


def asks_for_all(selectors: Sequence[str]) -> bool:
    """True when there may be several devices behind one selector."""
    return any(selector.rpartition(":")[2] == ALL for selector in selectors)
