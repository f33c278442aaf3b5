"""Random plans of every program, checked: `python -m experiments.studies.first_contact.plans FILE DEVICE N PROGRAMS
PIPELINES`.

Each program is checked in a process of its own (the same command with one program), several at a time: only results
count, not times. FILE is rewritten after each program; the same command continues.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from experiments.files import write_atomically
from experiments.search.parts import PARTS
from experiments.search.places import find_device
from experiments.studies.side_by_side.pipelines import Pipelines, parse_pipelines
from experiments.studies.side_by_side.polybench import LEVELS, PolyBench, parse_programs
from experiments.values.options import Budget, RunOptions
from generator.errors import AntuneError
from generator.plan import Plan
from generator.problem import Problem
from metrics.outcome import Illegal, Timed
from runners.base import DeviceInfo, Job, Limits
from runners.pool_runner import DeviceRunner

SEED = 27
LIMITS = Limits(min_repeats=2, max_repeats=2)
INTERRUPTED = 130
WORKERS = 2
"""Processes that compile for a program; another one measures."""
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Checked:
    """The results of checking a program's plans.

    `not_offered` counts plans for which the generator makes no code. `faults` has a line for each other plan without a
    correct result.
    """

    program: str
    right: int
    not_offered: int
    wrong: int
    faults: tuple[str, ...] = ()


def options_of(programs: str, pipelines: str, device: str) -> Iterator[tuple[str, tuple[RunOptions, ...]]]:
    """Yield each program with the options of the searches that draw its plans, one per level. Raises InputError."""
    small, budget = PolyBench("SMALL"), Budget(evaluations=1)
    for name in parse_programs(programs):
        yield name, tuple(small.run_options(name, f"random@{level}", budget, SEED, device) for level in LEVELS)
    images = Pipelines("small")
    for name in parse_pipelines(pipelines):
        yield name, (images.run_options(name, "random", budget, SEED, device),)


def draw(found: Problem, device: DeviceInfo, searches: tuple[RunOptions, ...], count: int) -> list[Plan]:
    """Return the default plan and `count` random plans, drawn from all searches in turn."""
    plans = [PARTS.default_plan(found.program, device.target, searches[0])]
    for number, options in enumerate(searches):
        share = len(range(number, count, len(searches)))
        space = PARTS.make_space(found.program, device.target, options)
        plans += [walk.plan for walk in PARTS.make_explorer("random", space, SEED, ()).ask(share)] if share else []
    return plans


def check(name: str, searches: tuple[RunOptions, ...], device: DeviceInfo, count: int) -> Checked:
    """Draw plans, run them and compare their results. A program that cannot be read counts as one fault."""
    try:
        found = PARTS.read_problem(searches[0], lambda text: None)
    except AntuneError as error:
        return Checked(name, 0, 0, 0, (str(error),))
    plans = draw(found, device, searches, count)
    with tempfile.TemporaryDirectory(prefix="antune-plans-") as folder:
        runner = DeviceRunner(found, device, LIMITS, Path(folder), WORKERS, lock=Path(folder) / "lock")
        try:
            outcomes = dict(runner.evaluate([Job(number, plan) for number, plan in enumerate(plans)]))
        finally:
            runner.close()
    checked = Checked(name, 0, 0, 0)
    for number, outcome in sorted(outcomes.items()):
        match outcome:
            case Timed():
                checked = replace(checked, right=checked.right + 1)
            case Illegal():
                checked = replace(checked, not_offered=checked.not_offered + 1)
            case _:
                line = f"{type(outcome).__name__}: {outcome.message}: {plans[number].to_json()}"
                checked = replace(checked, wrong=checked.wrong + 1, faults=(*checked.faults, line))
    return checked


def say(checked: Checked) -> None:
    """Print a line, and one for each fault."""
    print(f"{checked.program}: {checked.right} right, {checked.not_offered} not offered, {checked.wrong} wrong")
    print("".join(f"  {fault}\n" for fault in checked.faults), end="", flush=True)


def side_by_side(commands: Mapping[str, Sequence[str]], at_once: int) -> Iterator[tuple[str, int]]:
    """Run the commands, `at_once` at a time; yield name and exit code of each as it ends.

    If this ends early, they get Ctrl-C.
    """
    waiting, running = list(commands), dict[str, subprocess.Popen[bytes]]()
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                running[name] = subprocess.Popen(commands[name], stdin=subprocess.DEVNULL)
            ended = {key: code for key, child in running.items() if (code := child.poll()) is not None}
            for key, code in ended.items():
                del running[key]
                yield key, code
            time.sleep(0 if ended else POLL_S)
    finally:
        for child in running.values():
            child.send_signal(signal.SIGINT)
        for child in running.values():
            child.wait()


def main(file: Path, device: str, count: int, programs: str, pipelines: str) -> None:
    """Check the programs that are not in `file` yet. Raises InputError."""
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    done = {row["program"] for row in known}
    find_device(device)
    with tempfile.TemporaryDirectory(prefix="antune-plans-") as folder:
        parts = {name: Path(folder) / f"{name}.json" for name, _ in options_of(programs, pipelines, device)
                 if name not in done}
        commands = {name: (sys.executable, "-m", __spec__.name, "--one", str(part), device, str(count), programs,
                           pipelines, name) for name, part in parts.items()}
        for name, code in side_by_side(commands, max(1, len(os.sched_getaffinity(0)) // (WORKERS + 1))):
            part = parts[name]
            row = json.loads(part.read_text(encoding="utf-8")) if part.exists() else asdict(
                Checked(name, 0, 0, 0, (f"its process ended with {code}",)))
            known.append(row)
            write_atomically(file, json.dumps(known, indent=2) + "\n")


def one(part: Path, device: str, count: int, programs: str, pipelines: str, name: str) -> None:
    """Check one program, and write its row to `part`. Raises InputError."""
    searches = dict(options_of(programs, pipelines, device))[name]
    checked = check(name, searches, find_device(device), count)
    write_atomically(part, json.dumps(asdict(checked), indent=2) + "\n")
    say(checked)


if __name__ == "__main__":
    try:
        if sys.argv[1] == "--one":
            one(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), *sys.argv[5:8])
        else:
            main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:6])
    except AntuneError as error:
        sys.exit(f"antune: {error}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
