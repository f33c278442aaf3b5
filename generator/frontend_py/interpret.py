"""The interpreter: computes a pipeline with numpy, stage by stage over the needed regions.

It defines the results: generated code is compared with it. The pure dimensions of a definition are computed as arrays,
a slab at a time. An update over an RDom runs in the order of its points; coordinates of the RDom that are alone on the
left side and wherever the Func uses itself are like pure ones, and updates like `f[...] += e` are done by numpy's
`ufunc.at`; points of a scan at constant distances along wavefronts (`fronts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.bounds import Bounds, ComputeScope
from generator.frontend_py.definition import Definition
from generator.frontend_py.fronts import fronts
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image
from generator.frontend_py.nodes import Call, Const, Edge, Expr, Given, Op, Pixel, RVar, Var, parts
from generator.frontend_py.notes import taken
from generator.frontend_py.operators import Values, apply
from generator.frontend_py.trees import same

Key: TypeAlias = object
_SLAB = 1 << 17  # points that are computed at once: their intermediate values stay in the caches
_FEW = 4096
_ALONE = 64  # more elements per point are enough for numpy
_UFUNCS: Mapping[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum}


def interpret(bounds: Bounds, inputs: Mapping[int, NDArray[Any]],
              say: Callable[[str], None] | None = None) -> dict[int, tuple[NDArray[Any], ...]]:
    """Return the values of all Funcs over their regions (by `id`; one array per value, last coordinate first).

    `inputs`: the data of the images by `id`, in the same order of dimensions. `say`: receives the lines of `print`.
    Raises InputError if a `require` does not hold.
    """
    machine = Machine(bounds, dict(inputs), {}, say)
    with np.errstate(all="ignore"):
        for func in bounds.collected.funcs:
            machine.compute(func)
    return machine.values


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """The results so far."""

    bounds: Bounds
    inputs: Mapping[int, NDArray[Any]]
    values: dict[int, tuple[NDArray[Any], ...]]
    say: Callable[[str], None] | None = None

    def compute(self, func: Func) -> None:
        """Run all definitions of `func`."""
        shape = tuple(extent for _, extent in reversed(self.bounds.regions[id(func)]))
        self.values[id(func)] = tuple(np.zeros(shape, kind.numpy) for kind in func.types())
        for definition in func.definitions:
            place = self.bounds.place(func, definition)
            if place is not None:
                _Run(self, func, definition, place).run()


class _Run:
    """The run of one definition."""

    def __init__(self, machine: Machine, func: Func, definition: Definition, place: ComputeScope) -> None:
        self.machine, self.func, self.definition, self.place = machine, func, definition, place
        self.own = [n for n in parts(*definition.exprs) if isinstance(n, Call) and n.func is func]
        self.targets = machine.values[id(func)]
        self.low = [low for low, _ in machine.bounds.regions[id(func)]]
        self.condition = definition.domain.predicate if definition.domain is not None else None

    def run(self) -> None:
        """Compute and store everything."""
        keys = list(self.place.names)
        serial = [k for k in keys if isinstance(k, tuple) and not self.is_free(k)]
        at_once = [k for k in keys if k not in serial]
        points = int(np.prod([self.count(k) for k in at_once], dtype=np.int64))
        operator = self.accumulation()
        if serial and operator is not None and (points < _FEW or not self.is_plain()):
            for slab in self.slabs(keys):
                self.accumulate(slab, operator)
            return
        order = sorted(serial, key=keys.index)  # the outermost loop first, in the place's order
        for slab in self.slabs(at_once):
            for point in self.points(order, alone=points <= _ALONE):
                self.store({k: v[np.newaxis] if order else v for k, v in slab.items()} | {
                    k: np.reshape(v, (-1,) + (1,) * len(at_once)) for k, v in point.items()})

    def points(self, order: Sequence[Key], alone: bool) -> Iterator[Mapping[Key, Values]]:
        """Yield the values of coordinates, the outermost first: point by point, or those that may be computed at once.

        `alone`: a point has few elements.
        """
        ranges = {k: self.place.ranges[k] for k in order}
        found = fronts(self.definition, self.own, order, ranges) if alone and order else None
        if found is not None:
            yield from found
            return
        for point in product(*(range(low, high + 1) for low, high in ranges.values())):
            yield {k: np.asarray(v, np.int32) for k, v in zip(order, point, strict=True)}

    def count(self, key: Key) -> int:
        """Return the number of values of a Var or a coordinate."""
        low, high = self.place.ranges[key]
        return high - low + 1

    def is_free(self, key: Key) -> bool:
        """Return whether a coordinate of the RDom is alone, at the same position, on the left side and in all uses of
        the Func.
        """
        places = [{d for d, a in enumerate(args) if isinstance(a, RVar) and (id(a.domain), a.dim) == key}
                  for args in (self.definition.args, *(n.args for n in self.own))]
        mixed = any(isinstance(n, RVar) and (id(n.domain), n.dim) == key
                    for args in (self.definition.args, *(n.args for n in self.own))
                    for a in args if not isinstance(a, RVar) for n in parts(a))
        return not mixed and bool(places[0]) and all(p == places[0] for p in places)

    def is_plain(self) -> bool:
        """Return whether the left side consists of Vars and constants only."""
        return all(isinstance(a, Var | Const) for a in self.definition.args)

    def accumulation(self) -> Any:
        """Return numpy's operator of an update `f[...] = f[...] op e` if `e` does not use `f`; else None."""
        value = self.definition.values[0]
        if len(self.definition.values) != 1 or not isinstance(value, Op) or value.name not in _UFUNCS:
            return None
        own = value.args[0]
        if (not isinstance(own, Call) or own.func is not self.func or any(n is not own for n in self.own)
                or not all(same(a, b) for a, b in zip(own.args, self.definition.args, strict=True))):
            return None
        return _UFUNCS[value.name]

    def slabs(self, keys: Sequence[Key]) -> Iterator[dict[Key, Values]]:
        """Yield the values of `keys` as arrays that broadcast together, a slab of all points at a time, in order."""
        counts = [self.count(k) for k in keys]
        steps, room = [1] * len(keys), _SLAB
        for axis in reversed(range(len(keys))):
            steps[axis] = max(1, min(counts[axis], room))
            room //= max(counts[axis], 1)
        for starts in product(*(range(0, n, step) for n, step in zip(counts, steps, strict=True))):
            slab: dict[Key, Values] = {}
            for axis, (key, start) in enumerate(zip(keys, starts, strict=True)):
                low = self.place.ranges[key][0]
                line = np.arange(low + start, low + min(start + steps[axis], counts[axis]), dtype=np.int32)
                slab[key] = line.reshape([-1 if a == axis else 1 for a in range(len(keys))])
            yield slab

    def index(self, values: Evaluation) -> tuple[Values, ...]:
        """Return the index of the left side in the arrays."""
        found = [
            np.asarray(values.of(a), np.int64) - low for a, low in zip(self.definition.args, self.low, strict=True)
        ]
        return tuple(reversed(found))

    def store(self, slab: Mapping[Key, Values]) -> None:
        """Compute all values at these points, then store them."""
        mask = None if self.condition is None else Evaluation(self.machine, slab).of(self.condition)
        values = Evaluation(self.machine, slab, mask)
        self.note(slab, values)
        results = [values.of(v) for v in self.definition.values]
        if len(results) > 1:  # values stored first must not change those stored next
            results = [np.array(result) for result in results]
        where = self.index(values)
        if not all(
            a.size == 1 or isinstance(e, Var | RVar) for a, e in zip(reversed(where), self.definition.args, strict=True)
        ):
            where = tuple(np.broadcast_arrays(*where))
        for target, result in zip(self.targets, results, strict=True):
            if mask is None:
                _put(target, where, result)
            else:
                shape = np.broadcast_shapes(mask.shape, result.shape, *(a.shape for a in where))
                chosen = np.broadcast_to(mask, shape)
                target[tuple(np.broadcast_to(a, shape)[chosen] for a in where)] = np.broadcast_to(result, shape)[chosen]

    def accumulate(self, slab: Mapping[Key, Values], operator: Any) -> None:
        """Apply an update at all these points, in order."""
        mask = None if self.condition is None else Evaluation(self.machine, slab).of(self.condition)
        values = Evaluation(self.machine, slab, mask)
        self.note(slab, values)
        value = self.definition.values[0]
        assert isinstance(value, Op)
        given, where = values.of(value.args[1]), self.index(values)
        shape = np.broadcast_shapes(given.shape, *(a.shape for a in where), *(a.shape for a in slab.values()))
        index = tuple(np.broadcast_to(a, shape).ravel() for a in where) or (np.zeros(int(np.prod(shape)), np.int64),)
        given = np.broadcast_to(given, shape).ravel()
        if mask is not None:
            chosen = np.broadcast_to(mask, shape).ravel()
            index, given = tuple(a[chosen] for a in index), given[chosen]
        operator.at(self.targets[0] if self.targets[0].ndim else self.targets[0].reshape(1), index, given)

    def note(self, slab: Mapping[Key, Values], values: Evaluation) -> None:
        """Check the definition's requirements at these points, and print its messages."""
        for note in self.definition.notes:
            if note.required or self.machine.say is not None:
                taken(note, self.func.title, {self.place.names[key]: slab[key] for key in self.place.ranges}, values.of,
                      values.mask, self.machine.say)


class Evaluation:
    """The values of expressions at some points: arrays that broadcast together, one axis per Var or coordinate.

    Where `mask` does not hold, elements may not exist, and values are meaningless.
    """

    def __init__(self, machine: Machine, at: Mapping[Key, Values], mask: Values | None = None) -> None:
        self.machine, self.at, self.mask = machine, at, mask
        self._found: dict[int, tuple[Expr, Values]] = {}

    def of(self, expr: Expr) -> Values:
        """Return the values of `expr`."""
        if id(expr) not in self._found:
            self._found[id(expr)] = (expr, self._value(expr))
        return self._found[id(expr)][1]

    def _value(self, expr: Expr) -> Values:
        match expr:
            case Const(kind, value):
                return np.asarray(value, kind.numpy).astype(kind.computed.numpy)
            case Var():
                return self.at[expr.key]
            case RVar(domain, dim):
                return self.at[id(domain), dim]
            case Edge(image, dim, what):
                return np.asarray(self.machine.bounds.sizes.edge(image, dim, what), np.int32)
            case Given(param):
                return np.asarray(param.number(), param.type.numpy).astype(param.type.computed.numpy)
            case Call(func, args, index):
                return self._element(expr, func, self.machine.values[id(func)][index], args)
            case Pixel(image, args):
                return self._element(expr, image, self.machine.inputs[id(image)], args)
            case Op(name, kind, args):
                return apply(name, kind, [self.of(a) for a in args])
            case _:
                raise AssertionError(f"no such expression: {expr}")

    def _element(self, node: Call | Pixel, used: Func | Image, data: Values, args: tuple[Expr, ...]) -> Values:
        region = self.machine.bounds.regions[id(used)]
        index = [np.asarray(self.of(a), np.int64) - low for a, (low, _) in zip(args, region, strict=True)]
        for dim, (low, extent) in enumerate(region):
            i = index[dim]
            if self.mask is not None:
                index[dim] = np.clip(i, 0, extent - 1)
                i = np.where(self.mask, i, 0)
            if i.size and (i.min() < 0 or i.max() >= extent):
                outside = int(i.min() if i.min() < 0 else i.max()) + low
                raise InputError(
                    f"`{used.title}` is read at coordinate {outside} in dimension {dim}, outside of {low} to "
                    f"{low + extent - 1}: a value overflowed its type (a cast to int32, not a number, ...) before "
                    "it became a coordinate",
                    node.at,
                )
        found = _taken(data, tuple(reversed(index)))
        return found.astype(np.float32) if found.dtype == np.float16 else found


def _line(index: Values) -> tuple[int, slice] | None:
    """Return the axis and the slice of an index that counts up by 1 along one axis; None for any other."""
    if index.size == 1:
        return None
    axis = int(np.argmax(index.shape))
    flat = index.ravel()
    if flat.size != index.shape[axis] or flat[-1] - flat[0] != flat.size - 1 or not bool(np.all(np.diff(flat) == 1)):
        return None
    return axis, slice(int(flat[0]), int(flat[-1]) + 1)


def _view(data: Values, index: tuple[Values, ...]) -> tuple[Values, int] | None:
    """Return a view of the elements at `index` with all axes in order, if slices suffice."""
    lines = [_line(i) for i in index]
    if any(line is None and i.size != 1 for line, i in zip(lines, index, strict=True)):
        return None
    axes = [line[0] for line in lines if line is not None]
    if len(set(axes)) != len(axes):
        return None
    part = data[tuple(int(i.ravel()[0]) if line is None else line[1] for line, i in zip(lines, index, strict=True))]
    rank = max((i.ndim for i in index), default=0)
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    part = np.asarray(part).transpose(order)
    shape = [1] * rank
    for k in order:
        shape[axes[k]] = part.shape[order.index(k)]
    return part.reshape(shape), rank


def _taken(data: Values, index: tuple[Values, ...]) -> Values:
    """Return the elements of `data` at `index`."""
    found = _view(data, index)
    return data[index] if found is None else found[0]


def _put(target: Values, where: tuple[Values, ...], result: Values) -> None:
    """Assign `target[where] = result`."""
    lines = [_line(i) for i in where]
    if all(line is not None or i.size == 1 for line, i in zip(lines, where, strict=True)):
        axes = [line[0] for line in lines if line is not None]
        if axes == sorted(set(axes)) and all(n == 1 for a, n in enumerate(result.shape) if a not in axes):
            spot = tuple(int(i.ravel()[0]) if line is None else line[1] for line, i in zip(lines, where, strict=True))
            rank = max((i.ndim for i in where), default=0)
            full = result.reshape((1,) * (rank - result.ndim) + result.shape)
            target[spot] = full.reshape([full.shape[a] for a in axes])
            return
    target[where] = result
