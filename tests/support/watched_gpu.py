"""The stand-in for a CUDA GPU that watches what kernels do to memory (the fixture `watched_gpu`)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from generator.plan import Plan
from generator.problem import Problem
from generator.target import Target
from metrics.outcome import LaunchFailed, Outcome, Timed, TimedOut
from runners.base import DeviceInfo
from runners.tasks import Lower
from tests.support.cuda_double import found_in, lower_for_host, measured
from tests.support.edits import edited, replaced


@dataclass(frozen=True)
class WatchedGpu:
    """The device, the file with the calls of its driver and what it finds, and a folder for its work."""

    device: DeviceInfo
    calls: Path
    folder: Path

    @property
    def target(self) -> Target:
        """Its capabilities."""
        return self.device.target

    def outcomes(self, found: Problem, plans: Sequence[Plan], lower: Lower = lower_for_host) -> list[Outcome]:
        """The outcomes of `plans`, in order."""
        made = measured(found, self.device, plans, Path(tempfile.mkdtemp(dir=self.folder)), lower)
        return [made[number] for number in range(len(plans))]

    def check(self, found: Problem, plans: Sequence[Plan], lower: Lower = lower_for_host, slow: bool = False) -> None:
        """All results are right, and nothing is found wrong in their kernels. Some but not all may be too `slow`."""
        outcomes = self.outcomes(found, plans, lower)
        wrong = [(plan.to_json(), outcome) for plan, outcome in zip(plans, outcomes, strict=True)
                 if not isinstance(outcome, Timed | TimedOut if slow else Timed)]
        assert not wrong and not found_in(self.calls), (wrong, found_in(self.calls))
        assert any(isinstance(outcome, Timed) for outcome in outcomes), "there is none, or all took too long"

    def check_fault(self, found: Problem, plan: Plan, words: str, old: str, new: str = "", number: int = 0) -> None:
        """Kernels in which `new` is in the place of an `old` (`replaced`) fail, and what is found has these words."""
        self.calls.unlink(missing_ok=True)
        [outcome] = self.outcomes(found, [plan], partial(edited, partial(replaced, old, new, number)))
        said = found_in(self.calls)
        assert isinstance(outcome, LaunchFailed) and words in "".join(said), (outcome, said)
