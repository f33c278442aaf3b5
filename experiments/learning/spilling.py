"""Plans whose kernels spill registers are passed over before anything is measured (Anderson et al. 2021, section 6.1).

How many registers a kernel needs depends on the device's compiler, and no cost model foresees it. So the plans with the
lowest predicted times are compiled, and those that spill are left out. If all plans spill, those that spill little more
than the least are taken. Where the compiler reports nothing (`backends.reports_spills`), nothing is compiled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from experiments.learning.samples import Sample
from generator.errors import InputError
from generator.problem import Problem
from metrics.outcome import Compilation, Failed
from runners.backends import reports_spills
from runners.base import CompilingRunner, DeviceInfo, Job, Limits, Runner
from runners.registry import open_runner

MOST = 1.5
"""If all plans spill: the most that a plan may spill, over the least."""
TOGETHER = 8
"""Plans that are compiled before it is known whether more are needed."""


@dataclass(frozen=True, slots=True)
class Compiling:
    """A program whose plans are compiled for a device. `problem` is called only to compile something. `name`: its name
    in messages, which `tell` gets. `runner`: the one that will run plans later; it keeps what it has compiled. None: no
    plan will be run.
    """

    problem: Callable[[], Problem]
    name: str
    device: DeviceInfo
    limits: Limits
    tell: Callable[[str], None]
    runner: Runner | None = None


def likely_fastest(found: Sequence[Sample], count: int, where: Compiling) -> tuple[Sample, ...]:
    """Return up to `count` of the samples, with the lowest predicted times: of those that do not spill registers, if
    the device's compiler reports it. Raises InputError if none of them can be compiled.
    """
    ordered = sorted(found, key=lambda sample: sample.predicted_ms)
    if not reports_spills(where.device.key):
        return tuple(ordered[:count])
    kept, spilling, failed = list[Sample](), list[tuple[Sample, int]](), list[str]()
    with closing(_compiled(ordered, where)) as answers:
        for sample, answer in answers:
            if not isinstance(answer, Compilation):
                failed.append(answer.message)
            elif answer.spills:
                spilling.append((sample, answer.spills))
            else:
                kept.append(sample)
            if len(kept) == count:
                break
    if failed:
        reason = failed[0].partition("\n")[0]
        where.tell(f"{where.name}: passes over {_plans(len(failed))} that cannot be compiled: {reason}")
    if kept and spilling:
        where.tell(f"{where.name}: passes over {_plans(len(spilling))} of those with the lowest predicted times, "
                   f"because the kernels spill registers ({_amounts([spills for _, spills in spilling])})")
    return tuple(kept) or _spilling_least(spilling, count, where)


@contextmanager
def opened(problem: Problem, device: DeviceInfo, limits: Limits) -> Iterator[Runner]:
    """Open a runner with a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="antune-learning-") as folder, closing(
            open_runner(problem, device.key, limits, Path(folder))) as runner:
        yield runner


def _compiled(ordered: Sequence[Sample], where: Compiling) -> Generator[tuple[Sample, Compilation | Failed]]:
    """Yield the samples with what the compiler reports about them, a few at a time."""
    with nullcontext(where.runner) if where.runner else _own_runner(where) as runner:
        assert isinstance(runner, CompilingRunner)
        for first in range(0, len(ordered), TOGETHER):
            part = ordered[first:first + TOGETHER]
            for number, answer in runner.compiled([Job(k, sample.plan) for k, sample in enumerate(part)]):
                yield part[number], answer


def _own_runner(where: Compiling) -> AbstractContextManager[Runner]:
    return opened(where.problem(), where.device, where.limits)


def _spilling_least(spilling: Sequence[tuple[Sample, int]], count: int, where: Compiling) -> tuple[Sample, ...]:
    """Return up to `count` of the plans, which all spill, with the lowest predicted times: of those that spill little.
    """
    if not spilling:
        raise InputError(f"none of the plans of {where.name} can be compiled; see `antune doctor`")
    limit = MOST * min(spills for _, spills in spilling)
    few = [(sample, spills) for sample, spills in spilling if spills <= limit]
    those = "the one plan that spills least" if len(few) == 1 else f"{len(few)} plans that spill least"
    where.tell(f"{where.name}: the kernels of every plan spill registers; takes the lowest predicted time of "
               f"{those} ({_amounts([spills for _, spills in few])})")
    return tuple(sample for sample, _ in few[:count])


def _plans(count: int) -> str:
    return "one plan" if count == 1 else f"{count} plans"


def _amounts(spills: Sequence[int]) -> str:
    least, most = min(spills), max(spills)
    return f"{least} bytes per thread" if least == most else f"{least} to {most} bytes per thread"
