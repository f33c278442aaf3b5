"""Elements that the iterations of a loop load or store next to each other, so that one instruction can access several.

A load qualifies if every iteration loads its own element, adjacent to that of the previous iteration: in loops with
constant bounds and under conditions that do not change from iteration to iteration, and not in a conditionally
evaluated part of an expression. An array that the loop writes is loaded and stored as a vector if each iteration uses a
single element of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from generator.expr import Binary, Expr, Fold, Int, Load, Name, Select, children, loads_of, map_children, names_of
from generator.linear import Residues, plain_form, residue, simplify, substitute
from generator.lowering.core.vectors import moves_by_one
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Atomic, Declare, For, If, Node, Wide, expressions, most_lanes, rounds, walk


@dataclass(frozen=True, slots=True)
class Layout:
    """An array in global or shared memory: element type, extents with padding."""

    type: str
    sizes: tuple[int, ...]

    def lanes(self, width: int) -> int:
        """Return how many of `width` neighbours an access transfers."""
        return most_lanes(self.type, width)


@dataclass(frozen=True, slots=True)
class Vector:
    """`name` holds the values of `load` in `width` iterations of a loop, `lanes` of them per access.

    There is one vector for each iteration of the loops `dims`, which are inside that loop. It is loaded in `around`:
    these loops and conditions. `stored`: each iteration writes its element.
    """

    name: str
    load: Load
    layout: Layout
    around: tuple[For | If, ...]
    loaded: bool = True
    stored: bool = False

    @property
    def dims(self) -> tuple[For, ...]:
        """The loops whose iterations have separate vectors."""
        return tuple(node for node in self.around if isinstance(node, For))

    def element(self, lane: Expr) -> Load:
        """Return the element of the iteration `lane`."""
        return Load(self.name, (*(Name(loop.iterator) for loop in self.dims), lane))


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors of a loop by load and by the nodes of the loop around it. The loop's `iterator` begins at `first`."""

    by_place: Mapping[tuple[Load, tuple[int, ...]], Vector]
    iterator: str
    first: Expr
    width: int

    def __len__(self) -> int:
        return len(self.by_place)

    @property
    def _each(self) -> tuple[Vector, ...]:
        return tuple(dict.fromkeys(self.by_place.values()))

    def loads(self) -> Iterator[Node]:
        """Yield the nodes before the iterations."""
        for vector in self._each:
            yield Declare(vector.name, vector.layout.type, (*(_count(loop) for loop in vector.dims), self.width))
            if vector.loaded:
                yield from self._moves(vector, False)

    def stores(self) -> Iterator[Node]:
        """Return the nodes after the iterations."""
        return (node for vector in self._each if vector.stored for node in self._moves(vector, True))

    def _moves(self, vector: Vector, out: bool) -> tuple[Node, ...]:
        lanes, nodes = vector.layout.lanes(self.width), list[Node]()
        for lane in range(0, self.width, lanes):
            here, there = vector.element(Int(lane)), self._at(vector.load, lane)
            target, source = (there, here) if out else (here, there)
            nodes.append(Assign(target, "", source, wide=Wide(vector.layout.type, lanes)))
        body = tuple(nodes)
        for node in reversed(vector.around):
            body = (
                If(node.condition, body) if isinstance(node, If) else replace(node, body=body, unroll=_count(node)),
            )
        return body

    def _at(self, load: Load, lane: int) -> Load:
        found = substitute(load, {self.iterator: Binary("+", self.first, Int(lane))})
        assert isinstance(found, Load)
        return Load(found.array, tuple(plain_form(i) or i for i in found.index), found.access)

    def put_into(self, nodes: tuple[Node, ...], lane: Expr, place: tuple[int, ...] = ()) -> tuple[Node, ...]:
        """Return `nodes` with elements of vectors in place of their loads, in the iteration `lane`."""
        result: list[Node] = []
        for node in nodes:
            match node:
                case For(body=body):
                    result.append(replace(node, body=self.put_into(body, lane, (*place, id(node)))))
                case If(then=then):
                    result.append(replace(node, then=self.put_into(then, lane, (*place, id(node)))))
                case Assign(target, _, value, wide=None):
                    own = self.by_place.get((bare(target), place))
                    result.append(replace(node, target=own.element(lane) if own and own.stored else target,
                                          value=self._put(value, lane, place)))
                case _:
                    result.append(node)
        return tuple(result)

    def _put(self, expr: Expr, lane: Expr, place: tuple[int, ...]) -> Expr:
        if isinstance(expr, Load) and (bare(expr), place) in self.by_place:
            return self.by_place[bare(expr), place].element(lane)
        return map_children(expr, lambda child: self._put(child, lane, place))


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A loop whose `iterator` starts at `first`, `width` iterations at a time. `known`: residues of names."""

    layouts: Mapping[str, Layout]
    width: int
    iterator: str
    first: Expr
    known: Residues

    def found(self, body: tuple[Node, ...], taken: set[str]) -> Vectors:
        """Return the vectors of the loop's body; their names are added to `taken`."""
        written = written_in(body)
        found: dict[tuple[Load, tuple[int, ...]], Vector] = {}
        named: dict[tuple[Load, tuple[int, ...]], str] = {}
        for load, around in (*_loads(body, ()), *_stores(body)):
            key = load, tuple(map(id, around))
            if key in found or not self._is_vector(load, written - {load.array}):
                continue
            own = load.array in written
            kept = _kept(load, around, self.iterator, written)
            if kept is None or (own and not (kept == () == around and _is_own(load, body))):
                continue
            same = load, tuple(map(id, kept))
            if same not in named:
                named[same] = fresh_name(f"{load.array}_wide", taken)
            found[key] = Vector(named[same], load, self.layouts[load.array], kept, _is_read(load, body) or not own, own)
        return Vectors(found, self.iterator, self.first, self.width)

    def _is_vector(self, load: Load, written: set[str]) -> bool:
        """Return whether the loop goes from neighbour to neighbour, beginning at a multiple of the width."""
        if load.array not in self.layouts or not load.index or not moves_by_one(load, self.iterator):
            return False
        if any(inner.index or inner.array in written for index in load.index for inner in loads_of(index)):
            return False
        after = substitute(load.index[-1], {self.iterator: Binary("+", Name(self.iterator), Int(1))})
        if simplify(Binary("-", after, load.index[-1])) != Int(1):  # does not move at a border
            return False
        layout = self.layouts[load.array]
        lanes, place, total = layout.lanes(self.width), 1, 0
        for extent, index in reversed(list(zip(layout.sizes, load.index, strict=True))):
            if place % lanes:
                rest = residue(substitute(index, {self.iterator: self.first}), lanes, self.known)
                if rest is None:
                    return False
                total += place * rest
            place *= extent
        return lanes > 1 and total % lanes == 0


def _loads(nodes: tuple[Node, ...], around: tuple[For | If, ...]) -> Iterator[tuple[Load, tuple[For | If, ...]]]:
    """Yield the loads that run whenever the nodes around them run, with these nodes."""
    for node in nodes:
        match node:
            case For(body=body):
                yield from _loads(body, (*around, node))
            case If(then=then):
                yield from _loads(then, (*around, node))
            case Assign(_, _, value, wide=None):
                yield from ((load, around) for load in _certain(value))
            case _:
                pass


def _stores(body: tuple[Node, ...]) -> Iterator[tuple[Load, tuple[For | If, ...]]]:
    """Return the stores of every iteration."""
    return ((bare(node.target), ()) for node in body if isinstance(node, Assign) and node.wide is None)


def _certain(expr: Expr) -> Iterator[Load]:
    """Yield the loads that run whatever the values of others."""
    match expr:
        case Load(index=index):
            yield bare(expr)
            for part in index:
                yield from _certain(part)
        case Fold():
            pass
        case Select(condition):
            yield from _certain(condition)
        case Binary("&&" | "||", left):
            yield from _certain(left)
        case _:
            for child in children(expr):
                yield from _certain(child)


def _kept(load: Load, around: tuple[For | If, ...], iterator: str, written: set[str]) -> tuple[For | If, ...] | None:
    """Return the loops and conditions in which a vector is loaded before all iterations.

    None if that might load an element that the program does not load.
    """
    needed = {name for index in load.index for name in names_of(index)}
    loops = [node for node in around if isinstance(node, For)]
    if any(not _count(loop) or loop.start != Int(0) or loop.step != 1 for loop in loops):
        return None
    left_out = {loop.iterator for loop in loops} - needed
    for node in around:
        if isinstance(node, If):
            named = names_of(node.condition)
            if named & (left_out | {iterator}) or any(one.array in written for one in loads_of(node.condition)):
                return None
    return tuple(node for node in around if isinstance(node, If) or node.iterator in needed)


def _count(loop: For) -> int:
    """Return the trip count of a loop with constant bounds, 0 for others."""
    return rounds(loop) or 0


def written_in(nodes: tuple[Node, ...]) -> set[str]:
    """Return the arrays and variables that the nodes write."""
    return {node.target.array for node in walk(nodes) if isinstance(node, Assign | Atomic)}


def bare(load: Load) -> Load:
    """Return the load without the number of its access."""
    return Load(load.array, load.index)


def _is_own(load: Load, body: tuple[Node, ...]) -> bool:
    """Return whether the body stores the element in every iteration, and uses no other one of its array."""
    parts = [(node, one) for node in body for part in walk((node,)) for expr in expressions(part)
             for one in loads_of(expr) if one.array == load.array]
    return all(isinstance(node, Assign) and bare(one) == load for node, one in parts) and any(
        isinstance(node, Assign) and bare(node.target) == load for node in body)


def _is_read(load: Load, body: tuple[Node, ...]) -> bool:
    """Return whether the body reads the element before it stores it."""
    uses = [(any(bare(one) == load for one in loads_of(node.value)), bare(node.target) == load, node.op)
            for node in body if isinstance(node, Assign)]
    return next((read or bool(op) for read, stored, op in uses if read or stored), False)
