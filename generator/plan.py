"""The Plan: every decision that leads from a Program to code, as a value.

Plan + Program + Target determine the generated text, byte for byte. A Plan can be written by hand, stored as
JSON, hashed and compared.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
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
    """

    statements: tuple[str, ...]
    tile: tuple[int, ...]
    block: tuple[int, ...]
    shared: bool = False
    inner_tile: int = 1
    unroll: int = 1


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
        InputError: the text is no JSON, a field is missing, unknown or has a value that is not on offer.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"the plan is not JSON: {error}") from None
    _check_fields(data, Plan, "plan")
    _check_fields(data["schedule"], ScheduleChoice, "plan.schedule")
    algorithm = data["schedule"]["algorithm"]
    if algorithm not in get_args(Algorithm):
        raise InputError(f"plan.schedule.algorithm is {algorithm!r}; use one of {', '.join(get_args(Algorithm))}")
    kernels = []
    for number, kernel in enumerate(data["kernels"]):
        _check_fields(kernel, KernelPlan, f"plan.kernels[{number}]")
        kernels.append(_kernel(kernel, f"plan.kernels[{number}]"))
    return Plan(ScheduleChoice(**data["schedule"]), tuple(sorted(kernels, key=lambda k: k.statements)))


def _kernel(data: dict[str, Any], where: str) -> KernelPlan:
    for name in ("tile", "block"):
        if not all(isinstance(v, int) and v > 0 for v in data[name]):
            raise InputError(f"{where}.{name} is {data[name]}; use positive integers, one per parallel dimension")
    if len(data["tile"]) != len(data["block"]):
        raise InputError(f"{where}: tile and block have different lengths")
    return KernelPlan(tuple(data["statements"]), tuple(data["tile"]), tuple(data["block"]), bool(data["shared"]),
                      int(data["inner_tile"]), int(data["unroll"]))


def _check_fields(data: object, kind: type, where: str) -> None:
    names = {field.name for field in fields(kind)}
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object with {', '.join(sorted(names))}")
    if unknown := set(data) - names:
        raise InputError(f"{where} has an unknown field {min(unknown)!r}; known: {', '.join(sorted(names))}")
    if missing := names - set(data):
        raise InputError(f"{where} lacks the field {min(missing)!r}")
