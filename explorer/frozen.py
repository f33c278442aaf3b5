"""Serializes the state of an explorer, so that a long search can be resumed without repeating its walks.

The state is a graph of plain values: numbers, strings, containers, arrays, random generators, and instances of classes
of `explorer`, `graph`, `generator.plan` and `generator.schedules`. `freeze` writes each object once, parts before
wholes; `thaw` restores them and keeps shared objects shared.

`thaw` is safe for untrusted text, because a run directory may come from another person. It creates instances by setting
their fields: it runs no constructor, function or method of theirs, and creates no class of other packages. Damaged or
forged text can at worst give a wrong state or an InputError. A pickle could execute any code.

New fields and classes need no declaration. Values that cannot be frozen (a generator, a function, a cycle) raise
NotPlain. A test freezes every explorer of the registry in the middle of a search.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from explorer.base import Explorer
from generator.errors import InputError
from generator.plan import Plan
from graph.walk import Choice, Walk

CLASS, END = "class", "end"
OPENED = -1
ATOMS = frozenset((bool, int, float, str, type(None)))
_ROOMS = re.compile(r"(explorer|graph)\.\w+|generator\.plan|generator\.schedules\.\w+")
_DTYPES = re.compile(r"[<>|=]?[biuf][1-8]")
_TYPES: Mapping[str, type] = {kind.__name__: kind for kind in (bool, int, float, str, tuple)}
_CONTAINERS: Mapping[type, Callable[[Iterable[Any]], Any]] = {tuple: tuple, list: list, set: set, frozenset: frozenset}


class NotPlain(TypeError):
    """The state of an explorer has a value that cannot be frozen; possible for explorers of other packages."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """Replaces a Plan that is in the store; refers to it by its digest."""

    digest: str


@dataclass(slots=True)
class _Writer:
    """Numbers objects, parts before wholes. Line i (lines of classes not counted) describes object i."""

    space: object
    stored: Container[str]
    _numbers: dict[int, int] = field(default_factory=dict)  # by identity; OPENED: some parts have none yet
    _classes: dict[tuple[type, tuple[str, ...]], int] = field(default_factory=dict)
    _new_classes: list[list[Any]] = field(default_factory=list)
    _slots: dict[type, tuple[str, ...]] = field(default_factory=dict)
    _choices: dict[tuple[int, type, Any], Choice] = field(default_factory=dict)
    _stored: dict[str, _Stored] = field(default_factory=dict)

    def entries(self, root: object) -> Iterator[list[Any]]:
        """Yield the entries of all parts of `root`, then of `root`; a class comes before its first instance.

        Raises NotPlain.
        """
        stack, count = [root], 0
        while stack:
            value = stack[-1]
            known = self._numbers.get(id(value))
            if known is not None and known != OPENED:
                stack.pop()
                continue
            kind, parts = self._taken_apart(value)
            yield from self._new_classes
            self._new_classes.clear()
            missing = [
                part for part in parts if type(part) not in ATOMS and self._numbers.get(id(part), OPENED) == OPENED
            ]
            if not missing:
                yield [kind, *(part if type(part) in ATOMS else [self._numbers[id(part)]] for part in parts)]
                self._numbers[id(value)] = count
                count += 1
                stack.pop()
                continue
            if known == OPENED:
                raise NotPlain(f"a {type(value).__name__} holds itself")
            self._numbers[id(value)] = OPENED
            stack += missing

    def _taken_apart(self, value: Any) -> tuple[str | int, Sequence[Any]]:
        """Return the kind of `value` (the number of its class for an instance) and its parts. Raises NotPlain."""
        kind = type(value)
        if kind is dict:
            return "dict", [part for item in value.items() for part in item]
        if kind in _CONTAINERS:
            return kind.__name__, self._shared(value) if kind is tuple else list(value)
        if kind is deque:
            return "deque", [value.maxlen, *value]
        if kind is np.ndarray or isinstance(value, np.generic):
            return _array(value)
        if kind is np.random.Generator:
            return "random", [json.dumps(value.bit_generator.state)]
        if kind is _Stored:
            return "plan", [value.digest]
        if value is self.space:
            return "space", []
        if isinstance(value, type) and _TYPES.get(value.__name__) is value:
            return "type", [value.__name__]
        return self._instance(value)

    def _instance(self, value: Any) -> tuple[int, list[Any]]:
        kind = type(value)
        slots = self._slots.get(kind)
        if slots is None:
            slots = self._slots[kind] = _slots(kind)
        names = (*slots, *vars(value)) if hasattr(value, "__dict__") else slots
        number = self._classes.get((kind, names))
        if number is None:
            number = self._classes[kind, names] = len(self._classes)
            self._new_classes.append([CLASS, kind.__module__, kind.__name__, list(names)])
        if isinstance(value, Walk) and value.identity in self.stored:
            stored = self._stored.setdefault(value.identity, _Stored(value.identity))
            return number, [stored if name == "plan" else getattr(value, name) for name in names]
        return number, [getattr(value, name) for name in names]

    def _shared(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Replace equal choices by one object: walks have many copies of few choices."""
        if not parts or type(parts[0]) is not Choice:
            return parts
        return tuple(self._choices.setdefault((id(part.decision), type(part.option), part.option), part)
                     if type(part) is Choice else part for part in parts)


def _slots(kind: type) -> tuple[str, ...]:
    """Return the names of the slots of a class; other fields are in the instances' `__dict__`.

    Raises NotPlain for a class of another package.
    """
    if not _ROOMS.fullmatch(kind.__module__) or not hasattr(sys.modules[kind.__module__], kind.__name__):
        raise NotPlain(f"a {kind.__module__}.{kind.__qualname__} cannot be frozen")
    return tuple(name for ancestor in kind.__mro__ for name in getattr(ancestor, "__slots__", ()))


def _array(value: Any) -> tuple[str, list[Any]]:
    """Return kind and parts of a NumPy array or number. Raises NotPlain for other dtypes."""
    if not _DTYPES.fullmatch(value.dtype.str):
        raise NotPlain(f"an array of {value.dtype} cannot be frozen")
    order = (
        "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    )  # the order changes the last bit of sums
    data = base64.b64encode(value.tobytes(order)).decode()
    if isinstance(value, np.generic):
        return "number", [value.dtype.str, data]
    return "array", [value.dtype.str, order, value.flags.writeable, data, *value.shape]


def freeze(explorer: Explorer, space: object, stored: Container[str]) -> Iterator[str]:
    """Yield the state of `explorer`, one line of JSON per object: the whole text would be larger than the state itself.

    The text contains neither `space` nor the plans of walks whose digests are in `stored`: `thaw` gets both.

    Raises:
        NotPlain: the state has a value that cannot be frozen.
    """
    encode = json.JSONEncoder(separators=(",", ":")).encode
    for entry in _Writer(space, stored).entries(explorer):
        yield encode(entry) + "\n"
    yield encode([END]) + "\n"


def thaw(lines: Iterable[str], space: object, plans: Mapping[str, Plan]) -> Explorer:
    """Return the explorer that `freeze` wrote.

    Raises:
        InputError: the text is damaged, or was written by a version with other classes.
    """
    reader = _Reader(space, plans)
    try:
        for line in lines:
            kind, *parts = json.loads(line)
            if kind == END:
                explorer: Explorer = reader.objects[-1]
                return explorer
            reader.add(kind, parts)
        raise ValueError("it has no end")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"the state of an explorer cannot be read: {error!r}") from None


def _class(module: str, name: str, names: list[str]) -> tuple[type, list[str]]:
    if not _ROOMS.fullmatch(module):
        raise ValueError(f"{module} is not a room of explorers")
    kind = getattr(import_module(module), name)
    if not isinstance(kind, type) or kind.__module__ != module or not all(isinstance(field, str) for field in names):
        raise ValueError(f"{module}.{name} is not a class of explorers")
    return kind, names


@dataclass(slots=True)
class _Reader:
    """Restores objects from entries; `objects[i]` is that of entry i, entries of classes not counted."""

    space: object
    plans: Mapping[str, Plan]
    classes: list[tuple[type, list[str]]] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)

    def add(self, kind: str | int, parts: list[Any]) -> None:
        """Restore the next object or class."""
        if kind == CLASS:
            self.classes.append(_class(*parts))
            return
        known = self.objects
        known.append(self._made(kind, [known[part[0]] if type(part) is list else part for part in parts]))

    def _made(self, kind: str | int, parts: list[Any]) -> Any:
        if isinstance(kind, int):
            return _filled(*self.classes[kind], parts)
        match kind:
            case "dict":
                return dict(zip(parts[::2], parts[1::2], strict=True))
            case "list":
                return parts
            case "tuple":
                return tuple(parts)
            case "set":
                return set(parts)
            case "frozenset":
                return frozenset(parts)
            case "deque":
                return deque(parts[1:], parts[0])
            case "plan":
                return self.plans[parts[0]]
            case "space":
                return self.space
            case "type":
                return _TYPES[parts[0]]
            case _:
                return _of_numpy(kind, parts)


def _filled(kind: type, names: list[str], values: list[Any]) -> object:
    """Return an instance with these fields, created without running any of its methods."""
    made: object = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _of_numpy(kind: str, parts: list[Any]) -> Any:
    match kind, parts:
        case "array", [str(dtype), "C" | "F" as order, bool(writeable), str(data), *shape] if _DTYPES.fullmatch(dtype):
            array = np.frombuffer(base64.b64decode(data), dtype=dtype).reshape(shape, order=order).copy(order)
            array.setflags(write=writeable)
            return array
        case "number", [str(dtype), str(data)] if _DTYPES.fullmatch(dtype):
            return np.frombuffer(base64.b64decode(data), dtype=dtype)[0]
        case "random", [str(state)]:
            bits = np.random.PCG64()
            bits.state = json.loads(state)
            return np.random.Generator(bits)
        case _:
            raise ValueError(f"unknown kind of object: {kind!r}")
