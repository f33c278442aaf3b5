"""A kernel's tree with blocks, threads, points per thread, inner tiles and fill points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import islpy as isl

from generator.decisions.size_lists import inner_sizes
from generator.decisions.walk import walked
from generator.errors import IllegalPlan
from generator.plan import KernelPlan
from generator.polyhedral.kit.tree import Band, Fill, Mapping, Sequence, Tree, statements_of
from generator.polyhedral.memory.footprint import FillPoint
from generator.polyhedral.memory.loops_around import first_around
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension

PointNote: TypeAlias = Literal["point", "neighbour"]
"""A loop over points of a thread, or over a run of neighbours among them."""


@dataclass(frozen=True, slots=True)
class Points:
    """One loop over points of a thread along the parallel dimension `dim`: `count` points at distance `stride`.

    Runs of neighbours are two loops: one over runs, and inside it one over neighbours (`run`).
    """

    dim: int
    count: int
    stride: int
    run: bool = False

    @property
    def note(self) -> PointNote:
        """The kind of the loop."""
        return "neighbour" if self.run else "point"


@dataclass(frozen=True, slots=True, eq=False)
class MappedKernel:
    """The final tree and the number of blocks per parallel dimension (outermost first).

    `several`: the loops over the points of a thread, the outermost first.
    """

    tree: Tree
    blocks: tuple[int, ...]
    several: tuple[Points, ...]


def points_of(plan: KernelPlan) -> tuple[Points, ...]:
    """Return the loops over the points of a thread, dimension by dimension: only those with several points."""
    found, x = list[Points](), len(plan.tile) - 1
    for d, (tile, block) in enumerate(zip(step_tile(plan.tile, plan.walk), plan.block, strict=True)):
        run = plan.run if d == x else 1
        found += [Points(d, tile // (block * run), block * run), Points(d, run, 1, run=True)]
    return tuple(points for points in found if points.count > 1)


def block_names(count: int) -> tuple[str, ...]:
    """Return names of the block indices, outermost first."""
    return tuple(f"b{d}" for d in range(count))


def thread_names(count: int) -> tuple[str, ...]:
    """Return names of the thread indices, outermost first."""
    return tuple(f"t{d}" for d in range(count))


def map_kernel(
    part: KernelPart, plan: KernelPlan, points: tuple[FillPoint, ...], outer: tuple[int, ...] = (),
    numbered: bool = True
) -> MappedKernel:
    """Tile and map the parallel dimensions of `part`, tile its sequential band, mark the fill points.

        `for i, j: for k: S` -> `block(i/T, j/T): for k/I: [fill] thread(i%T%B, j%T%B): for points: for k%I: S`.

    Of a thread's points, the loops over the dimensions `outer` come first, in their order. A block that walks has a
    loop over steps around all of it: `block(i/T): for i%T/W: [fill] thread(i%W%B): ..`. A fill point for the whole tile
    is before these loops: `block(i/T): [fill] for i%T/W: [fill] ..`. Unless `numbered`, only the loops are right: the
    tree has no numbers of blocks and threads.

    Raises:
        IllegalPlan: the sizes do not fit the kernel.
    """
    check_fits(part, plan)
    _check_inner(plan, points)
    sizes = list(zip(part.parallel, step_tile(plan.tile, plan.walk), plan.block, strict=True))
    several = tuple(
        sorted(points_of(plan), key=lambda p: (outer.index(p.dim) if p.dim in outer else len(outer), p.dim))
    )
    mapper = _Mapper(part, plan, tuple(point for point in points if not point.whole), sizes, several, numbered)
    inside = mapper.below(part.tree, part.domain)
    if plan.walk:
        along = walked(len(sizes))
        step = step_member(part.parallel[along], plan.tile[along], plan.walk)
        inside = Band((step,), (False,), False, inside, ("step",))
    if points and points[-1].whole:
        if isinstance(inside, Fill):  # isl would not keep the order of two fills at one place
            raise IllegalPlan(f"stages of the whole tile ({', '.join(plan.whole)}) are computed before steps or inner "
                              f"tiles, but the kernel of {', '.join(plan.statements)} has none: leave `whole` out")
        inside = Fill(len(points) - 1, inside)
    members = tuple(tile_member(d, t) for d, t in zip(part.parallel, plan.tile, strict=True)) if numbered else ()
    tree = Mapping("block", block_names(len(sizes)), members, inside) if sizes else inside
    return MappedKernel(tree, tuple(-(-d.extent // t) for d, t in zip(part.parallel, plan.tile, strict=True)), several)


def step_tile(tile: tuple[int, ...], walk: int) -> tuple[int, ...]:
    """Return the points that a block computes in one step: `walk` rows of its tile (0: all of it)."""
    return (*tile[:walked(len(tile))], walk, *tile[walked(len(tile)) + 1:]) if walk else tile


def check_fits(part: KernelPart, plan: KernelPlan) -> None:
    """Raise IllegalPlan if the sizes do not fit the kernel."""
    if not len(plan.tile) == len(plan.block) == len(part.parallel):
        raise IllegalPlan(f"kernel {', '.join(plan.statements)} has {len(part.parallel)} parallel dimensions but the "
                          f"plan gives {len(plan.tile)} tile and {len(plan.block)} block sizes")
    check_sizes(plan)


def sized_one_by_one(plan: KernelPlan, points: tuple[FillPoint, ...]) -> bool:
    """Return whether there are as many inner loops as the plan has sizes for, if it has one for each, and all are
    tiled: loops one after the other are only if something is copied or computed inside them.
    """
    if isinstance(plan.inner_tile, int):
        return True
    filled = len(points) < 2 or any(point.needed(plan.shared, plan.uncopied) for point in points)
    return filled and len(plan.inner_tile) == _inner_loops(points)


def _inner_loops(points: tuple[FillPoint, ...]) -> int:
    return sum(len(point.inner) for point in points)


def _check_inner(plan: KernelPlan, points: tuple[FillPoint, ...]) -> None:
    """Raise IllegalPlan if sizes of single inner loops are not for this kernel."""
    if isinstance(plan.inner_tile, int) or sized_one_by_one(plan, points):
        return
    count, names = _inner_loops(points), ", ".join(plan.statements)
    if len(plan.inner_tile) != count:
        raise IllegalPlan(f"{len(plan.inner_tile)} inner tile sizes of {names}: it has {count} inner loops that can be "
                          "tiled; give one size for each of them, or one number for all")
    raise IllegalPlan(f"inner tile sizes of {names}: loops one after the other are tiled only if something is copied "
                      "or computed inside them; give one number for all")


def check_besides(plan: KernelPlan, what: str, honoured: tuple[str, ...]) -> None:
    """Raise IllegalPlan if a plan decides more than sizes and the fields `honoured`.

    These are all decisions of kernels that are `what`.
    """
    if more := plan.besides(*honoured):
        *others, last = honoured
        raise IllegalPlan(f"a kernel {what} ({', '.join(plan.statements)}) decides nothing but tile, block, "
                          f"{', '.join(others)} and {last}: leave out {', '.join(f'`{name}`' for name in more)}")


def check_sizes(plan: KernelPlan) -> None:
    """Raise IllegalPlan for sizes that fit no kernel."""
    if plan.diagonals:
        _check_diagonals(plan)
        return
    _check_walk(plan)
    for tile, block in zip(step_tile(plan.tile, plan.walk), plan.block, strict=True):
        if block < 1 or tile % block:
            raise IllegalPlan(f"block size {block} does not divide {'tile size' if not plan.walk else 'step or size'} "
                              f"{tile}")
    each = plan.tile[-1] // plan.block[-1] if plan.tile else 1
    if plan.run < 1 or each % plan.run:
        raise IllegalPlan(f"{plan.run} neighbours in a row of {', '.join(plan.statements)}: a thread has {each} points "
                          "along x; use a number that divides them")
    if plan.vector not in (1, 2, 4):
        raise IllegalPlan(f"{plan.vector} elements per access of {', '.join(plan.statements)}; use 1, 2 or 4")
    if plan.asynchronous and not plan.ahead:
        raise IllegalPlan(f"asynchronous copies of {', '.join(plan.statements)} are those of the next tile: want it "
                          "ahead, too")
    if min(inner_sizes(plan.inner_tile), default=0) < 1 or plan.unroll < 1:
        raise IllegalPlan(f"inner tile {plan.inner_tile} and unroll factor {plan.unroll} must be at least 1")


_WITH_DIAGONALS = ("order", "diagonals", "shared", "inner_tile", "unroll", "vector", "exchange", "columns", "cache")
_OF_COPIES = ("uncopied", "padding", "swizzled")


def _check_diagonals(plan: KernelPlan) -> None:
    """Raise IllegalPlan for decisions that need several tiles per block, or one thread per tile."""
    what = f"diagonals of {', '.join(plan.statements)}"
    if set(plan.tile) - {1} or min(plan.block, default=0) < 1:
        raise IllegalPlan(f"{what}: a block runs one tile of the wavefront, so each of its tile sizes is 1, and its "
                          f"block sizes are threads along the rows of that tile; they are {plan.tile} and {plan.block}")
    honoured = (*(_OF_COPIES if plan.shared else ()), *_WITH_DIAGONALS)
    check_besides(plan, "whose blocks run diagonals", honoured)
    if not isinstance(plan.inner_tile, int):
        raise IllegalPlan(f"{what}: an inner tile has one size for all rows of a tile; it is {plan.inner_tile}")
    if min(plan.unroll, plan.inner_tile) < 1 or plan.vector not in (1, 2, 4):
        raise IllegalPlan(f"{what}: the unroll factor {plan.unroll} and the inner tile {plan.inner_tile} must be at "
                          f"least 1, the elements per access {plan.vector} 1, 2 or 4")


def _check_walk(plan: KernelPlan) -> None:
    """Raise IllegalPlan for a step that does not fit the tile, or decisions that are for a whole tile."""
    if not plan.walk:
        return
    what = f"{plan.walk} rows per step of {', '.join(plan.statements)}"
    if len(plan.tile) < 2:
        raise IllegalPlan(f"{what}: it has {len(plan.tile)} parallel dimensions; 2 are needed")
    rows = plan.tile[walked(len(plan.tile))]
    if rows % plan.walk:
        raise IllegalPlan(f"{what}: its tile has {rows} rows along y; use a multiple of {plan.walk}")
    if plan.registers or plan.shared or max(inner_sizes(plan.inner_tile), default=1) > 1:
        raise IllegalPlan(f"{what}: registers, shared copies and inner tiles are for a whole tile at once")


class _Mapper:
    """Builds the part of the tree inside a block."""

    def __init__(self, part: KernelPart, plan: KernelPlan, points: tuple[FillPoint, ...],
                 sizes: list[tuple[Dimension, int, int]], several: tuple[Points, ...], numbered: bool) -> None:
        self.part, self.plan, self.sizes, self.several, self.numbered = part, plan, sizes, several, numbered
        self.points = {point.statements for point in points}
        self.tiles = {point.statements: point.tiles(plan.inner_tile)[point.outer:] for point in points}
        self.fills = {point.statements[0]: number for number, point in enumerate(points)
                      if point.needed(plan.shared, plan.uncopied)}

    def below(self, tree: Tree, domain: Any) -> Tree:
        """Return `tree` with the threads in their place: below fill points, else at the top."""
        if not self.fills:
            return self.threads(self.tiled(tree, domain, lambda child: child), domain)
        return self.filled(tree, domain, self.plan.depth)

    def filled(self, tree: Tree, domain: Any, depth: int) -> Tree:
        """Return the tree with a fill point on every path, in the order of `fill_points`, inside `depth` loops."""
        if isinstance(tree, Sequence) and statements_of(domain) not in self.points:
            parts = [domain.intersect(f) for f in tree.filters]
            return Sequence(tuple(parts), tuple(self.filled(c, p, depth)
                                                for c, p in zip(tree.children, parts, strict=True)))
        if depth and isinstance(tree, Band) and (inside := first_around(tree)):
            value = tile_member(dimension(tree.members[0], domain), 1)
            return Band((value,), (False,), False, self.filled(inside, domain, depth - 1), ("around",))
        return self.tiled(tree, domain, lambda child: self.fill(self.threads(child, domain), domain))

    def fill(self, tree: Tree, domain: Any) -> Tree:
        """Return the tree in a fill point, if any array qualifies."""
        listed = domain.get_set_list()
        first = min(listed.get_at(i).get_tuple_name() for i in range(listed.n_set()))
        return Fill(self.fills[first], tree) if first in self.fills else tree

    def tiled(self, tree: Tree, domain: Any, inside: Any) -> Tree:
        """Tile the first sequential band by `inner_tile`; `inside` wraps the subtree of the tile loops."""
        sizes = self.tiles.get(statements_of(domain), ()) if isinstance(tree, Band) else ()
        if not isinstance(tree, Band) or not sizes:
            return inside(tree)  # type: ignore[no-any-return]  # islpy has no types
        count = len(sizes)
        dims = [dimension(m, domain) for m in tree.members[:count]]
        tiles = tuple(tile_member(d, size) for d, size in zip(dims, sizes, strict=True))
        return Band(tiles, (False,) * count, tree.permutable, inside(tree), ("tile",) * count)

    def threads(self, tree: Tree, domain: Any) -> Tree:
        """Return the tree in thread indices and the loops over the points of one thread."""
        if not self.sizes:
            return tree
        if self.several:
            steps = tuple(point_member(*self.sizes[p.dim][:2], p).intersect_domain(domain) for p in self.several)
            tree = self.around(tree, steps)
        runs = (1,) * (len(self.sizes) - 1) + (self.plan.run,)
        members = tuple(thread_member(*size, run).intersect_domain(domain)
                        for size, run in zip(self.sizes, runs, strict=True)) if self.numbered else ()
        return Mapping("thread", thread_names(len(self.sizes)), members, tree)

    def around(self, tree: Tree, steps: tuple[Any, ...]) -> Tree:
        """Return the loops over a thread's points around `tree`, or around each of its leaves.

            `for point: for k: S` or, with `points_inside`, `for k: for point: S`.
        """
        if self.plan.points_inside and isinstance(tree, Band):
            return replace(tree, child=self.around(tree.child, steps))
        if self.plan.points_inside and isinstance(tree, Sequence):
            return Sequence(tree.filters, tuple(
                self.around(child, tuple(s.intersect_domain(part) for s in steps))
                for part, child in zip(tree.filters, tree.children, strict=True)))
        return Band(steps, (True,) * len(steps), True, tree, tuple(points.note for points in self.several))


def _shifted(dim: Dimension) -> Any:
    """Return the member, counted from 0."""
    if dim.low == 0:
        return dim.member
    value = isl.UnionPwAff.val_on_domain(dim.member.domain(), isl.Val(dim.low))
    return dim.member.sub(value)


def _scaled_floor(member: Any, size: int) -> Any:
    return member if size == 1 else member.scale_down_val(isl.Val(size)).floor()


def tile_member(dim: Dimension, size: int) -> Any:
    """Return the number of the tile of `size` that contains an instance."""
    return _scaled_floor(_shifted(dim), size)


def step_member(dim: Dimension, tile: int, walk: int) -> Any:
    """Return the number of an instance's step among those of its tile."""
    return _scaled_floor(_in_tile(dim, tile), walk)


def thread_member(dim: Dimension, tile: int, block: int, run: int) -> Any:
    """Return the thread that runs an instance: points of a tile, or runs of them, are distributed cyclically."""
    return _scaled_floor(_in_tile(dim, tile), run).mod_val(isl.Val(block))


def point_member(dim: Dimension, tile: int, points: Points) -> Any:
    """Return the number of an instance's point among `points` of its thread."""
    if points.run:
        return _shifted(dim).mod_val(isl.Val(points.count))
    return _scaled_floor(_in_tile(dim, tile), points.stride)


def _in_tile(dim: Dimension, size: int) -> Any:
    return _shifted(dim).mod_val(isl.Val(size))


