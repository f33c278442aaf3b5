"""The devices of recordings, which may have been made on another machine."""

from __future__ import annotations

from dataclasses import replace

from experiments.search.places import find_device
from generator.errors import InputError
from runners.base import DeviceInfo
from runners.devices import list_devices


def device_of_recording(key: str, name: str) -> DeviceInfo:
    """Return the device `key` of a recording. If it is not here, another CPU of the same driver stands for it, and a
    line says so: of a CPU, the features of plans need the number of cores and the room of a block.

    Raises:
        InputError: neither is here.
    """
    try:
        return find_device(key)
    except InputError:
        driver = key.rpartition("/")[0]
        for other in list_devices():
            if other.target.shares_host_cores and other.key.rpartition("/")[0] == driver:
                print(f"{name} is not here: features of plans are those of {other.target.compute_units} cores, as of "
                      f"{other.name}")
                return replace(other, key=key, name=name)
        raise
