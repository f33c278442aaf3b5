"""Signatures that `antune.jit` accepts, the keys by which code is kept, and arguments as inputs of pipelines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from generator.errors import InputError
from generator.frontend_py.images import ImageParam
from generator.frontend_py.types import type_of_numpy

Key: TypeAlias = tuple[Hashable, ...]
TAKEN = ("size", "out", "queue", "stream")
"""Further arguments of calls, besides those of the function."""


def checked_signature(build: Any) -> inspect.Signature:
    """Return the parameters of a function that `antune.jit` can take.

    Raises:
        InputError: it is not a function (`def` or `lambda`), or has a parameter that calls cannot pass.
    """
    if not (inspect.isfunction(build) or inspect.ismethod(build)):
        raise InputError(f"antune.jit takes a function (def or lambda), not {_title(build)}; write a def that calls it")
    signature, name = inspect.signature(build), getattr(build, "__name__", "function")
    kinds = inspect.Parameter
    for parameter in signature.parameters.values():
        if parameter.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD, kinds.POSITIONAL_ONLY):
            raise InputError(f"{name}{signature}: antune.jit needs a name for each argument, by which it can be given; "
                             f"`{parameter}` has none")
        if parameter.name in TAKEN:
            raise InputError(f"{name}{signature}: `{parameter.name}` is an argument that every call has "
                             f"({', '.join(TAKEN)}); call it something else")
    return signature


def _title(value: Any) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, type) else f"the class {value.__name__}"


def numbers_outside(build: Callable[..., Any]) -> Callable[[], Key]:
    """Return a function that returns the numbers that `build` uses from outside, as they are now.

    These are its global names and the variables of the functions around it, but not attributes, nor those that other
    functions use. Code is made for these numbers, as for the arguments.
    """
    function = inspect.unwrap(build)
    function = getattr(function, "__func__", function)
    names, space = tuple(dict.fromkeys(_names(function.__code__))), function.__globals__
    cells = function.__closure__ or ()

    def numbers() -> Key:
        found = [_if_number(space.get(name)) for name in names]
        for cell in cells:
            try:
                found.append(_if_number(cell.cell_contents))
            except ValueError:  # not yet assigned
                found.append(None)
        return tuple(found)

    return numbers


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _if_number(value: Any) -> Hashable:
    return (type(value), repr(value)) if isinstance(value, int | float | np.number | np.bool_) else None


def is_array(value: Any) -> bool:
    """Return whether it is an array with elements: numpy's, pyopencl's, CuPy's, ..."""
    return hasattr(value, "dtype") and len(getattr(value, "shape", ())) > 0


def kind_of(name: str, value: Any) -> Hashable:
    """Return the part of an argument for which code is made: the shape and type of an array, or a number by its text.

    By its text, 0.0 differs from -0.0, and all NaN are equal. Raises InputError for anything else.
    """
    return (tuple(value.shape), value.dtype) if is_array(value) else (type(value), repr(number_of(name, value)))


def image_of(name: str, value: Any) -> ImageParam:
    """Return an input like `value`. Raises InputError for a type that pipelines do not have."""
    try:
        kind = type_of_numpy(np.dtype(str(value.dtype).removeprefix("torch.")))
    except TypeError:
        raise InputError(f"`{name}` is an array of {value.dtype}, which no pipeline takes; convert it") from None
    image = ImageParam(kind, len(value.shape), name)
    for number, extent in enumerate(reversed(value.shape)):
        if extent < 1:
            raise InputError(f"`{name}` has the shape {tuple(value.shape)}, so it has no elements")
        image.dim(number).set_bounds(0, int(extent))
    return image


def number_of(name: str, value: Any) -> int | float | bool:
    """Return `value` as a Python number. Raises InputError if it is not one."""
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, int | float):
        raise InputError(f"`{name}` is {type(value).__name__}, and a pipeline takes arrays and numbers; for a list use "
                         "numpy.asarray")
    return value


def extents_of(size: Any, where: str) -> tuple[int, ...]:
    """Return `size` as extents (width, height, ...). Raises InputError unless they are whole numbers above 0."""
    try:
        found = tuple(size)
        if not found or not all(isinstance(one, int | np.integer) and not isinstance(one, bool) and one > 0
                                for one in found):
            raise TypeError
    except TypeError:
        raise InputError(f"{where} is {size!r}; use whole numbers above 0, (width, height, ...)") from None
    return tuple(int(one) for one in found)
