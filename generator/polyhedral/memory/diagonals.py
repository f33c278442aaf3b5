"""The threads of a block inside one tile of a wavefront: they run the diagonals of the tile, one after the other.

    for a tile, in one thread:               for a tile, in a block:
        for (p = ..) for (q = ..) S(p, q);       for (diagonal = 0; diagonal <= 2 * size - 2; ++diagonal) {
                                                     for (in1 = t0; in1 < size; in1 += threads) S(diagonal - in1, in1);
                                                     barrier
                                                 }

A diagonal contains the points at which the sum of some tiled rows is equal, counted from the tile's beginning. That is
legal if every dependence between two points of a tile increases the sum: then a barrier is between them. The instances
at one point run in one thread, in the order of the inner loops. Both are tested exactly. Lamport's hyperplane method
(The Parallel Execution of DO Loops, 1974), inside a tile.

With inner tiles, a *place* of the tile is an inner tile instead of a point: a thread runs the points of it in order,
and there are fewer diagonals, with more work each. That is legal if the sum of an inner tile's numbers increases along
every dependence that leaves it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import combinations
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.plan import KernelPlan
from generator.polyhedral.dependences.model import sets
from generator.polyhedral.kit.ast import index_filter
from generator.polyhedral.kit.context import most_operations
from generator.polyhedral.kit.limited import ChildError, limited
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.memoized import memoized
from generator.polyhedral.kit.tree import Band, Mapping, Tree, multi
from generator.polyhedral.memory.mapping import block_names, thread_names, tile_member
from generator.polyhedral.schedules.kernels import KernelPart
from generator.polyhedral.schedules.legality import check_kernel, check_threads

MOST_OPERATIONS = 3_000_000
"""isl operations to find out whether inner tiles are legal, some seconds: a count, so that all machines offer the same.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Diagonals:
    """The execution of a tile by a block.

    `number`: the member that gives the diagonal of an instance, one of `steps`. `inside[k]`: its place in the tile
    along the tiled row `rows[k]`, for the rows along which threads lie: those of the parallel dimension `dims[k]`.
    `tree`: blocks and threads, with the subtree of a place (`at_point`) in them.
    """

    number: Any
    steps: int
    rows: tuple[int, ...]
    dims: tuple[int, ...]
    inside: tuple[Any, ...]
    tree: Tree
    at_point: Tree


@lru_cache(maxsize=1024)
def with_inner_tiles(part: KernelPart, size: int) -> KernelPart:
    """Return `part` with tiles of `size` in each row inside its tiles (1: without); a whole row where it is shorter.

    Raises:
        IllegalPlan: `size` does not divide the size of a tile.
    """
    if size == 1:
        return part
    if odd := [extent for extent in part.sizes if extent % min(size, extent)]:
        raise IllegalPlan(f"inner tiles of {size} do not divide a tile of {odd[0]} in a row of "
                          f"{', '.join(part.statements)}")
    return replace(part, inner=tuple(min(size, extent) for extent in part.sizes), outer=part)


def places_of(part: KernelPart) -> tuple[int, ...]:
    """Return the number of places of a tile in each row: of points, or of inner tiles."""
    return tuple(size // inner for size, inner in zip(part.sizes, part.inner or (1,) * len(part.sizes), strict=True))


def _rows(part: KernelPart) -> tuple[Any, ...]:
    """Return the tiled rows, in units of places."""
    assert isinstance(part.tree, Band)
    inner = part.inner or (1,) * len(part.sizes)
    return tuple(row if size == 1 else row.scale_down_val(isl.Val(size)).floor()
                 for row, size in zip(part.tree.members, inner, strict=True))


@memoized(maxsize=1024)
def summed_rows(part: KernelPart) -> tuple[int, ...]:
    """Return the tiled rows whose sum numbers the diagonals of a tile, with the fewest diagonals; () if no sum is
    legal.

    With inner tiles, the longest row of those without is one of them, so that threads lie along the same rows.

    Raises:
        IllegalPlan: isl gives up on inner tiles.
    """
    if not _is_tiled(part):
        return ()
    longest = _longest_row(part) if part.inner else None
    if longest is None:
        return () if part.inner else next(_legal_sums(part, _rows(part)), ())
    what = f"testing inner tiles of {', '.join(part.statements)}"

    def first() -> str:
        with most_operations(MOST_OPERATIONS, what):
            return json.dumps(next(_legal_sums(part, _rows(part), longest), ()))

    try:
        return tuple(json.loads(limited(first, what)))
    except ChildError as error:
        raise IllegalPlan(f"{what}: {error}") from None


def _is_tiled(part: KernelPart) -> bool:
    return isinstance(part.tree, Band) and bool(part.sizes) and len(part.tree.members) == len(part.sizes)


def _legal_sums(part: KernelPart, rows: tuple[Any, ...], among: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the sums of some `rows` that every dependence between different places increases; few diagonals first.

    `among`: a row that all of them contain, if any.
    """
    places = places_of(part)
    between = part.dependences.subtract(part.dependences.eq_at_multi_union_pw_aff(multi(rows)))
    numbers = range(len(rows))
    sums = [some for count in numbers for some in combinations(numbers, count + 1) if among is None or among in some]
    sums.sort(key=lambda some: (sum(places[row] - 1 for row in some), len(some)))
    return (some for some in sums if _orders(between, rows, some))


@lru_cache(maxsize=1024)
def _longest_row(part: KernelPart) -> int | None:
    """Return the longest of the rows that are summed without inner tiles; None if no sum is legal."""
    return max(summed_rows(part.outer or part), key=lambda row: part.sizes[row], default=None)


def _orders(dependences: Any, rows: tuple[Any, ...], some: tuple[int, ...]) -> bool:
    """Return whether every dependence increases the sum of some rows."""
    total = multi((_sum([rows[number] for number in some]),))
    return bool(dependences.subtract(dependences.lex_lt_at_multi_union_pw_aff(total)).is_empty())


def shared_rows(part: KernelPart) -> tuple[int, ...]:
    """Return the rows along which the threads of a block lie, one per parallel dimension; () if threads cannot share a
    tile.

    Together with the number of a diagonal they identify its points: the longest of the summed rows follows from the
    others.
    """
    if not summed_rows(part):
        return ()
    longest = _longest_row(part)
    free = [row for row in range(len(part.sizes)) if row != longest]
    return tuple(free[k] for k in part.order or range(len(free)))


def steps_of(part: KernelPart) -> int:
    """Return the number of diagonals of a tile."""
    return 1 + sum(places_of(part)[row] - 1 for row in summed_rows(part))


def check_diagonals(part: KernelPart) -> None:
    """Raise IllegalPlan unless the tiles of `part` may run diagonal by diagonal, whatever the block is."""
    words = ", ".join(part.statements)
    if not part.coarse:
        raise IllegalPlan(f"diagonals of {words}: its blocks run no tiles of a wavefront")
    if not summed_rows(part):
        inner = f" of inner tiles ({' x '.join(map(str, part.inner))})" if part.inner else ""
        raise IllegalPlan(f"diagonals of {words}: a dependence within a tile does not lead to a later diagonal{inner}")
    members = tuple(dimension.member for dimension in part.parallel)
    check_threads(Mapping("block", block_names(len(members)), members, part.tree), part.dependences)
    check_kernel(part.tree, part.dependences)


def diagonals_of(part: KernelPart, plan: KernelPlan) -> Diagonals:
    """Return how a block runs one tile, with its threads along the rows of `shared_rows`.

    Raises:
        IllegalPlan: threads cannot share the tiles.
    """
    check_diagonals(part)
    assert isinstance(part.tree, Band)
    inside = [row.mod_val(isl.Val(size)) for row, size in zip(_rows(part), places_of(part), strict=True)]
    shared, summed = shared_rows(part), summed_rows(part)
    threads = tuple(inside[row].mod_val(isl.Val(count)) for row, count in zip(shared, plan.block, strict=True))
    blocks = tuple(tile_member(dimension, 1) for dimension in part.parallel)
    count = len(blocks)
    in_order = Band(part.tree.members, (False,) * len(part.sizes), part.tree.permutable, part.tree.child)
    child = in_order if part.inner else part.tree.child
    tree = Mapping("block", block_names(count), blocks, Mapping("thread", thread_names(count), threads, child))
    rows = tuple(sorted(shared))
    return Diagonals(
        _sum([inside[row] for row in summed]),
        steps_of(part),
        rows,
        tuple(shared.index(row) for row in rows),
        tuple(inside[row] for row in rows),
        tree,
        child,
    )


def at_place(part: KernelPart, prefix: SequenceOf[str], diagonal: str, inside: MappingOf[int, str]) -> Any:
    """Return the isl UnionSet of the instances at one place of a tile.

    Its parameters: the host loops `prefix`, blocks, the number of the `diagonal`, and places along rows with the names
    in `inside`. Without remainders: row = size of a tile * its number + place in it.
    """
    rows = [f"antune_row{number}" for number in range(len(part.sizes))]  # no loop has this name
    tiles = ["", *[""] * len(part.parallel)]
    for k, name in enumerate(block_names(len(part.parallel))):
        tiles[1 + (part.order[k] if part.order else k)] = f"({name} + {part.parallel[k].low})"
    tiles[0] = f"({prefix[-1]}{''.join(f' - {tile}' for tile in tiles[1:])})"
    longest, place = _longest(part, diagonal, inside)
    places = {**inside, longest: place}
    terms = [
        f"{row} = {size} * {tiles[k]} + {places[k]} and 0 <= {places[k]} < {size}"
        for k, (row, size) in enumerate(zip(rows, places_of(part), strict=True))
    ]
    names = ", ".join([*rows, *prefix, *block_names(len(part.parallel)), diagonal, *inside.values()])
    there = isl.Set(f"[{names}] -> {{ : {' and '.join(terms)} }}")
    found = part.domain.intersect(index_filter(part.prefix, prefix)).intersect(index_filter(_rows(part), rows))
    found = found.intersect_params(there)
    for row in rows:
        first = found.get_space().find_dim_by_name(isl.dim_type.param, row)
        found = found.project_out(isl.dim_type.param, first, 1)
    return found


def _longest(part: KernelPart, diagonal: str, inside: MappingOf[int, str]) -> tuple[int, str]:
    """Return the row that follows from the others, and the place along it."""
    (longest,) = set(range(len(part.sizes))) - set(inside)
    others = "".join(f" - {inside[row]}" for row in summed_rows(part) if row != longest)
    return longest, f"({diagonal}{others})"


def place_of_longest(part: KernelPart, diagonal: str, inside: MappingOf[int, str]) -> Any:
    """Return the isl parameter Set of the diagonals and places at which a tile has a point; names as for `at_place`."""
    longest, place = _longest(part, diagonal, inside)
    return isl.Set(f"[{', '.join([diagonal, *inside.values()])}] -> {{ : 0 <= {place} < {places_of(part)[longest]} }}")


def full_tiles(domain: Any, outside: Any, places: Any, inside: SequenceOf[str]) -> Any | None:
    """Return the isl parameter Set of the tiles in which all statements of `domain` (as of `at_place`) run at all
    `places`.

    `outside`: the values of host iterators and blocks. `places`: the values of these and of the parameters `inside`.
    None if it is not convex, or empty.
    """
    full = outside
    for one in sets(domain):
        missing = places.subtract(one.params())
        for name in inside:
            missing = missing.project_out(isl.dim_type.param, missing.find_dim_by_name(isl.dim_type.param, name), 1)
        full = full.subtract(missing)
    full = full.coalesce().remove_redundancies()
    return full if full.n_basic_set() == 1 and not full.is_empty() else None


def first_tiles(part: KernelPart) -> tuple[int, int]:
    """Return the least and the greatest number of a tile along the first tiled row."""
    assert isinstance(part.tree, Band)
    row, size = part.tree.members[0], part.sizes[0]
    return value_range(row.scale_down_val(isl.Val(size)).floor())


def _sum(members: list[Any]) -> Any:
    return reduce(lambda total, member: total.add(member), members)
