"""From a pipeline file to a Problem: regions, inputs, the interpreter's results, the sequential time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.bounds import Bounds
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image
from generator.frontend_py.interpret import interpret
from generator.frontend_py.load import BUILD, Built, built, outputs_of
from generator.frontend_py.lower import lower
from generator.frontend_py.named_sizes import SIZES, by_dimension
from generator.frontend_py.realize import bounds_of
from generator.frontend_py.types import Type
from generator.polyhedral.dependences.expansion import expand
from generator.problem import Problem, Reference
from generator.program import Program
from generator.rounding import differing, rounding_note
from generator.sequential.pipeline import Sequential, run_sequential
from generator.words_of_programs import program_name

_DARKEST = 1 / 64  # random images have no black pixels, because pipelines often divide by them


def read_pipeline(file: Path, function: str | None, parameters: Mapping[str, float], seed: int) -> Problem:
    """Return the pipeline that `function` in `file` builds, with data, results and its time as sequential C.

    `parameters` with names of `load.SIZES` are extents of the output, others are arguments of the function. Inputs
    without data are random, determined by `seed`.

    Raises:
        InputError: anything wrong with the file or with the pipeline.
    """
    return pipeline_problem(built(file, function, parameters), file, function, parameters, seed)


def pipeline_problem(made: Built, file: Path, function: str | None, parameters: Mapping[str, float],
                     seed: int, baselines: bool = True) -> Problem:
    """Return the same for the result of a file's function. `baselines`: whether the time of sequential C is needed."""
    outputs = outputs_of(made)
    return problem_of(outputs, sizes_of(parameters), _name(file, function), str(file), whole(parameters), seed,
                      baselines)


def pipeline_program(made: Built, file: Path, function: str | None, parameters: Mapping[str, float]) -> Program:
    """Return the Program of `pipeline_problem` for the result of a file's function, without data and without running
    anything.

    Raises InputError as `bounds_of`.
    """
    return program_of(outputs_of(made), sizes_of(parameters), _name(file, function), str(file),
                      whole(parameters))


def _name(file: Path, function: str | None) -> str:
    return program_name(function if function and function != BUILD else file.stem)


def sizes_of(parameters: Mapping[str, float]) -> tuple[int, ...]:
    """Return the extents by dimension. Raises InputError if one is left out, or is not positive."""
    given = [parameters.get(name) for name in SIZES]
    count = sum(1 for value in given if value is not None)
    if real := next((name for name, value in zip(SIZES, given, strict=True) if isinstance(value, float)), None):
        raise InputError(f"{real} = {parameters[real]}: sizes are whole numbers above 0")
    sizes = tuple(int(value) for value in given[:count] if value is not None)
    if len(sizes) != count:
        raise InputError(
            f"--param {SIZES[given.index(None)]}=VALUE is missing: sizes are given from the first dimension on"
        )
    if bad := next((value for value in sizes if value < 1), None):
        raise InputError(f"a size of {bad}; use numbers above 0")
    return sizes


def whole(parameters: Mapping[str, float]) -> tuple[tuple[str, int], ...]:
    """Return the whole numbers among the parameters, which a Program has by name: others only change its text."""
    return tuple((name, value) for name, value in parameters.items() if isinstance(value, int))


def problem_of(outputs: Sequence[Func], sizes: Sequence[int], name: str, file: str = "",
               parameters: tuple[tuple[str, int], ...] = (), seed: int = 0, baselines: bool = True) -> Problem:
    """Return the Problem of a pipeline whose `outputs` have the extents `sizes`. Raises InputError as `bounds_of`."""
    bounds = bounds_of(outputs, by_dimension(outputs, sizes))
    program = expand(lower(bounds, name, file, parameters))
    try:
        images = _data(bounds, seed)
        values = interpret(bounds, images)
    except MemoryError:
        needed = sum(array.bytes for array in program.arrays) / 2**30
        raise InputError(
            f"{name}: there is not enough memory for {needed:.0f} GiB of stages and inputs; choose a smaller size"
        ) from None
    results = {array: _stored(value) for func in outputs
               for array, value in zip(bounds.collected.arrays(func), values[id(func)], strict=True)}
    inputs = {bounds.collected.name(image): _stored(images[id(image)]) for image in bounds.collected.images}
    inputs = {a.name: inputs[a.name] for a in program.arrays if a.role == "in"}
    ran = run_sequential(program, inputs, baselines=baselines)
    note = rounding_note(results, ran.rounding)
    warnings = (*_doubts(results, ran), *ran.warnings, *([note] if note else []))
    inputs |= {name: np.zeros_like(value) for name, value in results.items()}
    return Problem(program, Reference(inputs, results, ran.times_ms, "pipeline", ran.compiler, warnings, ran.rounding,
                                      ran.baselines))


def program_of(outputs: Sequence[Func], sizes: Sequence[int], name: str = "pipeline", file: str = "",
               parameters: tuple[tuple[str, int], ...] = ()) -> Program:
    """Return only the Program, expanded. Raises InputError as `bounds_of`."""
    return expand(lower(bounds_of(outputs, by_dimension(outputs, sizes)), name, file, parameters))


def _data(bounds: Bounds, seed: int) -> dict[int, NDArray[Any]]:
    random = np.random.default_rng(seed)
    return {id(image): image.data if image.data is not None else _random(image, bounds, random)
            for image in bounds.collected.images}


def _random(image: Image, bounds: Bounds, random: np.random.Generator) -> NDArray[Any]:
    """Return numbers from 1/64 to 1, or integers: all of a type of up to 16 bits, else -1000 to 1000 (unsigned: 0 to
    1000).
    """
    shape = tuple(extent for _, extent in reversed(bounds.regions[id(image)]))
    kind: Type = image.type
    if kind.is_float():
        return (_DARKEST + (1 - _DARKEST) * random.random(shape)).astype(kind.numpy)
    low, high = (int(kind.least), int(kind.greatest)) if kind.bits <= 16 else (0 if kind.is_uint() else -1000, 1000)
    return random.integers(low, high + 1, shape).astype(kind.numpy)


def _stored(value: NDArray[Any]) -> NDArray[Any]:
    """Return the array as it is stored: truth values as bytes."""
    return np.ascontiguousarray(value.astype(np.uint8) if value.dtype == np.bool_ else value)


def _doubts(results: Mapping[str, NDArray[Any]], ran: Sequential) -> list[str]:
    """Return warnings about results that are usable but less meaningful."""
    doubts = []
    for name, value in results.items():
        if value.dtype.kind == "f" and not bool(np.isfinite(value).all()):
            doubts.append(
                f"the result is not finite in {name}: comparing with it says little; check the pipeline's inputs"
            )
        elif count := differing(value, ran.outputs[name], ran.rounding.get(name)):
            doubts.append(
                f"{count} element(s) of {name} are another number in sequential C than in the interpreter: rounding "
                f"errors "
                "decide them, or a value is outside of its type (a real number cast to an integer, signed overflow)"
            )
    return doubts
