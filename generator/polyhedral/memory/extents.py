"""How accesses depend on blocks and tiles: one `Extent` per dimension of the array, without isl where all is plain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import islpy as isl

from generator.decisions.size_lists import Sizes
from generator.polyhedral.kit.members import ends, step_of, value_range
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.plain import Subscript, plain_subscripts
from generator.polyhedral.kit.tree import Band, Sequence, Tree, multi
from generator.polyhedral.memory.loops_around import Path
from generator.polyhedral.schedules.kernels import Dimension, KernelPart
from generator.program import Access, Statement


@dataclass(frozen=True, slots=True)
class Extent:
    """One array dimension of a footprint: coefficients of parallel and tiled members and of host loops (`prefix`; none
    if it depends on none of these), range of the rest.
    """

    parallel: tuple[int, ...]
    tiled: tuple[int, ...]
    low: int
    high: int
    prefix: tuple[int, ...] = ()

    def size(self, tile: tuple[int, ...], inner: tuple[int, ...]) -> int:
        """Return the elements that a tile of these sizes accesses in this dimension."""
        steps = zip((*self.parallel, *self.tiled), (*tile, *inner), strict=True)
        return 1 + self.high - self.low + sum(abs(a) * (t - 1) for a, t in steps)

    def shift(self, lows: Sizes, sizes: Sizes, steps: Sizes, elements: int) -> int | None:
        """Return by how many elements boxes begin behind a multiple of `elements`; None if they differ in that.

        Of parallel and tiled members: the least values, the sizes of a tile, and the distances of tiles.
        """
        factors = (*self.parallel, *self.tiled)
        moves = (*self.prefix, *(a * step for a, step in zip(factors, steps, strict=True)))
        if any(move % elements for move in moves):
            return None
        firsts = (a * low + min(0, a * (size - 1)) for a, low, size in zip(factors, lows, sizes, strict=True))
        return (self.low + sum(firsts)) % elements


Rows: TypeAlias = tuple[Extent, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loops:
    """The instances of a statement (isl Set), and the isl UnionMap to them from the values of the loops around them.

    `plain`: the loops of a box of instances if each follows another iterator; else ().
    """

    instances: Any
    order: Any
    plain: tuple[_Plain, ...]


@dataclass(frozen=True, slots=True)
class _Plain:
    """A loop `iterator + constant`: the number of the iterator, and its least and greatest value."""

    position: int
    constant: int
    low: int
    high: int


def loops_around(statement: Statement, part: KernelPart, path: Path, tiled: tuple[Dimension, ...],
                 host: tuple[Any, ...]) -> Loops:
    """Return the loops around a statement at a fill point: host loops, parallel and `tiled` loops, and all inside."""
    instances = set_of(statement.domain).intersect(path.domain.extract_set(set_of(statement.domain).get_space()))
    space = isl.UnionSet.from_set(instances)
    outer = [*host, *(d.member for d in (*part.parallel, *tiled))]
    loops = outer + _deeper(path.tree, space, len(tiled) - len(path.outer))
    order = isl.UnionMap.from_multi_union_pw_aff(multi([m.intersect_domain(space) for m in loops]))
    return Loops(instances, order.reverse(), tuple(_plain(instances, loops)))


def _plain(instances: Any, loops: list[Any]) -> list[_Plain]:
    """Return `Loops.plain`. An iterator with one value does not count: isl replaces it by that value."""
    ranges = ends(instances) if instances.is_box() else ()
    found = list[_Plain]()
    for member in loops if all(low < high for low, high in ranges) else ():
        at = step_of(member, instances) if ranges else None
        if at is None or any(one.position == at[0] for one in found):
            return []
        found.append(_Plain(*at, *ranges[at[0]]))
    return found


def plain_rows(statement: Statement, access: Access, loops: Loops,
               counts: tuple[int, int, int]) -> tuple[Extent, ...] | None:
    """Return the same as `exact_rows`, without isl, if loops and subscripts are plain; None otherwise."""
    index = plain_subscripts(access.relation, statement.domain) if loops.plain else None
    if index is None:
        return None
    found = [_plain_extent(one, loops.plain, counts) for one in index]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else None


@lru_cache(maxsize=1024)
def _plain_extent(subscript: Subscript, loops: tuple[_Plain, ...], counts: tuple[int, int, int]) -> Extent | None:
    """Return a subscript as Extent, None if it moves with other iterators; cached for the accesses of stencils."""
    constant, factors = subscript
    prefix, parallel, outer = counts[0], counts[0] + counts[1], sum(counts)
    followed = {one.position for one in loops}
    if any(factor and position not in followed for position, factor in enumerate(factors)):
        return None
    moves = tuple(factors[one.position] for one in loops[:outer])
    rest = constant - sum(a * one.constant for a, one in zip(moves, loops[:outer], strict=True))
    inside = [(factors[one.position] * one.low, factors[one.position] * one.high) for one in loops[outer:]]
    return Extent(moves[prefix:parallel], moves[parallel:], rest + sum(map(min, inside)), rest + sum(map(max, inside)),
                  moves[:prefix])


def exact_rows(access: str, loops: Loops, counts: tuple[int, int, int]) -> tuple[Extent, ...] | None:
    """Return the access as Extents; None if it is not affine in the loops."""
    relation = map_of(access).intersect_domain(loops.instances)
    if relation.is_empty():
        return None
    by_loops = isl.Map.from_union_map(loops.order.apply_range(isl.UnionMap.from_map(relation)))
    if not by_loops.is_single_valued():
        return None
    index = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(by_loops))
    result = []
    for dim in range(relation.dim(isl.dim_type.out)):
        row = index.get_pw_aff(dim).gist(by_loops.domain())
        extent = _extent(row, by_loops.domain(), counts)
        if extent is None:
            return None
        result.append(extent)
    return tuple(result)


def _deeper(tree: Tree, space: Any, skip: int) -> list[Any]:
    """Return members below the tiled ones, on the path of one statement."""
    if isinstance(tree, Band):
        return [*tree.members[skip:], *_deeper(tree.child, space, 0)]
    if isinstance(tree, Sequence):
        for filters, child in zip(tree.filters, tree.children, strict=True):
            if not filters.intersect(space).is_empty():
                return _deeper(child, space, 0)
    return []


def _extent(row: Any, loops: Any, counts: tuple[int, int, int]) -> Extent | None:
    if not row.isa_aff():
        return None
    affine = row.as_aff()
    if affine.dim(isl.dim_type.div) or not affine.get_denominator_val().is_one():
        return None
    prefix, parallel, outer = counts[0], counts[0] + counts[1], sum(counts)
    coefficients = [int(affine.get_coefficient_val(isl.dim_type.in_, k).to_python()) for k in range(outer)]
    for k in range(outer):
        affine = affine.set_coefficient_val(isl.dim_type.in_, k, 0)
    rest = isl.PwAff.from_aff(affine).intersect_domain(loops)
    return Extent(tuple(coefficients[prefix:parallel]), tuple(coefficients[parallel:]), *value_range(rest),
                  tuple(coefficients[:prefix]))
