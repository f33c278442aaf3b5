"""Forms of values in JSON: what is accepted, and the words that refuse everything else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from generator.errors import InputError

MOST_SIZE = 2**31 - 1
"""The largest size or factor: what an `int` of device code holds."""


@dataclass(frozen=True, slots=True)
class Form:
    """Values that `holds` accepts; `wanted` says in words which ones these are."""

    holds: Callable[[object], bool]
    wanted: str

    def require(self, data: Mapping[str, Any], where: str, *names: str) -> None:
        """Raise InputError unless every present member of `names` has this form."""
        for name in names:
            if name in data and not self.holds(data[name]):
                raise InputError(f"{where}.{name} is {json.dumps(data[name])}; use {self.wanted}")


def is_positive(value: object) -> bool:
    """Whether `value` is a size or a factor."""
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
    """One of these texts."""
    return Form(options.__contains__, f"one of {', '.join(options)}")


def sizes(each: str) -> Form:
    """Positive integers; `each` says what each of them belongs to."""
    return Form(_are_sizes, f"a list of positive integers, one per {each}")
