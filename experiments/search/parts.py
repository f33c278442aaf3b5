"""Make the parts of a run. This module connects `experiments` with the other rooms.

The imports are inside the functions: they load isl, numerical libraries and the OpenCL library, and commands that only
read a store should start without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

from experiments.search.lower_precision import check_products, product_notes, searched
from experiments.values.options import RunOptions
from explorer.base import Explorer
from generator.errors import IllegalPlan, InputError
from generator.plan import Plan
from generator.problem import Problem, Subject, program_of
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template
from graph.reaching import Reachable
from graph.space import Space
from graph.walk import Walk
from runners.base import Limits, Runner
from runners.many import Place

if TYPE_CHECKING:
    from experiments.search.modelled import ModelPlans

FORETELLING = ("sioutas", "polymage", "learned")
"""Cost models that need no generated code: they judge hundreds of plans in the time of one measurement."""
BEST, FEW = 30, 5
"""The number of plans of a plan maker: `BEST` when it is the explorer, `FEW` when another explorer starts from them."""


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
    default_plan: Callable[[Subject, Target, RunOptions], Plan]
    answered: Callable[[Problem, Place, Limits, Path], Problem]
    gpu_plan: Callable[[Program, Target, RunOptions], Plan | None]
    inlined_plan: Callable[[Program, Target], Plan | None]
    open_runner: Callable[[Problem, Place, Limits, Path], Runner]
    picture: bool = True
    """Whether a session ends with a picture of the run, which takes about a second."""


def _read_problem(options: RunOptions, tell: Callable[[str], None]) -> Problem:
    from generator.reading import read_problem

    return read_problem(Path(options.file), options.compilation, options.function, options.scop,
                        dict(options.parameters), options.seed, tell)


def _check_explorer(name: str) -> None:
    from explorer.registry import find_maker

    find_maker(name)


def _make_space(subject: Subject, target: Target, options: RunOptions) -> Space:
    target = searched(target, options)
    if isinstance(subject, Template):
        from experiments.search.templates import template_space

        return template_space(subject)
    program = program_of(subject)
    if options.space == "tiles":
        return _make_tiles_space(program, target, options)
    space = make_reachable_space(program, target, options)
    if options.explorer == "beam" and options.space == "pipeline":
        from experiments.search.guides.guided import guided_space, scorer_of

        return guided_space(space, program, target, scorer_of(target, options.calibration))
    if options.foretell is None and options.foresee is None:
        return space
    from experiments.search.foretold import foretold_space

    return foretold_space(space, program, target, options.foretell, options.foresee, options.calibration)


def make_reachable_space(program: Program, target: Target, options: RunOptions) -> Reachable:
    """Return the space that `options` name; not `tiles`, which cannot lead a walk to a given plan."""
    target = searched(target, options)
    from generator.lowering.analysis.shapes import kernel_shapes
    from generator.lowering.core.placement import placeable, stage_textures
    from generator.polyhedral.dependences.reductions import parallel_reductions
    from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
    from generator.polyhedral.schedules.hyperplanes import O3
    from generator.polyhedral.schedules.partition import level
    from graph.o1 import make_o1_space
    from graph.o2 import make_o2_space
    from graph.o3 import make_o3_space
    from graph.pipeline import make_pipeline_space
    from graph.time_steps import with_time_steps

    shapes = partial(kernel_shapes, program, dialect=target.dialect)
    reductions = parallel_reductions(program, options.strict_float)
    wide, arrays = options.space != "paper", placeable(program, target)
    if options.space == "pipeline":
        return make_pipeline_space(shapes, stage_facts(program), target, wide, reductions,
                                   (*arrays, *stage_textures(program, target)), computed_arrays(program))
    match options.level:
        case "o1":
            space = make_o1_space(shapes, target, wide, reductions, arrays)
        case "o2":
            space = make_o2_space(shapes, partial(level, program), target, wide, reductions, arrays)
        case "o3":
            space = make_o3_space(shapes, O3(program), target, wide, reductions, arrays)
        case _:
            assert_never(options.level)
    return with_time_steps(space, _time_steps(program, target) if wide else (), shapes, target, wide, arrays)


def _time_steps(program: Program, target: Target) -> tuple[int, ...]:
    """Return the offered numbers of time steps per launch; empty if the program is not a loop over time."""
    from generator.lowering.analysis.shapes import kernel_shapes
    from generator.polyhedral.time.time_steps import time_loop
    from graph.time_steps import offered_steps

    loop = time_loop(program)
    return offered_steps(partial(kernel_shapes, program, dialect=target.dialect), target, loop.count) if loop else ()


def _make_tiles_space(program: Program, target: Target, options: RunOptions) -> Space:
    from generator.lowering.heuristics.default import default_plan
    from generator.reading import usual_schedule
    from graph.tiles import make_tiles_space

    return make_tiles_space(partial(default_plan, program, target, choice=usual_schedule(Path(options.file))))


def _make_explorer(name: str, space: Space, seed: int, starts: Sequence[Walk]) -> Explorer:
    from explorer.registry import make_explorer

    return make_explorer(name, space, seed, starts)


def _starts(subject: Subject, target: Target, options: RunOptions) -> Sequence[Walk]:
    """Return the walks to measure first: to plans from wisdom, then to plans of models and the usual start plans."""
    target = searched(target, options)
    first = _taken(subject, target, options)
    near = _near(first, subject, target, options)
    others = () if isinstance(subject, Template) else _other_starts(program_of(subject), target, options)
    known = {walk.identity for walk in first}
    return (*first, *(walk for walk in _in_turns(near, others) if walk.identity not in known))


def _near(taken: Sequence[Walk], subject: Subject, target: Target, options: RunOptions) -> Sequence[Walk]:
    """Return neighbours of the walk to the first plan from wisdom; empty without one."""
    if not taken:
        return ()
    from experiments.search.near import neighbours

    space = _make_space(subject, target, options) if isinstance(subject, Template) else make_reachable_space(
        program_of(subject), target, options)
    return neighbours(taken[0], space, options.seed)


def _in_turns(one: Sequence[Walk], other: Sequence[Walk]) -> Sequence[Walk]:
    """Interleave two sequences of walks; each walk appears once."""
    both = (walk for walk in chain.from_iterable(zip_longest(one, other)) if walk is not None)
    return tuple({walk.identity: walk for walk in both}.values())


def _taken(subject: Subject, target: Target, options: RunOptions) -> Sequence[Walk]:
    """Return the walks to the plans from wisdom that the run starts with."""
    if not options.wisdom:
        return ()
    from experiments.search.taken import taken_walks

    return taken_walks(subject, target, options)


def _other_starts(program: Program, target: Target, options: RunOptions) -> Sequence[Walk]:
    """Return the walks to plans of cost models and to the usual start plans, in turns."""
    found = _model_plans(program, target, options)
    if found:
        from experiments.search.modelled import walks_of_models
        from graph.reaching import walk_to

        space = make_reachable_space(program, target, options)
        first = tuple(walks_of_models([*found.values()], space))
        if options.explorer in found:
            return first or (walk_to(space, found[options.explorer].plans[0]),)  # raises an error
        return _in_turns(first, _usual_starts(program, target, options))  # a model may be wrong about a device
    return _usual_starts(program, target, options)


def _usual_starts(program: Program, target: Target, options: RunOptions) -> Sequence[Walk]:
    if options.space == "tiles":
        return ()
    from experiments.search.starts import starts

    steps = _time_steps(program, target) if options.space == "wide" else ()
    return starts(program, target, options, make_reachable_space(program, target, options), steps)


def _model_plans(program: Program, target: Target, options: RunOptions) -> Mapping[str, ModelPlans]:
    """Return the plans that the run starts with, by plan maker. Raises InputError: see `check_models`."""
    from explorer.registry import PLAN_MAKERS

    check_models(options)
    followed = options.explorer in PLAN_MAKERS
    makers, count = ((options.explorer,), BEST) if followed else (options.models, FEW)
    if not makers:
        return {}
    return {maker: _plans_by(maker, program, target, count, options) for maker in makers}


def _plans_by(maker: str, program: Program, target: Target, count: int, options: RunOptions) -> ModelPlans:
    """Return the `count` best plans of the plan maker `maker`."""
    if maker == "beam":
        from experiments.search.guides.beam_plans import Asked, beam_plans

        space = make_reachable_space(program, target, options)
        return beam_plans(Asked(program, target, count, options.seed, options.calibration, space))
    from experiments.search.modelled import model_plans

    return model_plans(program, target, maker, count, options.calibration)


def check_models(options: RunOptions) -> None:
    """Raise InputError if a plan maker or model is unknown, or if the space lacks the decisions that it makes."""
    from explorer.registry import PLAN_MAKERS

    makers = (*PLAN_MAKERS, "beam")
    for name in options.models:
        if name not in makers:
            raise InputError(f"--models: there is no plan maker {name!r}; use one of {', '.join(makers)}")
    for option, model in (("--foretell", options.foretell), ("--foresee", options.foresee)):
        if model not in (None, *FORETELLING):
            raise InputError(f"{option}: there is no model {model!r}; use one of {', '.join(FORETELLING)}")
    first = next(iter(options.models), options.foretell or options.foresee)
    asked = options.explorer if options.explorer in PLAN_MAKERS else first
    if asked is not None and options.space != "pipeline":
        raise InputError(f"`{asked}` decides where the stages of a program are computed, which is not a decision in "
                         f"the space `{options.space}`; use --space pipeline")


def check_guided(options: RunOptions) -> None:
    """Raise InputError if one of antune's own explorers is to use plans or predictions of a model, but uses none."""
    from explorer.registry import EXPLORERS, FORESEEN, FORETOLD, STARTED

    for option, model, using in (("--models", options.models, STARTED), ("--foretell", options.foretell, FORETOLD),
                                 ("--foresee", options.foresee, FORESEEN)):
        if model and options.explorer in EXPLORERS and options.explorer not in using:
            raise InputError(f"{option}: the explorer `{options.explorer}` does not use it; leave it out, or use one "
                             f"of the explorers {', '.join(using)}")


def _reasons(subject: Subject, target: Target, options: RunOptions) -> Sequence[str]:
    """Return notes on products in a lower precision, on the models' choice of plans and on arrays that the models leave
    out.

    Raises InputError: a requested model can judge nothing, or the device has no products in that precision.
    """
    check_products(subject, target, options)
    if isinstance(subject, Template):
        return ()
    program = program_of(subject)
    first = list(product_notes(program, _default_plan(program, target, options), target, options)
                 if options.products != "full" else ())
    first += [f"{maker}: {line}" for maker, found in _model_plans(program, target, options).items()
             for line in found.reasons]  # fmt: skip
    models = dict.fromkeys(filter(None, (options.foretell, options.foresee)))
    if not models:
        return tuple(first)
    from experiments.search.foretold import left_out

    return (*first, *(f"{model}: {line}" for model in models for line in left_out(program, model)))


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
    """Return the default plan for the first schedule that inlines stages; None if it is illegal."""
    from generator.lowering.heuristics.usual import usual_plan
    from generator.polyhedral.pipelines.stage_facts import computed_arrays, stage_facts
    from graph.stage_openings import openings

    with suppress(IllegalPlan):
        return usual_plan(program, target, openings(stage_facts(program), target, computed_arrays(program))[0])
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


PARTS = Parts(_read_problem, _check_explorer, _check_place, _make_space, _make_explorer, _starts, _reasons,
              _default_plan, _answered, _gpu_plan, _inlined_plan, _open_runner)
