"""The starts of kernels: the outermost bands with coincident members; everything above becomes host code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, assert_never

import islpy as isl

from generator.errors import IllegalPlan
from generator.polyhedral.dependences.model import model, sets
from generator.polyhedral.dependences.reductions import order_of, reducible
from generator.polyhedral.kit.ast import to_schedule
from generator.polyhedral.kit.members import ends, mixes, step_of, union_of, value_range
from generator.polyhedral.kit.tree import (
    Band,
    Launch,
    Sequence,
    Tree,
    coincident_first,
    from_isl,
    members_of,
    restrict,
    statements_of,
)
from generator.polyhedral.schedules.legality import check_host
from generator.polyhedral.schedules.partition import MAX_PARALLEL, partition_tree
from generator.polyhedral.schedules.schedule_matrix import hyperplane_tree
from generator.polyhedral.schedules.scheduling import compute_schedule
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.hyperplanes import Hyperplanes
from generator.schedules.partition import Partition
from generator.schedules.schedule import Schedule, serial_of, with_serial
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """A band member with its least and greatest value over the kernel's domain."""

    member: Any
    low: int
    high: int

    @property
    def extent(self) -> int:
        """The number of values."""
        return self.high - self.low + 1


@dataclass(frozen=True, slots=True, eq=False)
class KernelPart:
    """The part of the program that one kernel runs.

    `prefix`: the members of the host loops around it. `parallel`: the coincident members to map to blocks and threads,
    outermost first. `tree`: what runs sequentially inside them. `dependences`: those within one launch. `sizes`: not
    empty if the parallel members count tiles of a wavefront (of all tiled rows but the first): the tile sizes of each
    row. `order`: how the parallel members were reordered (empty: not at all). `inner`: the sizes in each row of the
    tiles inside those of a wavefront, which a thread runs (empty: it runs single points). `outer`: then the same part
    without inner tiles.
    """

    statements: tuple[str, ...]
    domain: Any
    prefix: tuple[Any, ...]
    parallel: tuple[Dimension, ...]
    tree: Tree
    dependences: Any
    sizes: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    inner: tuple[int, ...] = ()
    outer: KernelPart | None = None

    @property
    def coarse(self) -> bool:
        """Whether the parallel members count tiles."""
        return bool(self.sizes)


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledProgram:
    """A schedule cut into a host tree and kernels (`Launch.number` indexes `kernels`)."""

    schedule: str
    host: Tree
    kernels: tuple[KernelPart, ...]


def schedule_kernels(program: Program, schedule: Schedule) -> ScheduledProgram:
    """Schedule `program` and find its kernels; checked exactly down to the launches.

    The stages that the kernels compute make no difference: nothing in the program writes what they read.

    Raises:
        IllegalPlan: the scheduler gave up, a partition breaks a dependence, or a name is not a reduction.
    """
    return _scheduled(_without_stages(program) if program.stages else program, schedule)


@lru_cache(maxsize=1024)
def _without_stages(program: Program) -> Program:
    own = {access.array for statement in program.statements for access in statement.accesses}
    return replace(program, arrays=tuple(a for a in program.arrays if a.name in own), stages=())


@lru_cache(maxsize=1024)
def _scheduled(program: Program, schedule: Schedule) -> ScheduledProgram:
    if wrong := set(schedule.reductions) - set(reducible(program)):
        raise IllegalPlan(f"{min(wrong)} is not a reduction; reductions are {', '.join(reducible(program)) or 'none'}")
    domain = model(program).domain
    serial = serial_of(schedule)
    tree = schedule_tree(program, with_serial(schedule, ()))
    finder = _Finder(program, frozenset(serial), isinstance(schedule, ScheduleChoice) and schedule.launches)
    host = finder.place(tree, domain, ())
    if wrong := set(serial) - finder.serial:
        raise IllegalPlan(f"{min(wrong)} cannot be chosen to run in one thread: no parallel loops run it, or these run "
                          f"other statements that are not chosen")
    tiles = {n: tuple(d.member for d in kernel.parallel) for n, kernel in enumerate(finder.found) if kernel.coarse}
    left = check_host(host, order_of(program, schedule.reductions).dependences, tiles)
    kernels = tuple(_shared(program, replace(k, dependences=left[number])) for number, k in enumerate(finder.found))
    return ScheduledProgram(str(to_schedule(tree, domain)), host, kernels)


def _shared(program: Program, part: KernelPart) -> KernelPart:
    """Return the first KernelPart with the same content, so that all schedules share what is cached for it."""
    loops = [str(m) for m in (*part.prefix, *(d.member for d in part.parallel))]
    schedule = to_schedule(part.tree, part.domain)
    text = "\n".join([str(part.sizes), str(part.domain), *loops, str(schedule), str(part.dependences)])
    known = _parts_with(program, text)
    if not known:
        known.append(part)
    return known[0]


@lru_cache(maxsize=4096)
def _parts_with(program: Program, text: str) -> list[KernelPart]:
    """Return a cached list that holds the first KernelPart with the content `text`."""
    del program, text
    return []


def schedule_tree(program: Program, schedule: Schedule) -> Tree:
    """Return the tree of a Plan's schedule. Raises IllegalPlan."""
    match schedule:
        case ScheduleChoice():
            return from_isl(compute_schedule(program, schedule))
        case Partition():
            return partition_tree(program, schedule)
        case Hyperplanes():
            return hyperplane_tree(program, schedule)
        case Stages():
            raise AssertionError("every section of it has a schedule of its own")
        case TimeTiles():
            raise AssertionError("it has a kernel of its own kind")
        case _:
            assert_never(schedule)


@lru_cache(maxsize=1024)
def reordered(part: KernelPart, order: tuple[int, ...]) -> KernelPart:
    """Return `part` with its parallel dimensions in `order` (empty: the schedule's order).

    Parallel loops may be nested in any order: the last one becomes the device's x, along which threads are neighbours.

    Raises:
        IllegalPlan: `order` is not a permutation of the dimensions.
    """
    if not order:
        return part
    if sorted(order) != list(range(len(part.parallel))):
        raise IllegalPlan(f"order {order} of {', '.join(part.statements)} is not a permutation of its "
                          f"{len(part.parallel)} parallel dimensions")
    return replace(part, parallel=tuple(part.parallel[k] for k in order), order=order)


class _Finder:
    """Walks a tree from the top and collects kernels in launch order.

    The outermost loops around only statements of `wanted` run in one thread, if possible in the order of the source,
    in which neighbours in memory are usually next to each other; `serial`: the statements that do so. `launches`: as
    in ScheduleChoice.
    """

    def __init__(self, program: Program, wanted: frozenset[str], launches: bool) -> None:
        self.program = program
        self.launches = launches
        self.found: list[KernelPart] = []
        self.wanted = wanted
        self.serial: set[str] = set()

    def place(self, tree: Tree, domain: Any, prefix: tuple[Any, ...]) -> Tree:
        """Return the host tree for `tree`."""
        if not _has_parallel(tree):
            return self._kernel(domain, prefix, (), tree)
        if isinstance(tree, Band) and self.wanted.issuperset(statements_of(domain)):
            self.serial.update(statements_of(domain))
            return self._kernel(domain, prefix, (), tree if prefix else from_isl(isl.Schedule(self.program.schedule)))
        match tree:
            case Sequence(filters, children):
                parts = [f.intersect(domain) for f in filters]
                placed = [self.place(c, p, prefix) for c, p in zip(children, parts, strict=True)]
                return Sequence(tuple(parts), tuple(placed))
            case Band():
                return self._band(tree, domain, prefix)
            case _:
                raise AssertionError("only bands and sequences hold parallel loops")

    def _band(self, band: Band, domain: Any, prefix: tuple[Any, ...]) -> Tree:
        band = coincident_first(band)
        sequential = next((i for i, c in enumerate(band.coincident) if c), len(band.members))
        if self.launches:
            sequential += max(0, _parallel(band.coincident[sequential:]) - MAX_PARALLEL)
        above, rest = band.members[:sequential], band.members[sequential:]
        flags = band.coincident[sequential:]
        if above:
            inner = Band(rest, flags, band.permutable, band.child) if rest else band.child
            return Band(above, (False,) * len(above), band.permutable,
                        self.place(inner, domain, (*prefix, *above)))
        count = min(_parallel(flags), MAX_PARALLEL)
        below: Tree = band.child
        if count < len(rest):
            below = Band(rest[count:], flags[count:], band.permutable, band.child)
        return self._kernel(domain, prefix, rest[:count], below, band.sizes)

    def _kernel(self, domain: Any, prefix: tuple[Any, ...], parallel: tuple[Any, ...], below: Tree,
                sizes: tuple[int, ...] = ()) -> Tree:
        dimensions = tuple(dimension(m, domain) for m in parallel)
        inside = restrict(below, domain)
        self.found.append(KernelPart(statements_of(domain), domain, prefix, dimensions, inside, None, sizes))
        return Launch(len(self.found) - 1)


def dimension(member: Any, domain: Any) -> Dimension:
    """Return `member` restricted to `domain`, with its range."""
    inside = member.intersect_domain(domain)
    return Dimension(inside, *value_range(inside))


def _parallel(coincident: tuple[bool, ...]) -> int:
    """Return the number of coincident members before the first other one."""
    return next((i for i, c in enumerate(coincident) if not c), len(coincident))


def _has_parallel(tree: Tree) -> bool:
    match tree:
        case Band():
            return any(tree.coincident) or _has_parallel(tree.child)
        case Sequence(children=children):
            return any(_has_parallel(c) for c in children)
        case _:
            return False


def runs_on_a_box(part: KernelPart) -> bool:
    """Return whether every statement runs on a box, with equal ranges of blocks and threads for all."""
    loops = (*part.prefix, *(d.member for d in part.parallel), *members_of(part.tree))
    if not all(one.is_box() for one in sets(part.domain)) or any(mixes(loop) for loop in loops):
        return False
    return all(value_range(d.member.intersect_domain(union_of([one]))) == (d.low, d.high)
               for d in part.parallel for one in sets(part.domain))


@lru_cache(maxsize=1024)
def is_even(part: KernelPart) -> bool:
    """Return whether every statement has all values of each parallel dimension, without gaps, in every branch of the
    tree: loops over points then depend on the sizes of the dimensions only.
    """
    if not runs_on_a_box(part) or not _whole_statements(part.tree, part.domain):
        return False
    images = (isl.UnionMap.from_union_pw_aff(d.member.intersect_domain(union_of([one]))).range()
              for d in part.parallel for one in sets(part.domain))
    return all(isl.Set.from_union_set(image).is_box() for image in images)


@lru_cache(maxsize=1024)
def is_skewed(part: KernelPart) -> bool:
    """Return whether a loop in or around the kernel mixes iterators, or counts tiles: its bounds are not a box."""
    members = (*part.prefix, *(d.member for d in part.parallel), *members_of(part.tree))
    return part.coarse or any(mixes(member) for member in members)


@lru_cache(maxsize=1024)
def has_full_launches(part: KernelPart) -> bool:
    """Return whether one of the statements runs for all values of the host loops and parallel loops: then no launch has
    blocks without work, whatever their sizes. False where this is not easy to see.
    """
    dims = [*(dimension(member, part.domain) for member in part.prefix), *part.parallel]
    return any(one.is_box() and _takes_all(one, dims) for one in sets(part.domain))


def _takes_all(domain: Any, dims: list[Dimension]) -> bool:
    """Return whether `dims` are different iterators of a box, each with the range of the whole dimension."""
    steps = [step_of(dim.member, domain) for dim in dims]
    found = [step for step in steps if step is not None]
    ranges = ends(domain)
    return len({position for position, _ in found}) == len(dims) and all(
        (ranges[position][0] + constant, ranges[position][1] + constant) == (dim.low, dim.high)
        for (position, constant), dim in zip(found, dims, strict=True))


def _whole_statements(tree: Tree, domain: Any) -> bool:
    """Return whether the branches of `tree` part statements, not the instances of one."""
    match tree:
        case Band(child=child):
            return _whole_statements(child, domain)
        case Sequence(filters, children):
            whole = {one.get_tuple_name(): one for one in sets(domain)}
            parts = [domain.intersect(one) for one in filters]
            return all(one.is_equal(whole[one.get_tuple_name()]) for part in parts for one in sets(part)) and all(
                _whole_statements(child, part) for child, part in zip(children, parts, strict=True))
        case _:
            return True
