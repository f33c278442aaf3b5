"""Runs compared with the ceilings of their device: how much faster could any schedule be?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.ceilings.files import kept_ceilings
from experiments.search.summary import summarize
from experiments.store import read_store
from experiments.values.records import RunInfo
from generator.program import Program
from metrics.roofline import Ceilings, Roof, roof
from runners.base import DeviceInfo


@dataclass(frozen=True, slots=True)
class Placed:
    """A run and its roof: `roof_ms` is the least time that the ceilings allow, `limit` the ceiling that determines it.

    The shares are `roof_ms` divided by measured times: 1 means that no gain is left. Above 1, the program profits from
    something that the measuring kernels do not have, such as data that stays in a cache between its parts. None: not
    measured.
    """

    run: str
    name: str
    device: str
    roof_ms: float
    limit: str
    default_ms: float | None
    best_ms: float | None
    default_share: float | None
    best_share: float | None


def program_roof(program: Program, ceilings: Ceilings) -> Roof | None:
    """Return the roof of a program; None if the ceiling for its type was not measured."""
    from generator.polyhedral.dependences.demand import program_demand  # here, because it loads isl

    return roof(program_demand(program), ceilings)


def run_roof(info: RunInfo) -> Roof | str:
    """Return the roof of a run's program on its device, or why it is unknown."""
    ceilings = kept_ceilings(info.device)
    if ceilings is None:
        return unknown_ceilings(info.device)
    found = program_roof(info.program, ceilings)
    return "there is no ceiling for the type of its numbers" if found is None else found


def unknown_ceilings(device: DeviceInfo) -> str:
    """Return a message that says how to measure the ceilings of a device."""
    return (f"the ceilings of {device.name} ({device.platform}) are not known here; "
            f"`antune suite roofline --device {device.key}` measures them")


def place_run(directory: Path) -> Placed | str:
    """Return the run in `directory` compared with the ceilings of its device, or why that is impossible.

    Raises:
        InputError: there is no readable run.
    """
    with read_store(directory) as store:
        info, summary = store.info(), summarize(store)
    found = run_roof(info)
    if isinstance(found, str):
        return f"{directory}: {found}"

    def share(ms: float | None) -> float | None:
        return None if ms is None else found.share(ms)

    return Placed(str(directory), info.program.name, info.device.name, found.ms, found.limit, summary.default_ms,
                  summary.best_ms, share(summary.default_ms), share(summary.best_ms))
