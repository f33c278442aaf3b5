"""Read files: from a path to a Problem with real data, for C files, pipelines and kernel templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from generator.capture import Captured, capture
from generator.capture.execute import Tell
from generator.errors import InputError
from generator.finding import choose_nest, describe_choice
from generator.frontend_c.needed import extract_needed
from generator.frontend_c.parse import read_scop
from generator.frontend_c.probing import check_static, needed_extents
from generator.frontend_c.source import Compilation
from generator.frontend_py.load import built
from generator.frontend_py.problem import pipeline_problem, pipeline_program
from generator.polyhedral.dependences.delinearize import left_flat
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.pipelines.distribution import distributed
from generator.polyhedral.pipelines.trimming import trimmed
from generator.problem import Problem, Reference, Values, as_modelled, program_of
from generator.program import Array, Program
from generator.rounding import rounding_note
from generator.schedules.choice import ScheduleChoice
from generator.schedules.schedule import Schedule
from generator.schedules.stages import Stages
from generator.sequential.bounded import with_bounds
from generator.templates.building import Tunable
from generator.templates.t1 import read_t1_problem

PIPELINE, T1 = ".py", ".json"
_INT_MAX = 2**31 - 1


def read_problem(file: Path, compilation: Compilation, function: str | None, scop: int | None,
                 overrides: Mapping[str, float], seed: int, tell: Tell = lambda _: None,
                 baselines: bool = True) -> Problem:
    """Read a C file, a pipeline, or a kernel template (a T1 file, or a Python file that builds one).

    For a C file: read the SCoP (without pragmas: the loops in which the program spends its time), run the original
    program once, and build the model with all sizes bound, with arrays expanded.

    `overrides` gives values to parameters if there is no `main` to take them from. `tell` receives progress messages
    while the program runs for long. Without `baselines`, only the reference build is made.

    Raises:
        InputError: anything wrong with the file or its compilation.
    """
    if file.suffix == T1:
        return read_t1_problem(file, seed)
    if file.suffix == PIPELINE:
        made = built(file, function, overrides)
        if isinstance(made.result, Tunable):
            return made.result.problem
        return checked_pipeline(pipeline_problem(made, file, function, overrides, seed, baselines))
    choice = choose_nest(file, compilation, function, scop, tell)
    source = choice.nest.source if choice else read_scop(file, compilation, function, scop)
    check_static(source)
    captured = capture(source, _whole(overrides), partial(needed_extents, source), seed, tell=tell, baselines=baselines)
    program = trimmed(distributed(expand(extract_needed(source, captured.parameters, captured.extents))))
    _check_index_range(program)
    reference = _reference(program, captured)
    note = rounding_note(reference.outputs, reference.rounding)
    chosen = [describe_choice(file, choice)] if choice and scop is None else []
    warnings = (*chosen, *reference.warnings, *([note] if note else []), *_flat_notes(program))
    return Problem(program, replace(reference, warnings=warnings))


def _whole(overrides: Mapping[str, float]) -> dict[str, int]:
    """Return the values of parameters of C. Raises InputError for one that is not whole."""
    if bad := next((name for name, value in overrides.items() if isinstance(value, float)), None):
        raise InputError(f"{bad} = {overrides[bad]}: sizes of C are whole numbers; a macro (-D) may be another number")
    return {name: int(value) for name, value in overrides.items()}


def _reference(program: Program, captured: Captured) -> Reference:
    """Return the reference in the arrays of the program. Temporaries are not live out."""
    found = captured.reference

    def modelled(values: Values, arrays: Sequence[Array] = program.outputs) -> Values:
        return {array.name: as_modelled(array, values[array.name]) for array in arrays if array.name in values}

    live = [array for array in program.arrays if array.role != "temp"]
    rounded = [(modelled(up), modelled(down)) for up, down in captured.rounded]
    return with_bounds(program, replace(found, inputs=modelled(found.inputs, live), outputs=modelled(found.outputs),
                                        rounding=modelled(found.rounding)), rounded)


def read_program(file: Path, compilation: Compilation, parameters: Mapping[str, float],
                 function: str | None = None) -> Program:
    """Return the Program of `read_problem` without running anything: no data and results of a pipeline are computed.

    Raises:
        InputError: anything wrong with the file.
    """
    if file.suffix == PIPELINE:
        made = built(file, function, parameters)
        if not isinstance(made.result, Tunable):
            program = pipeline_program(made, file, function, parameters)
            _check_index_range(program)
            return program
    return program_of(read_problem(file, compilation, function, None, parameters, 0, baselines=False).subject)


def checked_pipeline(problem: Problem) -> Problem:
    """Return `problem`, that of a pipeline. Raises InputError if device code cannot index its arrays."""
    _check_index_range(problem.program)
    return problem


def _flat_notes(program: Program) -> list[str]:
    """Describe each flattened matrix that could not be given two dimensions, which makes code slow."""
    sizes = {array.name: array.extents[0] for array in program.arrays if len(array.extents) == 1 and not array.expanded}
    return [
        f"`{name}` is used as a matrix with rows of {row}, but `{(statement := program.statements[place]).text}` in "
        f"line "
        f"{statement.line} does not keep within them; it stays one long row, which is slow: declare it as "
        f"`{name}[...][{row}]` "
        "and use two subscripts"
        for name, (row, place) in left_flat(program.statements, sizes).items()
    ]


def usual_schedule(file: Path) -> Schedule:
    """Return the schedule of a file's default plan: a pipeline stage by stage, C loops by isl's scheduler."""
    return Stages() if file.suffix == PIPELINE else ScheduleChoice()


def _check_index_range(program: Program) -> None:
    """Raise InputError for an array that is too large for the `int` subscripts of device code."""
    for array in program.arrays:
        if array.elements > _INT_MAX:
            raise InputError(f"{program.file}: `{array.name}` has {array.elements} elements; device code subscripts "
                             f"with int, so at most {_INT_MAX} are supported: use a smaller size")
