"""What a machine offers to the runs of a cluster, and the names of its Dask resources.

A resource's name holds the fingerprint of the versions: tasks can only reach workers that understand them.
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
    """The devices of one Dask worker, and for what it compiles, how many variants at a time.

    `host` is the machine's name, `compiles` are as `compiled_for` says.
    """

    host: str
    versions: Versions
    devices: tuple[DeviceInfo, ...]
    compiles: tuple[str, ...]
    compilers: int

    def resources(self) -> dict[str, float]:
        """The Dask resources that stand for it: each device once, and room for compiling."""
        print_ = fingerprint(self.versions)
        return ({device_resource(print_, device.key): 1.0 for device in self.devices}
                | {compile_resource(print_, kind): float(self.compilers) for kind in self.compiles})


def device_resource(print_: str, key: str) -> str:
    """Whoever holds it has the device called `key` for itself."""
    return f"antune-{print_}-device-{key}"


def compiled_for(device: DeviceInfo) -> str:
    """What a machine must be able to compile for, if it is for `device`.

    The compilers of some dialects need no device: they make code for any. An OpenCL driver compiles for what it drives.
    """
    backend = backend_named(device.target.dialect)
    return backend.dialect if backend and backend.compiles_anywhere else model_key(device.key)


def compile_resource(print_: str, kind: str) -> str:
    """Room to compile one variant; see `compiled_for`."""
    return f"antune-{print_}-compile-{kind}"


@dataclass(frozen=True, slots=True)
class Bench:
    """One device at one Dask worker, where one variant at a time is measured."""

    address: str
    host: str
    device: DeviceInfo

    @property
    def label(self) -> str:
        """What is stored with what it measured."""
        return f"{self.host}: {self.device.key}"


def benches(offers: Sequence[tuple[str, Offer]]) -> tuple[Bench, ...]:
    """All devices of (address, offer) pairs, in a stable order."""
    found = [Bench(address, offer.host, device) for address, offer in offers for device in offer.devices]
    return tuple(sorted(found, key=lambda bench: (bench.host, bench.device.key, bench.address)))
