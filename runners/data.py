"""The initial data of a Problem on a device, with garbage in elements that the program must write before reading."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.problem import Problem
from generator.program import NUMPY_TYPES, Array

Values: TypeAlias = dict[str, NDArray[Any]]
ODD_BYTE = b"\x5b"


def garbage(array: Array) -> NDArray[Any]:
    """Return a value (shape ()) that does not occur in correct results by chance: NaN, or a large odd integer."""
    dtype = np.dtype(NUMPY_TYPES[array.type])
    if dtype.kind == "f":
        return np.array(np.nan, dtype)
    return np.frombuffer(ODD_BYTE * dtype.itemsize, dtype).reshape(())


def initial_values(problem: Problem) -> Values:
    """Return the contents of every array before a run, by name, in the shape of its extents.

    Elements that are not live at the entry (poison boxes, temporaries without data) hold garbage, to detect variants
    that do not write them.
    """
    values: Values = {}
    for array in problem.contract.arrays:
        given = problem.reference.inputs.get(array.name)
        if given is None:
            values[array.name] = np.full(array.extents, garbage(array), NUMPY_TYPES[array.type])
        else:
            values[array.name] = np.array(given, NUMPY_TYPES[array.type]).reshape(array.extents)
    for box in problem.contract.poison:
        array = problem.contract.array(box.array)
        inside = tuple(slice(low, high + 1) for low, high in zip(box.low, box.high, strict=True))
        values[box.array][inside] = garbage(array)
    return values


def scalar_arguments(problem: Problem, values: Values) -> dict[str, Any]:
    """Return the scalars that kernels take by value: those that are only read. Sizes are constants in the text."""
    return {array.name: values[array.name][()] for array in problem.contract.arrays if array.by_value}
