"""The runner that answers from recorded measurements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from generator.target import Target
from metrics.outcome import Durations, Illegal, Outcome
from runners.base import NOTHING_KNOWN, Bounds, DeviceInfo, Job, Sitting
from runners.replay.recording import Recording

_UNKNOWN = Illegal("this configuration is not in the recording", Durations())


class ReplayRunner:
    """Returns outcomes for the Plans of a Recording (`Recording.plans`) at once; any other Plan is illegal.

    It never stops early: the outcome is the recorded one, for any best time.
    """

    def __init__(self, recording: Recording) -> None:
        """Serve `recording`."""
        self._recording = recording
        self._outcomes: dict[object, Outcome] = {
            plan.parameters: row.outcome for plan, row in zip(recording.plans, recording.rows, strict=True)}

    @property
    def device(self) -> DeviceInfo:
        """The recorded device by name; its limits are unknown, so they are those of a typical GPU."""
        name, driver = self._recording.device, self._recording.origin.driver
        target = Target(name, "opencl", 1024, (1024, 1024, 64), 48 * 1024, 16, True, False)
        return DeviceInfo(f"recording:{self._recording.name}", name, "recording", driver or "unknown", target)

    def evaluate(self, jobs: Sequence[Job], bounds: Bounds = NOTHING_KNOWN) -> Iterator[tuple[int, Outcome]]:
        """Yield (job number, outcome) in the order of `jobs`."""
        for job in jobs:
            yield job.number, self._outcomes.get(job.plan.parameters, _UNKNOWN)

    def remeasure(self, jobs: Sequence[Job], sitting: Sitting) -> Iterator[tuple[int, Outcome]]:
        """Yield the recorded outcome of every job once more."""
        del sitting
        for job in jobs:
            yield job.number, self._outcomes.get(job.plan.parameters, _UNKNOWN)

    def close(self) -> None:
        """Do nothing."""
