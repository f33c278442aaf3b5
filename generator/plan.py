"""The Plan: every decision that leads from a Program to code, as a value.

Plan + Program + Target determine the generated text, byte for byte. A Plan can be written by hand, stored as
JSON, hashed and compared.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

from generator.errors import InputError
from generator.json_text import parse_json
from generator.nest import Level
from generator.program import Where

Algorithm: TypeAlias = Literal["pluto", "feautrier"]
Combine: TypeAlias = Literal["atomic", "shared", "shuffle", "private"]
Placement: TypeAlias = Literal["texture", "constant"]
Cache: TypeAlias = Literal["none", "shared", "l1"]
Value: TypeAlias = str | int | float | bool
Parameters: TypeAlias = tuple[tuple[str, Value], ...]

MOST = 1_000_000
"""The largest number in a schedule matrix."""
MOST_SIZE = 2**31 - 1
"""The largest size or factor: what an `int` of device code holds."""


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
    """How the isl scheduler is asked to schedule (the O1 decisions of Coding Ants).

    `reductions` (sorted) names statements whose own updates may run in any order: their loops become parallel.
    """

    algorithm: Algorithm = "pluto"
    serialize_sccs: bool = False
    maximize_band_depth: bool = True
    outer_coincidence: bool = True
    reductions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Statements that share loops (sorted names), and the order of the loop nests inside these loops.

    No `parts`: the scheduler decides what is below the shared loops.
    """

    statements: tuple[str, ...]
    parts: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    """Which statements share loops, in order of execution (the O2 decisions of Coding Ants); `reductions` as above."""

    groups: tuple[Group, ...]
    reductions: tuple[str, ...] = ()


Vector: TypeAlias = tuple[int, ...]
"""When an instance of a statement runs, in one loop: coefficients of its iterators, then a constant."""

Row: TypeAlias = tuple[Vector, ...]
"""A loop that statements share: a Vector for each of them."""


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
    """The schedule itself, in order of execution (the O3 decisions of Coding Ants); `reductions` as above."""

    nests: tuple[LoopNest, ...]
    reductions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stages:
    """Which intermediate arrays are computed where they are read, and how (`generator.program.Stage`), sorted by name.

    The nests of the program run in the order of the source, each array's by itself: what writes it shares kernels with nothing
    else, except for the arrays that these kernels compute on their way. `reductions` as above.
    """

    computed: tuple[tuple[str, Where], ...] = ()
    reductions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """One kernel that runs the whole program, a loop over time, `steps` time steps per launch (overlapped tiles; `time_steps`).

    No reductions: there are none among sweeps.
    """

    steps: int
    reductions: tuple[str, ...] = ()


Schedule: TypeAlias = ScheduleChoice | Partition | Hyperplanes | Stages | TimeTiles


@dataclass(frozen=True, slots=True)
class KernelPlan:
    """Decisions for the kernel that executes `statements` (sorted names: the kernel's identity).

    `tile[d]` and `block[d]` belong to the parallel dimension d, outermost first (the last one is the device's
    x); each thread computes `tile / block` points per dimension, cyclically, so that neighbours stay coalesced.
    `order` permutes the parallel dimensions of the schedule before that (empty: as they are).
    `inner_tile` is the tile size of the sequential members of the kernel's band (1: untiled).
    `shared` copies arrays with reuse to shared (local) memory; `padding` makes the rows of the copies longer by so many
    elements, against bank conflicts. `registers` keeps the elements that a thread updates in registers until its end.
    `unroll` is the factor of the innermost loops. `points_inside` runs the loops over a thread's points inside its
    sequential loops instead of around them: what a sequential step loads then serves all points.
    `combine` says how the threads of a block add up what they reduce together: each on its own by atomic updates,
    through shared memory, or by shuffles within a sub-group (warp). `private` is as `shared`, and what no thread can keep
    in registers (a histogram) a block updates in a copy of its own, which is in shared memory, too.
    `exchange` stores by atomic exchange. `cache` says what the memory that a multiprocessor shares between both is
    rather to be, shared memory or L1 cache (CUDA only). `columns`: blocks that follow each other, in the order in which
    devices begin them, lie along y instead of x (raster order), so that what all blocks of a column read stays in the caches.
    `level` says who shares a tile, and what of arrays is kept for it: all threads of a block, or those of a sub-group (warp), or each
    thread has one of its own; a block has several such tiles side by side then.
    """

    statements: tuple[str, ...]
    tile: tuple[int, ...]
    block: tuple[int, ...]
    shared: bool = False
    inner_tile: int = 1
    unroll: int = 1
    points_inside: bool = False
    order: tuple[int, ...] = ()
    padding: int = 0
    registers: bool = False
    combine: Combine = "atomic"
    exchange: bool = False
    cache: Cache = "none"
    columns: bool = False
    level: Level = "block"


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
    """The fields of a dataclass by name, as they are; a level only where it is another than that of blocks."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__
            if name != "level" or value.level != "block"}  # the digests of Plans are older than levels


def plan_from_json(text: str) -> Plan:
    """The Plan that `Plan.to_json` wrote.

    Raises:
        InputError: the text is no JSON, or too deeply nested; a field is unknown, missing (and has no default) or has a bad value.
    """
    try:
        data = parse_json(text)
    except ValueError as error:
        raise InputError(f"the plan is not JSON: {error}") from None
    _check_fields(data, Plan, "plan")
    _require(data, "plan", ("kernels",), lambda value: isinstance(value, list), "a list of kernels")
    _require(data, "plan", ("placement",), partial(_pairs, get_args(Placement)),
             f"a list of [array, memory], each array once, memory one of {', '.join(get_args(Placement))}")
    _require(data, "plan", ("parameters",), _parameters,
             "a list of [name, value], each name once, each value text, true, false or a finite number")
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
        _require(data, where, ("reductions",), _names, "a list of statement names")
        return Partition(_groups(data, "groups", where), tuple(sorted(data.get("reductions", ()))))
    if isinstance(data, dict) and "nests" in data:
        _check_fields(data, Hyperplanes, where)
        _require(data, where, ("reductions",), _names, "a list of statement names")
        return Hyperplanes(_nests(data, "nests", where), tuple(sorted(data.get("reductions", ()))))
    if isinstance(data, dict) and "computed" in data:
        _check_fields(data, Stages, where)
        _require(data, where, ("reductions",), _names, "a list of statement names")
        _require(data, where, ("computed",), partial(_pairs, get_args(Where)),
                 f"a list of [array, where], each array once, where one of {', '.join(get_args(Where))}")
        return Stages(tuple(sorted((array, how) for array, how in data["computed"])), tuple(sorted(data.get("reductions", ()))))
    if isinstance(data, dict) and "steps" in data:
        _check_fields(data, TimeTiles, where)
        _require(data, where, ("steps",), _positive, "a positive integer")
        _require(data, where, ("reductions",), [].__eq__, "an empty list")
        return TimeTiles(data["steps"])
    _check_fields(data, ScheduleChoice, where, "; other kinds of schedules have groups, nests, computed or steps")
    _require(data, where, ("algorithm",), get_args(Algorithm).__contains__, f"one of {', '.join(get_args(Algorithm))}")
    _require(data, where, ("serialize_sccs", "maximize_band_depth", "outer_coincidence"), _flag, "true or false")
    _require(data, where, ("reductions",), _names, "a list of statement names")
    return ScheduleChoice(**(data | {"reductions": tuple(sorted(data.get("reductions", ())))}))


def _groups(data: dict[str, Any], name: str, where: str) -> tuple[Group, ...]:
    _require(data, where, (name,), lambda value: isinstance(value, list), "a list of groups of statements")
    groups = []
    for number, group in enumerate(data.get(name, ())):
        place = f"{where}.{name}[{number}]"
        _check_fields(group, Group, place)
        _require(group, place, ("statements",), _names, "a list of statement names")
        groups.append(Group(tuple(sorted(group["statements"])), _groups(group, "parts", place)))
    return tuple(groups)


def _nests(data: dict[str, Any], name: str, where: str) -> tuple[LoopNest, ...]:
    _require(data, where, (name,), lambda value: isinstance(value, list), "a list of loop nests")
    nests = []
    for number, nest in enumerate(data.get(name, ())):
        place = f"{where}.{name}[{number}]"
        _check_fields(nest, LoopNest, place)
        _require(nest, place, ("statements",), _names, "a list of statement names")
        _require(nest, place, ("wavefront",), _sizes, "a list of positive integers, one per tiled row")
        statements = nest["statements"]
        _require(nest, place, ("rows",), partial(_matrix, len(statements)),
                 "a list of rows; a row is a list with one list of integers per statement: the coefficients of its "
                 "iterators, then a constant")
        order = sorted(range(len(statements)), key=statements.__getitem__)
        rows = tuple(tuple(tuple(row[k]) for k in order) for row in nest.get("rows", ()))
        nests.append(LoopNest(tuple(statements[k] for k in order), rows, _nests(nest, "parts", place),
                              tuple(nest.get("wavefront", ()))))
    return tuple(nests)


def _kernel(data: dict[str, Any], where: str) -> KernelPlan:
    _require(data, where, ("statements",), _names, "a list of statement names")
    _require(data, where, ("tile", "block"), _sizes, "a list of positive integers, one per parallel dimension")
    _require(data, where, ("inner_tile", "unroll"), _positive, "a positive integer")
    _require(data, where, ("shared", "points_inside", "registers", "exchange", "columns"), _flag, "true or false")
    _require(data, where, ("padding",), lambda value: value == 0 or _positive(value), "0 or a positive integer")
    _require(data, where, ("combine",), get_args(Combine).__contains__, f"one of {', '.join(get_args(Combine))}")
    _require(data, where, ("cache",), get_args(Cache).__contains__, f"one of {', '.join(get_args(Cache))}")
    _require(data, where, ("level",), get_args(Level).__contains__, f"one of {', '.join(get_args(Level))}")
    if len(data["tile"]) != len(data["block"]):
        raise InputError(f"{where}: tile and block have different lengths")
    _require(data, where, ("order",), partial(_permutation, len(data["tile"])), "a permutation of the dimensions' numbers")
    sequences: dict[str, Any] = {name: tuple(data[name]) for name in ("statements", "tile", "block", "order")
                                 if name in data}
    return KernelPlan(**(data | sequences))


def _require(data: dict[str, Any], where: str, names: tuple[str, ...], holds: Callable[[Any], bool],
             wanted: str) -> None:
    """Raise InputError unless every present field of `names` holds."""
    for name in names:
        if name in data and not holds(data[name]):
            raise InputError(f"{where}.{name} is {json.dumps(data[name])}; use {wanted}")


def _positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST_SIZE


def _permutation(count: int, value: object) -> bool:
    return value == [] or (isinstance(value, list) and all(type(v) is int for v in value) and sorted(value) == list(range(count)))


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _sizes(value: object) -> bool:
    return isinstance(value, list) and all(_positive(v) for v in value)


def _matrix(statements: int, value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and len(row) == statements and all(_vector(v) for v in row) for row in value)


def _vector(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(
        isinstance(v, int) and not isinstance(v, bool) and abs(v) <= MOST for v in value)


def _names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _pairs(options: tuple[str, ...], value: object) -> bool:
    """Whether `value` is a list of [name, one of `options`], each name once."""
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    arrays = [array for array, _ in value]
    return _names(arrays) and len(set(arrays)) == len(arrays) and all(option in options for _, option in value)


def _parameters(value: object) -> bool:
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    names = [name for name, _ in value]
    return _names(names) and len(set(names)) == len(names) and all(_is_value(v) for _, v in value)


def _is_value(value: object) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _check_fields(data: object, kind: type, where: str, hint: str = "") -> None:
    names = {field.name for field in fields(kind)}
    optional = {field.name for field in fields(kind) if field.default is not MISSING}
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object with {', '.join(sorted(names))}")
    if unknown := set(data) - names:
        raise InputError(f"{where} has an unknown field {min(unknown)!r}; known: {', '.join(sorted(names))}{hint}")
    if missing := names - optional - set(data):
        raise InputError(f"{where} lacks the field {min(missing)!r}")
