"""`tune_kernel`: the search itself."""

from __future__ import annotations

import inspect
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from antune.kernel_tuner.caching import ERROR, Cache, Entry, open_cache
from antune.kernel_tuner.call import Call, make_call
from antune.kernel_tuner.making import CallMaker, within
from antune.kernel_tuner.results import Objective, entry_of, make_objective
from antune.kernel_tuner.strategies import Strategy, find_strategy
from experiments.search.templates import answered
from explorer.base import Explorer
from explorer.exhaustive import Exhaustive
from explorer.registry import make_explorer
from generator.errors import InputError
from generator.json_fields import RecordingEntry
from generator.problem import Problem, Reference
from graph.template import TemplateSpace
from graph.walk import Walk
from metrics.outcome import Durations, Outcome, Timed, WrongResult
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits
from runners.devices import choose, survey
from runners.limits import learned
from runners.many import Place
from runners.pool_runner import DeviceRunner
from runners.replay.kernel_tuner import failure, timed

FIRST_TRIES = 5
"""Configurations that are tried for an answer where none is given."""
TIMES = ("framework_time", "strategy_time", "compile_time", "verification_time", "benchmark_time")
UNSUPPORTED = ("texmem_args", "compiler", "compiler_options", "parallel", "observers", "objectives")


def tune_kernel(kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Sequence[Any],
                tune_params: Mapping[str, Sequence[Any]], grid_div_x: Any = None, grid_div_y: Any = None,
                grid_div_z: Any = None, restrictions: Any = None, answer: Sequence[Any] | None = None,
                atol: float = 1e-6, verify: Callable[..., Any] | None = None, verbose: bool = False,
                lang: str | None = None, device: int | str = 0, platform: int | str = 0,
                smem_args: Mapping[str, Any] | None = None, cmem_args: Mapping[str, Any] | None = None,
                texmem_args: Any = None, compiler: Any = None, compiler_options: Any = None,
                defines: Mapping[str, Any] | None = None, log: Any = None, iterations: int = 7,
                block_size_names: Sequence[str] | None = None, quiet: bool = False, strategy: str | None = None,
                strategy_options: Mapping[str, Any] | None = None, cache: str | Path | None = None,
                metrics: Mapping[str, Any] | None = None, simulation_mode: bool | None = None, parallel: Any = None,
                observers: Any = None, objective: str | None = None, objective_higher_is_better: bool | None = None,
                objectives: Any = None, seed: int | None = None) -> tuple[list[Entry], dict[str, Any]]:
    """Find the best values of a kernel's parameters; the arguments are those of Kernel Tuner's function of this name.

    Returns the list of evaluated configurations, each with its parameters, `time` (mean, ms), `times`, metrics and what
    evaluating it took, and a dictionary with `best_config`, `device_name` and totals. What differs from Kernel Tuner is
    in docs/kernel_tuner.md; above all, a failing or wrong configuration never ends a search.

    Raises:
        InputError: an argument is not supported, makes no sense, or does not fit the kernel.
    """
    begin = time.perf_counter()
    _refuse((texmem_args, compiler, compiler_options, parallel, observers, objectives))
    del verbose, log, platform  # messages are those of the exceptions; devices are antune's
    call = make_call(kernel_name, kernel_source, problem_size, arguments, tune_params,
                     grid_div=(grid_div_x, grid_div_y, grid_div_z), restrictions=restrictions, answer=answer, atol=atol,
                     verify=verify, lang=lang, smem_args=smem_args, cmem_args=cmem_args,
                     block_size_names=block_size_names, defines=defines)
    sought = make_objective(objective, objective_higher_is_better, metrics)
    plan = find_strategy(strategy, strategy_options)
    found = _device(call, device)
    space = TemplateSpace(call.template.parameters, (*call.restrictions, *within(call, found.target.max_threads)))
    header = _header(call, found, problem_size, tune_params, sought)
    with closing(open_cache(cache, header, bool(simulation_mode))) as kept:
        search = _Search(call, sought, plan, make_explorer(plan.explorer, space, seed or 0), kept, found, quiet, begin)
        entries = search.simulated() if simulation_mode else search.run(space, iterations)
    return entries, search.environment(entries)


def _refuse(given: tuple[Any, ...]) -> None:
    if refused := [name for name, value in zip(UNSUPPORTED, given, strict=True) if value]:
        raise InputError(f"{refused[0]} is not supported by antune's tune_kernel (docs/kernel_tuner.md); leave it out")


def _device(call: Call, device: int | str) -> DeviceInfo:
    """The device of the call: a number among antune's that take the language, or a selector as --device takes it."""
    seen = survey()
    if isinstance(device, str):
        return choose(seen.devices, device, seen.broken)
    fitting = [one for one in seen.devices if one.target.dialect == call.template.dialect]
    if not 0 <= device < len(fitting):
        raise InputError(f"device is {device}, and {len(fitting)} devices take {call.template.dialect}; `antune "
                         "devices` lists them, and why others do not work")
    return fitting[device]


def _header(call: Call, device: DeviceInfo, problem_size: Any, tune_params: Mapping[str, Sequence[Any]],
            sought: Objective) -> dict[str, Any]:
    return {"device_name": device.name, "kernel_name": call.template.kernel,
            "problem_size": "callable" if callable(problem_size) else problem_size,
            "tune_params_keys": list(tune_params), "tune_params": {name: list(v) for name, v in tune_params.items()},
            "objective": sought.text}


@dataclass(slots=True)
class _Search:
    """One search; `spent_s` is what explorer and cache took."""

    call: Call
    sought: Objective
    strategy: Strategy
    explorer: Explorer
    cache: Cache
    device: DeviceInfo
    quiet: bool
    begin_s: float
    strategy_s: float = 0.0
    entries: list[Entry] = field(default_factory=list)

    def run(self, space: TemplateSpace, iterations: int) -> list[Entry]:
        """Evaluate on the device until the strategy's limits are reached or all is known."""
        limits = Limits(min_repeats=iterations, max_repeats=iterations, least_s=0.0, time_s=inf, give_up=inf)
        make = CallMaker(self.call, self.device.target.dialect)
        with tempfile.TemporaryDirectory(prefix="antune-kernel-") as name:
            folder = Path(name).resolve()
            problem = self._answered(space, limits, folder, make)
            results = folder if self.call.verify is not None else None
            runner = DeviceRunner(problem, self.device, limits, folder, make=make, results=results)
            bounds = NOTHING_KNOWN
            with closing(runner):
                while walks := self._ask():
                    bounds = self._evaluate(walks, runner, bounds, results)
        return self.entries

    def simulated(self) -> list[Entry]:
        """Evaluate from the cache alone."""
        while walks := self._ask():
            for walk in walks:
                entry = self._known(walk)
                if entry is None:
                    raise InputError(f"the cache has no entry for {self._key(walk)}; simulation_mode needs all "
                                     "configurations that a search asks for")
                self._tell(walk, _outcome(entry, self._key(walk)), entry)
        return self.entries

    def environment(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """What Kernel Tuner returns beside the results."""
        best = self.sought.best(entries)
        totals = {f"total_{name}": sum(entry.get(name, 0.0) for entry in entries) for name in TIMES}
        if best is not None and not self.quiet:
            shown = ", ".join(f"{name}={best[name]}" for name in (*self._names, self.sought.text) if name in best)
            print(f"best of {len(entries)}: {shown}")
        return {"device_name": self.device.name, **({} if best is None else {"best_config": best}), **totals,
                "total_time": 1e3 * (time.perf_counter() - self.begin_s)}

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.call.template.parameters)

    def _ask(self) -> Sequence[Walk]:
        start = time.perf_counter()
        left = min(self.strategy.batch, self.strategy.evaluations - len(self.entries))
        if left < 1 or start - self.begin_s >= self.strategy.seconds:
            return ()
        walks = self.explorer.ask(int(left))
        self.strategy_s = (time.perf_counter() - start) / max(1, len(walks))
        return walks

    def _answered(self, space: TemplateSpace, limits: Limits, folder: Path, make: CallMaker) -> Problem:
        """The problem with what all configurations have to compute: the answer, or the first one's results."""
        call = self.call
        given = call.answer is not None or call.verify is not None
        reference = Reference(call.inputs, call.outputs, (), "answer" if given else "first", "", ())
        problem = Problem(call.template, reference)
        if given:
            return problem
        for number, walk in enumerate(walks := Exhaustive(space).ask(FIRST_TRIES)):
            try:
                return answered(problem, Place((self.device.key,)), limits, folder, make, walk.plan)
            except InputError:
                if number == len(walks) - 1:
                    raise
        raise AssertionError("a space has a configuration")

    def _evaluate(self, walks: Sequence[Walk], runner: DeviceRunner, bounds: Bounds, results: Path | None) -> Bounds:
        new = {number: walk for number, walk in enumerate(walks) if self._known(walk) is None}
        start = time.perf_counter()
        found = dict(runner.evaluate([Job(number, walk.plan) for number, walk in new.items()], bounds)) if new else {}
        measured = [self._verified(found[number], results) for number in new]
        spent_s = sum(one.durations.compile_s + one.durations.check_s + one.durations.time_s for one in measured)
        framework_ms = max(0.0, time.perf_counter() - start - spent_s) * 1e3 / max(1, len(new))
        outcomes = dict(zip(new, measured, strict=True))
        for number, walk in enumerate(walks):
            known = self._known(walk)
            if number in outcomes and known is None:
                entry = entry_of(self._configuration(walk), outcomes[number], self.strategy_s * 1e3, framework_ms)
                known = self.sought.measured(entry)
                self.cache.add(self._key(walk), known)
            assert known is not None
            self._tell(walk, outcomes.get(number) or _outcome(known, self._key(walk)), known)
        return learned(bounds, measured)

    def _verified(self, outcome: Outcome, results: Path | None) -> Outcome:
        """What the user's own function says of the results."""
        verify = self.call.verify
        if results is None or verify is None or not isinstance(outcome, Timed):
            return outcome
        file = results / f"{outcome.code_hash}.npz"
        with np.load(file) as data:
            got = [data[array.name] if array.name in data and self._is_wanted(number) else None
                   for number, array in enumerate(self.call.template.arrays)]
        takes = inspect.signature(verify).parameters
        right = verify(self.call.answer, got, atol=self.call.atol) if "atol" in takes else verify(self.call.answer, got)
        return outcome if right else WrongResult("the function `verify` refuses the results", outcome.durations)

    def _is_wanted(self, number: int) -> bool:
        answer = self.call.answer
        return answer is None or (number < len(answer) and answer[number] is not None)

    def _tell(self, walk: Walk, outcome: Outcome, entry: Entry) -> None:
        entry = self.sought.measured(entry)
        self.entries.append(entry)
        self.explorer.tell(walk, self.sought.told(outcome, entry))
        if not self.quiet:
            values = ", ".join(f"{name}={entry[name]}" for name in self._names)
            shown = [f"{name}={entry[name]:.4g}" for name in self.sought.metrics if isinstance(entry.get(name), float)]
            what = entry.get("message", entry[ERROR]) if ERROR in entry else f"time={entry['time']:.4g}ms"
            print(", ".join([values, str(what).splitlines()[0], *shown]))

    def _configuration(self, walk: Walk) -> dict[str, Any]:
        values = dict(walk.plan.parameters)
        return {name: values[name] for name in self._names}

    def _key(self, walk: Walk) -> str:
        return ",".join(str(value) for value in self._configuration(walk).values())

    def _known(self, walk: Walk) -> Entry | None:
        return self.cache.entries.get(self._key(walk))


def _outcome(entry: Entry, key: str) -> Outcome:
    """The outcome that an entry of a cache stands for. Raises InputError where it says none."""
    place = RecordingEntry(Path("cache"), key)
    error = entry.get(ERROR, entry.get("time"))
    if isinstance(error, str):
        return failure(error, Durations(), place)
    times = place.times(entry.get("times") or [], "times")
    return timed(place.time(entry.get("time"), "time"), times, key, Durations())
