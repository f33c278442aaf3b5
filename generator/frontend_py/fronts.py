"""Points of an update that can be computed at once although the update runs in order: wavefronts.

The points of a scan along both dimensions of an image depend on each other, but only at constant distances. All points
at which a weighted sum of the coordinates is the same are independent if every dependence increases the sum (Lamport,
"The Parallel Execution of DO Loops", 1974). Numpy computes them together, with the results of the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.frontend_py.definition import Definition
from generator.frontend_py.nodes import Call, Const, Expr, Op, RVar, parts
from generator.frontend_py.trees import same

Key: TypeAlias = object
Distance: TypeAlias = tuple[int, ...]
_MOST = 1 << 25
"""So many points have their coordinates in memory."""


def fronts(definition: Definition, own: Sequence[Call], keys: Sequence[Key],
           ranges: Mapping[Key, tuple[int, int]]) -> Iterator[dict[Key, NDArray[np.int32]]] | None:
    """Yield the coordinates `keys` (of an RDom, outermost loop first) of points that may be computed at once, in order;
    None if it is not known which may, or if few may.

    `own`: the elements of the updated Func that the definition reads.
    """
    counts = [ranges[key][1] - ranges[key][0] + 1 for key in keys]
    distances = None if definition.notes else _distances(definition, own, keys)  # messages come in order
    if distances is None or not 0 < int(np.prod(counts, dtype=np.int64)) <= _MOST:
        return None
    weights = _weights(distances)
    if 1 + sum(weight * (count - 1) for weight, count in zip(weights, counts, strict=True)) > np.prod(counts) // 2:
        return None
    return _groups(keys, weights, [np.arange(ranges[key][0], ranges[key][1] + 1, dtype=np.int32) for key in keys])


def _groups(keys: Sequence[Key], weights: Sequence[int],
            lines: Sequence[NDArray[np.int32]]) -> Iterator[dict[Key, NDArray[np.int32]]]:
    grids = [grid.ravel() for grid in np.meshgrid(*lines, indexing="ij")]
    times = np.tensordot(np.array(weights, np.int64), np.array(grids, np.int64), 1)
    order = np.argsort(times, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(times[order])) + 1):
        yield {key: grid[part] for key, grid in zip(keys, grids, strict=True)}


def _weights(distances: set[Distance]) -> list[int]:
    """Return weights of coordinates whose sum every one of the lexicographically positive `distances` increases."""
    count = len(next(iter(distances), ()))
    weights = [0] * count
    for k in reversed(range(count)):
        carried = [d for d in distances if not any(d[:k]) and d[k]]
        inner = (sum(w * x for w, x in zip(weights[k + 1:], d[k + 1:], strict=True)) for d in carried)
        weights[k] = max((1 + max(0, -rest // d[k]) for rest, d in zip(inner, carried, strict=True)), default=0)
    return weights


def _distances(definition: Definition, own: Sequence[Call], keys: Sequence[Key]) -> set[Distance] | None:
    """Return how far points are apart of which one needs the other, or overwrites what it reads, the later minus the
    earlier one; None if that is unknown, or if two points write the same element.
    """
    written = [_linear(arg) for arg in definition.args]
    places: dict[Key, int] = {}
    for dim, (arg, form) in enumerate(zip(definition.args, written, strict=True)):
        used = [key for key in keys if _names(arg, key)]
        if used and (form is None or [*map(abs, form[0].values())] != [1] or used[0] in places):
            return None
        places |= dict.fromkeys(used, dim)
    if len(places) != len(keys):
        return None
    found = set[Distance]()
    for read in own:
        apart = _apart(definition, written, read, places)
        if apart is None:
            return None
        distance = tuple(apart.get(key, 0) for key in keys)
        first = next((step for step in distance if step), 0)
        if apart and first:
            found.add(distance if first > 0 else tuple(-step for step in distance))
    return found or {(0,) * len(keys)}


def _apart(definition: Definition, written: Sequence[_Linear | None], read: Call,
           places: Mapping[Key, int]) -> dict[Key, int] | None:
    """Return how much later along each coordinate the element that a point reads is written; nothing if never; None if
    that is unknown.
    """
    found: dict[Key, int] = {}
    coordinates = {dim: key for key, dim in places.items()}
    for dim, (arg, target) in enumerate(zip(read.args, written, strict=True)):
        form, key = _linear(arg), coordinates.get(dim)
        if key is None and form and target and not form[0] and not target[0] and form[1] != target[1]:
            return {}  # another constant: no point writes it
        if key is None:
            if not same(arg, definition.args[dim]):
                return None
        elif form is None or target is None or form[0] != target[0]:
            return None
        else:
            found[key] = target[0][key] * (form[1] - target[1])
    return found


_Linear: TypeAlias = tuple[dict[Key, int], int]
"""The coefficients of coordinates of an RDom, and a constant."""


def _linear(expr: Expr) -> _Linear | None:
    """Return a sum of coordinates of an RDom and constants as such; None for anything else."""
    match expr:
        case Const(_, int(value)):
            return {}, value
        case RVar(domain, dim):
            return {(id(domain), dim): 1}, 0
        case Op("+" | "-" as name, _, (left, right)):
            one, two, sign = _linear(left), _linear(right), 1 if name == "+" else -1
            if one is None or two is None:
                return None
            both = {key: one[0].get(key, 0) + sign * two[0].get(key, 0) for key in {**one[0], **two[0]}}
            return {key: factor for key, factor in both.items() if factor}, one[1] + sign * two[1]
        case _:
            return None


def _names(expr: Expr, key: Key) -> bool:
    return any(isinstance(node, RVar) and (id(node.domain), node.dim) == key for node in parts(expr))
