"""Measured plans for a calibration, from existing runs or from runs made for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments.ceilings.stage_registers import stage_registers
from experiments.ceilings.stage_times import stage_times
from experiments.run import tune
from experiments.search.costs import planned
from experiments.search.places import find_device as device_for_runs
from experiments.store import is_run, read_store
from experiments.suites.image_pipelines import SizeName, pipeline
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Result, RunInfo
from explorer.registry import PLAN_MAKERS
from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.program import Program
from metrics.costs.base import Cost, PlannedKernel
from metrics.costs.calibration import FEWEST, PAIRS, Measured, polymage_of, usual_calibration
from metrics.costs.constants import Calibration
from metrics.costs.device import CostDevice, cost_device
from metrics.costs.polymage import TERMS, PolyMage
from metrics.costs.sioutas import GPU, HOST, Sioutas
from metrics.outcome import Timed
from runners.base import DeviceInfo
from runners.devices import choose, find_device
from runners.many import model_key

PROGRAMS = ("blur", "unsharp", "harris", "bilateral_grid", "camera_pipe", "interpolate")
"""Programs of the suite, for devices without existing runs."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Runs to make: pipelines of the suite at this size, with this number of plans each, stored below `out`."""

    programs: tuple[str, ...]
    device: str | None
    evaluations: int
    out: Path
    size: SizeName = "medium"


class _Told:
    """A reporter that passes on warnings only."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def note(self, text: str) -> None:
        """See experiments.run.Reporter."""
        if text.startswith("warning"):
            self._tell(text)

    def begin(self, info: RunInfo, budget: Budget, stored: tuple[Result, ...], elapsed_s: float) -> None:
        """Do nothing."""

    def result(self, result: Result) -> None:
        """Do nothing."""


def make_runs(wanted: Wanted, tell: Callable[[str], None]) -> list[Path]:
    """Return the directories of the runs; existing ones are not made again.

    Half of the plans are those of the models and their neighbours, the others are random, because the constants have to
    separate good plans from bad ones. Raises InputError for an unknown pipeline or device, before anything is measured.
    """
    programs = [pipeline(name) for name in wanted.programs]
    device_for_runs(wanted.device)
    found = []
    for one in programs:
        for explorer in ("local", "random"):
            directory = wanted.out / f"{one.name}-{explorer}"
            found.append(directory)
            if is_run(directory):
                continue
            tell(f"measuring {one.name}: {wanted.evaluations} plans by {explorer}")
            models = PLAN_MAKERS if explorer == "local" else ()
            options = RunOptions(
                str(one.file),
                Compilation(),
                Budget(evaluations=wanted.evaluations),
                parameters=one.parameters_at(wanted.size),
                explorer=explorer,
                device=wanted.device,
                space="pipeline",
                models=models,
            )
            tune(replace(options, timing=replace(options.timing, finalists=0)), directory, _Told(tell))
    return found


@dataclass(frozen=True, slots=True)
class Tuned:
    """A program with its timed plans, and the directories of its runs."""

    program: Program
    plans: tuple[tuple[Plan, float], ...]
    directories: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """Programs with their timed plans, all measured on `device`."""

    device: DeviceInfo
    programs: tuple[Tuned, ...]


def read_runs(directories: Sequence[Path], wanted: str | None = None) -> Runs:
    """Return the plans of these runs. Raises InputError if a directory is not a run, or the runs are of several
    devices, or of another one than `wanted` (None: any).
    """
    runs = []
    for directory in directories:
        with read_store(directory) as store:
            runs.append((store.info(), store.results()))
    devices = {info.device.key: info.device for info, _ in runs}
    if len(devices) != 1:
        raise InputError(f"the runs are of {len(devices)} devices ({', '.join(sorted(devices))}); calibrate for one")
    [device] = devices.values()
    if wanted is not None and not _means(wanted, device):
        raise InputError(f"--device {wanted}: the given runs are of the device `{device.key}`, whose constants they "
                         "determine; leave --device out, or give runs of that device")
    programs = dict[str, Tuned]()
    for directory, (info, results) in zip(directories, runs, strict=True):
        plans = [(one.evaluation.plan, one.outcome.median_ms) for one in results if isinstance(one.outcome, Timed)]
        known = programs.get(info.program.digest, Tuned(info.program, (), ()))
        programs[info.program.digest] = Tuned(known.program, (*known.plans, *plans), (*known.directories, directory))
    return Runs(device, tuple(programs.values()))


def _means(wanted: str, device: DeviceInfo) -> bool:
    """Return whether `wanted`, as in --device, is the model of this device, which need not be here unless it is a
    number.
    """
    if wanted.isdigit():
        return model_key(device_for_runs(wanted).key) == model_key(device.key)
    try:
        return choose((device,), wanted.partition(":")[0]) == device
    except InputError:
        return False


def usual_constants(runs: Runs, stages: bool, tell: Callable[[str], None]) -> Calibration:
    """Return the default constants for the runs' device; with `stages`, the times and registers of their stages, too.

    Raises InputError if stages are to be measured, and the device or its compiler is not here.
    """
    usual = usual_calibration(cost_device(runs.device.target), runs.device.key)
    if not stages:
        return usual
    times = _measured_stages(runs, tell)
    registers = stage_registers([one.program for one in runs.programs], runs.device.target, tell)
    return replace(usual, stages=tuple(sorted(times.items())), registers=tuple(sorted(registers.items())))


def _measured_stages(runs: Runs, tell: Callable[[str], None]) -> dict[str, float]:
    """Return the times of an element of each stage on the runs' device."""
    try:
        device, found = find_device(runs.device.key), dict[str, float]()
    except InputError as error:
        raise InputError(f"--stages measures on the device of the runs, `{runs.device.key}`: {error}") from None
    with tempfile.TemporaryDirectory(prefix="antune-stages-") as folder:
        for one in runs.programs:
            found |= stage_times(one.program, device, Path(folder), tell)
        return found


def measured_plans(runs: Runs, usual: Calibration, tell: Callable[[str], None]) -> list[Measured]:
    """Return the plans of each program that both models can judge; `tell` receives a line for each program that has too
    few. Raises InputError if too few programs are left.
    """
    device = cost_device(runs.device.target)
    every = [(one, _measured(one.program, one.plans, device, usual)) for one in runs.programs]
    found = [measured for _, measured in every if len(measured.times_ms) >= FEWEST]
    names = {measured.program for measured in found}
    if len(names) < 2:
        counts = "; ".join(_counted(one, measured) for one, measured in every)
        raise InputError(f"a calibration needs runs of two or more pipelines with at least {FEWEST} timed plans that "
                         f"both models can judge, and {len(names) or 'none'} of these has so many: {counts}; give runs "
                         "of other pipelines, or longer ones (antune tune FILE.py --evaluations 40)")
    for one, measured in every:
        if len(measured.times_ms) < FEWEST:
            tell(f"left out, with fewer than {FEWEST} timed plans that both models can judge: "
                 f"{_counted(one, measured)}")
    return found


def _counted(one: Tuned, measured: Measured) -> str:
    """Return `blur (antune-runs/blur-1, antune-runs/blur-2): 3 of 5 timed plans`."""
    count = len(dict(one.plans))
    return (f"{one.program.name} ({', '.join(map(str, one.directories))}): {len(measured.times_ms)} of {count} timed "
            f"plan{'s' * (count != 1)}")


def _measured(program: Program, plans: Sequence[tuple[Plan, float]], device: CostDevice,
              usual: Calibration) -> Measured:  # fmt: skip
    costs, terms, times = [], [], []
    model = polymage_of(replace(usual, weights=(1.0,) * len(TERMS)))
    for plan, ms in dict(plans).items():
        try:
            kernels = planned(program, plan)
        except IllegalPlan:
            continue
        ours, theirs = _costs(kernels, device), _terms(kernels, device, model)
        if ours is not None and theirs is not None:
            costs.append(ours)
            terms.append(theirs)
            times.append(ms)
    return Measured(program.name, np.array(costs), np.array(terms), tuple(times))


def _costs(kernels: Sequence[PlannedKernel], device: CostDevice) -> list[float] | None:
    """Return the cost of a plan by the model of Sioutas et al. for each pair of constants; None if it is refused."""
    usual, found = HOST if device.host else GPU, []
    for load_cost, cached_bytes in PAIRS:
        model = Sioutas(replace(usual, load_cost=load_cost, cached_bytes=cached_bytes))
        judged = [model.judge(kernel, device) for kernel in kernels]
        numbers = [one.number for one in judged if isinstance(one, Cost)]
        if len(numbers) < len(judged):
            return None
        found.append(sum(numbers))
    return found


def _terms(kernels: Sequence[PlannedKernel], device: CostDevice, model: PolyMage) -> list[float] | None:
    """Return PolyMage-GPU's terms of a plan, weighted by `model`; None if the plan is refused."""
    total = np.zeros(len(TERMS))
    for kernel in kernels:
        judged = model.judge(kernel, device)
        if not isinstance(judged, Cost):
            return None
        total += [dict(_named(judged))[name] for name in TERMS]
    return [*map(float, total)]


def _named(cost: Cost) -> Iterator[tuple[str, float]]:
    return ((term.name, term.value) for term in cost.terms)
