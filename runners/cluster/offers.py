"""The devices and compilers that a machine offers to the runs of a cluster, and the names of its Dask resources.

The names of resources contain the fingerprint of the versions, so that tasks only reach workers with the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runners.backends import backend_named
from runners.base import DeviceInfo
from runners.cluster.versions import Versions, fingerprint
from runners.many import model_key


@dataclass(frozen=True, slots=True)
class Offer:
    """The devices of one Dask worker, the kinds that it compiles for, and the number of variants it compiles at a time.

    `host` is the machine's name, `compiles` are results of `compiled_for`.
    """

    host: str
    versions: Versions
    devices: tuple[DeviceInfo, ...]
    compiles: tuple[str, ...]
    compilers: int

    def resources(self) -> dict[str, float]:
        """Return its Dask resources: each device once, and the number of parallel compilations."""
        print_ = fingerprint(self.versions)
        return ({device_resource(print_, device.key): 1.0 for device in self.devices}
                | {compile_resource(print_, kind): float(self.compilers) for kind in self.compiles})


def device_resource(print_: str, key: str) -> str:
    """Return the name of the resource for exclusive use of the device `key`."""
    return f"antune-{print_}-device-{key}"


def compiled_for(device: DeviceInfo) -> str:
    """Return what a machine must be able to compile for to compile for `device`.

    The compilers of some dialects need no device, and make code for any. An OpenCL driver compiles for its own devices.
    """
    backend = backend_named(device.target.dialect)
    return backend.dialect if backend and backend.compiles_anywhere else model_key(device.key)


def compile_resource(print_: str, kind: str) -> str:
    """Return the name of the resource for one compilation; see `compiled_for`."""
    return f"antune-{print_}-compile-{kind}"


@dataclass(frozen=True, slots=True)
class Bench:
    """One device at one Dask worker; it measures one variant at a time."""

    address: str
    host: str
    device: DeviceInfo

    @property
    def label(self) -> str:
        """The name that is stored with its measurements."""
        return f"{self.host}: {self.device.key}"


def benches(offers: Sequence[tuple[str, Offer]]) -> tuple[Bench, ...]:
    """Return all devices of (address, offer) pairs, in a stable order."""
    found = [Bench(address, offer.host, device) for address, offer in offers for device in offer.devices]
    return tuple(sorted(found, key=lambda bench: (bench.host, bench.device.key, bench.address)))
