"""The Plan: every decision that leads from a Program to code, as a value.

Plan + Program + Target determine the generated text, byte for byte. A Plan can be written by hand, stored as
JSON, hashed and compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

from generator.errors import InputError

Algorithm: TypeAlias = Literal["pluto", "feautrier"]


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """How the isl scheduler is asked to schedule (the O1 decisions of Coding Ants)."""

    algorithm: Algorithm = "pluto"
    serialize_sccs: bool = False
    maximize_band_depth: bool = True
    outer_coincidence: bool = True


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """Decisions for the kernel that executes `statements` (sorted names: the kernel's identity).

    `tile[d]` and `block[d]` belong to the parallel dimension d, outermost first (the last one is the device's
    x); each thread computes `tile / block` points per dimension, cyclically, so that neighbours stay coalesced.
    `inner_tile` is the tile size of the sequential members of the kernel's band (1: untiled).
    `shared` copies arrays with reuse to shared (local) memory. `unroll` is the factor of the innermost loops.
    `points_inside` runs the loops over a thread's points inside its sequential loops instead of around them: what a
    sequential step loads then serves all points.
    """

    statements: tuple[str, ...]
    tile: tuple[int, ...]
    block: tuple[int, ...]
    shared: bool = False
    inner_tile: int = 1
    unroll: int = 1
    points_inside: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A complete set of decisions. `kernels` is sorted by statements."""

    schedule: ScheduleChoice
    kernels: tuple[KernelPlan, ...]

    def kernel(self, statements: tuple[str, ...]) -> KernelPlan:
        """The plan of the kernel with these statements. Raises KeyError when there is none."""
        for kernel in self.kernels:
            if kernel.statements == statements:
                return kernel
        raise KeyError(statements)

    def to_json(self) -> str:
        """Canonical JSON text: equal Plans have equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """A hash of the content (hex)."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


def plan_from_json(text: str) -> Plan:
    """The Plan that `Plan.to_json` wrote.

    Raises:
        InputError: the text is no JSON, a field is unknown, missing (and has no default) or has a bad value.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"the plan is not JSON: {error}") from None
    _check_fields(data, Plan, "plan")
    schedule = data["schedule"]
    _check_fields(schedule, ScheduleChoice, "plan.schedule")
    _require(schedule, "plan.schedule", ("algorithm",), get_args(Algorithm).__contains__,
             f"one of {', '.join(get_args(Algorithm))}")
    _require(schedule, "plan.schedule", ("serialize_sccs", "maximize_band_depth", "outer_coincidence"), _flag,
             "true or false")
    _require(data, "plan", ("kernels",), lambda value: isinstance(value, list), "a list of kernels")
    kernels = []
    for number, kernel in enumerate(data["kernels"]):
        _check_fields(kernel, KernelPlan, f"plan.kernels[{number}]")
        kernels.append(_kernel(kernel, f"plan.kernels[{number}]"))
    return Plan(ScheduleChoice(**schedule), tuple(sorted(kernels, key=lambda k: k.statements)))


def _kernel(data: dict[str, Any], where: str) -> KernelPlan:
    _require(data, where, ("statements",), _names, "a list of statement names")
    _require(data, where, ("tile", "block"), _sizes, "a list of positive integers, one per parallel dimension")
    _require(data, where, ("inner_tile", "unroll"), _positive, "a positive integer")
    _require(data, where, ("shared", "points_inside"), _flag, "true or false")
    if len(data["tile"]) != len(data["block"]):
        raise InputError(f"{where}: tile and block have different lengths")
    sequences = {name: tuple(data[name]) for name in ("statements", "tile", "block")}
    return KernelPlan(**(data | sequences))


def _require(data: dict[str, Any], where: str, names: tuple[str, ...], holds: Callable[[Any], bool],
             wanted: str) -> None:
    """Raise InputError unless every present field of `names` holds."""
    for name in names:
        if name in data and not holds(data[name]):
            raise InputError(f"{where}.{name} is {json.dumps(data[name])}; use {wanted}")


def _positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _sizes(value: object) -> bool:
    return isinstance(value, list) and all(_positive(v) for v in value)


def _names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _check_fields(data: object, kind: type, where: str) -> None:
    names = {field.name for field in fields(kind)}
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object with {', '.join(sorted(names))}")
    if unknown := set(data) - names:
        raise InputError(f"{where} has an unknown field {min(unknown)!r}; known: {', '.join(sorted(names))}")
    if missing := names - optional - set(data):
        raise InputError(f"{where} lacks the field {min(missing)!r}")
