"""Convert frozen dataclasses to JSON and back without pickle: programs, devices and options in the store.

A dataclass becomes an object whose key `is` names its type; a tuple becomes a list. Reading builds only the types
listed here, and a Program only from words that are safe to print as code. So a store is data, never code.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import TypeVar

from experiments.values.environment import Environment
from experiments.values.objective import Objective
from experiments.values.options import Budget, RunOptions, Timing
from experiments.values.stopping import Goal
from generator import expr, program
from generator.contract import Tolerance
from generator.errors import InputError
from generator.frontend_c.source import Compilation, Invocation
from generator.json_text import parse_json
from generator.plain_text import printable
from generator.problem import Subject
from generator.target import Target
from generator.templates.checking import check_stored
from generator.templates.template import Parameter, Template
from generator.words_of_programs import check_words
from metrics.costs.constants import Calibration
from metrics.roofline import Bandwidth, Ceilings
from runners.base import DeviceInfo

T = TypeVar("T")

_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        expr.Int,
        expr.Real,
        expr.Name,
        expr.Load,
        expr.Unary,
        expr.Binary,
        expr.Call,
        expr.Cast,
        expr.Select,
        expr.Fold,
        program.Array,
        program.Access,
        program.Assignment,
        program.Statement,
        program.Box,
        program.Program,
        Parameter,
        Template,
        Tolerance,
        Target,
        DeviceInfo,
        Compilation,
        Invocation,
        Budget,
        Goal,
        Timing,
        Objective,
        RunOptions,
        Environment,
        Bandwidth,
        Ceilings,
        Calibration,
    )
}


def to_json(value: object) -> str:
    """Return `value` as JSON text; equal values have equal text. Raises TypeError for a type that is not listed."""
    return json.dumps(_encode(value), sort_keys=True, separators=(",", ":"))


def from_json(text: str, kind: type[T]) -> T:
    """Return the value that `to_json` converted.

    Raises:
        InputError: the text is damaged, was written by a version with other types or fields, or contains a Program with
            words that are not allowed.
    """
    try:
        value = _decode(parse_json(text))
        if isinstance(value, program.Program):
            check_words(value)
        if isinstance(value, Template):
            check_stored(value)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"a stored {kind.__name__} cannot be read: {error}; the run was made by another "
                         "version of antune, start a new run") from None
    if not isinstance(value, kind):
        raise InputError(f"a stored {kind.__name__} cannot be read: found {type(value).__name__}")
    return value


def subject_from_json(text: str) -> Subject:
    """Return the Program or Template that `to_json` converted. Raises InputError as `from_json`."""
    if isinstance(data := _parsed(text), dict) and data.get("is") == Template.__name__:
        return from_json(text, Template)
    return from_json(text, program.Program)


def _parsed(text: str) -> object:
    try:
        return parse_json(text)
    except ValueError:
        return None  # from_json raises the error


def _encode(value: object) -> object:
    if is_dataclass(value) and type(value) in _TYPES.values():
        return {"is": type(value).__name__} | {f.name: _encode(getattr(value, f.name)) for f in fields(value) if f.init}
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"cannot be stored: {type(value).__name__}")


def _decode(data: object) -> object:
    if isinstance(data, list):
        return tuple(_decode(item) for item in data)
    if isinstance(data, dict):
        kind = _TYPES[data["is"]]
        return kind(**{name: _decode(value) for name, value in data.items() if name != "is"})
    return printable(data) if isinstance(data, str) else data
