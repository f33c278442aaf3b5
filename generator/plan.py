"""The Plan: every decision that leads from a Program to code, as a value.

Plan + Program + Target determine the generated text, byte for byte. A Plan can be written by hand, stored as
JSON, hashed and compared.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from generator.decisions.base import KernelDecision
from generator.decisions.cache import CACHE, Cache
from generator.decisions.columns import COLUMNS
from generator.decisions.combine import COMBINE, Combine
from generator.decisions.exchange import EXCHANGE
from generator.decisions.inner_tile import INNER_TILE
from generator.decisions.level import LEVEL
from generator.decisions.padding import PADDING
from generator.decisions.points_inside import POINTS_INSIDE
from generator.decisions.registers import REGISTERS
from generator.decisions.shared import SHARED
from generator.decisions.sizes import SIZES
from generator.decisions.unroll import UNROLL
from generator.decisions.x_dimension import X_DIMENSION
from generator.errors import InputError
from generator.forms import FLAG, NAMES, POSITIVE, Form, one_of, sizes
from generator.json_text import parse_json
from generator.nest import Level
from generator.program import Where

Algorithm: TypeAlias = Literal["pluto", "feautrier"]
Placement: TypeAlias = Literal["texture", "constant"]
Value: TypeAlias = str | int | float | bool
Parameters: TypeAlias = tuple[tuple[str, Value], ...]

MOST = 1_000_000
"""The largest number in a schedule matrix."""


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """How the isl scheduler is asked to schedule (the O1 decisions of Coding Ants).

    `reductions` (sorted) names statements whose own updates may run in any order: their loops become parallel.
    `serial` (sorted) names the statements of nests whose loops all run in one thread of one kernel, where they would
    otherwise be loops of the host around launches.
    """

    algorithm: Algorithm = "pluto"
    serialize_sccs: bool = False
    maximize_band_depth: bool = True
    outer_coincidence: bool = True
    reductions: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Statements that share loops (sorted names), and the order of the loop nests inside these loops.

    No `parts`: the scheduler decides what is below the shared loops.
    """

    statements: tuple[str, ...]
    parts: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """Which statements share loops, in order of execution (the O2 decisions of Coding Ants); `reductions` and `serial`
    as above.
    """

    groups: tuple[Group, ...]
    reductions: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()


Vector: TypeAlias = tuple[int, ...]
"""When an instance of a statement runs, in one loop: coefficients of its iterators, then a constant."""

Row: TypeAlias = tuple[Vector, ...]
"""A loop that statements share: a Vector for each of them."""

Step: TypeAlias = tuple[tuple[str, ...], Row]
"""Statements that share a loop, and that loop."""

NestPath: TypeAlias = tuple[Step, ...]
"""Where a nest stands: the loops around it, outermost first."""


@dataclass(frozen=True, slots=True)
class LoopNest:
    """Statements that share loops, and what these loops are (one row of a schedule matrix each, outermost first).

    `rows[k][s]` belongs to `statements[s]` (sorted names): `[2, 1, 0]` runs iteration (t, i) at 2t + i. `parts` are the
    nests inside these loops, in order; none: what is left runs statement by statement in the order of the source.

    `wavefront` cuts the first rows into tiles of these sizes (empty: it does not). Tiles with the same sum of their
    numbers run in parallel, one sum after the other; inside a tile, the rows run in order.
    """

    statements: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    parts: tuple[LoopNest, ...] = ()
    wavefront: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Hyperplanes:
    """The schedule itself, in order of execution (the O3 decisions of Coding Ants); `reductions` and `serial` as
    above.
    """

    nests: tuple[LoopNest, ...]
    reductions: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stages:
    """Which intermediate arrays are computed where they are read, and how (`generator.program.Stage`), sorted by name.

    The nests of the program run in the order of the source, each array's by itself: what writes it shares kernels with
    nothing else, except for the arrays that these kernels compute on their way. `reductions` as above.
    """

    computed: tuple[tuple[str, Where], ...] = ()
    reductions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """One kernel that runs the whole program, a loop over time, `steps` time steps per launch (overlapped tiles;
    `time_steps`).

    No reductions: there are none among sweeps.
    """

    steps: int
    reductions: tuple[str, ...] = ()


Scheduled: TypeAlias = ScheduleChoice | Partition | Hyperplanes
"""A schedule of the whole program by loops."""

Schedule: TypeAlias = Scheduled | Stages | TimeTiles


def serial_of(schedule: Schedule) -> tuple[str, ...]:
    """The statements whose loops run in one thread; none where other kinds of schedules have no say in that."""
    return () if isinstance(schedule, Stages | TimeTiles) else schedule.serial


def with_serial(schedule: Schedule, serial: tuple[str, ...]) -> Schedule:
    """`schedule` with the loops of these statements (sorted) in one thread, as far as it has a say in that."""
    return schedule if isinstance(schedule, Stages | TimeTiles) else replace(schedule, serial=serial)


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """Decisions for the kernel that executes `statements` (sorted names: the kernel's identity).

    `tile[d]` and `block[d]` belong to the parallel dimension d, outermost first (the last one is the device's
    x); each thread computes `tile / block` points per dimension, cyclically, so that neighbours stay coalesced.
    `order` permutes the parallel dimensions of the schedule before that (empty: as they are).

    Each of the other fields is a decision with a file of its own in `generator.decisions`.
    """

    statements: tuple[str, ...]
    tile: tuple[int, ...]
    block: tuple[int, ...]
    shared: bool = SHARED.default
    inner_tile: int = INNER_TILE.default
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


KERNEL_DECISIONS: tuple[KernelDecision[Any], ...] = (
    X_DIMENSION,
    SIZES,
    UNROLL,
    POINTS_INSIDE,
    REGISTERS,
    SHARED,
    INNER_TILE,
    PADDING,
    CACHE,
    COMBINE,
    EXCHANGE,
    COLUMNS,
    LEVEL,
)
"""The table of the decisions about a kernel, in the order in which they are asked."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A complete set of decisions. `kernels` is sorted by statements.

    `placement` (sorted) holds the arrays that do not lie in global memory, each with where it lies instead.
    `parameters` (sorted) are the values of a template's named parameters; only templates have any.
    """

    schedule: Schedule
    kernels: tuple[KernelPlan, ...]
    placement: tuple[tuple[str, Placement], ...] = ()
    parameters: Parameters = ()

    def kernel(self, statements: tuple[str, ...]) -> KernelPlan:
        """The plan of the kernel with these statements. Raises KeyError when there is none."""
        for kernel in self.kernels:
            if kernel.statements == statements:
                return kernel
        raise KeyError(statements)

    def to_json(self) -> str:
        """Canonical JSON text: equal Plans have equal text. It names `parameters` only where there are any."""
        data = _members(self)
        if not self.parameters:
            del data["parameters"]  # the digests of programs' Plans are older than templates
        return json.dumps(data, default=_members, sort_keys=True, separators=(",", ":"))

    @property
    def digest(self) -> str:
        """A hash of the content (hex)."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]


def _members(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are; of decisions that digests are older than only what is not the
    default.
    """
    members = {name: getattr(value, name) for name in value.__dataclass_fields__}
    for decision in KERNEL_DECISIONS if isinstance(value, KernelPlan) else ():
        if decision.younger and members[decision.key] == decision.default:
            del members[decision.key]
    if members.get("serial") == ():
        del members["serial"]
    return members


def plan_from_json(text: str) -> Plan:
    """The Plan that `Plan.to_json` wrote.

    Raises:
        InputError: the text is no JSON, or too deeply nested; a field is unknown, missing (and has no default) or has a
        bad value.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise InputError(f"the plan is not JSON: {error}") from None
    _check_fields(data, Plan, "plan")
    _list_of("kernels").require(data, "plan", "kernels")
    _pairs("memory", get_args(Placement)).require(data, "plan", "placement")
    Form(
        partial(_are_pairs, _is_value),
        "a list of [name, value], each name once, each value text, true, false or a finite number",
    ).require(data, "plan", "parameters")
    kernels = []
    for number, kernel in enumerate(data["kernels"]):
        _check_fields(kernel, KernelPlan, f"plan.kernels[{number}]")
        kernels.append(_kernel(kernel, f"plan.kernels[{number}]"))
    return Plan(_schedule(data["schedule"], "plan.schedule"), tuple(sorted(kernels, key=lambda k: k.statements)),
                tuple(sorted((array, memory) for array, memory in data.get("placement", ()))),
                tuple((name, value) for name, value in sorted(data.get("parameters", ()), key=lambda pair: pair[0])))


def _schedule(data: Any, where: str) -> Schedule:
    if isinstance(data, dict) and "groups" in data:
        _check_fields(data, Partition, where)
        NAMES.require(data, where, "reductions", "serial")
        return Partition(_groups(data, "groups", where), _sorted(data, "reductions"), _sorted(data, "serial"))
    if isinstance(data, dict) and "nests" in data:
        _check_fields(data, Hyperplanes, where)
        NAMES.require(data, where, "reductions", "serial")
        return Hyperplanes(_nests(data, "nests", where), _sorted(data, "reductions"), _sorted(data, "serial"))
    if isinstance(data, dict) and "computed" in data:
        _check_fields(data, Stages, where)
        NAMES.require(data, where, "reductions")
        _pairs("where", get_args(Where)).require(data, where, "computed")
        return Stages(tuple(sorted((array, how) for array, how in data["computed"])), _sorted(data, "reductions"))
    if isinstance(data, dict) and "steps" in data:
        _check_fields(data, TimeTiles, where)
        POSITIVE.require(data, where, "steps")
        Form([].__eq__, "an empty list").require(data, where, "reductions")
        return TimeTiles(data["steps"])
    _check_fields(data, ScheduleChoice, where, "; other kinds of schedules have groups, nests, computed or steps")
    one_of(get_args(Algorithm)).require(data, where, "algorithm")
    FLAG.require(data, where, "serialize_sccs", "maximize_band_depth", "outer_coincidence")
    NAMES.require(data, where, "reductions", "serial")
    return ScheduleChoice(**(data | {name: _sorted(data, name) for name in ("reductions", "serial")}))


def _sorted(data: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(sorted(data.get(name, ())))


def _groups(data: dict[str, Any], name: str, where: str) -> tuple[Group, ...]:
    _list_of("groups of statements").require(data, where, name)
    groups = []
    for number, group in enumerate(data.get(name, ())):
        place = f"{where}.{name}[{number}]"
        _check_fields(group, Group, place)
        NAMES.require(group, place, "statements")
        groups.append(Group(tuple(sorted(group["statements"])), _groups(group, "parts", place)))
    return tuple(groups)


def _nests(data: dict[str, Any], name: str, where: str) -> tuple[LoopNest, ...]:
    _list_of("loop nests").require(data, where, name)
    nests = []
    for number, nest in enumerate(data.get(name, ())):
        place = f"{where}.{name}[{number}]"
        _check_fields(nest, LoopNest, place)
        NAMES.require(nest, place, "statements")
        sizes("tiled row").require(nest, place, "wavefront")
        statements = nest["statements"]
        Form(
            partial(_is_matrix, len(statements)),
            "a list of rows; a row is a list with one list of integers per statement: the "
            "coefficients of its iterators, then a constant",
        ).require(nest, place, "rows")
        order = sorted(range(len(statements)), key=statements.__getitem__)
        rows = tuple(tuple(tuple(row[k]) for k in order) for row in nest.get("rows", ()))
        nests.append(LoopNest(tuple(statements[k] for k in order), rows, _nests(nest, "parts", place),
                              tuple(nest.get("wavefront", ()))))
    return tuple(nests)


def _kernel(data: dict[str, Any], where: str) -> KernelPlan:
    NAMES.require(data, where, "statements")
    for decision in KERNEL_DECISIONS:
        decision.check(data, where)
    members: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return KernelPlan(**members)


def _list_of(what: str) -> Form:
    return Form(lambda value: isinstance(value, list), f"a list of {what}")


def _pairs(what: str, options: tuple[str, ...]) -> Form:
    """Pairs of an array and one of `options`, called `what`."""
    return Form(
        partial(_are_pairs, options.__contains__),
        f"a list of [array, {what}], each array once, {what} one of {', '.join(options)}",
    )


def _are_pairs(fits: Callable[[object], bool], value: object) -> bool:
    """Whether `value` is a list of [name, something that `fits`], each name once."""
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    names = [name for name, _ in value]
    return NAMES.holds(names) and len(set(names)) == len(names) and all(fits(other) for _, other in value)


def _is_value(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _is_matrix(statements: int, value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == statements and all(_is_vector(v) for v in row) for row in value)


def _is_vector(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(v, int) and not isinstance(v, bool) and abs(v) <= MOST for v in value)


def _check_fields(data: object, kind: type, where: str, hint: str = "") -> None:
    names = {one.name for one in fields(kind)}
    optional = {one.name for one in fields(kind) if one.default is not MISSING}
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object with {', '.join(sorted(names))}")
    if unknown := set(data) - names:
        raise InputError(f"{where} has an unknown field {min(unknown)!r}; known: {', '.join(sorted(names))}{hint}")
    if missing := names - optional - set(data):
        raise InputError(f"{where} lacks the field {min(missing)!r}")
