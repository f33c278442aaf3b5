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
1.31 times as long without them (geometric mean of six), those of pipelines with up to 11 stages 1.03 times
(docs/benchmarks/cost_models.md).
"""


STAGE_S, SHARE = 0.6, 0.2
"""Seconds that planning takes per stage, at most, on a slow machine alone (docs/benchmarks/overhead.md); and the share
of the minutes of a budget that it may take if the user did not ask for it. The machine's own speed is not measured, so
that a command begins with the same models everywhere.
"""


def without_usual(options: RunOptions) -> RunOptions:
    """Return the options with those plan makers only that the user has named."""
    return replace(options, models=tuple(name for name in options.models if name != USUAL_MODELS))


def check_beam(options: RunOptions) -> None:
    """Raise InputError if parameters of a beam are wrong, or have no effect whatever the program and the device are."""
    if not options.beam:
        return
    from experiments.search.guides.settings import beam_settings

    beam_settings(options.beam)
    if "beam" in options.models or options.guided:
        return
    if options.explorer == "beam":
        raise InputError("--beam sets the parameters of beam searches with a cost model, but no model judges "
                         f"prefixes in the space `{options.space}`, where `--explorer beam` learns from measured "
                         "plans only; use --space pipeline (for image pipelines), or leave --beam out")
    if USUAL_MODELS not in options.models:
        raise _useless("")
    if why := _never(options):
        raise _useless(why)


def with_usual_models(options: RunOptions, subject: Subject, target: Target, tell: Callable[[str], None]) -> RunOptions:
    """Return the options of a new run, with the plan makers that `usual` stands for. `tell` receives a message before
    they make plans, which may take several seconds, and if they would pay, but make none.

    Raises:
        InputError: parameters of a beam have no effect, or a beam with these finds no plan.
    """
    if USUAL_MODELS not in options.models:
        return options
    named = without_usual(options)
    if "beam" in named.models:
        return named
    if why := _never(options) or _why_none(subject, target):
        if options.beam and not options.guided:
            raise _useless(why)
        return named
    planned = _planned(program_of(subject), target, options, tell)
    return replace(named, models=(*named.models, "beam")) if planned else named


def _useless(why: str) -> InputError:
    """Return the error for parameters of a beam that does not run. `why`: where `usual` has none, if it is asked for.
    """
    reason = f", and --models {USUAL_MODELS} (the default) has none {why}" if why else ""
    return InputError(f"--beam has no effect without a beam search{reason}: add --explorer beam or --models beam (both "
                      "with --space pipeline), or leave it out")


def _never(options: RunOptions) -> str:
    """Return where `usual` has no beam, as far as the options say; empty if the program and the device decide."""
    from explorer.registry import MODELLED

    if options.space != "pipeline":
        return f"in the space `{options.space}`"
    if options.explorer not in MODELLED:
        return f"for the explorer `{options.explorer}`"
    return "" if options.calibration is None else "with --calibration"


def _why_none(subject: Subject, target: Target) -> str:
    """Return why no beam follows the learned model for what is tuned, or why it does not pay; empty if it does."""
    from experiments.search.guides.guided import is_learned

    if isinstance(subject, Template):
        return "for kernel templates"
    if not is_learned(target, None):
        return "on GPUs"
    stages = _rated(program_of(subject))
    return "" if stages >= FEWEST else f"for fewer than {FEWEST} stages that the model can rate (here {stages})"


def _rated(program: Program) -> int:
    """Return the number of stages that the learned model can rate."""
    from generator.polyhedral.pipelines.dataflow import dataflow

    return sum(node.stage and not node.refusal for node in dataflow(program).nodes)


def _planned(program: Program, target: Target, options: RunOptions, tell: Callable[[str], None]) -> bool:
    """Plan with a beam, and return whether there are plans; none are sought if that takes too much of the time. The
    plans are kept for the search.
    """
    from experiments.search.first_walks import FEW, plans_by

    stages, minutes = _rated(program), options.budget.minutes
    seconds = STAGE_S * stages
    if not options.beam and minutes is not None and seconds > SHARE * 60 * minutes:
        tell(f"the search begins without plans of a cost model: planning {stages} stages takes about {seconds:.0f} s, "
             f"more than {SHARE * 100:.0f} % of its time (--models beam: with)")
        return False
    tell(f"planning {stages} stages with a cost model, for the first plans (--models none: without)")
    try:
        plans_by("beam", program, target, FEW, options)
    except InputError as error:
        if options.beam:
            raise
        tell(f"the search begins without: {error}")  # nobody asked for this beam
        return False
    return True
