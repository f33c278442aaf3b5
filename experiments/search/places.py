"""Where a run takes place: its devices, also when it goes on, and its limits per plan."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from experiments.search.constants import check_device
from experiments.values.options import RunOptions
from experiments.values.records import RunInfo
from runners.base import DeviceInfo, Limits
from runners.cluster.local import local_workers
from runners.many import ALL, HERE, Place, asks_for_all, model_key
from runners.registry import is_deterministic

NOWHERE = "none"
"""The name of a cluster that means this machine."""


def limits_of(options: RunOptions) -> Limits:
    """Return the limits on time and memory per plan and the timing settings that `options` ask for."""
    memory_gb, timing = options.memory_limit_gb, options.timing
    return Limits(
        options.compile_limit_s,
        options.run_limit_s,
        half_width=timing.precision / 100,
        min_repeats=min(Limits().min_repeats, timing.max_repeats),
        max_repeats=timing.max_repeats,
        give_up=Limits().give_up if options.objective.is_time else inf,
        cache=timing.cache,
        realtime=timing.realtime,
        memory_bytes=None if memory_gb is None else int(memory_gb * 10**9),
    )


def checked_place(options: RunOptions, check: Callable[[Place], Place]) -> Place:
    """Return the place of a new run, by `check` with its devices (`runners.registry.check_place`).

    Raises InputError if it does not exist, or if the constants of cost models are not those of its devices, as far as
    these are known before the program is read: those of a cluster are not.
    """
    if options.place == HERE and options.calibration is None:
        return options.place
    place = check(options.place)
    for device in place.found:
        check_device(options.calibration, device)
    return place


def selector(info: RunInfo) -> str:
    """Return a selector that finds the device of a stored run again, even if other devices have been added since."""
    given, key = info.options.device, info.device.key
    return given if given and given.startswith(key) else key


def place_of(info: RunInfo, elsewhere: Place = HERE) -> Place:
    """Return where to continue a stored run: where it was measured, unless `elsewhere` names another place.

    Devices are found by the key of their model. `all` means all that are present now; on an existing cluster any device
    of the model will do. The cluster NOWHERE of `elsewhere` means this machine.
    """
    stored = info.options.place
    cluster = elsewhere.cluster or stored.cluster
    if cluster == NOWHERE:
        cluster = None
    if elsewhere.devices:
        return Place(elsewhere.devices, cluster)
    model = model_key(info.device.key)
    if is_deterministic(model):
        return Place((selector(info),), cluster)
    if cluster is not None and local_workers(cluster) is None:
        return Place((model,), cluster)
    if asks_for_all(stored.devices):
        return Place((f"{model}:{ALL}",), cluster)
    return Place(stored.devices if len(stored.devices) > 1 else (selector(info),), cluster)


def find_device(name: str | None) -> DeviceInfo:
    """Return the device that the option --device names (None: the best device found). Raises InputError if there is
    none.
    """
    if name is not None and name.split(":")[0] == "deterministic":
        from runners.deterministic import DEVICE

        return DEVICE
    from runners.devices import find_device

    return find_device(name)
