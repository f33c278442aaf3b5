"""Several devices for one run: selecting them, and checking that their times can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from generator.errors import InputError
from runners.base import DeviceInfo

ALL = "all"
Choose: TypeAlias = Callable[[tuple[DeviceInfo, ...], str | None], DeviceInfo]
"""Returns the device that a selector means (None: the best one); raises InputError if there is none."""


def model_key(key: str) -> str:
    """Return a device's key without its number: equal for all devices of the same model."""
    return key.split("#")[0]


def same_model(one: DeviceInfo, other: DeviceInfo) -> bool:
    """Return whether times of the two can be compared: same model, limits and driver."""
    return _model(one) == _model(other)


def _model(info: DeviceInfo) -> tuple[object, ...]:
    return model_key(info.key), info.name, info.platform, info.driver, info.target


def check_one_model(devices: Sequence[DeviceInfo], places: Sequence[str] = ()) -> None:
    """Raise InputError if `devices` are of different models. `places`: where each is, for the message (empty: here)."""
    if all(same_model(devices[0], device) for device in devices):
        return
    where = [f" on {place}" for place in places] or [""] * len(devices)
    listed = dict.fromkeys(f"{device.key} ({device.name}, driver {device.driver}){place}"
                           for device, place in zip(devices, where, strict=True))
    raise InputError("times of different devices cannot be compared, and here are several models: "
                     f"{'; '.join(listed)}; start one run per model, each with --device")


def pick_devices(selectors: Sequence[str], listed: tuple[DeviceInfo, ...], choose: Choose) -> tuple[DeviceInfo, ...]:
    """Return the devices of one run among those in `listed` (best first).

    Without selectors, it is the best device. `all` means all devices of the best one's platform, `NAME:all` those of
    NAME's platform. (A platform lists each piece of hardware once; two platforms may list the same one.) `KEY:all`
    means all devices of the same model as device KEY.

    Raises:
        InputError: there is no such device, a device is named twice, or the models differ.
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
    """The place of a run's measurements. `devices`: the user's selectors (empty: the best device found).

    `cluster`: None for this machine, `local:N` for a Dask cluster of N workers on this machine, else the address of a
    Dask scheduler or its scheduler file. `found`: the devices that `registry.check_place` found (empty: not searched
    yet), so that drivers are queried once.
    """

    devices: tuple[str, ...] = ()
    cluster: str | None = None
    found: tuple[DeviceInfo, ...] = field(default=(), compare=False, repr=False)


HERE = Place()


def asks_for_all(selectors: Sequence[str]) -> bool:
    """Return whether a selector may mean several devices."""
    return any(selector.rpartition(":")[2] == ALL for selector in selectors)
