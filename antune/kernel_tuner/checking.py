"""Check the types of the arguments of `tune_kernel`: one message for the first wrong one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from generator.errors import InputError
from generator.templates.expressions import parse_restriction

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBERS = (int, float, np.integer, np.floating)
_Fits: TypeAlias = Callable[[Any], bool]


def _listed(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _number(value: Any) -> bool:
    if not isinstance(value, _NUMBERS) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def _size(value: Any) -> bool:
    return _number(value) or isinstance(value, str) or callable(value)


def _sizes(value: Any) -> bool:
    return _size(value) or (_listed(value) and all(_size(one) for one in value))


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


KINDS: Mapping[str, tuple[_Fits, str]] = {
    "kernel_name": (lambda v: isinstance(v, str) and bool(_NAME.fullmatch(v)), "the name of the kernel in the text"),
    "kernel_source": (lambda v: isinstance(v, str | Path) or callable(v) or _listed(v),
                      "text, a file, or a function of a configuration"),
    "problem_size": (_sizes, "one to three numbers, expressions as texts, or a function of a configuration"),
    "arguments": (_listed, "a list of NumPy arrays and scalars, in the kernel's order"),
    "tune_params": (lambda v: isinstance(v, Mapping), "a dictionary of names, each with a list of values"),
    "grid_div_x": (_sizes, "a list of expressions, or a function of a configuration"),
    "grid_div_y": (_sizes, "a list of expressions, or a function of a configuration"),
    "grid_div_z": (_sizes, "a list of expressions, or a function of a configuration"),
    "answer": (_listed, "a list with an array for each output, and None for each other argument"),
    "atol": (lambda v: _number(v) and v >= 0, "a number from 0"),
    "verify": (callable, "a function of answer, results and atol"),
    "lang": (lambda v: isinstance(v, str), "the name of a language"),
    "device": (lambda v: isinstance(v, str) or _whole(v), "a number, or a name as --device takes it"),
    "smem_args": (lambda v: isinstance(v, Mapping) and _size(v.get("size")),
                  "a dictionary with `size`: a number, an expression as text, or a function of a configuration"),
    "cmem_args": (lambda v: isinstance(v, Mapping), "a dictionary of names, each with an array"),
    "defines": (lambda v: isinstance(v, Mapping) and all(isinstance(k, str) and _NAME.fullmatch(k) for k in v),
                "a dictionary of macros' names, each with a value"),
    "iterations": (lambda v: _whole(v) and v > 0, "a whole number above 0"),
    "block_size_names": (lambda v: _listed(v) and len(v) <= 3 and all(isinstance(one, str) for one in v),
                         "a list of up to three parameters"),
    "strategy": (lambda v: isinstance(v, str), "the name of a strategy"),
    "strategy_options": (lambda v: isinstance(v, Mapping), "a dictionary"),
    "cache": (lambda v: isinstance(v, str | Path) and bool(str(v)), "the name of a file"),
    "observers": (lambda v: _listed(v) and all(callable(getattr(one, name, None)) for one in v
                                               for name in ("process_output", "get_results")),
                  "a list of those that look at outputs (process_output); others cannot watch other processes"),
    "seed": (lambda v: _whole(v) and v >= 0, "a whole number from 0"),
}
"""The check of each argument, and its description."""
NEEDED = ("kernel_name", "kernel_source", "problem_size", "arguments", "tune_params", "atol", "device", "iterations")
"""The arguments that cannot be None."""


def check_kinds(given: Mapping[str, Any]) -> None:
    """Raise InputError for the first argument that does not fit `KINDS`."""
    for name, (fits, words) in KINDS.items():
        value = given[name]
        if (value is not None or name in NEEDED) and not fits(value):
            raise InputError(f"{name} is {shown(value)}; give {words}")
    for name, values in given["tune_params"].items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(f"tune_params has the name {shown(name)}; parameters become macros: use letters, digits "
                             "and _")
        if isinstance(values, str) or not (_listed(values) or isinstance(values, range)):
            raise InputError(f"tune_params has {shown(values)} for `{name}`; give a list of values")


def check_expressions(names: Sequence[str], given: Mapping[str, Any]) -> None:
    """Raise InputError if a text among `given` (by argument) is not an expression over the parameters `names`."""
    for argument, value in given.items():
        for text in _texts(value):
            parsed = parse_restriction(text, argument)
            if unknown := [name for name in parsed.names if name not in names]:
                raise InputError(f"{argument} has `{parsed.text}`, which uses `{unknown[0]}`: that is not a parameter; "
                                 f"there are {', '.join(names) or 'none'}")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def shown(value: object) -> str:
    """Return a value for a message: one line, at most 60 characters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to print integers of thousands of digits
        text = f"a value of type {type(value).__name__} that is too long to be written out"
    return text if len(text) <= 60 else f"{text[:57]}..."
