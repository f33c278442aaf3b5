"""The Plan: every decision that leads from a Program to code, as a value.

Plan + Program + Target determine the generated text, byte for byte. A Plan can be written by hand, stored as JSON,
hashed and compared.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias, get_args

from generator.decisions.ahead import AHEAD
from generator.decisions.aligned import ALIGNED
from generator.decisions.asynchronous import ASYNCHRONOUS
from generator.decisions.base import KernelDecision
from generator.decisions.cache import CACHE, Cache
from generator.decisions.columns import COLUMNS
from generator.decisions.combine import COMBINE, Combine
from generator.decisions.depth import DEPTH
from generator.decisions.diagonals import DIAGONALS
from generator.decisions.exchange import EXCHANGE
from generator.decisions.in_registers import IN_REGISTERS
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.jam import JAM
from generator.decisions.level import LEVEL
from generator.decisions.levels import LEVELS
from generator.decisions.padding import PADDING
from generator.decisions.points_inside import POINTS_INSIDE
from generator.decisions.products import PRODUCTS
from generator.decisions.prologue import PROLOGUE
from generator.decisions.registers import REGISTERS
from generator.decisions.run import RUN
from generator.decisions.shared import SHARED
from generator.decisions.size_lists import InnerTiles
from generator.decisions.sizes import SIZES
from generator.decisions.streamed import STREAMED
from generator.decisions.swizzled import SWIZZLED
from generator.decisions.uncopied import UNCOPIED
from generator.decisions.unroll import UNROLL
from generator.decisions.unrolls import UNROLLS, Factors
from generator.decisions.vector import VECTOR
from generator.decisions.walk import WALK
from generator.decisions.whole import WHOLE
from generator.decisions.x_dimension import X_DIMENSION
from generator.errors import IllegalPlan, InputError
from generator.forms import NAMES, Form, are_pairs, check_fields, list_of, pairs
from generator.json_text import parse_json
from generator.nest import Level, Levels
from generator.precision import Products, product_tolerance
from generator.schedules.schedule import Schedule, schedule_from_json

Placement: TypeAlias = Literal["texture", "texture2d", "constant"]
Value: TypeAlias = str | int | float | bool
Parameters: TypeAlias = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """Decisions for the kernel that executes `statements` (sorted names: the kernel's identity).

    `tile[d]` and `block[d]` belong to the parallel dimension d, outermost first (the last one is the device's x). Each
    thread computes `tile / block` points per dimension, cyclically, so that accesses stay coalesced (along x: `run`
    neighbours at a time). With `diagonals` a block runs one tile of a wavefront: `tile` is 1, and `block[d]` are its
    threads along a row of that tile. `order` permutes the parallel dimensions of the schedule first (empty: unchanged).

    Each of the other fields is a decision with its own file in `generator.decisions`.
    """

    statements: tuple[str, ...]
    tile: tuple[int, ...]
    block: tuple[int, ...]
    shared: bool = SHARED.default
    inner_tile: InnerTiles = INNER_TILE.default
    unroll: int = UNROLL.default
    points_inside: bool = POINTS_INSIDE.default
    order: tuple[int, ...] = X_DIMENSION.default
    padding: int = PADDING.default
    registers: bool = REGISTERS.default
    combine: Combine = COMBINE.default
    exchange: bool = EXCHANGE.default
    cache: Cache = CACHE.default
    columns: bool = COLUMNS.default
    level: Level = LEVEL.default
    walk: int = WALK.default
    run: int = RUN.default
    vector: int = VECTOR.default
    ahead: bool = AHEAD.default
    uncopied: tuple[str, ...] = UNCOPIED.default
    diagonals: bool = DIAGONALS.default
    asynchronous: bool = ASYNCHRONOUS.default
    in_registers: int = IN_REGISTERS.default
    products: Products = PRODUCTS.default
    unrolls: Factors = UNROLLS.default
    whole: tuple[str, ...] = WHOLE.default
    streamed: tuple[str, ...] = STREAMED.default
    swizzled: tuple[str, ...] = SWIZZLED.default
    prologue: bool = PROLOGUE.default
    levels: Levels = LEVELS.default
    jam: bool = JAM.default
    depth: int = DEPTH.default
    aligned: int = ALIGNED.default

    @property
    def stages_around(self) -> tuple[str, ...]:
        """The stages with levels of their own, which are computed around the tile."""
        return tuple(name for name, _ in self.levels)

    def besides(self, *honoured: str) -> tuple[str, ...]:
        """Return the fields that differ from their defaults, except statements, sizes and those in `honoured`."""
        return tuple(
            decision.key
            for decision in KERNEL_DECISIONS
            if decision is not SIZES and decision.key not in honoured and decision.of(self) != decision.default
        )


KERNEL_DECISIONS: tuple[KernelDecision[Any], ...] = (
    X_DIMENSION,
    PRODUCTS,
    WALK,
    DIAGONALS,
    SIZES,
    WHOLE,
    IN_REGISTERS,
    RUN,
    UNROLL,
    POINTS_INSIDE,
    REGISTERS,
    JAM,
    SHARED,
    DEPTH,
    UNCOPIED,
    PROLOGUE,
    VECTOR,
    INNER_TILE,
    UNROLLS,
    ALIGNED,
    AHEAD,
    PADDING,
    SWIZZLED,
    ASYNCHRONOUS,
    CACHE,
    COMBINE,
    EXCHANGE,
    COLUMNS,
    LEVELS,
    LEVEL,
    STREAMED,
)
"""The decisions about a kernel, in the order in which they are made."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A complete set of decisions. `kernels` is sorted by statements.

    `placement` (sorted): the arrays outside of global memory, each with its memory. The plan of a template has no
    schedule and no kernels, only `parameters`: the values of its named parameters, sorted by name. A program's plan has
    a schedule and no parameters.
    """

    schedule: Schedule | None
    kernels: tuple[KernelPlan, ...]
    placement: tuple[tuple[str, Placement], ...] = ()
    parameters: Parameters = ()

    def kernel(self, statements: tuple[str, ...]) -> KernelPlan:
        """Return the plan of the kernel with these statements. Raises KeyError if there is none."""
        for kernel in self.kernels:
            if kernel.statements == statements:
                return kernel
        raise KeyError(statements)

    @property
    def scheduled(self) -> Schedule:
        """The schedule of a program's plan. Raises IllegalPlan for the plan of a template, which has none."""
        if self.schedule is None:
            named = ", ".join(f"{name} = {value}" for name, value in self.parameters) or "no parameters"
            raise IllegalPlan(f"it is the plan of a kernel template ({named}), which has no schedule; give one that "
                              "was made for this program")
        return self.schedule

    def to_json(self) -> str:
        """Return canonical JSON text: equal Plans have equal text.

        A template's plan has the field `parameters` only; a program's plan has all other fields.
        """
        if self.schedule is None:
            return _text({"parameters": self.parameters})
        parts = {"kernels": f"[{','.join(map(_part, self.kernels))}]", "placement": _text(self.placement),
                 "schedule": _part(self.schedule)}
        if self.parameters:  # the digests of programs' Plans are older than templates
            parts["parameters"] = _text(self.parameters)
        return "{" + ",".join(f'"{name}":{parts[name]}' for name in sorted(parts)) + "}"

    @property
    def rounded_products(self) -> float:
        """The relative error caused by factors of a lower precision (`generator.precision`); 0 without any."""
        lower = [kernel.products for kernel in self.kernels if kernel.products != "full"]
        return max((product_tolerance(precision, len(lower)) for precision in lower), default=0.0)

    @property
    def digest(self) -> str:
        """A hash of the content (hex)."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


@lru_cache(maxsize=4096)
def _part(value: KernelPlan | Schedule) -> str:
    """Return the text of a part of a Plan; cached, because most Plans of a search share their parts."""
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, default=_members, sort_keys=True, separators=(",", ":"))


def _members(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name. Fields that are younger than stored digests are left out if default."""
    members = {name: getattr(value, name) for name in value.__dataclass_fields__}
    for decision in KERNEL_DECISIONS if isinstance(value, KernelPlan) else ():
        if decision.younger and members[decision.key] == decision.default:
            del members[decision.key]
    for name in ("contiguous", "serial", "together"):
        if members.get(name) == ():
            del members[name]
    if members.get("launches") is False:
        del members["launches"]
    return members


def plan_from_json(text: str) -> Plan:
    """Return the Plan that `Plan.to_json` wrote.

    Raises:
        InputError: the text is not JSON, or too deeply nested; a field is unknown, missing (and has no default) or has
            a bad value.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise InputError(f"the plan is not JSON: {error}") from None
    if isinstance(data, dict) and data.get("parameters"):  # in older stores `parameters` means nothing
        return _of_template(data)
    if isinstance(data, dict) and data.keys() == {"parameters"}:
        return Plan(None, ())
    check_fields(data, Plan, "plan")
    list_of("kernels").require(data, "plan", "kernels")
    pairs("memory", get_args(Placement)).require(data, "plan", "placement")
    kernels = []
    for number, kernel in enumerate(data["kernels"]):
        check_fields(kernel, KernelPlan, f"plan.kernels[{number}]")
        kernels.append(_kernel(kernel, f"plan.kernels[{number}]"))
    return Plan(schedule_from_json(data["schedule"], "plan.schedule"),
                tuple(sorted(kernels, key=lambda k: k.statements)),
                tuple(sorted((array, memory) for array, memory in data.get("placement", ()))))


def _of_template(data: dict[str, Any]) -> Plan:
    check_fields({"schedule": {}, "kernels": [], **data}, Plan, "plan")
    _VALUES.require(data, "plan", "parameters")
    return Plan(None, (), parameters=tuple((name, value) for name, value in
                                           sorted(data["parameters"], key=lambda pair: pair[0])))


def _kernel(data: dict[str, Any], where: str) -> KernelPlan:
    NAMES.require(data, where, "statements")
    for decision in KERNEL_DECISIONS:
        decision.check(data, where)
    return KernelPlan(**{name: _frozen(value) for name, value in data.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _is_value(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


_VALUES = Form(
    partial(are_pairs, _is_value),
    "a list of [name, value], each name once, each value text, true, false or a finite number",
)
