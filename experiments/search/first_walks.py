"""The walks that a run measures first: to plans from wisdom, then to plans of models and usual start plans, in turns.

The imports are inside the functions: they load isl and numerical libraries, and commands that only read a store should
start without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from experiments.search.lower_precision import searched
from experiments.search.spaces import make_reachable_space, make_space, time_steps
from experiments.values.options import NO_MODELS, USUAL_MODELS, RunOptions
from generator.errors import InputError
from generator.problem import Subject, program_of
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template
from graph.walk import Walk

if TYPE_CHECKING:
    from experiments.search.modelled import ModelPlans

FORETELLING = ("sioutas", "polymage", "learned")
"""Cost models that need no generated code: they judge hundreds of plans in the time of one measurement."""
BEST, FEW = 30, 5
"""The number of plans of a plan maker: `BEST` when it is the explorer, `FEW` when another explorer starts from them."""


def first_walks(subject: Subject, target: Target, options: RunOptions) -> Sequence[Walk]:
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

    space = make_space(subject, target, options) if isinstance(subject, Template) else make_reachable_space(
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
    found, _ = _model_plans(program, target, options)
    if found:
        from experiments.search.modelled import walks_of_models
        from graph.reaching import walk_to

        space = make_reachable_space(program, target, options)
        first = tuple(walks_of_models([*found.values()], space))
        if options.explorer in found:
            return first or (walk_to(space, found[options.explorer].plans[0]),)  # raises an error
        usual = _usual_starts(program, target, options)
        if "beam" in found:
            usual = _as_beams_rank(usual, program, target, options)
        return _in_turns(first, usual)  # a model may be wrong about a device
    return _usual_starts(program, target, options)


def _as_beams_rank(walks: Sequence[Walk], program: Program, target: Target, options: RunOptions) -> Sequence[Walk]:
    """Return the walks in the order of the learned model, if beams follow it on the device; otherwise as they are."""
    from experiments.search.costs import find_model
    from experiments.search.foretold import Judge
    from experiments.search.guides.guided import is_learned
    from experiments.search.ranked import ranked

    if not is_learned(target, options.calibration):
        return walks
    return ranked(walks, Judge(program, target, find_model("learned", target)).foresee)


def _usual_starts(program: Program, target: Target, options: RunOptions) -> Sequence[Walk]:
    if options.space == "tiles":
        return ()
    from experiments.search.starts import starts

    steps = time_steps(program, target) if options.space == "wide" else ()
    return starts(program, target, options, make_reachable_space(program, target, options), steps)


def _model_plans(program: Program, target: Target,
                 options: RunOptions) -> tuple[Mapping[str, ModelPlans], Mapping[str, str]]:  # fmt: skip
    """Return the plans that the run starts with, by plan maker, and why others of --models have none.

    Raises:
        InputError: see `check_models`; or the plan maker that is the explorer has no plans, or a beam with parameters.
    """
    from explorer.registry import PLAN_MAKERS

    check_models(options)
    followed = options.explorer in PLAN_MAKERS
    makers, count = ((options.explorer,), BEST) if followed else (options.models, FEW)
    found: dict[str, ModelPlans] = {}
    without = dict[str, str]()
    for maker in makers:
        try:
            found[maker] = plans_by(maker, program, target, count, options)
        except InputError as error:
            if followed:
                raise InputError(f"{error}; use another explorer, such as colony") from None
            if options.beam and maker == "beam":
                raise
            without[maker] = str(error)
    return found, without


def plans_by(maker: str, program: Program, target: Target, count: int, options: RunOptions) -> ModelPlans:
    """Return the `count` best plans of the plan maker `maker`."""
    if maker == "beam":
        from experiments.search.guides.beam_plans import Asked, beam_plans
        from experiments.search.guides.settings import beam_settings

        space = make_reachable_space(program, target, options)
        settings = beam_settings(options.beam)
        return beam_plans(Asked(program, target, count, options.seed, options.calibration, settings, space))
    from experiments.search.modelled import model_plans

    return model_plans(program, target, maker, count, options.calibration)


def check_models(options: RunOptions) -> None:
    """Raise InputError if a plan maker or model is unknown, or if the space lacks the decisions that it makes."""
    from explorer.registry import PLAN_MAKERS

    makers = (*PLAN_MAKERS, "beam")
    for name in options.models:
        if name not in makers:
            raise InputError(f"--models: there is no plan maker {name!r}; use one of {', '.join(makers)}, "
                             f"{USUAL_MODELS}, or `{NO_MODELS}` alone")
    for option, model in (("--foretell", options.screening), ("--foresee", options.foresee)):
        if model not in (None, *FORETELLING):
            raise InputError(f"{option}: there is no model {model!r}; use one of {', '.join(FORETELLING)}")
    first = next(iter(options.models), options.screening or options.foresee)
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


def model_words(subject: Subject, target: Target, options: RunOptions) -> Mapping[str, str]:
    """Return how the plans of each plan maker differ from its best one, by their digests."""
    if isinstance(subject, Template):
        return {}
    found, _ = _model_plans(program_of(subject), target, options)
    return {
        plan.digest: f"plan {number} of {maker} {words}"
        for maker, one in found.items()
        for number, (plan, words) in enumerate(zip(one.plans[1:], one.differences, strict=False), 2)
    }


def model_reasons(program: Program, target: Target, options: RunOptions) -> Sequence[str]:
    """Return notes on the plans that models choose, on models that have none, and on arrays that they leave out. Raises
    InputError: the model that is the explorer, or that of --foretell or --foresee, can judge nothing.
    """
    planned, without = _model_plans(program, target, options)
    first = (*(f"{maker}: {line}" for maker, found in planned.items() for line in found.reasons),
             *(f"{maker}: the search begins without its plans: {why}" for maker, why in without.items()))
    if options.guided and "beam" not in planned:  # otherwise its plans say so already
        from experiments.search.guides.beam_plans import unrated_words

        first += tuple(f"beam: {line}" for line in unrated_words(program))
    models = dict.fromkeys(filter(None, (options.screening, options.foresee)))
    if not models:
        return first
    from experiments.search.foretold import left_out

    return (*first, *(f"{model}: {line}" for model in models for line in left_out(program, model)))
