"""Runners whose processes are on the machines of a Dask cluster."""

from __future__ import annotations

import io
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from generator.problem import Problem, save_reference
from metrics.outcome import Crashed, Durations, Outcome, TimedOut
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits, Runner, Sitting
from runners.cluster.hub import Hub
from runners.cluster.local import LocalCluster, local_workers, spread
from runners.cluster.pool import Client, ClusterPool
from runners.cluster.roster import WAIT_S, Roster
from runners.cluster.shop import Order, Shop, shop_name
from runners.cluster.versions import fingerprint, versions
from runners.deterministic_worker import Again, Evaluate, WholeTask
from runners.many import Place
from runners.pool_runner import PoolRunner, default_lower, maker_of
from runners.pools import wait_for
from runners.processes import Died, Event, Expired, Finished, Task
from runners.registry import find_devices, is_deterministic
from runners.tasks import Lower, Make


def open_cluster(problem: Problem, place: Place, limits: Limits, workdir: Path, wait_s: float = WAIT_S,
                 lower: Lower = default_lower) -> Runner:
    """Return a runner on the cluster of `place`. Without any device for `wait_s` seconds, its evaluations raise an
    error.

    Raises:
        InputError: no scheduler, no fitting worker, other versions there, no such device, or several models.
    """
    with ExitStack() as stack:
        hub, roster = _connected(place, workdir, wait_s, stack)
        order = _order(problem, roster.device, limits, lower)
        stack.enter_context(hub.leased(order.lease))
        stack.callback(hub.unregister, shop_name(order.run))
        hub.register(Shop(order))
        whole, make = is_deterministic(roster.device.key), maker_of(problem.subject, roster.device.target)
        client = Client(hub, roster, order.run, fingerprint(versions()), place.devices[0] if whole else None)
        if whole:
            return ClusterDeterministicRunner(client, limits, stack.pop_all())
        return ClusterRunner(client, limits, stack.pop_all(), make)


def check_cluster(place: Place) -> None:
    """Raise InputError if `open_cluster` would; nothing stays running."""
    assert place.cluster is not None
    if local_workers(place.cluster) is not None:
        find_devices(place.devices)
        return
    with ExitStack() as stack:
        _connected(place, Path(), WAIT_S, stack)


def _connected(place: Place, workdir: Path, wait_s: float, stack: ExitStack) -> tuple[Hub, Roster]:
    assert place.cluster is not None
    address, count = place.cluster, local_workers(place.cluster)
    if count is not None:
        devices = find_devices(place.devices)
        address = stack.enter_context(LocalCluster(spread([d.key for d in devices], count), workdir)).address
    hub = stack.enter_context(closing(Hub(address)))
    return hub, Roster(hub, place.devices, count or 1, wait_s)


def _order(problem: Problem, device: DeviceInfo, limits: Limits, lower: Lower) -> Order:
    reference, run = io.BytesIO(), uuid.uuid4().hex[:12]
    save_reference(problem.reference, reference)
    return Order(run, f"antune-lease-{run}", problem.subject, reference.getvalue(), device.target, limits, lower)


class ClusterRunner(PoolRunner):
    """Evaluates Plans on the devices of a cluster, all of one model: see `PoolRunner`."""

    def __init__(self, client: Client, limits: Limits, stack: ExitStack, make: Make | None = None) -> None:
        """Use `open_cluster`. `stack` is closed at the end."""
        super().__init__(client.roster.device, limits, ClusterPool(client, False), ClusterPool(client, True), make)
        self._stack = stack

    def close(self) -> None:
        """End all worker processes of this run on the cluster; may be called again."""
        super().close()
        self._stack.close()


class ClusterDeterministicRunner:
    """The deterministic device on a cluster: the same outcomes as without one, but from real workers."""

    def __init__(self, client: Client, limits: Limits, stack: ExitStack) -> None:
        """Use `open_cluster`. `stack` is closed at the end."""
        self._device, self._limits, self._stack = client.roster.device, limits, stack
        self._pool = ClusterPool(client, True)

    @property
    def device(self) -> DeviceInfo:
        """The imaginary device."""
        return self._device

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) as results arrive."""
        for number, answer in self._answers([(job.number, Evaluate(job.plan, bounds)) for job in jobs]):
            assert not isinstance(answer, tuple)
            yield number, replace(answer, device=self._pool.where(number))

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """Time `jobs` again; see `Runner.remeasure`."""
        for _, answer in self._answers([(0, Again(tuple(job.plan for job in jobs), sitting))]):
            outcomes = answer if isinstance(answer, tuple) else (answer,) * len(jobs)
            yield from zip((job.number for job in jobs), outcomes, strict=True)

    def close(self) -> None:
        """End all worker processes of this run on the cluster; may be called again."""
        self._pool.close()
        self._stack.close()

    def _answers(self, tasks: Sequence[tuple[int, WholeTask]]) -> Iterator[tuple[int, Outcome | tuple[Outcome, ...]]]:
        try:
            for key, task in tasks:
                self._pool.submit(Task(key, task, "time", None))
            while self._pool.unfinished:
                wait_for([self._pool])
                for event in self._pool.poll():
                    yield event.key, _answer(event)
        finally:
            self._pool.cancel()


def _answer(event: Event) -> Outcome | tuple[Outcome, ...]:
    match event:
        case Finished(_, value):
            answer: Outcome | tuple[Outcome, ...] = value
            return answer
        case Expired(_, phase, limit_s, _):
            return TimedOut(phase, limit_s, Durations())
        case Died(_, phase, message, _):
            return Crashed(phase, message, Durations())
