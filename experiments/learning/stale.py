"""Leaves plans out of a recording whose code is written in another way now: `python -m experiments.learning.stale
OUT.xz RECORDING.xz --text REGEX`.

Measured times belong to the code that was generated when they were taken. After antune writes some kernels in another
way, `--text` is an expression that occurs in the new code of the plans concerned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from experiments.learning.collect import program_at
from experiments.learning.database import MeasuredPlan
from experiments.learning.recording import Recording, read, write
from experiments.learning.series import Origin
from experiments.script import run
from experiments.search.code import variant_of_plan
from experiments.search.places import find_device
from generator.errors import IllegalPlan, InputError
from generator.target import Target


def main(out: Annotated[Path, typer.Argument(metavar="OUT.xz", show_default=False)],
         recording: Annotated[Path, typer.Argument(metavar="RECORDING.xz", show_default=False)],
         text: Annotated[str, typer.Option(metavar="REGEX", show_default=False)]) -> None:
    """Write the recording without the plans in whose code, generated for its device, the expression occurs."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise InputError(f"--text {text} is not a regular expression: {error}") from None
    given = read(recording)
    kept = without(given, pattern, find_device(given.key).target)
    write(kept, out)
    counts = [sum(len(plans) for _, plans in one.measured) for one in (kept, given)]
    print(f"{counts[0]} of {counts[1]} plans of {len(kept.measured)} pipelines, {out.stat().st_size / 1e6:.2f} MB")


def without(recording: Recording, pattern: re.Pattern[str], target: Target) -> Recording:
    """Return the recording without plans in whose code the expression occurs, and without pipelines that have changed
    since.
    """
    kept = ((origin, _kept(origin, plans, pattern, target)) for origin, plans in recording.current)
    return replace(recording, measured=tuple((origin, plans) for origin, plans in kept if plans))


def _kept(origin: Origin, plans: Sequence[MeasuredPlan], pattern: re.Pattern[str],
          target: Target) -> tuple[MeasuredPlan, ...]:
    program = program_at(origin)

    def code(plan: MeasuredPlan) -> str:
        try:
            return variant_of_plan(program, plan.plan, target).source
        except IllegalPlan:  # of an older version: it has no code, and training leaves it out
            return ""

    return tuple(one for one in plans if not pattern.search(code(one)))


if __name__ == "__main__":
    run(main)
