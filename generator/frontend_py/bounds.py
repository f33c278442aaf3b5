"""Bounds inference: the coordinates of every Func and input that the outputs need, from the outputs to the inputs.

    out over x in [0, 99], out[x] = blur[x] + blur[x + 2]   ->   blur over [0, 101]

A region is a box. Affine coordinates are followed exactly by isl, also if an RDom leaves points out; data-dependent
ones may be anything in their interval (`intervals.py`), which `clamp` and narrow types limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from generator.emit.names import free_name
from generator.errors import InputError, Location
from generator.expr import Expr as CExpr
from generator.expr import Load
from generator.frontend_py.collect import Collected, roots
from generator.frontend_py.definition import Definition
from generator.frontend_py.func import Func
from generator.frontend_py.func_ranges import FuncRanges
from generator.frontend_py.images import Image
from generator.frontend_py.intervals import Intervals
from generator.frontend_py.nodes import Call, Edge, Expr, Pixel, RVar, Var, parts
from generator.frontend_py.sizes import Range, Sizes
from generator.frontend_py.values import Values
from generator.polyhedral.kit.affine import Iteration, NotAffine
from generator.polyhedral.kit.regions import box, is_empty, value_range, where

_MOST = 2**31 - 1
_ROUNDS = 8


@dataclass(frozen=True, slots=True, eq=False)
class ComputeScope:
    """The domain of a definition: its iterators, outermost first, and the points.

    `names` maps Vars (by key) and coordinates of its RDom (by `id` and dimension) to iterators. `guard`: the condition
    of its RDom if that depends on data. `ranges`: (low, high) for the keys of `names`.
    """

    at: Iteration
    names: Mapping[object, str]
    ranges: Mapping[object, tuple[int, int]]
    guard: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The regions (min, extent) by dimension, of Funcs and inputs, by `id`."""

    collected: Collected
    sizes: Sizes
    regions: Mapping[int, tuple[Range, ...]]

    def place(self, func: Func, definition: Definition) -> ComputeScope | None:
        """Return where a definition is computed; None if nowhere."""
        ranges = [(low, low + extent - 1) for low, extent in self.regions[id(func)]]
        return place_of(func, definition, ranges, self.sizes)


def infer(collected: Collected, wanted: Mapping[int, Sequence[Range]], sizes: Sizes) -> Bounds:
    """Return all regions, given those `wanted` of the outputs (by `id`).

    Raises:
        InputError: a region has no bounds, an input is read outside of its coordinates, or its size is unknown.
    """
    search = _Search(collected, sizes, FuncRanges(collected, sizes))
    for key, region in wanted.items():
        search.need(key, [(low, low + extent - 1) for low, extent in region])
    for func in reversed(collected.funcs):
        search.follow(func)
    inputs = {id(image): search.input(image) for image in collected.images}
    regions = {key: tuple((low, high - low + 1) for low, high in box_) for key, box_ in search.needed.items()}
    known = Sizes({**sizes.known, **inputs}, sizes.wanted)
    return Bounds(collected, known, {**regions, **inputs})


class _Search:
    """Collects the needed ranges, as (low, high) by dimension."""

    def __init__(self, collected: Collected, sizes: Sizes, stored: FuncRanges) -> None:
        self.collected, self.sizes, self.stored = collected, sizes, stored
        self.needed: dict[int, list[tuple[int, int]]] = {}

    def need(self, key: int, ranges: Sequence[tuple[int, int]]) -> bool:
        """Record that a box is needed. Return whether that is more than before."""
        old = self.needed.get(key)
        new = (
            list(ranges)
            if old is None
            else [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, ranges, strict=True)]
        )
        self.needed[key] = new
        return new != old

    def follow(self, func: Func) -> None:
        """Record the needs of the definitions of `func`, its own elements first. Raises InputError."""
        if id(func) not in self.needed:  # only used where nothing is computed
            self.need(id(func), [(0, 0)] * func.dimensions())
        updates = func.definitions[1:]
        for number in range(_ROUNDS + 1):
            grown = [self.own(func, update) for update in updates]  # all of them, before the next round
            if not any(grown):
                break
            if number == _ROUNDS:
                raise InputError(
                    f"the coordinates that Func `{func.title}` needs of itself have no bounds", updates[-1].at
                )
        for definition in func.definitions:
            self.reads(func, definition)

    def own(self, func: Func, update: Definition) -> bool:
        """Extend the region of `func` to what one of its updates writes and reads. Return whether it grew."""
        place = place_of(func, update, self.needed[id(func)], self.sizes)
        if place is None:
            return False
        accesses = [(update.args, update.at)]
        accesses += [(n.args, n.at) for n in parts(*update.exprs) if isinstance(n, Call) and n.func is func]
        grown = [self.need(id(func), self.ranges(func, func, args, at, place)) for args, at in accesses]
        return any(grown)

    def reads(self, func: Func, definition: Definition) -> None:
        """Record the elements of other Funcs and inputs that a definition reads. Raises InputError."""
        place = place_of(func, definition, self.needed[id(func)], self.sizes)
        if place is None:
            return
        for node in parts(*definition.exprs):
            match node:
                case Call(other, args) if other is not func:
                    self.need(id(other), self.ranges(func, other, args, node.at, place))
                case Pixel(image, args):
                    ranges = self.ranges(func, image, args, node.at, place)
                    self.check_input(func, image, ranges, node.at)
                    self.need(id(image), ranges)

    def ranges(self, func: Func, used: Func | Image, args: Sequence[Expr], at: Location,
               place: ComputeScope) -> list[tuple[int, int]]:
        """Return the least and the greatest value of each coordinate. Raises InputError if unbounded."""
        return [_coordinates(func, used, dim, arg, at, place, self.stored) for dim, arg in enumerate(args)]

    def check_input(self, func: Func, image: Image, ranges: Sequence[tuple[int, int]], at: Location) -> None:
        """Raise InputError for reads outside of an input whose size is known, or below its least coordinate."""
        for dim, ((low, _), first) in enumerate(zip(ranges, image.lows, strict=True)):
            if first is not None and low < first:
                raise InputError(
                    f"Func `{func.title}` reads `{image.title}` at coordinate {low} in dimension {dim}, which begins "
                    f"at "
                    f"{first} (set_min); use BoundaryConditions or clamp",
                    at,
                )
        for dim, ((low, high), known) in enumerate(zip(ranges, self.sizes.known[id(image)], strict=True)):
            if known is not None and (low < known[0] or high > known[0] + known[1] - 1):
                outside = low if low < known[0] else high
                raise InputError(
                    f"Func `{func.title}` reads `{image.title}` at coordinate {outside} in dimension {dim}, which "
                    f"exists from "
                    f"{known[0]} to {known[0] + known[1] - 1}; it must be at least {min(low, known[0])} to "
                    f"{max(high, known[0] + known[1] - 1)} ({max(high, sum(known) - 1) - min(low, known[0]) + 1} "
                    f"elements), or "
                    "use BoundaryConditions or clamp",
                    at,
                )

    def input(self, image: Image) -> tuple[Range, ...]:
        """Return (min, extent) of an input: known ones, else needed ones."""
        needed = self.needed.get(id(image), [(0, 0)] * image.dims)
        starts = [min(low, 0) if first is None else first for (low, _), first in zip(needed, image.lows, strict=True)]
        return tuple(known or (start, max(high - start, 0) + 1)
                     for known, start, (_, high) in zip(self.sizes.known[id(image)], starts, needed, strict=True))


def place_of(
    func: Func, definition: Definition, region: Sequence[tuple[int, int]], sizes: Sizes
) -> ComputeScope | None:
    """Return where `definition` is computed if `region` (low, high) of its Func is needed; None if nowhere.

    Raises:
        InputError: the bounds of its RDom are unknown.
    """
    ranges: dict[object, tuple[int, int]] = {}
    for dim, arg in enumerate(definition.args):
        if isinstance(arg, Var):
            ranges[arg.key] = region[dim]
    if definition.domain is not None:
        known = Intervals(sizes, {})
        for dim, (low, extent) in enumerate(definition.domain.ranges):
            start, count = known.integer(low), known.integer(extent)
            if start is None or count is None:
                raise InputError(
                    f"the bounds of RDom `{definition.domain.name}` in Func `{func.title}` are not known", definition.at
                )
            ranges[id(definition.domain), dim] = (start, start + count - 1)
    if any(low > high for low, high in ranges.values()):
        return None
    order = _loop_order(definition)
    names = _iterators(order)
    at = box([names[key] for key in order], [ranges[key] for key in order])
    condition = definition.domain.predicate if definition.domain is not None else None
    place = ComputeScope(at, names, ranges, None)
    if condition is None:
        return place
    try:
        limited = where(index_values(place, sizes).of(condition), at)
    except NotAffine:
        return replace(place, guard=condition)
    return None if is_empty(limited) else replace(place, at=limited)


def index_values(place: ComputeScope, sizes: Sizes) -> Values:
    """Return a translator of coordinates at `place`; loads are placeholders that mark data dependence."""
    def load(node: Call | Pixel, args: tuple[CExpr, ...]) -> Load:
        return Load(node.type.element, args)

    types = {name: name for name in ("float", "double", "int", "unsigned int", "long", "unsigned long", "char",
                                     "unsigned char", "short", "unsigned short", "half")}
    return Values(Intervals(sizes, place.ranges), place.names, load, types)


def _coordinates(func: Func, used: Func | Image, dim: int, arg: Expr, at: Location, place: ComputeScope,
                 stored: FuncRanges) -> tuple[int, int]:
    translate = index_values(place, stored.sizes)
    interval = Intervals(stored.sizes, place.ranges, stored.of).of(arg)
    found = None
    with suppress(NotAffine):  # then only the interval is known
        found = value_range(translate.of(arg), place.at)
    low, high = interval if found is None else found
    if not (math.isfinite(low) and math.isfinite(high)) or high - low >= _MOST:
        raise InputError(
            f"Func `{func.title}` reads `{used.title}` at coordinates without bounds in dimension {dim}: they depend "
            "on data; limit them with clamp(..., least, greatest)",
            at,
        )
    return int(low), int(high)


def _loop_order(definition: Definition) -> list[object]:
    """Return Vars and RDom coordinates from the outermost loop to the innermost one.

    The last coordinate is outermost. The coordinates of an RDom keep their order (the first is innermost); those that
    are not alone on the left side are inside of all Vars.
    """
    domain = definition.domain
    rank: dict[int, object] = {d: a.key for d, a in enumerate(definition.args) if isinstance(a, Var)}
    if domain is None:
        return [rank[d] for d in sorted(rank, reverse=True)]
    reduction: list[object] = [(id(domain), d) for d in range(len(domain.ranges))]
    places = {a.dim: d for d, a in enumerate(definition.args) if isinstance(a, RVar)}
    in_order = len(places) == len(reduction) and all(places[d] < places[d + 1] for d in range(len(reduction) - 1))
    if not in_order:
        return [*(rank[d] for d in sorted(rank, reverse=True)), *reversed(reduction)]
    rank |= {place: (id(domain), d) for d, place in places.items()}
    return [rank[d] for d in sorted(rank, reverse=True)]


def _iterators(order: Sequence[object]) -> dict[object, str]:
    """Return a name for every loop: that of the Var or coordinate."""
    names: dict[object, str] = {}
    for key in order:
        base = (
            f"r{key[1]}"
            if isinstance(key, tuple)
            else "v"
            if str(key).startswith("_")
            else re.sub(r"\W", "_", str(key))
        )
        base = free_name(base, ())
        name, number = base, 1
        while name in names.values():
            number += 1
            name = f"{base}_{number}"
        names[key] = name
    return names


def uses_edge(collected: Collected, image: Image, dim: int) -> bool:
    """Return whether some definition depends on the bounds of an input in a dimension."""
    return any(isinstance(n, Edge) and n.image is image and n.dim == dim
               for func in collected.funcs for d in func.definitions for n in parts(*roots(d)))
