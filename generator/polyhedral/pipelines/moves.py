"""With which coordinates of computed elements the subscripts of reads move (for `generator.storage_orders`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from generator.expr import loads_of
from generator.linear import simplify
from generator.polyhedral.kit.members import ends
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.pipelines.nests import iterator_and_constant
from generator.polyhedral.pipelines.storage import has_orders
from generator.program import Array, Program, Statement
from generator.storage_orders import Move


def moves_of(program: Program, statements: Sequence[Statement]) -> tuple[Move, ...]:
    """Return the reads of other arrays by `statements`, which compute an array of `program`."""
    return tuple(move for statement in statements for move in _moves(program, statement))


def terms_of(statement: Statement) -> int:
    """Return how many instances of a statement compute an element of its target; 1 if a subscript is no iterator."""
    own = _dimensions(statement)
    if len(own) < len(statement.body.target.index):
        return 1
    ranges = zip(statement.iterators, ends(set_of(statement.domain)), strict=True)
    return prod(1 + high - low for name, (low, high) in ranges if name not in own)


def turnable_dimensions(array: Array, statements: Sequence[Statement]) -> tuple[int, ...]:
    """Return the dimensions of an array that may be stored contiguously instead of the last one: those along which
    `statements`, which compute it, need no other element of it.
    """
    bodies = [statement.body for statement in statements]
    own = [(load.index, body.target.index) for body in bodies for expr in body.computed for load in loads_of(expr)
           if load.array == array.name == body.target.array]
    return tuple(d for d in range(len(array.extents) if has_orders(array) else 0)
                 if all(read[d] == written[d] for read, written in own))


def _moves(program: Program, statement: Statement) -> Iterator[Move]:
    own, body = _dimensions(statement), statement.body
    times = terms_of(statement)
    for expr in (*body.computed, *((body.guard,) if body.guard is not None else ())):
        for load in loads_of(expr):
            extents = program.array(load.array).extents
            if extents and load.array != body.target.array:
                dims = (tuple(sorted(own[name] for name in body.variables(index) if name in own))
                        for index in load.index)
                yield Move(load.array, extents, tuple(dims), times)


def _dimensions(statement: Statement) -> Mapping[str, int]:
    """Return the dimension of the target of each iterator that is one of its subscripts, but for a constant."""
    places = (iterator_and_constant(simplify(index), statement.iterators) for index in statement.body.target.index)
    return {statement.iterators[place[0]]: d for d, place in enumerate(places) if place is not None}
