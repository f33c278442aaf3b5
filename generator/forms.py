"""Forms of values in JSON: what is accepted, and the messages that refuse everything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any

from generator.errors import InputError

MOST_SIZE = 2**31 - 1
"""The largest size or factor: the largest `int` of device code."""


@dataclass(frozen=True, slots=True)
class Form:
    """The values that `holds` accepts; `wanted` describes them in words."""

    holds: Callable[[object], bool]
    wanted: str

    def require(self, data: Mapping[str, Any], where: str, *names: str) -> None:
        """Raise InputError unless every present member of `names` has this form."""
        for name in names:
            if name in data and not self.holds(data[name]):
                raise InputError(f"{where}.{name} is {json.dumps(data[name])}; use {self.wanted}")


def is_positive(value: object) -> bool:
    """Return whether `value` is a size or a factor."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_SIZE


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _are_sizes(value: object) -> bool:
    return isinstance(value, list) and all(is_positive(v) for v in value)


def _is_count(value: object) -> bool:
    return is_positive(value) or (type(value) is int and value == 0)


FLAG = Form(_is_flag, "true or false")
POSITIVE = Form(is_positive, "a positive integer")
COUNT = Form(_is_count, "0 or a positive integer")
NAMES = Form(_are_names, "a list of statement names")


def one_of(options: tuple[str, ...]) -> Form:
    """Return the form of these texts."""
    return Form(options.__contains__, f"one of {', '.join(options)}")


def sizes(each: str) -> Form:
    """Return the form of lists of positive integers; `each` names what each integer belongs to."""
    return Form(_are_sizes, f"a list of positive integers, one per {each}")


def list_of(what: str) -> Form:
    """Return the form of lists with any elements; `what` names the elements."""
    return Form(lambda value: isinstance(value, list), f"a list of {what}")


def pairs(what: str, options: tuple[str, ...]) -> Form:
    """Return the form of lists of pairs: an array, and one of `options`, which are called `what`."""
    return Form(
        partial(are_pairs, options.__contains__),
        f"a list of [array, {what}], each array once, {what} one of {', '.join(options)}",
    )


def are_pairs(fits: Callable[[object], bool], value: object) -> bool:
    """Return whether `value` is a list of [name, other], each name once, where every other value `fits`."""
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    names = [name for name, _ in value]
    return NAMES.holds(names) and len(set(names)) == len(names) and all(fits(other) for _, other in value)


def sorted_names(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the names in this field, sorted; none if the field is absent."""
    return tuple(sorted(data.get(name, ())))


def check_fields(data: object, kind: type, where: str, hint: str = "") -> None:
    """Raise InputError unless `data` is an object with the fields of the dataclass `kind`.

    `hint` is appended to the message about an unknown field.
    """
    names = {one.name for one in fields(kind)}
    optional = {one.name for one in fields(kind) if one.default is not MISSING}
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object with {', '.join(sorted(names))}")
    if unknown := set(data) - names:
        raise InputError(f"{where} has an unknown field {min(unknown)!r}; known: {', '.join(sorted(names))}{hint}")
    if missing := names - optional - set(data):
        raise InputError(f"{where} lacks the field {min(missing)!r}")
