"""A template from Python: text, parameters, arguments with data, launch, and the answer.

    from antune.template import array, output, template

    def build(n=1_000_000):
        a, b = ...                                                  `antune tune kernel.py:build --param n=500000`
        return template("vector_add.cl", "vector_add", {"block_size_x": [32, 64, 128]},
                        {"c": output(n, "float32"), "a": a, "b": b, "n": np.int32(n)},
                        grid=f"ceil({n} / block_size_x)", block="block_size_x", answer={"c": a + b})
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from generator.contract import NUMPY_TYPES, Array, ElementType, Role, Tolerance
from generator.errors import InputError
from generator.plan import Value
from generator.problem import Problem, Reference
from generator.target import Dialect
from generator.templates.checking import check_template
from generator.templates.template import Parameter, Template

C_TYPES: Mapping[str, ElementType] = {numpy_type: c_type for c_type, numpy_type in NUMPY_TYPES.items()}  # type: ignore[misc]  # keys of the table
OPENCL: Dialect = "opencl"
Sizes: TypeAlias = str | int | Sequence[str | int]
Answer: TypeAlias = Mapping[str, ArrayLike] | Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a kernel: its data, or only its shape if the kernel alone writes it."""

    role: Role
    values: NDArray[Any]
    constant: bool = False
    texture: bool = False


def array(values: ArrayLike, role: Role = "in") -> Argument:
    """Make an array that the kernel reads (`in`), reads and writes (`inout`), or uses as scratch (`temp`).

    Raises:
        InputError: another role.
    """
    if role not in get_args(Role):
        raise InputError(f"the role of an array is {role!r}; use {', '.join(get_args(Role))}")
    return Argument(role, _kept(values))


def constant(values: ArrayLike) -> Argument:
    """Make an array in constant memory: an argument in OpenCL, a symbol of its name in CUDA and HIP."""
    return Argument("in", _kept(values), constant=True)


def texture(values: ArrayLike) -> Argument:
    """Make an array of one or two dimensions with elements of 32 bits that is read through a texture.

    In OpenCL it is an `image2d_t` (one dimension: `image1d_buffer_t`) with one channel of its elements' type, in CUDA a
    `cudaTextureObject_t`, in HIP a `hipTextureObject_t`. There is no filtering, and coordinates are not normalised.
    """
    return Argument("in", _kept(values), texture=True)


def _kept(values: ArrayLike) -> NDArray[Any]:
    """Return `values` as an array; a mask is kept, and refused later with the name of the argument."""
    return np.asanyarray(values)


def output(shape: int | Sequence[int], dtype: DTypeLike = "float32") -> Argument:
    """Make an array that the kernel writes completely; before each run it holds garbage."""
    return Argument("out", np.zeros(shape, dtype))


@dataclass(frozen=True, slots=True)
class Tunable:
    """A template with its data: the result of `build` in a file."""

    template: Template
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]

    @property
    def problem(self) -> Problem:
        """The input of a run; outputs may be missing, see `Reference`."""
        complete = all(array.name in self.outputs for array in self.template.outputs)
        reference = Reference(self.inputs, self.outputs, (), "answer" if complete else "first", "", ())
        return Problem(self.template, reference)


def template(source: str | Path, kernel: str, parameters: Mapping[str, Sequence[Value]],
             arguments: Mapping[str, Argument | ArrayLike], *, grid: Sizes, block: Sizes,
             restrictions: Sequence[str] = (), answer: Answer | None = None,
             tolerance: tuple[float, float] | None = None, language: Dialect | None = None,
             shared_bytes: str | int = 0, defines: Mapping[str, str | int] | None = None,
             name: str | None = None) -> Tunable:
    """Make a kernel to tune.

    `source` is a file, or the text itself; `kernel` is the name of the kernel in it. `arguments` are in the kernel's
    order: arrays (read only, unless `array`, `output`, `constant` or `texture` says otherwise) and NumPy scalars.
    `grid` (blocks) and `block` (threads per block) are numbers or expressions over the parameters, x first.
    `shared_bytes`: dynamic shared memory in CUDA and HIP. `answer` holds the expected outputs by name, or is a function
    that takes the arguments by name and returns them (for one output: the array itself); without it, all configurations
    must reproduce the results of the first one. `tolerance` is (relative, absolute), as in numpy.allclose.

    Raises:
        InputError: the arguments are inconsistent.
    """
    file, text = _source(source)
    found = {key: _argument(key, value) for key, value in arguments.items()}
    made = Template(
        name or kernel, file, language or language_of(text, file), kernel, text,
        tuple(parameter_of(key, values) for key, values in parameters.items()), _restrictions(restrictions),
        tuple(_array(key, argument) for key, argument in found.items()), _sizes("grid", grid), _sizes("block", block),
        tuple(key for key, argument in found.items() if argument.constant), str(shared_bytes),
        tuple((key, str(value)) for key, value in (defines or {}).items()),
        _tolerance(tolerance), textures=tuple(key for key, argument in found.items() if argument.texture))
    check_template(made)
    inputs = {key: argument.values for key, argument in found.items() if argument.role != "out"}
    return Tunable(made, inputs, _answers(made, answer, {key: argument.values for key, argument in found.items()}))


def parameter_of(name: str, values: Any) -> Parameter:
    """Return a parameter with values from Python. Raises InputError if they are not a list of numbers and texts."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"the parameter `{name}` has the values {values!r:.60}; give a list")
    found = []
    for value in values:
        plain = value.item() if isinstance(value, np.generic) else value
        if not (isinstance(plain, str | int) or (isinstance(plain, float) and math.isfinite(plain))):
            raise InputError(f"the parameter `{name}` has the value {value!r:.60}; use finite numbers, truth values or "
                             "texts")
        found.append(plain)
    return Parameter(name, tuple(found))


def _restrictions(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(text, str) for text in given):
        raise InputError(f"restrictions is {given!r:.80}; give a list of expressions as texts")
    return tuple(given)


def _tolerance(given: tuple[float, float] | None) -> Tolerance | None:
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise InputError(f"the tolerance is {given!r:.60}; give two numbers from 0: relative and absolute")
    return Tolerance(*given)


def language_of(text: str, file: str) -> Dialect:
    """Return the language of a kernel's text, by its keywords. Raises InputError if there are none."""
    if "__global__" in text:
        return "hip" if "hip_runtime" in text or file.endswith(".hip") else "cuda"
    if re.search(r"\b(__)?kernel\b", text):
        return OPENCL
    raise InputError(f"{file or 'the text'} has neither `__kernel` nor `__global__`: its language is not clear; "
                     "give language=\"opencl\", \"cuda\" or \"hip\"")


def _source(source: str | Path) -> tuple[str, str]:
    """Return the file (absolute; empty for a text) and the text. Raises InputError."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return "", source
    path = Path(source).absolute()
    try:
        return str(path), path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{path} cannot be read: {words}; give a file with a kernel, or the text itself") from None


def _argument(name: str, value: Argument | ArrayLike) -> Argument:
    if isinstance(value, Argument):
        return replace(value, values=array_of(f"the argument `{name}`", value.values))
    return Argument("in", array_of(f"the argument `{name}`", value))


def array_of(what: str, value: Any) -> NDArray[Any]:
    """Return the value of an argument, called `what` in messages, as an array in C order (a scalar: shape ()).

    Raises:
        InputError: its type is unclear or has no equivalent in kernels, or it has a mask.
    """
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        raise InputError(f"{what} is {value!r}, whose type in the kernel is not clear; give a NumPy scalar, e.g. "
                         "np.int32(5)")
    if isinstance(value, np.ma.MaskedArray):
        raise InputError(f"{what} has a mask, which kernels do not know; give the values alone, e.g. with .filled(0)")
    found = np.asarray(_read(what, value.get() if hasattr(value, "get") and hasattr(value, "dtype") else value))
    if found.dtype.name not in C_TYPES:
        raise InputError(f"{what} has elements of {found.dtype}; use one of {', '.join(C_TYPES)}")
    return np.ascontiguousarray(found).reshape(found.shape)


def numbers_of(what: str, value: Any) -> NDArray[Any]:
    """Return the value of an answer, called `what` in messages, as an array.

    Raises:
        InputError: it is not an array of plain numbers.
    """
    found = _read(what, value)
    if found.dtype.kind not in "biuf" or isinstance(found, np.ma.MaskedArray):
        raise InputError(f"{what} has elements of {found.dtype}, or a mask; give plain numbers")
    return np.asarray(found)


def _read(what: str, value: Any) -> NDArray[Any]:
    """Return a value as a NumPy array. Raises InputError if that fails, e.g. for rows of different lengths."""
    try:
        return np.asanyarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what} is not an array: {error}; give numbers in rows of one length") from None


def _array(name: str, argument: Argument) -> Array:
    return Array(name, C_TYPES[argument.values.dtype.name], argument.values.shape, argument.role)


def _sizes(words: Literal["grid", "block"], sizes: Sizes) -> tuple[str, ...]:
    given = list(sizes) if isinstance(sizes, list | tuple) else [sizes]
    if odd := [size for size in given if not isinstance(size, str | int | np.integer)]:
        raise InputError(f"`{words}` has the size {odd[0]!r:.60}; give whole numbers, or expressions as texts")
    return tuple(str(size) for size in given)


def _answers(template: Template, answer: Answer | None, values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the expected outputs. Raises InputError if they do not fit."""
    if answer is None:
        return {}
    given = answer(**{name: value.copy() for name, value in values.items()}) if callable(answer) else answer
    outputs = {array.name: array for array in template.outputs}
    if not isinstance(given, Mapping):
        if len(outputs) != 1:
            raise InputError(f"the answer is one array, but {template.kernel} has {len(outputs)} outputs; give a "
                             "dictionary with each by its name")
        given = {next(iter(outputs)): given}
    if unknown := sorted(set(given) - set(outputs)):
        raise InputError(f"the answer has `{unknown[0]}`, which is not an output; outputs are "
                         f"{', '.join(outputs) or 'none'}: mark them with output(...) or array(..., \"inout\")")
    if missing := sorted(set(outputs) - set(given)):
        raise InputError(f"the answer lacks `{missing[0]}`, which {template.kernel} writes")
    return {name: _fitting(outputs[name], value) for name, value in given.items()}


def _fitting(array: Array, given: Any) -> NDArray[Any]:
    value = numbers_of(f"the answer for `{array.name}`", given)
    if value.size != array.elements:
        raise InputError(f"the answer for `{array.name}` has {value.size} elements, the argument has {array.elements}")
    return value.astype(NUMPY_TYPES[array.type]).reshape(array.extents)
