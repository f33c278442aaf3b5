"""Shared copies of one kernel: the boxes, and the loops that fill them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name
from generator.linear import combination, residue, simplify
from generator.lowering.memory.box import LocalBox, padded_rows
from generator.lowering.memory.cooperative import all_fill
from generator.lowering.memory.prologues import on_element, operation_on
from generator.lowering.naming import fresh_name
from generator.nest import Assign, If, Node, Wide, most_lanes
from generator.plan import KernelPlan
from generator.polyhedral.memory.copied import Copied
from generator.polyhedral.memory.entries import tile_names
from generator.polyhedral.memory.extents import Extent
from generator.polyhedral.memory.footprint import FillPoint, StagedArray, widened
from generator.polyhedral.memory.mapping import block_names
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension
from generator.program import Program


@dataclass(frozen=True, slots=True)
class CopiedBox(LocalBox):
    """A copy, made at fill point `point`, of the elements that the accesses of `footprint` read.

    Where `below[d]`, the box may begin before the array; where `above[d]` is a number, it may end after the array,
    whose extent that is. Such elements do not exist and are skipped. `extent`: that of the array's rows. `operation`:
    what it holds of each element (`prologues.operation_on`); None: the element itself.
    """

    point: int
    footprint: StagedArray
    below: tuple[bool, ...]
    above: tuple[int | None, ...]
    extent: int
    operation: Expr | None = field(default=None, kw_only=True)

    @property
    def copied(self) -> Copied:
        """What its exact check needs: its corner is the one in the text."""
        return Copied(self.footprint, self.corner, self.box, self.below, tuple(n is not None for n in self.above))

    def fill(self, threads: tuple[int, ...], width: int = 1, equally: bool = False, always: bool = False) -> Node:
        """Return the loops in which threads copy it, `width` neighbours at once if possible.

        `equally`: all threads have a constant number of iterations. `always`: they copy other elements of the array
        instead of those that do not exist, without a condition.
        """
        lanes = self._lanes(width)
        wide = Wide(self.type, lanes) if lanes > 1 else None
        element = Load(self.array, self._existing(lanes) if always else self.outside)
        value = element if self.operation is None else on_element(self.operation, self.array, element)
        node: Node = Assign(self.here, "", value, wide=wide)
        guards = [Binary(">=", at, Int(0)) for at, below in zip(self.outside, self.below, strict=True) if below]
        guards += [Binary("<", at, Int(n)) for at, n in zip(self.outside, self.above, strict=True) if n is not None]
        if guards and not always:
            node = If(reduce(lambda a, b: Binary("&&", a, b), guards), (node,))
        of = "of" if self.operation is None else "computed from"
        return all_fill(self, threads, (node,), "fill", f" {of} {self.array}", lanes, equally)

    def _existing(self, lanes: int) -> tuple[Expr, ...]:
        """Return the subscripts of an element, moved inside the array, of which `lanes` neighbours are copied."""
        from_start = (Binary("max", at, Int(0)) if below else at
                      for at, below in zip(self.outside, self.below, strict=True))
        last = (*(1 for _ in self.box[1:]), lanes)
        return tuple(at if n is None else Binary("min", at, Int(n - size))
                     for at, n, size in zip(from_start, self.above, last, strict=True))

    def _lanes(self, width: int) -> int:
        """Return how many neighbours a thread copies at once: aligned in both arrays, and all inside or all outside."""
        lanes = most_lanes(self.type, width)
        aligned = (self.box[-1], self.sizes[-1], self.extent, residue(self.corner[-1], lanes, {}))
        return lanes if all(n is not None and n % lanes == 0 for n in aligned) else 1


def tile_sizes(part: KernelPart, plan: KernelPlan) -> tuple[int, ...]:
    """Return tile sizes limited to the extents: what a block really accesses."""
    return tuple(min(t, d.extent) for t, d in zip(plan.tile, part.parallel, strict=True))


def copied_boxes(program: Program, part: KernelPart, plan: KernelPlan,
                 points: tuple[FillPoint, ...], taken: set[str], prefix: tuple[str, ...]) -> tuple[CopiedBox, ...]:
    """Return the copies of a kernel, by fill point; () if the plan has none. Their names are added to `taken`.

    `prefix`: names of the host loops.
    """
    if not plan.shared:
        _check_nothing(plan)
        return ()
    known = {a.array for point in points for a in point.arrays}
    if unknown := sorted(set(plan.uncopied) - known):
        raise IllegalPlan(f"{', '.join(unknown)} of {', '.join(plan.statements)} would stay uncopied, but the kernel "
                          f"has copies of {', '.join(sorted(known)) or 'no array'} only")
    staged = [(number, point, a) for number, point in enumerate(points) for a in point.arrays
              if a.array not in plan.uncopied]
    result: list[CopiedBox] = []
    for number, point, footprint in staged:
        copies_of = [where for where, _, a in staged if a.array == footprint.array]
        here = sum(local.array == footprint.array for local in result)
        which = number if len(set(copies_of)) == len(copies_of) else here  # one per fill point, or several
        name = fresh_name(f"{footprint.array}_shared{which if len(copies_of) > 1 else ''}", taken)
        result.append(_box(program, part, plan, point, footprint, name, number, prefix))
    _check_used(part, plan, points, result)
    return tuple(result)


def _check_nothing(plan: KernelPlan) -> None:
    """Raise IllegalPlan for what only copies have."""
    for key, what in (("prologue", "prologue of copies"), ("aligned", "aligned copies")):
        if getattr(plan, key):
            raise IllegalPlan(f"{what} of {', '.join(plan.statements)}: without shared memory nothing is copied; leave "
                              "it out")


def _check_used(part: KernelPart, plan: KernelPlan, points: tuple[FillPoint, ...], boxes: list[CopiedBox]) -> None:
    """Raise IllegalPlan for what none of the copies has."""
    names = ", ".join(plan.statements)
    if plan.prologue and all(box.operation is None for box in boxes):
        raise IllegalPlan(f"prologue of copies of {names}: no copied array is used in one operation with scalars and "
                          "literals only; leave it out")
    needed = (box.footprint.sizes(tile_sizes(part, plan), points[box.point].inside(plan.inner_tile)) for box in boxes)
    if plan.aligned and all(box.box == sizes for box, sizes in zip(boxes, needed, strict=True)):
        raise IllegalPlan(f"aligned copies of {names}: no copy has other rows if these begin and end at multiples of "
                          f"{plan.aligned} elements; leave it out")


def _box(program: Program, part: KernelPart, plan: KernelPlan, point: FillPoint, footprint: StagedArray, name: str,
         number: int, prefix: tuple[str, ...]) -> CopiedBox:
    array = program.array(footprint.array)
    box = footprint.sizes(tile_sizes(part, plan), point.inside(plan.inner_tile))
    corner = tuple(_corner(extent, part, plan, point, prefix) for extent in footprint.extents)
    ranges = [_range(extent, part, plan, point) for extent in footprint.extents]
    shift = residue(corner[-1], plan.aligned, {}) if plan.aligned and array.extents[-1] % plan.aligned == 0 else None
    if shift is not None:
        box = (*box[:-1], widened(box[-1], shift, plan.aligned))
        corner = (*corner[:-1], simplify(Binary("-", corner[-1], Int(shift))))
        ranges[-1] = (ranges[-1][0] - shift, ranges[-1][1] - shift)
    below = tuple(low < 0 for low, _ in ranges)
    above = tuple(n if high + size > n else None for (_, high), size, n in zip(ranges, box, array.extents, strict=True))
    return CopiedBox(
        name,
        array.name,
        array.type,
        corner,
        box,
        padded_rows(box, plan.padding),
        (None,) * len(box),
        "copy",
        "block",
        number,
        footprint,
        below,
        above,
        array.extents[-1],
        operation=operation_on(program, footprint) if plan.prologue else None,
    )


def _corner(extent: Extent, part: KernelPart, plan: KernelPlan, point: FillPoint, prefix: tuple[str, ...]) -> Expr:
    """Return the first index of the box in one array dimension, from host iterators, block indices and the numbers of
    tiles.
    """
    terms: dict[Expr, int] = {Name(name): a for name, a in zip(prefix, extent.prefix, strict=False) if a}
    constant = extent.low
    outer = zip(
        extent.parallel, part.parallel, plan.tile, tile_sizes(part, plan), block_names(len(part.parallel)), strict=True
    )
    inner = zip(
        extent.tiled,
        point.tiled,
        _steps(point, plan),
        point.inside(plan.inner_tile),
        tile_names(point),
        strict=True,
    )
    for coefficient, dim, step, size, index in (*outer, *inner):
        if coefficient == 0:
            continue
        constant += coefficient * dim.low + min(0, coefficient * (size - 1))
        if step:
            terms[Name(index)] = terms.get(Name(index), 0) + coefficient * step
    return combination(terms, constant)


def _steps(point: FillPoint, plan: KernelPlan) -> tuple[int, ...]:
    return point.tiles(plan.inner_tile) or (0,) * len(point.tiled)


def _range(extent: Extent, part: KernelPart, plan: KernelPlan, point: FillPoint) -> tuple[int, int]:
    """Return the least and the greatest value of `_corner` over all blocks and tiles."""
    low = high = extent.low
    for coefficient, member in zip(extent.prefix, part.prefix, strict=False):
        around = dimension(member, part.domain)
        ends = [coefficient * around.low, coefficient * around.high]
        low, high = low + min(ends), high + max(ends)
    outer = zip(extent.parallel, part.parallel, plan.tile, tile_sizes(part, plan), strict=True)
    inner = zip(extent.tiled, point.tiled, _steps(point, plan), point.inside(plan.inner_tile), strict=True)
    for coefficient, dim, step, size in (*outer, *inner):
        ends = [coefficient * (dim.low + k * step) + min(0, coefficient * (size - 1)) for k in (0, _last(dim, step))]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _last(dim: Dimension, step: int) -> int:
    return (dim.extent - 1) // step if step else 0
