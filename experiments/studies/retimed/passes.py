"""The measurements of the suite `timing`: two passes over the same plans, then long measurements of the best."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.search.finals import FinalLimits, Ranking, finalists, ranking, sit, times_of, winner
from experiments.search.parts import PARTS, Parts
from experiments.search.sittings import hold_sittings
from experiments.studies.retimed.plans import Material, generated_plans
from experiments.values.records import Asked, Result, best_of
from generator.errors import InputError
from generator.plan import Plan
from metrics.finals import SittingTimes
from metrics.outcome import Timed
from runners.base import NOTHING_KNOWN, DeviceInfo, Job, Runner
from runners.limits import learned

BATCH = 10
LONG_SITTINGS = 12
SLOW = 3.0
"""Plans slower than the best by this factor are not measured for long."""


@dataclass(frozen=True, slots=True)
class Pass:
    """The results of one pass by plan number, and its duration in seconds."""

    results: tuple[Result, ...]
    ranked: Ranking | None
    search_s: float
    final_s: float

    @property
    def one_shot(self) -> int:
        """The plan with the best time."""
        best = best_of(self.results)
        assert best is not None
        return best.evaluation.number

    @property
    def winner(self) -> int:
        """The plan that won the final."""
        best = winner(self.results, self.ranked)
        assert best is not None
        return best.evaluation.number

    def timed(self) -> dict[int, Timed]:
        """Return the plans that have a time."""
        return {r.evaluation.number: r.outcome for r in self.results if isinstance(r.outcome, Timed)}


@dataclass(frozen=True, slots=True)
class Measured:
    """All measurements. `long` are the sittings of the finalists of both passes, `wide` those of all plans."""

    device: DeviceInfo
    plans: tuple[Plan, ...]
    passes: tuple[Pass, Pass]
    long: tuple[SittingTimes, ...]
    wide: tuple[SittingTimes, ...]
    long_s: float


def measure(
    material: Material, count: int, final_s: float, note: Callable[[str], None], parts: Parts = PARTS
) -> Measured:
    """Time the plans twice, each pass in fresh processes with a final of at most `final_s` seconds; then for long.

    Raises:
        InputError: there is no such device, or no plan is valid.
    """
    with _opened(material, parts) as runner:
        device = runner.device
    plans = material.stored or tuple(
        generated_plans(material.problem.program, device.target, material.options, count, parts))
    passes = []
    for number in (1, 2):
        note(f"pass {number}: timing {len(plans)} plans on {device.name}")
        with _opened(material, parts) as runner:
            passes.append(_pass(runner, plans, material, number, final_s))
    first, second = passes
    begin = time.monotonic()
    with _opened(material, parts) as runner:
        chosen = sorted({n for one in passes for n in _named(one, material.options.timing.finalists)})
        note(f"measuring {len(chosen)} of them for long, in turns")
        long = _sittings(runner, plans, chosen, material.options.seed, LONG_SITTINGS)
        fast = sorted(_not_slow(first) & _not_slow(second))
        note(f"measuring {len(fast)} of them for long, to see how good the intervals are")
        wide = _sittings(runner, plans, fast, material.options.seed + 1, LONG_SITTINGS // 2)
    return Measured(device, plans, (first, second), long, wide, time.monotonic() - begin)


@contextmanager
def _opened(material: Material, parts: Parts) -> Iterator[Runner]:
    with TemporaryDirectory(prefix="antune-timing-") as folder, closing(
            parts.open_runner(material.problem, material.place, material.limits, Path(folder))) as runner:
        yield runner


def _pass(runner: Runner, plans: Sequence[Plan], material: Material, number: int, final_s: float) -> Pass:
    begin, bounds = time.monotonic(), NOTHING_KNOWN
    results: list[Result] = []
    for first in range(0, len(plans), BATCH):
        jobs = [Job(n, plan) for n, plan in enumerate(plans[first:first + BATCH], first)]
        outcomes = dict(runner.evaluate(jobs, bounds))
        bounds = learned(bounds, [outcomes[job.number] for job in jobs])
        results += [Result(Asked(job.number, 0, 0, job.plan), outcomes[job.number], "", 0.0) for job in jobs]
    search_s, begin = time.monotonic() - begin, time.monotonic()
    options = material.options
    chosen = finalists(results, options.timing.finalists)
    if best_of(results) is None:
        raise InputError("none of the plans is valid on this device: there is nothing to compare; see `antune tune`")
    final = tuple(sit(runner, chosen, results[0], options.seed + number, FinalLimits(final_s)))
    return Pass(tuple(results), ranking(results, final), search_s, time.monotonic() - begin)


def _named(one: Pass, most: int) -> set[int]:
    return {one.one_shot, one.winner, *(r.evaluation.number for r in finalists(one.results, most))}


def _not_slow(one: Pass) -> set[int]:
    times = {number: timed.median_ms for number, timed in one.timed().items()}
    return {number for number, ms in times.items() if ms <= SLOW * min(times.values())}


def _sittings(runner: Runner, plans: Sequence[Plan], chosen: Sequence[int], seed: int,
              count: int) -> tuple[SittingTimes, ...]:
    jobs = [Job(number, plans[number]) for number in chosen]
    return tuple(times_of(outcomes) for outcomes in hold_sittings(runner, jobs, seed, count))
