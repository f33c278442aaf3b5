"""Entries of the wisdom database: the best plan of a program on a device; and when programs are the same or similar."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from math import log2
from typing import assert_never

from generator.plan import Plan
from generator.problem import Subject
from generator.program import Program
from generator.target import Dialect
from generator.templates.template import Template
from runners.base import DeviceInfo


@dataclass(frozen=True, slots=True)
class Subjected:
    """The identity of a program in wisdom.

    `identity` is a digest of what the program computes, sizes included, independent of its file's path; `family` is the
    same without sizes. `extents` are those of all arrays, in order.
    """

    identity: str
    family: str
    name: str
    sizes: tuple[tuple[str, int], ...]
    extents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """The best plan of a program on a device, given by its names `device` and `platform`.

    `ms`, `default_ms`: device times in milliseconds from the final of the run. `host`: whether the device shares the
    host's cores. `made_at`: the date as ISO 8601 text. `own`: measured by a run of this user, not imported.
    """

    subject: Subjected
    device: str
    platform: str
    dialect: Dialect
    host: bool
    driver: str
    plan: Plan
    ms: float
    default_ms: float | None
    made_at: str
    own: bool = True

    @property
    def speedup(self) -> float | None:
        """The speedup over the default plan; None if unknown."""
        return self.default_ms / self.ms if self.default_ms and self.ms else None

    def is_of(self, device: DeviceInfo) -> bool:
        """Return whether the plan was measured on a device of this model."""
        return (self.device, self.platform) == (device.name, device.platform)

    def is_sister_of(self, device: DeviceInfo) -> bool:
        """Return whether the plan may work on `device`: the same language, and both or neither are CPUs."""
        target = device.target
        return self.dialect == target.dialect and self.host == target.shares_host_cores


def known_by(subject: Subject) -> Subjected:
    """Return the identity of `subject` in the database."""
    match subject:
        case Program():
            return _of_program(subject)
        case Template():
            return _of_template(subject)
        case _:
            assert_never(subject)


def distance(one: Subjected, other: Subjected) -> float | None:
    """Return how far apart the sizes of two programs are: the mean of |log2| of the ratios of extents.

    None if the programs differ in more than their sizes.
    """
    if one.family != other.family or len(one.extents) != len(other.extents):
        return None
    steps = [abs(log2(a / b)) for a, b in zip(one.extents, other.extents, strict=True)]
    return sum(steps) / len(steps) if steps else 0.0


def _of_program(program: Program) -> Subjected:
    placed = tuple(replace(statement, line=0, text="") for statement in program.statements)
    same = replace(program, name="", file="", parameters=(), statements=placed)
    arrays = [(array.name, array.type, len(array.extents), array.role) for array in program.arrays]
    statements = [(one.name, one.iterators, _without_numbers(one.text)) for one in program.statements]
    return Subjected(_digest(f"{same!r}{same.stages!r}"), _digest(repr((arrays, statements))), program.name,
                     program.sizes, tuple(extent for array in program.arrays for extent in array.extents))


def _of_template(template: Template) -> Subjected:
    arrays = [(array.name, array.type, len(array.extents), array.role) for array in template.arrays]
    parameters = [one.name for one in template.parameters]
    family = (template.kernel, template.text, template.dialect, parameters, arrays)
    return Subjected(_digest(repr(replace(template, name="", file=""))), _digest(repr(family)), template.name, (),
                     tuple(extent for array in template.arrays for extent in array.extents))


def _without_numbers(text: str) -> str:
    """Return a statement's text with all integers masked, because some of them are sizes."""
    return re.sub(r"\b\d+\b", "#", text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
