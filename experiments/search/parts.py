"""Make the parts of a run. This module connects `experiments` with the other rooms.

The imports are inside the functions: they load isl, numerical libraries and the OpenCL library, and commands that only
read a store should start without them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from experiments.search.first_walks import first_walks, model_reasons, model_words
from experiments.search.lower_precision import check_products, product_notes
from experiments.search.spaces import make_space
from experiments.values.options import RunOptions
from explorer.base import Explorer
from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.problem import Problem, Subject, program_of
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template
from graph.space import Space
from graph.walk import Walk
from runners.base import Limits, Runner
from runners.many import Place

_NO = ("0", "false", "no", "off", "f", "n")
"""What the command line takes for a no."""
ReadProblem: TypeAlias = Callable[[RunOptions, Callable[[str], None]], Problem]
"""Read the problem of a run. The second argument is a callback for progress messages while the user's program runs."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Functions that make the parts of a run. Tests and other front ends may replace any of them.

    `check_explorer` and `check_place` return within a second, before the program is compiled and run.
    """

    read_problem: ReadProblem
    check_explorer: Callable[[str], None]
    check_place: Callable[[Place], Place]
    make_space: Callable[[Subject, Target, RunOptions], Space]
    make_explorer: Callable[[str, Space, int, Sequence[Walk]], Explorer]
    starts: Callable[[Subject, Target, RunOptions], Sequence[Walk]]
    reasons: Callable[[Subject, Target, RunOptions], Sequence[str]]
    words: Callable[[Subject, Target, RunOptions], Mapping[str, str]]
    default_plan: Callable[[Subject, Target, RunOptions], Plan]
    answered: Callable[[Problem, Place, Limits, Path], Problem]
    gpu_plan: Callable[[Program, Target, RunOptions], Plan | None]
    inlined_plan: Callable[[Program, Target], Plan | None]
    open_runner: Callable[[Problem, Place, Limits, Path], Runner]
    picture: bool | None = None
    """Whether a session ends with a picture of the run, which takes about a second. None: unless the environment says
    ANTUNE_PICTURE=0.
    """

    @property
    def draws(self) -> bool:
        """Whether it does."""
        return self.picture if self.picture is not None else os.environ.get("ANTUNE_PICTURE", "1").lower() not in _NO


def _read_problem(options: RunOptions, tell: Callable[[str], None]) -> Problem:
    from generator.reading import read_problem

    return read_problem(Path(options.file), options.compilation, options.function, options.scop,
                        dict(options.parameters), options.seed, tell)


def _check_explorer(name: str) -> None:
    from explorer.registry import find_maker

    find_maker(name)


def _make_explorer(name: str, space: Space, seed: int, starts: Sequence[Walk]) -> Explorer:
    from explorer.registry import make_explorer

    return make_explorer(name, space, seed, starts)


def _reasons(subject: Subject, target: Target, options: RunOptions) -> Sequence[str]:
    """Return notes on products in a lower precision, on the models' choice of plans and on arrays that the models leave
    out.

    Raises InputError: a requested model can judge nothing, or the device has no products in that precision.
    """
    check_products(subject, target, options)
    if isinstance(subject, Template):
        return ()
    program = program_of(subject)
    notes = (product_notes(program, _default_plan(program, target, options), target, options)
             if options.products != "full" else ())
    return (*notes, *model_reasons(program, target, options))


def _default_plan(subject: Subject, target: Target, options: RunOptions) -> Plan:
    if isinstance(subject, Template):
        from experiments.search.templates import first_plan

        return first_plan(subject)
    from generator.lowering.heuristics.usual import usual_plan
    from generator.reading import usual_schedule

    return usual_plan(program_of(subject), target, usual_schedule(Path(options.file)))


def _gpu_plan(program: Program, target: Target, options: RunOptions) -> Plan | None:
    """Return the default plan of a GPU for a device whose own default plan differs; None for other devices."""
    from generator.lowering.heuristics.default import default_plan
    from generator.reading import usual_schedule

    return (
        default_plan(program, target, choice=usual_schedule(Path(options.file))) if target.shares_host_cores else None
    )


def _inlined_plan(program: Program, target: Target) -> Plan | None:
    """Return the default plan for the schedule that inlines all stages that it can; None if it is illegal."""
    from generator.lowering.heuristics.usual import usual_plan
    from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
    from graph.stage_openings import all_inlined

    with suppress(IllegalPlan):
        return usual_plan(program, target, all_inlined(stage_facts(program), target, computed_arrays(program)))
    return None


def _open_runner(problem: Problem, place: Place, limits: Limits, workdir: Path) -> Runner:
    from runners.registry import open_place

    return open_place(problem, place, limits, workdir)


def _answered(problem: Problem, place: Place, limits: Limits, workdir: Path) -> Problem:
    from experiments.search.templates import answered

    return answered(problem, place, limits, workdir)


def _check_place(place: Place) -> Place:
    from runners.registry import check_place

    return check_place(place)


PARTS = Parts(_read_problem, _check_explorer, _check_place, make_space, _make_explorer, first_walks, _reasons,
              model_words, _default_plan, _answered, _gpu_plan, _inlined_plan, _open_runner)
