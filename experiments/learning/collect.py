"""Measures plans of random pipelines: `python -m experiments.learning.collect FILE [--seeds A-B] [--plans N]
[--programs dag|integers|layers|images|pixels|lookups]`.

Plans are random. With `--guided SHARE`, that share of the draws are samples of greedy searches with a model: a search
finds the plans that its model judges too favourably, and only their measured times tell the next model so.

FILE gets one row per plan, with whether it is random, as soon as it is measured, so that the command may be stopped at
any time; started again, it goes on. Use `--realtime` on a machine that does other work, and another range of `--seeds`
for programs to test on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, assert_never

import numpy as np
import typer

from experiments.learning.database import Database
from experiments.learning.random_plans import random_plan
from experiments.learning.samples import sampled_plans, space_of
from experiments.learning.series import LIMITS, Origin, series_of
from experiments.script import run
from experiments.search.places import find_device
from generator.errors import AntuneError, InputError
from generator.frontend_c.source import Compilation
from generator.plan import Plan
from generator.problem import Problem, program_of
from generator.program import Program
from generator.reading import read_problem, read_program
from generator.target import Target
from metrics.costs.learned.file import read_model
from metrics.costs.learned.model import SHIPPED, Learned
from runners.base import DeviceInfo, Job, Limits
from runners.registry import open_runner

PROGRAMS = Path(__file__).parent / "programs"
RANDOM = PROGRAMS / "random_dag.py"
SIZES = ((384, 256), (512, 384), (640, 480), (1024, 768), (1536, 1024))
SMALL = ((32, 32), (64, 48), (96, 64), (128, 96))
"""Sizes of `layers`, whose elements are long sums."""
Programs: TypeAlias = Literal["dag", "integers", "layers", "images", "pixels", "lookups"]
BATCH = 16


def main(file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)], seeds: str = "0-199",
         plans: Annotated[int, typer.Option(min=1)] = 100, device: str | None = None,
         minutes: Annotated[float, typer.Option(min=0.0)] = 60.0,
         guided: Annotated[float, typer.Option(min=0.0, max=0.9)] = 0.0, model: Path | None = None,
         programs: Programs = "dag", realtime: bool = False) -> None:
    """Measure `plans` plans of the random pipeline of each seed, for so many minutes at most; the share `guided` of
    the draws are samples of `model` (by default antune's own), of which more are repeated than of random plans. With
    `--realtime`, at real-time priority.
    """
    found, until = find_device(device), time.monotonic() + 60.0 * minutes
    if model is not None and not guided:
        raise InputError("--model is the model of the plans that --guided asks for; give a share, such as --guided 0.5")
    sampler = Sampler(guided, Learned(read_model(model or SHIPPED)) if guided else None)
    limits = replace(LIMITS, realtime=realtime)
    with closing(Database(file, found.key, found.name)) as base:
        for seed in range_of(seeds):
            if time.monotonic() < until:
                try:
                    count = collect(base, random_origin(seed, programs), found, plans, until, sampler, limits)
                    print(f"pipeline {seed}: {count} plans, {base.count()} in all", flush=True)
                except AntuneError as error:
                    print(f"pipeline {seed}: {error}", flush=True)


def range_of(text: str) -> range:
    """Return 3 to 7 for `3-7`. Raises InputError."""
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal()):
        raise InputError(f"--seeds {text} is not a range; write 0-199")
    return range(int(first), int(last) + 1)


def random_origin(seed: int, programs: Programs = "dag") -> Origin:
    """Return the random pipeline of a seed, at one of SIZES or SMALL; every second `dag` may have banks of filters."""
    sizes = SMALL if programs == "layers" else SIZES
    width, height = sizes[seed // 2 % len(sizes)]
    drawn = (("height", height), ("seed", seed), ("width", width))
    match programs:
        case "dag":
            return Origin(RANDOM.name, (("banks", seed % 2), *drawn))
        case "integers" | "layers" | "images" | "pixels" | "lookups":
            return Origin(f"random_{programs}.py", drawn)
        case _:
            assert_never(programs)


def problem_of(origin: Origin) -> Problem:
    """Return the problem of a program of this package (`PROGRAMS`), or of a user's file. Raises InputError."""
    file, function = _place(origin)
    return read_problem(file, Compilation(), function, None, dict(origin.parameters), 0, baselines=False)


def program_at(origin: Origin) -> Program:
    """Return the program of `problem_of`, without data and results. Raises InputError."""
    file, function = _place(origin)
    return read_program(file, Compilation(), dict(origin.parameters), function)


def _place(origin: Origin) -> tuple[Path, str | None]:
    own = PROGRAMS / origin.source
    return (own, None) if own.is_file() else origin.place


def collect(base: Database, origin: Origin, device: DeviceInfo, count: int, until: float, sampler: Sampler,
            limits: Limits = LIMITS) -> int:
    """Measure plans of a program until there are `count`, or the clock is at `until`; return their number."""
    problem = problem_of(origin)
    program = program_of(problem.subject)
    series = series_of(origin, program, device)
    known = set(base.digests(series))
    numbers = [value if isinstance(value, int) else int(np.float64(value).view(np.uint64))
               for value in dict(origin.parameters).values()]
    rng = np.random.default_rng((*numbers, len(known)))
    drawn = sampler.plans(program, origin.source, device.target, rng)
    with tempfile.TemporaryDirectory(prefix="antune-learning-") as folder:
        runner = open_runner(problem, device.key, limits, Path(folder))
        try:
            while len(known) < count and time.monotonic() < until:
                plans = _fresh(drawn, known, min(BATCH, count - len(known)), until)
                for number, outcome in runner.evaluate([Job(k, one.plan) for k, one in enumerate(plans)]):
                    base.add(series, 0, plans[number].plan, outcome, plans[number].guided)
                if not plans:
                    break
        finally:
            runner.close()
    return base.count(series)


def _fresh(drawn: Iterator[Drawn], known: set[str], count: int, until: float) -> Sequence[Drawn]:
    """Return up to `count` plans that are not in `known`, and add them to it; draw until the clock is at `until`."""
    found: list[Drawn] = []
    for _ in range(20 * count):
        if time.monotonic() >= until:
            break
        one = next(drawn)
        if one.plan.digest not in known:
            known.add(one.plan.digest)
            found.append(one)
        if len(found) == count:
            break
    return found


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plan to measure; `guided`: a search with a model found it, else it is random."""

    plan: Plan
    guided: bool


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """The source of plans: the share `guided` from greedy searches with `model`, the others are random."""

    guided: float = 0.0
    model: Learned | None = None

    def plans(self, program: Program, source: str, target: Target, rng: np.random.Generator) -> Iterator[Drawn]:
        """Yield plans of a pipeline without end."""
        found = sampled_plans(space_of(program, source, target, self.model), rng) if self.model else iter(())
        while True:
            guided = rng.random() < self.guided
            plan = next(found) if guided else random_plan(program, target, rng)
            if plan is not None:
                yield Drawn(plan, guided)


if __name__ == "__main__":
    run(main)
