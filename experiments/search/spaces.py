"""The space of a run's plans.

The imports are inside the functions: they load isl, and commands that only read a store should start without it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import assert_never

from experiments.search.lower_precision import searched
from experiments.values.options import RunOptions
from generator.problem import Subject, program_of
from generator.program import Program
from generator.target import Target
from generator.templates.template import Template
from graph.reaching import Reachable
from graph.space import Space


def make_space(subject: Subject, target: Target, options: RunOptions) -> Space:
    """Return the space that `options` name, with what its explorer is told about walks."""
    target = searched(target, options)
    if isinstance(subject, Template):
        from experiments.search.templates import template_space

        return template_space(subject)
    program = program_of(subject)
    if options.space == "tiles":
        return _make_tiles_space(program, target, options)
    space = make_reachable_space(program, target, options)
    if options.guided:
        from experiments.search.guides.guided import guided_space, scorer_of
        from experiments.search.guides.settings import beam_settings

        return guided_space(space, program, target, scorer_of(target, options.calibration), beam_settings(options.beam))
    if options.foretell is None and options.foresee is None:
        return space
    from experiments.search.foretold import foretold_space

    found = foretold_space(space, program, target, options.screening, options.foresee, options.calibration)
    return replace(found, alone=options.foretell != options.screening)


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

    shapes = partial(kernel_shapes, program, language=target.language)
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
    return with_time_steps(space, time_steps(program, target) if wide else (), shapes, target, wide, arrays)


def time_steps(program: Program, target: Target) -> tuple[int, ...]:
    """Return the offered numbers of time steps per launch; empty if the program is not a loop over time."""
    from generator.lowering.analysis.shapes import kernel_shapes
    from generator.polyhedral.time.time_steps import time_loop
    from graph.time_steps import offered_steps

    loop = time_loop(program)
    return offered_steps(partial(kernel_shapes, program, language=target.language), target, loop.count) if loop else ()


def _make_tiles_space(program: Program, target: Target, options: RunOptions) -> Space:
    from generator.lowering.heuristics.default import default_plan
    from generator.reading import usual_schedule
    from graph.tiles import make_tiles_space

    return make_tiles_space(partial(default_plan, program, target, choice=usual_schedule(Path(options.file))))
