"""The arrays worth a shared copy, where the copies are filled, and their boxes.

A *fill point* is below the tile loops of a kernel's sequential band (or at the kernel's top if there is none, or if
several bands in sequence need the same copies). There, an access is `index = sum a_p * parallel_p + sum a_q * tiled_q +
rest`, so one tile of a block accesses a box whose corner is affine in block and tile indices and whose size is
constant.

With a `depth`, the fill point is inside so many sequential loops more, which have one value each there
(`loops_around`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import islpy as isl

from generator.decisions.size_lists import InnerTiles, Sizes
from generator.polyhedral.kit.members import ends, step_of, value_range
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.plain import plain_subscripts
from generator.polyhedral.kit.tree import Band, Sequence, Tree, multi, statements_of
from generator.polyhedral.memory.loops_around import Path, paths, tiled_members
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension
from generator.program import Access, Program, Statement


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


def widened(size: int, shift: int, elements: int) -> int:
    """Return the size of a box that begins `shift` elements earlier, and ends at a multiple of `elements`."""
    return -(-(size + shift) // elements) * elements


@dataclass(frozen=True, slots=True)
class StagedArray:
    """A part of an array that can be copied to shared memory at a fill point; one Extent per array dimension.

    `accesses` (statement, number): those that read the copy, which are all accesses to the array that depend on block
    and tile in the same way. A product of a matrix with itself reads two parts, one for its rows and one for its
    columns.
    """

    array: str
    extents: tuple[Extent, ...]
    accesses: tuple[tuple[str, int], ...]

    def sizes(self, tile: tuple[int, ...], inner: tuple[int, ...]) -> tuple[int, ...]:
        """Return the box with everything that one tile accesses."""
        return tuple(e.size(tile, inner) for e in self.extents)


@dataclass(frozen=True, slots=True, eq=False)
class FillPoint:
    """A place for shared copies: the statements below it, the members tiled above it, the arrays that qualify.

    `computed`: the stages that a block computes there. `whole`: it is before all loops of the block. `outer`: so many
    of the tiled members, the first ones, run one value at a time around the fill point. `first`: the number of the
    first of its other tiled members among those of all fill points of the kernel.
    """

    statements: tuple[str, ...]
    domain: Any
    tiled: tuple[Dimension, ...]
    arrays: tuple[StagedArray, ...]
    computed: frozenset[str] = frozenset()
    whole: bool = False
    first: int = 0
    outer: int = 0

    @property
    def inner(self) -> tuple[Dimension, ...]:
        """The tiled members with a tile size."""
        return self.tiled[self.outer:]

    def tiles(self, inner_tile: InnerTiles) -> Sizes:
        """Return the tile sizes of `tiled` in a plan; () if none of them is tiled.

        Of several, one with size 1 in the plan is not tiled: it has a single tile.
        """
        count = len(self.inner)
        own = (inner_tile,) * count if isinstance(inner_tile, int) else inner_tile[self.first:self.first + count]
        if max(own, default=1) == 1 and not self.outer:
            return ()
        sizes = (d.extent if size == 1 else size for d, size in zip(self.inner, own, strict=True))
        return (*(1,) * self.outer, *sizes)

    def inside(self, inner_tile: InnerTiles) -> Sizes:
        """Return the number of values of each of `tiled` below the fill point."""
        extents = tuple(d.extent for d in self.tiled)
        return tuple(map(min, self.tiles(inner_tile) or extents, extents))

    def needed(self, shared: bool, uncopied: Collection[str] = ()) -> bool:
        """Return whether anything is filled there, with `shared` copies, except those of `uncopied` arrays."""
        return bool(self.computed) or (shared and any(one.array not in uncopied for one in self.arrays))


@lru_cache(maxsize=1024)
def fill_points(program: Program, part: KernelPart, depth: int = 0) -> tuple[FillPoint, ...]:
    """Return the fill points of a kernel, in tree order (one per path to its first sequential band), each inside
    `depth` loops, or inside all but the innermost of fewer.
    """
    points, first = list[FillPoint](), 0
    for point in _points(program, part, depth):
        points.append(replace(point, first=first))
        first += len(point.inner)
    return tuple(points)


@lru_cache(maxsize=1024)
def plan_points(program: Program, part: KernelPart, whole: tuple[str, ...], around: tuple[str, ...] = (),
                depth: int = 0) -> tuple[FillPoint, ...]:
    """The same in a plan whose blocks compute the stages `whole` before all of their loops: at the last point, if any.

    The stages `around` are computed for several tiles together (`around_point`), at none of these points.
    """
    points = fill_points(program, part, depth)
    if not whole and not around:
        return points
    inside = tuple(replace(point, computed=point.computed.difference(whole, around)) for point in points)
    return (*inside, around_point(part, whole)) if whole else inside


def around_point(part: KernelPart, stages: Collection[str]) -> FillPoint:
    """Return the place before all loops of a kernel where `stages` are computed."""
    return FillPoint(statements_of(part.domain), part.domain, (), (), frozenset(stages), whole=True)


def _points(program: Program, part: KernelPart, depth: int) -> Iterator[FillPoint]:
    blocks = {stage.array for stage in program.stages if stage.where == "block"}

    def together(tree: Sequence, domain: Any) -> bool:
        return _computes_alike(program, tree, domain, blocks)

    for path in paths(part.tree, part.domain, depth, together):
        here, domain = path.tree, path.domain
        names, members = statements_of(domain), here.members[:tiled_members(here)] if isinstance(here, Band) else ()
        tiled = (*path.outer, *(dimension(member, domain) for member in members))
        copied = part.parallel and (members or not path.outer)  # nothing is read again inside loops with one value each
        host = part.prefix if depth else ()  # copies at depth 0 are older, and stored plans have these
        arrays = tuple(_arrays(program, part, path, tiled, host)) if copied else ()
        yield FillPoint(names, domain, tiled, arrays, reached(program, names) & blocks, outer=len(path.outer))


def _computes_alike(program: Program, tree: Sequence, domain: Any, blocks: Collection[str]) -> bool:
    """Return whether two children of a sequence need the same stage of a block, which is then computed before all of
    them.
    """
    needed = [array for part in tree.filters for array in reached(program, statements_of(domain.intersect(part)))]
    return any(needed.count(array) > 1 for array in blocks)


def _arrays(program: Program, part: KernelPart, path: Path, tiled: tuple[Dimension, ...],
            host: tuple[Any, ...]) -> Iterator[StagedArray]:
    statements = [program.statement(name) for name in statements_of(path.domain)]
    written = {program.statement(name).body.target.array for name in part.statements}
    computed = {stage.array for stage in program.stages}
    names = sorted({a.array for s in statements for a in s.accesses} - written - computed)
    loops = {s.name: _loops(s, part, path, tiled, host) for s in statements} if names else {}
    for name in names:
        if not program.array(name).extents:
            continue
        counts = len(host), len(part.parallel), len(tiled)
        rows = {(s.name, number): _plain_rows(s, access, loops[s.name], counts)
                or _rows(access.relation, loops[s.name], counts)
                for s in statements for number, access in enumerate(s.accesses) if access.array == name}
        parts = _alike(rows)
        for alike in parts:
            merged = _merge(list(alike.values()))
            if len(parts) > 1 and _is_diagonal(merged):
                continue
            if _pays(merged, len(set(alike.values())), part, tiled, len(path.outer)):
                yield StagedArray(name, merged, tuple(alike))


@dataclass(frozen=True, slots=True, eq=False)
class _Loops:
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


def _loops(statement: Statement, part: KernelPart, path: Path, tiled: tuple[Dimension, ...],
           host: tuple[Any, ...]) -> _Loops:
    instances = set_of(statement.domain).intersect(path.domain.extract_set(set_of(statement.domain).get_space()))
    space = isl.UnionSet.from_set(instances)
    outer = [*host, *(d.member for d in (*part.parallel, *tiled))]
    loops = outer + _deeper(path.tree, space, len(tiled) - len(path.outer))
    order = isl.UnionMap.from_multi_union_pw_aff(multi([m.intersect_domain(space) for m in loops]))
    return _Loops(instances, order.reverse(), tuple(_plain(instances, loops)))


def _plain(instances: Any, loops: list[Any]) -> list[_Plain]:
    """Return `_Loops.plain`. An iterator with one value does not count: isl replaces it by that value."""
    ranges = ends(instances) if instances.is_box() else ()
    found = list[_Plain]()
    for member in loops if all(low < high for low, high in ranges) else ():
        at = step_of(member, instances) if ranges else None
        if at is None or any(one.position == at[0] for one in found):
            return []
        found.append(_Plain(*at, *ranges[at[0]]))
    return found


def _plain_rows(statement: Statement, access: Access, loops: _Loops,
                counts: tuple[int, int, int]) -> tuple[Extent, ...] | None:
    """Return the same as `_rows`, without isl, if loops and subscripts are plain; None otherwise."""
    index = plain_subscripts(access.relation, statement.domain) if loops.plain else None
    if index is None:
        return None
    prefix, parallel, outer = counts[0], counts[0] + counts[1], sum(counts)
    followed = {one.position for one in loops.plain}
    result = []
    for constant, factors in index:
        if any(factor and position not in followed for position, factor in enumerate(factors)):
            return None
        moves = tuple(factors[one.position] for one in loops.plain[:outer])
        rest = constant - sum(a * one.constant for a, one in zip(moves, loops.plain[:outer], strict=True))
        inside = [(factors[one.position] * one.low, factors[one.position] * one.high) for one in loops.plain[outer:]]
        result.append(Extent(moves[prefix:parallel], moves[parallel:], rest + sum(map(min, inside)),
                             rest + sum(map(max, inside)), moves[:prefix]))
    return tuple(result)


def _rows(access: str, loops: _Loops, counts: tuple[int, int, int]) -> tuple[Extent, ...] | None:
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


Rows: TypeAlias = tuple[Extent, ...]
Reads: TypeAlias = dict[tuple[str, int], Rows]
"""The Extents of accesses, by statement and number."""


def _alike(rows: dict[tuple[str, int], Rows | None]) -> list[Reads]:
    """Return groups of accesses that depend on block and tile alike; none at all if one of them is not affine."""
    found: dict[tuple[tuple[Sizes, Sizes, Sizes], ...], Reads] = {}
    for access, row in rows.items():
        if row is None:
            return []
        found.setdefault(tuple((e.parallel, e.tiled, e.prefix) for e in row), {})[access] = row
    return list(found.values())


def _merge(rows: list[Rows]) -> Rows:
    """Return one footprint for several accesses that depend on block and tile alike."""
    return tuple(Extent(same[0].parallel, same[0].tiled, min(e.low for e in same), max(e.high for e in same),
                        same[0].prefix)
                 for same in zip(*rows, strict=True))


def _is_diagonal(extents: tuple[Extent, ...]) -> bool:
    """Return whether a loop moves along several dimensions at once, so that most of the box is not read."""
    return any(sum(map(bool, moves)) > 1 for moves in zip(*((*e.parallel, *e.tiled) for e in extents), strict=True))


def _pays(extents: tuple[Extent, ...], accesses: int, part: KernelPart, tiled: tuple[Dimension, ...],
          outer: int) -> bool:
    """Return whether there is reuse (several accesses, or a loop that the element does not depend on), or strided
    lanes. The first `outer` tiled members have one value in a tile.
    """
    moving = [any(e.parallel[p] for e in extents) for p in range(len(part.parallel))]
    moving += [any(e.tiled[q] for e in extents) for q in range(len(tiled))]
    wide = [d.extent > 1 for d in part.parallel] + [d.extent > 1 and q >= outer for q, d in enumerate(tiled)]
    reused = accesses > 1 or any(w and not m for w, m in zip(wide, moving, strict=True))
    lane = [e.parallel[-1] for e in extents]
    coalesced = not any(lane) or (not any(lane[:-1]) and abs(lane[-1]) == 1)
    return reused or not coalesced
