"""What the threads of a block compute of a stage at one place of a kernel: a box that holds all that is read there.

Tiles overlap: where a tile of a consumer reads `blur_x[y .. y + 2]`, the box has two rows more than the tile. The corner of a box
depends on the numbers of block and tile, its size does not: near the end of the array the corner moves back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Expr
from generator.polyhedral.affine import affine
from generator.polyhedral.ast import box_context, expression
from generator.polyhedral.footprint import StagePoint, stage_points
from generator.polyhedral.kernels import Dimension, KernelPart
from generator.polyhedral.mapping import block_names, tile_member
from generator.polyhedral.members import value_range
from generator.polyhedral.regions import box as region
from generator.polyhedral.stages import reached, reads_by_element
from generator.polyhedral.tree import multi
from generator.program import Program, Stage


@dataclass(frozen=True, slots=True)
class StageBox:
    """The elements of a stage from `corner` on, `sizes` many in each dimension.

    `corner` is in the names of block indices and of `tile_names`.
    """

    array: str
    corner: tuple[Expr, ...]
    sizes: tuple[int, ...]


def tile_names(point: StagePoint) -> tuple[str, ...]:
    """Names of the numbers of the tiles around a stage point."""
    return tuple(f"q{d}" for d in range(len(point.tiled)))


@lru_cache(maxsize=4096)
def stage_boxes(program: Program, part: KernelPart, tile: tuple[int, ...], inner_tile: int, number: int) -> tuple[StageBox, ...]:
    """The boxes at stage point `number` of a kernel, in the order in which they can be computed.

    Raises:
        IllegalPlan: a box does not hold what is read (never seen; checked because wrong results would come of it).
    """
    point = stage_points(program, part)[number]
    loops = [(name, d, t) for name, d, t in zip(block_names(len(tile)), part.parallel, tile, strict=True)]
    if inner_tile > 1:
        loops += [(name, d, inner_tile) for name, d in zip(tile_names(point), point.tiled, strict=True)]
    finder = _Finder(program, point, _Tiles(tuple(loops)))
    return tuple(finder.box(stage) for stage in program.stages if stage.array in point.computed)


@dataclass(frozen=True, slots=True, eq=False)
class _Tiles:
    """Blocks, and tiles inside them: name, dimension and size of each."""

    loops: tuple[tuple[str, Dimension, int], ...]

    @property
    def ranges(self) -> list[tuple[str, int, int]]:
        """Name, first and last number."""
        return [(name, 0, (d.extent - 1) // size) for name, d, size in self.loops]

    def numbers(self, domain: Any) -> Any:
        """`{ instance -> [numbers] }` (isl UnionMap)."""
        if not self.loops:
            return isl.UnionMap.from_domain_and_range(domain, isl.UnionSet("{ [] }"))
        members = multi([tile_member(d, size).intersect_domain(domain) for _, d, size in self.loops])
        return isl.UnionMap.from_multi_union_pw_aff(members)

    def expression(self, value: Any) -> Expr:
        """A PwAff of the numbers as an expression of their names."""
        names = [name for name, _, _ in self.loops]
        given = isl.MultiPwAff(f"[{', '.join(names)}] -> {{ [{', '.join(f'({n})' for n in names)}] }}")
        context = box_context(self.ranges)
        value = value.pullback_multi_pw_aff(given) if names else value
        return expression(isl.AstBuild.from_context(context).expr_from_pw_aff(value.gist_params(context)))


class _Finder:
    """Follows reads from the statements of a kernel to the stages that it computes."""

    def __init__(self, program: Program, point: StagePoint, tiles: _Tiles) -> None:
        self.program, self.point, self.tiles = program, point, tiles
        self.numbers = tiles.numbers(point.domain).reverse()
        self.computed: dict[str, Any] = {}

    def box(self, stage: Stage) -> StageBox:
        """The box of a stage of the kind `block`, checked."""
        return self._shape(stage)[0]

    def _shape(self, stage: Stage) -> tuple[StageBox, Any]:
        """The box, and `{ [numbers] -> stage[element] }` for all of its elements."""
        if stage.array not in self.computed:
            read = self.read(stage.array)
            extents = self.program.array(stage.array).extents
            lows = [read.dim_min(d) for d in range(len(extents))]
            sizes = [1 + value_range(read.dim_max(d).sub(low))[1] for d, low in enumerate(lows)]
            corners = tuple(self.tiles.expression(_limited(low.coalesce(), n - size).coalesce())
                            for low, n, size in zip(lows, extents, sizes, strict=True))
            found = StageBox(stage.array, corners, tuple(sizes))
            self.computed[stage.array] = (found, self._elements(found, read, extents))
        shape: tuple[StageBox, Any] = self.computed[stage.array]
        return shape

    def _elements(self, box: StageBox, read: Any, extents: tuple[int, ...]) -> Any:
        """All elements of `box`, as its printed corner says. Raises IllegalPlan if something that is `read` is not there."""
        ranges = self.tiles.ranges
        at = region([name for name, _, _ in ranges], [(low, high) for _, low, high in ranges])
        result = isl.Map.universe(isl.Space.alloc(isl.DEFAULT_CONTEXT, 0, len(ranges), 0)).intersect_domain(at.domain)
        for corner, size, extent in zip(box.corner, box.sizes, extents, strict=True):
            first = affine(corner, at).intersect_domain(at.domain)
            low, high = value_range(first)
            if low < 0 or high + size > extent:
                raise IllegalPlan(f"a tile would compute elements of `{box.array}` that do not exist")
            start = isl.Map.from_pw_aff(first)
            steps = isl.Map(f"{{ [i] -> [o] : i <= o < i + {size} }}")
            result = result.flat_range_product(start.apply_range(steps))
        result = result.set_tuple_name(isl.dim_type.out, box.array)
        if not read.is_subset(result):
            raise IllegalPlan(f"a tile would not compute all that it reads of `{box.array}`")
        return result

    def read(self, array: str) -> Any:
        """`{ [numbers] -> array[element] }`: what is read of a stage below the stage point (isl Map)."""
        parts = list(self._readers(array))
        total = parts[0]
        for part in parts[1:]:
            total = total.union(part)
        return isl.Map.from_union_map(total).coalesce()

    def _readers(self, array: str) -> Iterator[Any]:
        for name in self.point.statements:
            statement = self.program.statement(name)
            for access in statement.accesses:
                if access.array == array:
                    yield self.numbers.apply_range(isl.UnionMap(access.relation))
        for stage in self.program.stages:
            if stage.array != array and stage.array in self._reached:
                numbers = [(step, n) for step in stage.steps for n, a in enumerate(step.statement.accesses) if a.array == array]
                if numbers:
                    source = self._shape(stage)[1] if stage.where == "block" else self.read(stage.array)
                    yield from (isl.UnionMap.from_map(source.apply_range(reads_by_element(step, n))) for step, n in numbers)

    @property
    def _reached(self) -> frozenset[str]:
        """The stages that the statements below the point need."""
        return reached(self.program, self.point.statements)


def _limited(value: Any, most: int) -> Any:
    limit = isl.PwAff.from_aff(isl.Aff.zero_on_domain(isl.LocalSpace.from_space(value.domain().get_space()))
                               .set_constant_val(isl.Val(most)))
    return value.min(limit)
