"""Measure configurations of a call on a device; processes start with the first one that is not in the cache."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from antune.kernel_tuner.call import Call
from antune.kernel_tuner.making import CallMaker
from experiments.search.templates import answered
from explorer.exhaustive import Exhaustive
from generator.errors import InputError
from generator.plan import Plan
from generator.problem import Problem, Reference
from graph.template import TemplateSpace
from metrics.outcome import Outcome, Timed, WrongResult
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Limits
from runners.limits import learned
from runners.many import Place
from runners.pool_runner import DeviceRunner

FIRST_TRIES = 5
"""The number of configurations that are tried for reference results if no answer is given."""


@dataclass(slots=True)
class Bench:
    """Measures configurations, `iterations` runs each; `close` ends its processes."""

    call: Call
    device: DeviceInfo
    space: TemplateSpace
    iterations: int
    _opened: ExitStack = field(default_factory=ExitStack)
    _runner: DeviceRunner | None = None
    _results: Path | None = None
    _bounds: Bounds = NOTHING_KNOWN

    def measure(self, plans: Sequence[Plan]) -> Iterator[tuple[int, Outcome, Mapping[str, Any]]]:
        """Yield position in `plans`, outcome and observers' results, as they arrive.

        Raises:
            InputError: the device does not support the language, or, without an answer, the first configurations fail.
        """
        if not plans:
            return
        runner, found = self._runner or self._open(), list[Outcome]()
        for number, outcome in runner.evaluate([Job(number, plan) for number, plan in enumerate(plans)], self._bounds):
            judged, seen = self._judged(plans[number], outcome)
            found.append(judged)
            yield number, judged, seen
        self._bounds = learned(self._bounds, found)

    def close(self) -> None:
        """End all processes, and remove all temporary files."""
        self._opened.close()

    def _open(self) -> DeviceRunner:
        limits = Limits(min_repeats=self.iterations, max_repeats=self.iterations, least_s=0.0, time_s=inf, give_up=inf)
        make = CallMaker(self.call, self.device.target.dialect)
        folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory(prefix="antune-kernel-"))).resolve()
        problem = self._answered(limits, folder, make)
        self._results = folder if self.call.verify is not None or self.call.observers else None
        runner = DeviceRunner(problem, self.device, limits, folder, make=make, results=self._results)
        self._opened.enter_context(closing(runner))
        self._runner = runner
        return runner

    def _answered(self, limits: Limits, folder: Path, make: CallMaker) -> Problem:
        """Return the problem with the expected results of all configurations: the answer, or the first one's results.
        """
        call = self.call
        given = call.answer is not None or call.verify is not None
        reference = Reference(call.inputs, call.outputs, (), "answer" if given else "first", "", ())
        problem = Problem(call.template, reference)
        if given or not call.template.outputs:
            return problem
        place = Place((self.device.key,), found=(self.device,))
        for number, walk in enumerate(walks := Exhaustive(self.space).ask(FIRST_TRIES)):
            try:
                return answered(problem, place, limits, folder, make, walk.plan)
            except InputError:
                if number == len(walks) - 1:
                    raise
        raise AssertionError("a space has a configuration")

    def _judged(self, plan: Plan, outcome: Outcome) -> tuple[Outcome, Mapping[str, Any]]:
        """Return the outcome after the user's own checks of the results. Exceptions from them count as wrong results.
        """
        if self._results is None or not isinstance(outcome, Timed):
            return outcome, {}
        with np.load(self._results / f"{outcome.code_hash}.npz") as data:
            got = [data[array.name] if array.name in data and self._is_wanted(number) else None
                   for number, array in enumerate(self.call.template.arrays)]
        what, seen = "the function `verify`", dict[str, Any]()
        try:
            if not self._verified(got):
                return WrongResult(f"{what} refuses the results", outcome.durations), {}
            for observer in self.call.observers:
                what = f"the observer {type(observer).__name__}"
                if hasattr(observer, "register_configuration"):
                    observer.register_configuration(dict(plan.parameters))
                observer.process_output(self.call.answer, got)
                seen |= observer.get_results()
        except Exception as error:  # noqa: BLE001 - it is the user's own code
            return WrongResult(f"{what} fails: {type(error).__name__}: {error}", outcome.durations), {}
        return outcome, seen

    def _verified(self, got: Sequence[Any]) -> bool:
        verify = self.call.verify
        if verify is None:
            return True
        more = {"atol": self.call.atol} if "atol" in inspect.signature(verify).parameters else {}
        return bool(verify(self.call.answer, got, **more))

    def _is_wanted(self, number: int) -> bool:
        answer = self.call.answer
        return answer is None or (number < len(answer) and answer[number] is not None)
