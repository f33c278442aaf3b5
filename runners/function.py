"""A tuned kernel as a Python function: arguments by position or name, checked once per call, used in place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np

from generator.errors import InputError
from runners.calls import (
    HOST,
    ArgumentError,
    Caller,
    Code,
    Contract,
    Parameter,
    check_form,
    check_host,
    lies_in_host,
    scalar,
)
from runners.driver import BuildError, LaunchError


class TunedFunction:
    """Call it with the arrays and scalars that the tuned loops read, in the order of `signature` (see `help`).

    - **numpy arrays**: copied to the device and back; the call waits.
    - **pyopencl arrays**: used in place; `queue` defaults to theirs; the call does not wait.
    - **objects with `__cuda_array_interface__` or `__dlpack__`** (CuPy, PyTorch, Numba, JAX): used in place; `stream`
      defaults to the one that they name; results are ready in its order. Without any, the call waits.

    Types, shapes and sizes are those that were tuned. Arrays on a device must be contiguous. Results are returned: one
    as it is, several as a tuple. Arrays that are read and changed are copied first unless `inplace`; arrays that are
    written completely are made anew unless they are given by name. On a GPU without OpenCL, both must be given.

    Raises:
        ArgumentError: (an `antune.InputError` and a ValueError) an argument does not fit the code.
    """

    def __init__(self, code: Code, open_caller: Callable[[], Caller], origin: str, unordered: str = "") -> None:
        """`open_caller` is called once, at the first call; `origin` says in words where the code comes from.

        `unordered`: why the order of the arguments is unknown, so that all are passed by name; empty if it is known.
        """
        self._code, self._open, self.origin, self._unordered = code, open_caller, origin, unordered
        contract = code.contract
        self.__name__ = self.__qualname__ = contract.name
        self.__signature__ = _signature(code, bool(unordered))
        self.__doc__ = _docstring(code, origin)
        self._names = {parameter.name: place for place, parameter in enumerate(contract.parameters)}
        self._positional = sum(parameter.kind != "made" for parameter in contract.parameters)
        self._scalars = [(k, p) for k, p in enumerate(contract.parameters) if p.kind == "scalar"]
        self._arrays = [(k, p) for k, p in enumerate(contract.parameters) if p.kind != "scalar"]
        self._results = [self._names[name] for name in contract.results]
        self._own = [(k, code.own[p.array.name]) for k, p in enumerate(contract.parameters) if p.array.name in code.own]

    def by_name(self, reason: str) -> TunedFunction:
        """Return the same function with all arguments by name, because of `reason`."""
        return TunedFunction(self._code, self._open, self.origin, reason)

    @property
    def contract(self) -> Contract:
        """Its arguments and results."""
        return self._code.contract

    @property
    def source(self) -> str:
        """The text of the kernels."""
        return self._code.variant.source

    @property
    def device(self) -> str:
        """The device that the code is for."""
        return f"{self._code.device.name} ({self._code.device.platform})"

    @cached_property
    def _caller(self) -> Caller:
        return self._open()

    def compile(self, queue: Any = None) -> TunedFunction:
        """Compile now instead of at the first call, for calls on `queue` (None: on numpy arrays, or on a GPU).

        Raises:
            InputError: the device is missing, or refuses the code.
        """
        with self._in_words():
            self._caller.prepare(queue)
        return self

    def __call__(self, /, *given: Any, queue: Any = None, stream: Any = None, inplace: bool = False,
                 **named: Any) -> Any:
        """Run the kernels; see the class."""
        values, scalars = self._placed(given, named)
        self._complete(values, queue)
        with self._in_words():
            found = self._run(values, scalars, stream if queue is None else queue, inplace)
        results = [found[number] for number in self._results]
        return results[0] if len(results) == 1 else tuple(results)

    def check(self, /, *given: Any, queue: Any = None, **named: Any) -> None:
        """Raise the errors that a call with these arguments would raise because of them, and run nothing.

        For arrays on GPUs without OpenCL, only types, shapes and places are checked.
        """
        values, _ = self._placed(given, named)
        self._complete(values, queue)
        there = [lies_in_host(values[number]) for number, _ in self._arrays if values[number] is not None]
        if any(there) and not all(there):
            self._mixed([number for number, _ in self._arrays
                         if values[number] is not None and not lies_in_host(values[number])], values)
        for number, parameter in self._arrays:
            value = values[number]
            if value is None:
                continue
            if all(there):
                check_host(parameter, _from_dlpack(value), parameter.kind == "made")
            else:
                check_form(parameter, _dtype(value), tuple(getattr(value, "shape", ())), True)
        if queue is not None or not all(there):
            with suppress(BuildError, LaunchError):  # errors of this code, not of the arguments
                self._caller.check(values, queue)

    def _placed(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Return arguments and numbers by their place in the contract. Raises ArgumentError."""
        values: list[Any] = [*given, *[None] * (len(self._names) - len(given))]
        if named or self._unordered or len(given) != self._positional or any(value is None for value in given):
            self._place(values, len(given), named)
        scalars: list[Any] = [None] * len(values)
        for number, parameter in self._scalars:
            scalars[number] = scalar(parameter, values[number])
        return values, scalars

    def _complete(self, values: list[Any], queue: Any) -> None:
        """Put the code's own data in the places of arrays that are not given. Raises ArgumentError as `Own.beside`."""
        for place, own in self._own:
            if values[place] is None:
                arrays = [values[number] for number, _ in self._arrays if values[number] is not None]
                values[place] = own.beside(arrays, queue)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except (BuildError, LaunchError) as error:
            raise InputError(f"{self.device} refuses {self.__name__}: {error}") from None

    def _run(self, values: list[Any], scalars: list[Any], place: Any, inplace: bool) -> list[Any]:
        caller = self._caller
        if self._on_device(caller, values):
            return caller.on_device(values, scalars, place, inplace)
        found = self._arranged(values, inplace)
        caller.on_host({parameter.name: found[number] for number, parameter in self._arrays}, scalars, place)
        return found

    def _place(self, values: list[Any], count: int, named: Mapping[str, Any]) -> None:
        """Put arguments given by name in their places. Raises ArgumentError for unknown and missing ones."""
        if count and self._unordered:
            raise ArgumentError(f"{self}: give all arguments by name. {self._unordered}")
        if count > self._positional:
            raise ArgumentError(f"{self} takes {self._positional} arguments by position, not {count}; results are "
                                "given by name")
        sizes = dict(self._code.contract.sizes)
        for name, value in named.items():
            place = self._names.get(name)
            if place is None and name not in sizes:
                raise ArgumentError(f"{self} has no argument {name!r}")
            if place is None and value != sizes[name]:
                raise ArgumentError(f"{name} is {value}, but the code was tuned for {sizes[name]} and works for that "
                                    "only")
            if place is not None and place < count:
                raise ArgumentError(f"{self}: {name} is given twice")
            if place is not None:
                values[place] = value
        missing = [p.name for p, value in zip(self._code.contract.parameters, values, strict=True)
                   if value is None and p.kind != "made" and p.array.name not in self._code.own]
        if missing:
            raise ArgumentError(f"{self}: {', '.join(missing)} missing")

    def _on_device(self, caller: Caller, values: Sequence[Any]) -> bool:
        """Return whether the arrays are on the device. Raises ArgumentError if only some are, or all are elsewhere."""
        there = [number for number, _ in self._arrays if values[number] is not None
                 and not isinstance(values[number], HOST) and caller.takes(values[number])]
        if not there:
            return False
        self._mixed(there, values)
        return True

    def _mixed(self, there: Sequence[int], values: Sequence[Any]) -> None:
        """Raise ArgumentError if some arrays are not among those on the device."""
        if odd := next((p for k, p in self._arrays if k not in there and values[k] is not None), None):
            first = self._code.contract.parameters[there[0]]
            raise ArgumentError(f"{first.name} lies on the device and {odd.name} does not: give all arrays in the same "
                                "place")

    def _arranged(self, values: list[Any], inplace: bool) -> list[Any]:
        """Return numpy arrays for all arguments: new ones for missing results, copies of those that must not change."""
        found = list(values)
        for number, parameter in self._arrays:
            if values[number] is None:
                found[number] = np.zeros(parameter.shape, parameter.dtype)
                continue
            copied = parameter.kind == "changed" and not inplace
            array = check_host(parameter, _from_dlpack(values[number]), parameter.written and not copied)
            found[number] = array.copy() if copied else array
        return found

    def __str__(self) -> str:
        """Return its name and signature."""
        return f"{self.__name__}{self.__signature__}"

    def __repr__(self) -> str:
        """Describe it in two lines."""
        return f"<{self}: tuned for {self.device}\n {self.origin}>"


def _dtype(value: Any) -> object:
    """Return numpy's name for the element type of an array of any library."""
    name = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    try:
        return np.dtype(name)
    except TypeError:
        return name


def _from_dlpack(value: Any) -> Any:
    """Return an array of another library in the host's memory as a numpy array, without a copy."""
    if isinstance(value, HOST):
        return value
    device = getattr(value, "__dlpack_device__", None)
    if device is None:
        return value
    if int(device()[0]) != 1:
        return value  # the error names its type
    return np.from_dlpack(value)


def _signature(code: Code, by_name: bool) -> inspect.Signature:
    kinds = inspect.Parameter
    kind = kinds.KEYWORD_ONLY if by_name else kinds.POSITIONAL_OR_KEYWORD
    first = [kinds(p.name, kind, default=None if p.array.name in code.own else kinds.empty)
             for p in code.contract.parameters if p.kind != "made"]
    last = [kinds(p.name, kinds.KEYWORD_ONLY, default=None) for p in code.contract.parameters if p.kind == "made"]
    sizes = [kinds(name, kinds.KEYWORD_ONLY, default=value) for name, value in code.contract.sizes]
    rest = [kinds(name, kinds.KEYWORD_ONLY, default=default)
            for name, default in (("queue", None), ("stream", None), ("inplace", False))]
    return inspect.Signature([*first, *last, *sizes, *rest])


def _docstring(code: Code, origin: str) -> str:
    contract, general = code.contract, inspect.cleandoc(TunedFunction.__doc__ or "")
    lines = [f"{contract.name}, tuned for {code.device.name} ({code.device.platform}).", origin, ""]
    lines += [f"{p.name}: {_line(p)}{'; by default the data that the program holds' * (p.array.name in code.own)}"
              for p in contract.parameters]
    return "\n".join([*lines, "", f"Returns {', '.join(contract.results)}.", "", general])


def _line(parameter: Parameter) -> str:
    match parameter.kind:
        case "scalar":
            return parameter.words
        case "read":
            return f"{parameter.words}, only read"
        case "changed":
            return f"{parameter.words}, read and changed: copied first unless inplace=True"
        case "made":
            return f"{parameter.words}, written completely: made anew unless given by name"
