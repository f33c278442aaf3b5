"""The elements of a stage that a block computes at one place of a kernel: a box with all elements that are read there.

Tiles overlap: if a tile of a consumer reads `blur_x[y .. y + 2]`, the box has two rows more than the tile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import mul
from typing import Any

import islpy as isl

from generator.decisions.size_lists import InnerTiles
from generator.decisions.walk import walked
from generator.polyhedral.kit.members import value_range
from generator.polyhedral.kit.parsed import map_of
from generator.polyhedral.kit.tree import multi
from generator.polyhedral.memory.entries import host_numbers, tile_names, tile_numbers
from generator.polyhedral.memory.footprint import FillPoint, around_point, fill_points, plan_points
from generator.polyhedral.memory.mapping import block_names, tile_member
from generator.polyhedral.memory.overlap import OverlappedTiles, check_overlap
from generator.polyhedral.memory.tile_boxes import TileBox, numbers_of, tile_box
from generator.polyhedral.pipelines.joint import instances_by_element
from generator.polyhedral.pipelines.stages import reached, reads_by_element
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension, has_full_launches
from generator.program import Program, Stage


def ring_rows(rows: int) -> int:
    """Return the number of stored rows of a sliding box: a power of two, so that row r is at `r & (n - 1)`.

    A single row is stored in two: else LLVM keeps what the next iteration reads again in scalar variables, and then
    does not vectorize the loop-carried values (see `lowering.memory.alone`). Two rows are stored in four: of two,
    Intel's CPU runtime (2026.22.10) makes no vectors where both are read in one iteration (unsharp: 14.4 ms; of four,
    5.2 ms).
    """
    return 2 if rows == 1 else max(4, 1 << (rows - 1).bit_length())


@dataclass(frozen=True, slots=True)
class Around:
    """Stages that are computed once for `count[d]` neighbouring tiles in each dimension, before all of these."""

    stages: tuple[str, ...]
    count: tuple[int, ...]


@lru_cache(maxsize=4096)
def stage_boxes(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: InnerTiles, number: int,
                walk: int = 0, whole: tuple[str, ...] = (), around: tuple[Around, ...] = ()) -> tuple[TileBox, ...]:
    """Return the boxes at fill point `number` of a kernel (`plan_points`), in order of computation; with `walk`, those
    of one step, except for the stages `whole`.

    The numbers after those of the fill points are for `around`, from fewer tiles to more; their tiles are larger.

    Raises:
        IllegalPlan: a box does not contain all elements that are read (never seen; checked because results
            would be wrong).
    """
    if whole or around:
        return _boxes_around(program, part, tile, inner_tile, walk, whole, around)[number]
    point = fill_points(program, part)[number]
    finder = _Finder(program, point, _tiles(part, point, tile, inner_tile, walk))
    boxes = finder.boxes()
    if boxes:
        finder.check()
    return boxes


@lru_cache(maxsize=1024)
def _boxes_around(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: InnerTiles, walk: int,
                  whole: tuple[str, ...], around: tuple[Around, ...]) -> tuple[tuple[TileBox, ...], ...]:
    """The boxes of all fill points, then those of `around`, where a place has whatever all places inside it need of its
    stages: all steps of a tile, all of several tiles. Raises IllegalPlan as `stage_boxes`.
    """
    names = tuple(name for one in around for name in one.stages)
    places = list[_Place]()
    for point in plan_points(program, part, whole, names):
        outside = frozenset(names if point.whole else (*names, *whole))
        tiles = _tiles(part, point, tile, *((1, 0) if point.whole else (inner_tile, walk)))
        places.append(_Place(_Finder(program, point, tiles, outside), tile, point.whole))
    for k, one in enumerate(around):
        outside = frozenset(name for other in around[k + 1:] for name in other.stages)
        point, sizes = around_point(part, one.stages), tuple(map(mul, tile, one.count))
        places.append(_Place(_Finder(program, point, _tiles(part, point, sizes, 1, 0), outside), sizes, True))
    found = list[tuple[TileBox, ...]]()
    for k, place in enumerate(places):
        for other in places[:k] if place.around else ():
            place.gather(other)
        found.append(place.finder.boxes())
    for k, place in enumerate(places):
        for other in places[k + 1:]:
            if other.around:
                place.see(other)
        if place.around or place.finder.reads_boxes:
            place.finder.check()
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place of a kernel where stages are computed for tiles of `tile`; `around`: before all places listed before it.
    """

    finder: _Finder
    tile: tuple[int, ...]
    around: bool

    def gather(self, inner: _Place) -> None:
        """Let the finder know what a place inside this one computes, for all tiles and steps there."""
        to, given = inner._within(self), self.finder.given
        for array, (_, elements) in inner.finder.computed.items():
            every = elements.apply_domain(to)
            given[array] = given[array].union(every) if array in given else every

    def see(self, outer: _Place) -> None:
        """Let the finder know what a place around this one has computed."""
        to = self._within(outer)
        self.finder.given |= {array: to.apply_range(elements)
                              for array, (_, elements) in outer.finder.computed.items()}

    def _within(self, outer: _Place) -> Any:
        """Return `{ [numbers here] -> [numbers there] }`: the larger tile in which a tile or step is (isl Map)."""
        numbers = isl.Set.from_union_set(self.finder.numbers.domain())
        names = [f"i{d}" for d in range(numbers.dim(isl.dim_type.set))]
        hosts = self.finder.tiles.hosts
        there = [*names[:hosts], *(f"floor({name}/{large // small})"
                                   for name, large, small in zip(names[hosts:], outer.tile, self.tile, strict=False))]
        return isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(there)}] }}").intersect_domain(numbers)


@lru_cache(maxsize=4096)
def fixes_launch(part: KernelPart, tile: tuple[int, ...]) -> bool:
    """Return whether boxes have the elements of one launch: loops run around launches, and none of these has blocks
    without work, which fill their boxes, too. If not, boxes have the elements of all launches.
    """
    return bool(part.prefix and _hosts(part, _blocks(part, tile)))


def _tiles(part: KernelPart, point: FillPoint, tile: tuple[int, ...], inner_tile: InnerTiles, walk: int) -> _Tiles:
    """The blocks of a kernel, with the host loops around it, and the steps or tiles around a fill point."""
    blocks = _blocks(part, tile)
    hosts = _hosts(part, blocks)
    loops = [*hosts, *blocks]
    lasts = (tile[walked(len(tile))] // walk - 1,) if walk else map(_last, point.tiled, point.tiles(inner_tile))
    inside = zip(tile_names(point, walk), tile_numbers(part, point, tile, inner_tile, walk), lasts, strict=False)
    loops += (_Loop(name, member, 0, last) for name, member, last in inside)
    return _Tiles(tuple(loops), walk > 0, len(hosts))


def _blocks(part: KernelPart, tile: tuple[int, ...]) -> list[_Loop]:
    return [_Loop(name, tile_member(d, t), 0, _last(d, t))
            for name, d, t in zip(block_names(len(tile)), part.parallel, tile, strict=True)]


def _hosts(part: KernelPart, blocks: Sequence[_Loop]) -> list[_Loop]:
    """Return the loops around launches if boxes have the elements of one launch, as in `fixes_launch`; else none."""
    ranges = [dimension(member, part.domain) for member in part.prefix]
    hosts = [_Loop(name, member, one.low, one.high)
             for name, member, one in zip(host_numbers(len(ranges)), part.prefix, ranges, strict=True)]
    if hosts and has_full_launches(part):
        return hosts
    found = _Tiles((*hosts, *blocks), False, len(hosts))
    every = numbers_of(found.ranges).domain if hosts else None
    return hosts if every is not None and every.is_equal(found.numbers(part.domain).range().extract_set(
        every.get_space())) else []


def _last(dim: Dimension, size: int) -> int:
    return (dim.extent - 1) // size


@dataclass(frozen=True, slots=True, eq=False)
class _Loop:
    """Blocks in a dimension, launches around them, or tiles or steps inside them. `member`: an instance's number;
    `first`, `last`: the least and the greatest one.
    """

    name: str
    member: Any
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class _Tiles:
    """Blocks, and tiles inside them; with `walk`, steps instead of tiles, which end where a block does. The first
    `hosts` loops are around launches.
    """

    loops: tuple[_Loop, ...]
    walk: bool
    hosts: int

    @property
    def ranges(self) -> list[tuple[str, int, int]]:
        """Name, first and last number."""
        return [(loop.name, loop.first, loop.last) for loop in self.loops]

    def numbers(self, domain: Any) -> Any:
        """Return `{ instance -> [numbers] }` (isl UnionMap)."""
        if not self.loops:
            return isl.UnionMap.from_domain_and_range(domain, isl.UnionSet("{ [] }"))
        members = multi([loop.member.intersect_domain(domain) for loop in self.loops])
        return isl.UnionMap.from_multi_union_pw_aff(members)


class _Finder:
    """Follows reads from the statements of a kernel to the stages that it computes."""

    def __init__(self, program: Program, point: FillPoint, tiles: _Tiles,
                 outside: frozenset[str] = frozenset()) -> None:
        """The stages `outside` are there already; `given`, by array: what there is of other boxes, as `_shape` has it.
        """
        self.program, self.point, self.tiles, self.outside = program, point, tiles, outside
        self.given: dict[str, Any] = {}
        self.numbers = tiles.numbers(point.domain).reverse()
        self.computed: dict[str, tuple[TileBox, Any]] = {}
        self.between: dict[str, Any] = {}

    def boxes(self) -> tuple[TileBox, ...]:
        """The boxes of the stages that are computed at the point."""
        boxes = tuple(self._shape(stage)[0] for stage in self.program.stages if stage.array in self.point.computed)
        return tuple(replace(box, slides=self.slides(box)) for box in boxes) if self.tiles.walk else boxes

    @property
    def reads_boxes(self) -> bool:
        """Whether a stage of the kind `block` is needed below the point."""
        return any(stage.where == "block" and stage.array in self._reached for stage in self.program.stages)

    def check(self) -> None:
        """Check the tiles with their boxes exactly: stages run for all elements of their boxes, or where a thread reads
        them.
        """
        stages = [stage for stage in self.program.stages if stage.array in self._reached]
        held = {stage.array: self._elements(stage) for stage in stages if stage.where == "block"}
        readers, written, read = list(self.point.statements), isl.UnionMap("{ }"), isl.UnionMap("{ }")
        runs = self.numbers
        for stage in stages:
            if stage.array in self.outside:
                continue
            elements = isl.UnionMap.from_map(held[stage.array] if stage.array in held else self.read(stage.array))
            for step in stage.steps:
                writes = step.statement.accesses[step.statement.body.target.access]
                written = written.union(isl.UnionMap.from_map(map_of(writes.relation)))
                run = isl.UnionMap.from_map(instances_by_element(step, stage.array))
                runs = runs.union(elements.apply_range(run))
                readers.append(step.statement.name)
        here = {array for stage in stages for array in stage.arrays}
        for access in (a for name in dict.fromkeys(readers) for a in self.program.statement(name).accesses
                       if a.kind == "read" and a.array in here):
            read = read.union(isl.UnionMap.from_map(map_of(access.relation)))
        holds = reduce(isl.UnionMap.union, map(isl.UnionMap.from_map, held.values()))
        anything = isl.UnionMap.from_domain_and_range(
            self.numbers.domain(), written.domain()
        )  # nothing of stages is there before a launch
        tiles = OverlappedTiles(runs, self.numbers, anything, holds)
        check_overlap(
            tiles,
            self.point.domain,
            read.apply_range(written.reverse()),
            read.intersect_range(holds.range().universe()),
        )

    def slides(self, box: TileBox) -> int | None:
        """Return the dimension along which a box moves from step to step (the first one if it does not move).

        The step is the last number of the tiles. The box must not move back, nor along another dimension. None if it
        does, or if a block leaves out a step.
        """
        numbers = isl.Set.from_union_set(self.numbers.domain())
        last = numbers.dim(isl.dim_type.set) - 1
        on = ", ".join(f"i{d}" for d in range(last))
        step = isl.Map(f"{{ [{on}{', ' if on else ''}w] -> [{on}{', ' if on else ''}w + 1] }}")
        later = numbers.lower_bound_val(isl.dim_type.set, last, isl.Val(1))
        if not later.apply(step.reverse()).is_subset(numbers):
            return None
        elements = self.computed[box.array][1]
        moved = [_moves(elements.dim_min(d), step) for d in range(len(box.sizes))]
        dims = [d for d, (low, high) in enumerate(moved) if (low, high) != (0, 0)]
        if len(dims) > 1 or any(moved[d][0] < 0 for d in dims):
            return None
        [lines] = [stage.lines for stage in self.program.stages if stage.array == box.array]
        return next((d for d in (*dims, *range(len(box.sizes))) if d not in lines), 0)

    def _elements(self, stage: Stage) -> Any:
        """`{ [numbers] -> stage[element] }` for all that a block has of a stage."""
        return self.given[stage.array] if stage.array in self.given else self._shape(stage)[1]

    def _shape(self, stage: Stage) -> tuple[TileBox, Any]:
        """Return the box, and `{ [numbers] -> stage[element] }` for all of its elements."""
        if stage.array not in self.computed:
            extents = self.program.array(stage.array).extents
            read = self.read(stage.array)
            numbers = isl.Set.from_union_set(self.numbers.domain()) if self.tiles.walk else None
            self.computed[stage.array] = tile_box(stage.array, read, self.tiles.ranges, extents, True, numbers)
        return self.computed[stage.array]

    def read(self, array: str) -> Any:
        """Return `{ [numbers] -> array[element] }`: the hull of the elements of a stage read below the fill point (isl
        Map).

        It contains all elements between the first and the last one in each dimension, for given numbers: exact sets of
        a chain of inline stages have so many parts that isl takes minutes.
        """
        if array not in self.between:
            [stage] = [stage for stage in self.program.stages if stage.array == array]
            parts = [isl.Map.from_union_map(part).set_tuple_name(isl.dim_type.out, array)
                     for other in stage.arrays for part in self._readers(other, stage) if not part.is_empty()]
            low, high = ([reduce(isl.PwAff.union_min if first else isl.PwAff.union_max, ends).coalesce()
                          for ends in zip(*(_ends(part, first) for part in parts), strict=True)]
                         for first in (True, False))
            between = _between(low, high).set_tuple_name(isl.dim_type.out, array)
            self.between[array] = _whole(between, stage.lines, self.program.array(array).extents)
        return self.between[array]

    def _readers(self, array: str, own: Stage) -> Iterator[Any]:
        """Yield the reads of an array, except by its `own` steps."""
        for name in self.point.statements:
            statement = self.program.statement(name)
            for access in statement.accesses:
                if access.array == array:
                    yield self.numbers.apply_range(isl.UnionMap.from_map(map_of(access.relation)))
        for stage in self.program.stages:
            if stage.arrays != own.arrays and stage.array in self._reached - self.outside:
                reads = [reads_by_element(step, number, stage.array) for step in stage.steps
                         for number, access in enumerate(step.statement.accesses) if access.array == array]
                if reads:
                    source = self._elements(stage) if stage.where == "block" else self.read(stage.array)
                    for read in reduce(isl.Map.union, reads).coalesce().get_basic_maps():
                        yield isl.UnionMap.from_map(source.apply_range(isl.Map.from_basic_map(read)))

    @property
    def _reached(self) -> frozenset[str]:
        """The stages that the statements below the point need."""
        return reached(self.program, self.point.statements, self.outside)


def _ends(read: Any, first: bool) -> list[Any]:
    """Return the first or last element of a Map in each dimension, as PwAffs."""
    count = read.dim(isl.dim_type.out)
    return [_plain((read.dim_min(d) if first else read.dim_max(d)).coalesce()) for d in range(count)]


def _plain(value: Any) -> Any:
    """Return the PwAff `value`, without conditions of unknown divs (`exists` without a formula) that always hold.

    A read that leaves out a dimension has such conditions. isl does not see that two of them are the same: every
    intersection doubles them.
    """
    plain = isl.PwAff.empty(value.get_space())
    for where, piece in value.get_pieces():
        known = where.remove_unknown_divs()
        plain = plain.union_add(isl.PwAff.alloc(known if known.is_subset(where) else where, piece))
    return plain


def _between(low: Sequence[Any], high: Sequence[Any]) -> Any:
    """Return `{ [numbers] -> [element] }` with `low <= element <= high` in each dimension (isl Map)."""
    after, before = isl.Map("{ [i] -> [o] : i <= o }"), isl.Map("{ [i] -> [o] : o <= i }")
    ranges = [isl.Map.from_pw_aff(one).apply_range(after).intersect(isl.Map.from_pw_aff(other).apply_range(before))
              for one, other in zip(low, high, strict=True)]
    return reduce(isl.Map.flat_range_product, ranges).coalesce()


def _whole(elements: Any, lines: Collection[int], extents: tuple[int, ...]) -> Any:
    """Return a Map to elements, extended to whole lines through these."""
    name = elements.get_tuple_name(isl.dim_type.out)
    for d in lines:
        elements = elements.project_out(isl.dim_type.out, d, 1).insert_dims(isl.dim_type.out, d, 1)
        elements = elements.set_tuple_name(isl.dim_type.out, name).lower_bound_val(isl.dim_type.out, d, isl.Val(0))
        elements = elements.upper_bound_val(isl.dim_type.out, d, isl.Val(extents[d] - 1))
    return elements


def _moves(low: Any, step: Any) -> tuple[int, int]:
    """Return by how much `low`, a PwAff of the numbers of tiles, moves in one `step`: at least, at most."""
    numbers = low.domain()
    follows = step.intersect_domain(numbers).intersect_range(numbers)
    if follows.is_empty():
        return 0, 0
    after = low.pullback_multi_pw_aff(isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(follows)))
    return value_range(after.sub(low))
