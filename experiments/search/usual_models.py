"""The plan makers whose plans a search starts from if the user names none (`--models usual`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from experiments.values.options import USUAL_MODELS, RunOptions
from generator.errors import InputError
from generator.problem import Subject, program_of
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template

FEWEST = 20
"""Stages from which on a beam's plans pay: after 20 evaluations, the best plans of pipelines with 23 to 84 stages take
1.25 times as long without them (geometric mean of six), those of pipelines with up to 11 stages 1.02 times
(docs/benchmarks/cost_models.md).
"""


def without_usual(options: RunOptions) -> RunOptions:
    """Return the options with those plan makers only that the user has named."""
    return replace(options, models=tuple(name for name in options.models if name != USUAL_MODELS))


def with_usual_models(options: RunOptions, subject: Subject, target: Target, tell: Callable[[str], None]) -> RunOptions:
    """Return the options of a new run, with the plan makers that `usual` stands for. `tell` receives a message before
    they make plans, which may take several seconds.
    """
    if USUAL_MODELS not in options.models:
        return options
    pays = not isinstance(subject, Template) and _pays(program_of(subject), target, options, tell)
    named = without_usual(options)
    return replace(named, models=tuple(dict.fromkeys((*named.models, "beam")))) if pays else named


def _pays(program: Program, target: Target, options: RunOptions, tell: Callable[[str], None]) -> bool:
    """Return whether beams follow the learned model on the device, and it can rate many stages of the program."""
    from explorer.registry import MODELLED

    if options.space != "pipeline" or options.explorer not in MODELLED:
        return False
    from experiments.search.first_walks import FEW, plans_by
    from experiments.search.guides.guided import is_learned
    from generator.polyhedral.pipelines.dataflow import dataflow

    rated = [node for node in dataflow(program).nodes if node.stage and not node.refusal]
    if not is_learned(target, options.calibration) or len(rated) < FEWEST:
        return False
    tell(f"planning {len(rated)} stages with a cost model, for the first plans (--models none: without)")
    try:
        plans_by("beam", program, target, FEW, options)
    except InputError as error:  # nobody asked for this beam
        tell(f"the search begins without: {error}")
        return False
    return True
