"""The boxes of arrays that a block which runs one tile of a wavefront can copy to shared memory.

A box has room for all elements that the tile reads or writes, and for others between them, which other blocks of the
launch may write. Copying is right if no other block writes what the tile accesses, or what it loads; both are tested
exactly. Nothing is written back: every result is stored to both places.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Expr
from generator.polyhedral.kit.ast import condition_of
from generator.polyhedral.kit.context import most_operations
from generator.polyhedral.kit.limited import ChildError, limited
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.kit.tree import Band
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.memory.mapping import block_names, tile_member
from generator.polyhedral.memory.tile_boxes import Ranges, TileBox, corner_of, elements_of, numbers_of
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import ELEMENT_BYTES, Program

_WRITES = ("write", "may_write")
MOST_SHARED = 256 * 1024
"""More shared memory than a block has on any GPU (227 KiB on NVIDIA's, 160 KiB on AMD's): larger boxes are not tested.
"""
MOST_OPERATIONS = 3_000_000
"""isl operations to find out which boxes can be copied, some seconds, and as many for what is loaded: a count, so that
all machines offer the same.
"""


@dataclass(frozen=True, slots=True)
class WavefrontBox:
    """The `box` of a tile, and the condition under which an element of it is `loaded`: an expression of host iterators,
    block indices and the element's subscripts in the whole array, called as in `subscripts`. None: all are that exist.
    """

    box: TileBox
    loaded: Expr | None

    @property
    def subscripts(self) -> tuple[str, ...]:
        """Names that no program has."""
        return subscript_names(len(self.box.sizes))


def subscript_names(count: int) -> tuple[str, ...]:
    """Return the names of an element's subscripts in a condition."""
    return tuple(f"antune_at{d}" for d in range(count))


@memoized(maxsize=1024)
def wavefront_boxes(program: Program, part: KernelPart, prefix: tuple[str, ...]) -> tuple[WavefrontBox, ...]:
    """Return the boxes, sorted by array. `prefix`: names of the host iterators.

    Left out: arrays that a tile reads less often than there are elements in the box.

    Raises:
        IllegalPlan: isl gives up, or a box does not contain what is accessed (never seen; checked because results would
            be wrong).
    """
    arrays, ranges = copied_arrays(program, part, prefix), _ranges(part, prefix)
    with most_operations(MOST_OPERATIONS, f"finding what tiles of {', '.join(part.statements)} load"):
        return tuple(_with_condition(program, part, box, ranges)
                     for box in worthwhile_boxes(program, part, prefix) if box.array in arrays)


def _with_condition(program: Program, part: KernelPart, box: TileBox, ranges: Ranges) -> WavefrontBox:
    """Return `box` with the condition under which its elements are loaded. Raises IllegalPlan: see above."""
    touched, read, written = (_by_tile(program, part, box.array, kinds)
                              for kinds in (("read", *_WRITES), ("read",), _WRITES))
    whole = elements_of(box, ranges, None, None)
    assert touched is not None and read is not None, "worthwhile boxes are read"
    if not touched.is_subset(whole):
        raise IllegalPlan(f"a block would not hold all that its tile accesses of `{box.array}`")
    return WavefrontBox(box, _loaded(whole, read, written, ranges, len(part.prefix)))


@memoized(maxsize=1024)
def copied_arrays(program: Program, part: KernelPart, prefix: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arrays whose boxes are worthwhile, fit in some GPU's shared memory and can be copied, sorted.

    Raises:
        IllegalPlan: isl gives up.
    """
    boxes = [box for box in worthwhile_boxes(program, part, prefix) if box_bytes(program, box) <= MOST_SHARED]
    what = f"testing the copies of {', '.join(part.statements)}"

    def legal() -> str:
        with most_operations(MOST_OPERATIONS, what):
            return json.dumps([box.array for box in boxes if _is_copied(program, part, box, len(prefix))])

    try:
        return tuple(json.loads(limited(legal, what))) if boxes else ()
    except ChildError as error:
        raise IllegalPlan(f"{what}: {error}") from None


def box_bytes(program: Program, box: TileBox) -> int:
    """Return the shared memory of a box."""
    return ELEMENT_BYTES[program.array(box.array).type] * prod(box.sizes)


@lru_cache(maxsize=1024)
def worthwhile_boxes(program: Program, part: KernelPart, prefix: tuple[str, ...]) -> tuple[TileBox, ...]:
    """Return the boxes of the arrays that a tile reads more often than their box has elements, sorted by array.

    Whether they can be copied is for `copied_arrays` to say, which takes longer.
    """
    statements = [program.statement(name) for name in part.statements]
    names = sorted({access.array for one in statements for access in one.accesses})
    ranges, found = _ranges(part, prefix), []
    for array in (program.array(name) for name in names):
        reads = sum(access.array == array.name and access.kind == "read" for one in statements
                    for access in one.accesses)
        if not array.extents or not reads or _by_tile(program, part, array.name, ("read",)) is None:
            continue
        box = _box(program, part, array.name, ranges)
        if box is not None and prod(box.sizes) < reads * prod(part.sizes):
            found.append(box)
    return tuple(found)


def _is_copied(program: Program, part: KernelPart, box: TileBox, hosts: int) -> bool:
    """Return whether no other tile of a launch writes what a tile accesses of the array of `box`. `hosts`: the number
    of host loops.
    """
    touched, written = (_by_tile(program, part, box.array, kinds) for kinds in (("read", *_WRITES), _WRITES))
    return not _shared_with_others(touched, written, hosts)


def _ranges(part: KernelPart, prefix: tuple[str, ...]) -> Ranges:
    """Return the ranges of host iterators and block indices."""
    hosts = [(host, *value_range(member.intersect_domain(part.domain)))
             for host, member in zip(prefix, part.prefix, strict=True)]
    return [*hosts, *((block, 0, d.extent - 1)
                      for block, d in zip(block_names(len(part.parallel)), part.parallel, strict=True))]


def _box(program: Program, part: KernelPart, array: str, ranges: Ranges) -> TileBox | None:
    """Return the box of a tile that is completely in the domain, wherever it is: so its corner is one sum.

    None if the rows of the tile do not bound the elements.
    """
    reached = None
    for statement in map(program.statement, part.statements):
        for access in statement.accesses:
            if access.array == array:
                relation = map_of(access.relation)
                relation = relation.gist_domain(relation.domain())  # also outside of the statement's domain
                rows = _rows(part, relation.get_space().domain())
                if rows is None:
                    return None
                one = _numbers_to_rows(part).apply_range(rows.reverse()).apply_range(relation)
                reached = one if reached is None else reached.union(one)
    assert reached is not None, "it is accessed"
    if not _at_zero(reached).range().is_bounded():
        return None
    reached = reached.intersect_domain(numbers_of(ranges).domain)
    dims = range(reached.dim(isl.dim_type.out))
    lows = [reached.dim_min(d) for d in dims]
    sizes = tuple(1 + value_range(reached.dim_max(d).sub(low))[1] for d, low in enumerate(lows))
    return TileBox(array, corner_of(lows, ranges), sizes)


def _at_zero(relation: Any) -> Any:
    """Return the part of `relation` whose numbers are all 0."""
    for d in range(relation.dim(isl.dim_type.in_)):
        relation = relation.fix_val(isl.dim_type.in_, d, isl.Val(0))
    return relation


def _rows(part: KernelPart, space: Any) -> Any | None:
    """Return the isl Map from all iterations of a statement, also outside of its domain, to the rows of the tiles and
    the outer host loops; None if one of these is no single expression.
    """
    assert isinstance(part.tree, Band)
    nothing = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, 0)
    result = isl.Map.universe(isl.Space.map_from_domain_and_range(space, nothing))
    for member in (*part.tree.members, *part.prefix[:-1]):
        value = member.extract_pw_aff(space.from_domain().add_dims(isl.dim_type.out, 1))
        pieces = list[Any]()
        value.foreach_piece(lambda _domain, piece, pieces=pieces: pieces.append(piece))
        if len(pieces) != 1:
            return None
        result = result.flat_range_product(isl.Map.from_aff(pieces[0]))
    return result


def _numbers_to_rows(part: KernelPart) -> Any:
    """Return the isl Map from the numbers of host loops and blocks to the rows of a tile and the outer host loops."""
    hosts = [f"p{k}" for k in range(len(part.prefix))]
    blocks, rows = block_names(len(part.parallel)), [f"r{k}" for k in range(len(part.sizes))]
    tiles = [""] * len(rows)
    for k, name in enumerate(blocks):
        tiles[1 + (part.order[k] if part.order else k)] = f"({name} + {part.parallel[k].low})"
    tiles[0] = f"({hosts[-1]}{''.join(f' - {tile}' for tile in tiles[1:])})"
    terms = [f"{size} * {tile} <= {row} < {size} * {tile} + {size}"
             for row, size, tile in zip(rows, part.sizes, tiles, strict=True)]
    numbers, values = ", ".join((*hosts, *blocks)), ", ".join((*rows, *hosts[:-1]))
    return isl.Map(f"{{ [{numbers}] -> [{values}] : {' and '.join(terms)} }}")


def _loaded(whole: Any, read: Any, written: Any | None, ranges: Ranges, hosts: int) -> Expr | None:
    """Return the condition for the elements of the box `whole` that a tile loads: those that are `read`, and all others
    if no other tile of the launch writes them, so that the condition is simple.
    """
    if not _shared_with_others(whole, written, hosts):
        return None
    hull = isl.Map.from_basic_map(read.remove_divs().simple_hull()).intersect(whole)
    loaded = read if _shared_with_others(hull, written, hosts) else hull
    names = (*(name for name, _, _ in ranges), *subscript_names(whole.dim(isl.dim_type.out)))
    return condition_of(_of_parameters(loaded, names).coalesce(), _of_parameters(whole, names))


def _of_parameters(relation: Any, names: Sequence[str]) -> Any:
    """Return an isl Map as a parameter Set; `names`: those of its input, then of its output dimensions."""
    numbers = relation.dim(isl.dim_type.in_)
    moved = relation.move_dims(isl.dim_type.param, 0, isl.dim_type.in_, 0, numbers)
    moved = moved.move_dims(isl.dim_type.param, numbers, isl.dim_type.out, 0, moved.dim(isl.dim_type.out))
    for d, name in enumerate(names):
        moved = moved.set_dim_name(isl.dim_type.param, d, name)
    return moved.params()


def _by_tile(program: Program, part: KernelPart, array: str, kinds: Sequence[str]) -> Any | None:
    """Return the isl Map from the numbers of host loops and blocks to the elements of `array` that they access; None if
    there are none.
    """
    relations = [map_of(access.relation) for name in part.statements for access in program.statement(name).accesses
                 if access.array == array and access.kind in kinds]
    if not relations:
        return None
    accesses = isl.UnionMap.from_map(relations[0])
    for relation in relations[1:]:
        accesses = accesses.union(isl.UnionMap.from_map(relation))
    accesses = accesses.intersect_domain(part.domain)
    if accesses.is_empty():
        return None
    members = (*part.prefix, *(tile_member(d, 1) for d in part.parallel))
    numbers = values_at([member.intersect_domain(accesses.domain()) for member in members], accesses.domain())
    return isl.Map.from_union_map(numbers.reverse().apply_range(accesses))


def _shared_with_others(touched: Any, written: Any | None, hosts: int) -> bool:
    """Return whether two tiles of a launch, which `hosts` numbers tell, access an element that one of them writes."""
    if written is None:
        return False
    pairs = touched.apply_range(written.reverse())
    for dim in range(hosts):
        pairs = pairs.equate(isl.dim_type.in_, dim, isl.dim_type.out, dim)
    return not pairs.is_subset(isl.Map.identity(pairs.get_space()))
