"""The devices of a cluster that a run can currently use: workers come and go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from generator.errors import AntuneError, InputError
from runners.base import DeviceInfo
from runners.cluster.hub import START, Hub, Misfit
from runners.cluster.offers import Bench, Offer, benches, compiled_for
from runners.devices import missing_backend
from runners.many import check_one_model, model_key, same_model
from runners.registry import pick

LOOK_S = 0.5
FIRST_WAIT_S = 20.0
WAIT_S = 60.0


class Roster:
    """The benches with devices of the run's model."""

    def __init__(self, hub: Hub, selectors: Sequence[str], count: int = 1, wait_s: float = WAIT_S) -> None:
        """Waits up to FIRST_WAIT_S seconds for `count` workers.

        Raises:
            InputError: there is none, none has a device that `selectors` name, or several models match.
        """
        self._hub, self._wait_s = hub, wait_s
        self._answers: dict[str, Offer | Misfit | None] = {}
        self._looked = self._seen = time.monotonic()
        self._wait_for(count)
        self.device = self._choose(selectors)
        self.benches: tuple[Bench, ...] = self._fitting()

    def look(self) -> None:
        """Ask the scheduler for its workers, at most every LOOK_S seconds.

        Raises:
            AntuneError: the scheduler is lost, or no fitting device has been available for too long.
        """
        if time.monotonic() < self.next_look:
            return
        self._hub.check()
        self._refresh()
        self.benches = self._fitting()
        if self.benches:
            self._seen = self._looked
        elif self._looked - self._seen > self._wait_s:
            raise AntuneError(f"no worker of {self._hub.address} has had {self.device.key} for {self._wait_s:g} s; "
                              f"what was measured is saved: {START.format(self._hub.address)}, then `antune resume`")

    @property
    def next_look(self) -> float:
        """When `look` should be called again (monotonic clock)."""
        return self._looked + LOOK_S

    @property
    def _offers(self) -> dict[str, Offer]:
        return {address: answer for address, answer in self._answers.items() if isinstance(answer, Offer)}

    def _wait_for(self, count: int) -> None:
        until = time.monotonic() + FIRST_WAIT_S
        self._refresh()
        while len(self._with_devices()) < count and not self._misfits() and time.monotonic() < until:
            time.sleep(0.1)
            self._refresh()
        if misfits := self._misfits():  # those that join later are ignored
            raise InputError(misfits[0].message)
        if not self._with_devices():
            plain = len(self._answers)
            there = f"{plain} workers, but none with a device for antune" if plain else "no workers"
            raise InputError(f"the Dask scheduler {self._hub.address} has {there}: {START.format(self._hub.address)}")

    def _with_devices(self) -> list[Offer]:
        return [offer for offer in self._offers.values() if offer.devices]

    def _misfits(self) -> list[Misfit]:
        return [answer for answer in self._answers.values() if isinstance(answer, Misfit)]

    def _refresh(self) -> None:
        addresses = self._hub.addresses()
        self._answers = {address: answer for address, answer in self._answers.items() if address in addresses}
        if new := addresses - self._answers.keys():
            self._answers |= self._hub.offers(new)
        self._looked = time.monotonic()

    def _choose(self, selectors: Sequence[str]) -> DeviceInfo:
        """Return the model of the run. Without selectors, all devices of the cluster must be of one model."""
        known = benches(list(self._offers.items()))
        if not selectors:
            check_one_model([bench.device for bench in known], [bench.host for bench in known])
            return _model_of(known[0].device)
        devices = [bench.device for bench in known]
        if missing := next(filter(None, (missing_backend(selector, devices) for selector in selectors)), None):
            raise InputError(f"no worker of {self._hub.address} has a {missing.title} device")
        return pick(selectors, tuple(dict.fromkeys(_model_of(bench.device) for bench in known)))[0]

    def _fitting(self) -> tuple[Bench, ...]:
        return tuple(b for b in benches(list(self._offers.items())) if same_model(b.device, self.device))

    @property
    def compilers(self) -> int:
        """The number of variants that all machines together can compile at a time for the run's devices."""
        return sum(offer.compilers for offer in self._offers.values() if compiled_for(self.device) in offer.compiles)


def _model_of(device: DeviceInfo) -> DeviceInfo:
    """Return the common part of all devices of this one's model."""
    return replace(device, key=model_key(device.key))
