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
from typing import Any

from generator.decisions.size_lists import InnerTiles, Sizes
from generator.polyhedral.kit.tree import Band, Sequence, statements_of
from generator.polyhedral.memory.extents import Extent, Rows, exact_rows, loops_around, plain_rows
from generator.polyhedral.memory.loops_around import Path, paths, tiled_members
from generator.polyhedral.pipelines.stages import reached
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension, reordered
from generator.program import Program


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
    for found in _points(program, part, depth):
        arrays = tuple(one.box for one in found.boxes if _pays(one, part, found.point))
        points.append(replace(found.point, arrays=arrays, first=first))
        first += len(found.point.inner)
    return tuple(points)


@lru_cache(maxsize=1024)
def fill_points_in(program: Program, part: KernelPart, order: tuple[int, ...], depth: int = 0) -> tuple[FillPoint, ...]:
    """Return the fill points of a kernel with its parallel dimensions in `order`. Footprints that were found without
    isl are those of the schedule's order.
    """
    if not order or not all(found.plain for found in _points(program, part, depth)):
        return fill_points(program, reordered(part, order), depth)
    other = reordered(part, order)
    return tuple(
        replace(point, arrays=tuple(box.box for one in found.boxes if _pays(box := one.ordered(order), other, point)))
        for point, found in zip(fill_points(program, part, depth), _points(program, part, depth), strict=True))


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


@dataclass(frozen=True, slots=True)
class _Footprint:
    """The box of an array that may qualify for a copy, and the number of different accesses."""

    box: StagedArray
    accesses: int

    def ordered(self, order: tuple[int, ...]) -> _Footprint:
        """Return the same with the parallel dimensions in `order`."""
        extents = (replace(e, parallel=tuple(e.parallel[d] for d in order)) for e in self.box.extents)
        return replace(self, box=replace(self.box, extents=tuple(extents)))


@dataclass(frozen=True, slots=True)
class _Found:
    """A fill point without arrays, and those that may qualify. `plain`: their boxes were found without isl."""

    point: FillPoint
    boxes: tuple[_Footprint, ...]
    plain: bool


@lru_cache(maxsize=1024)
def _points(program: Program, part: KernelPart, depth: int) -> tuple[_Found, ...]:
    return tuple(_found_points(program, part, depth))


def _found_points(program: Program, part: KernelPart, depth: int) -> Iterator[_Found]:
    blocks = {stage.array for stage in program.stages if stage.where == "block"}

    def together(tree: Sequence, domain: Any) -> bool:
        return _computes_alike(program, tree, domain, blocks)

    for path in paths(part.tree, part.domain, depth, together):
        here, domain = path.tree, path.domain
        names, members = statements_of(domain), here.members[:tiled_members(here)] if isinstance(here, Band) else ()
        tiled = (*path.outer, *(dimension(member, domain) for member in members))
        copied = part.parallel and (members or not path.outer)  # nothing is read again inside loops with one value each
        host = part.prefix if depth else ()  # copies at depth 0 are older, and stored plans have these
        point = FillPoint(names, domain, tiled, (), reached(program, names) & blocks, outer=len(path.outer))
        reads = _reads(program, part, path, tiled, host) if copied else {}
        plain = all(found.plain for found in reads.values())
        yield _Found(point, tuple(box for array, found in reads.items() for box in _boxes(array, found)), plain)


def _computes_alike(program: Program, tree: Sequence, domain: Any, blocks: Collection[str]) -> bool:
    """Return whether two children of a sequence need the same stage of a block, which is then computed before all of
    them.
    """
    needed = [array for part in tree.filters for array in reached(program, statements_of(domain.intersect(part)))]
    return any(needed.count(array) > 1 for array in blocks)


@dataclass(frozen=True, slots=True)
class _Reads:
    """The Extents of the accesses to an array, by statement and number. `plain`: found without isl."""

    rows: dict[tuple[str, int], Rows | None]
    plain: bool


def _reads(program: Program, part: KernelPart, path: Path, tiled: tuple[Dimension, ...],
           host: tuple[Any, ...]) -> dict[str, _Reads]:
    """Return the accesses to all arrays that a kernel only reads, sorted by array."""
    statements = [program.statement(name) for name in statements_of(path.domain)]
    written = {program.statement(name).body.target.array for name in part.statements}
    computed = {stage.array for stage in program.stages}
    names = sorted({a.array for s in statements for a in s.accesses} - written - computed)
    names = [name for name in names if program.array(name).extents]
    loops = {s.name: loops_around(s, part, path, tiled, host) for s in statements} if names else {}
    counts = len(host), len(part.parallel), len(tiled)
    found = {}
    for name in names:
        own = [(s, number, access) for s in statements for number, access in enumerate(s.accesses)
               if access.array == name]
        plain = {(s.name, number): plain_rows(s, access, loops[s.name], counts) for s, number, access in own}
        rows = {(s.name, number): plain[s.name, number] or exact_rows(access.relation, loops[s.name], counts)
                for s, number, access in own}
        found[name] = _Reads(rows, None not in plain.values())
    return found


def _boxes(array: str, reads: _Reads) -> Iterator[_Footprint]:
    parts = _alike(reads.rows)
    for alike in parts:
        merged = _merge(list(alike.values()))
        if len(parts) == 1 or not _is_diagonal(merged):
            yield _Footprint(StagedArray(array, merged, tuple(alike)), len(set(alike.values())))


def _alike(rows: dict[tuple[str, int], Rows | None]) -> list[dict[tuple[str, int], Rows]]:
    """Return groups of accesses that depend on block and tile alike; none at all if one of them is not affine."""
    found: dict[tuple[tuple[Sizes, Sizes, Sizes], ...], dict[tuple[str, int], Rows]] = {}
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


def _pays(found: _Footprint, part: KernelPart, point: FillPoint) -> bool:
    """Return whether there is reuse (several accesses, or a loop that the element does not depend on), or strided
    lanes.
    """
    extents, tiled = found.box.extents, point.tiled
    moving = [any(e.parallel[p] for e in extents) for p in range(len(part.parallel))]
    moving += [any(e.tiled[q] for e in extents) for q in range(len(tiled))]
    wide = [d.extent > 1 for d in part.parallel] + [d.extent > 1 and q >= point.outer for q, d in enumerate(tiled)]
    reused = found.accesses > 1 or any(w and not m for w, m in zip(wide, moving, strict=True))
    lane = [e.parallel[-1] for e in extents]
    coalesced = not any(lane) or (not any(lane[:-1]) and abs(lane[-1]) == 1)
    return reused or not coalesced
