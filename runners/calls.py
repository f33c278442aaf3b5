"""Tuned code as a function on a caller's arrays, in the caller's process: its arguments, and the interface to run it.

A `Caller` belongs to one driver (`backend.Backend.open_caller`). Unlike everything else in this room it runs in the
process of the user: there is no check of results and no time limit, as in any library.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.program import Array, Program
from generator.variant import Variant
from runners.base import DeviceInfo

TAKEN = ("queue", "stream", "inplace")
"""Names of the arguments that every tuned function has."""
HOST = (np.ndarray, np.generic, int, float, list, tuple)
"""Types whose values are always in the host's memory."""
Kind: TypeAlias = Literal["scalar", "read", "changed", "made"]


class ArgumentError(InputError, ValueError):
    """An argument does not fit a tuned function; the message says what it accepts."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tuned function, called `name` in Python.

    `kind`: a `scalar`, passed by value; an array that is `read`; one that is `changed` (its elements are read, or only
    some are written); one that is `made` (all elements are written, whatever they were). `array` is the Program's.
    """

    name: str
    kind: Kind
    array: Array
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def written(self) -> bool:
        """Whether the argument holds a result."""
        return self.kind in ("changed", "made")

    @property
    def padded(self) -> bool:
        """Whether kernels need more elements at its end than the program's array has."""
        return self.array.elements != self.array.own_elements

    def fits(self, dtype: object) -> bool:
        """Return whether elements of this type can be passed; truth values may be bytes that are 0 or 1."""
        return dtype == self.dtype or (self.dtype == np.bool_ and dtype == np.uint8)

    @property
    def words(self) -> str:
        """A description of a valid argument."""
        return f"an array of {self.dtype} with shape {self.shape}" if self.kind != "scalar" else f"a {self.dtype}"


@dataclass(frozen=True, slots=True)
class Contract:
    """The arguments and results of a tuned function.

    `parameters` in the order of a call: first those that are read (by position), then those that are made. `sizes` are
    built in: an argument of that name must be equal. `results` are the names of the returned arrays, in this order.
    """

    name: str
    parameters: tuple[Parameter, ...]
    sizes: tuple[tuple[str, int], ...]
    results: tuple[str, ...]


class Own(Protocol):
    """Elements of an input that the code brings along."""

    def beside(self, arrays: Iterable[Any], queue: Any) -> Any:
        """Return them where `arrays` are. Raises ArgumentError where that is not possible."""


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a Caller: `variant` implements `program`, on `device`.

    `numbers`: scalars of kernels with fixed values, which the caller does not pass. `own`: by name, what stands for
    arrays that a call leaves out.
    """

    program: Program
    variant: Variant
    contract: Contract
    device: DeviceInfo
    numbers: tuple[tuple[str, np.generic], ...] = ()
    own: Mapping[str, Own] = field(default_factory=dict)

    def given(self, name: str) -> int | None:
        """Return the place in the contract of an array that kernels take from the caller; None: the Caller has its
        memory.
        """
        found = self.place(name)
        return None if found is None or self.contract.parameters[found].padded else found

    def place(self, name: str) -> int | None:
        """Return the place in the contract of the program's array or scalar `name`; None if it has none."""
        return next((k for k, p in enumerate(self.contract.parameters) if p.array.name == name), None)

    @property
    def own_arrays(self) -> dict[str, Array]:
        """The arrays that a Caller allocates: those between kernels, and copies with a few more elements."""
        kernels = self.variant.kernels
        names = {name for k in kernels for name in (*k.arrays, *(placed.array for placed in k.placements))}
        arrays = self.program.with_arrays(self.variant.scratch).arrays
        return {array.name: array for array in arrays if array.name in names and self.given(array.name) is None}


class Caller(Protocol):
    """Runs a Code on arrays. Scalars are numpy values of the right types; arrays of a call are passed by name."""

    def takes(self, value: object) -> bool:
        """Return whether `value` is an array in the memory of this driver's devices."""

    def prepare(self, queue: Any) -> None:
        """Compile everything for a call on `queue` (None: on numpy arrays). Raises BuildError, LaunchError."""

    def check(self, values: Sequence[Any], queue: Any) -> None:
        """Raise ArgumentError if a call with these arguments on `queue` (None: that of the arrays) would. Runs nothing.
        """

    def on_host(self, arrays: Mapping[str, NDArray[Any]], scalars: Sequence[Any], queue: Any) -> None:
        """Run on copies of numpy arrays, copy results back into them, and wait."""

    def on_device(self, values: Sequence[Any], scalars: Sequence[Any], queue: Any, inplace: bool) -> list[Any]:
        """Run on the device's arrays, in the order of the contract (None: to be made), and return them.

        `queue` is the caller's queue or stream (None: that of the arrays). Without `inplace`, changed arrays are copied
        first. Does not wait.

        Raises:
            ArgumentError: an array does not fit the contract, or is in other memory.
        """


def contract_of(program: Program, name: str, order: Sequence[str], sizes: Sequence[tuple[str, int]],
                made: Sequence[str]) -> Contract:
    """Return the Contract of a function with parameters in this `order`; results named in `made` come last, by name.

    Names that Python or the function itself reserves get a `_` at their end.
    """
    words = _python_names([*order, *(name for name, _ in sizes)])
    parameters = {array.name: _parameter(array, words[array.name], array.name in made) for array in program.arrays
                  if array.name in order}
    first = [parameters[n] for n in order if parameters[n].kind != "made"]
    last = [parameters[n] for n in order if parameters[n].kind == "made"]
    results = tuple(words[n] for n in order if parameters[n].written)
    own_name = f"{name}_" if iskeyword(name) else name
    return Contract(own_name, (*first, *last), tuple((words[n], value) for n, value in sizes), results)


def _python_names(names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        word = name
        while iskeyword(word) or word in TAKEN or word in found.values() or (word != name and word in names):
            word += "_"
        found[name] = word
    return found


def _parameter(array: Array, name: str, made: bool) -> Parameter:
    kind: Kind = "scalar" if array.by_value else "read" if array.role == "in" else "made" if made else "changed"
    return Parameter(name, kind, array, np.dtype(array.numpy_type), array.own_extents)


def lies_in_host(value: Any) -> bool:
    """Return whether `value` is in the host's memory: numpy's, a number, or another library's array on the host."""
    if isinstance(value, HOST):
        return True
    device = getattr(value, "__dlpack_device__", None)
    return not hasattr(value, "__cuda_array_interface__") and device is not None and int(device()[0]) == 1


def check_host(parameter: Parameter, value: object, changes: bool) -> NDArray[Any]:
    """Return the numpy array that is passed for `parameter`; `changes`: its elements will be changed.

    Raises ArgumentError for anything else.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise wrong(parameter, "one with a mask", "kernels do not know masks; give the values, e.g. with .filled(0)")
    if isinstance(value, np.ndarray):
        array = value
    elif parameter.shape == () and not parameter.written:
        array = np.asarray(value, parameter.dtype)
    else:
        raise wrong(parameter, f"a {type(value).__name__}")
    check_form(parameter, array.dtype, array.shape, True)
    if changes and not array.flags.writeable:
        raise wrong(parameter, "one that cannot be written", "it takes a result")
    return array


def check_form(parameter: Parameter, dtype: object, shape: tuple[int, ...], contiguous: bool) -> None:
    """Raise ArgumentError unless an array of this form can be passed for `parameter`."""
    if not parameter.fits(dtype) or shape != parameter.shape:
        raise wrong(parameter, f"one of {dtype} with shape {tuple(shape)}", "types and sizes are built in")
    if not contiguous:
        raise wrong(parameter, "one with gaps or in another order",
                    "arrays on the device must be contiguous, last dimension fastest")


def wrong(parameter: Parameter, found: str, reason: str = "") -> ArgumentError:
    """Return the error for an argument of the wrong form."""
    return ArgumentError(f"{parameter.name} must be {parameter.words}, not {found}{f': {reason}' if reason else ''}")


def scalar(parameter: Parameter, value: object) -> Any:
    """Convert a number to the type of `parameter`. Raises ArgumentError if it is not a number, or does not fit."""
    try:
        if isinstance(value, np.ndarray) and value.shape != ():
            raise TypeError
        found = parameter.dtype.type(value)
        if parameter.dtype.kind in "iu" and int(found) != value:
            raise OverflowError
    except (TypeError, ValueError, OverflowError):
        raise wrong(parameter, f"{value!r}"[:80]) from None
    return found


def overlap(places: Sequence[tuple[Parameter, int, int]]) -> None:
    """Raise ArgumentError if a written array overlaps another. `places`: (parameter, first address, end address)."""
    for number, (parameter, first, last) in enumerate(places):
        if parameter.written:
            for at, (other, begin, end) in enumerate(places):
                if at != number and first < end and begin < last:
                    raise ArgumentError(f"{parameter.name} and {other.name} share memory, but {parameter.name} is "
                                        "written: the code takes arrays that do not overlap; copy one of them")


def code_folder(cache: Path) -> Path:
    """Return the folder of compiled kernels for later processes; only the user has access, since its code is executed.

    Raises:
        InputError: it cannot be made, or it is somebody else's.
    """
    folder = cache / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise InputError(f"{folder} is not a folder of yours, and the code in it would be run; remove it, or set "
                             "XDG_CACHE_HOME to another place")
        if found.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise InputError(f"{folder}, for compiled kernels, cannot be made: {error.strerror}; set XDG_CACHE_HOME to "
                         "another place") from None
    return folder
