"""Where kernels start: the outermost bands with coincident members; what is above becomes host code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from generator.plan import ScheduleChoice
from generator.polyhedral.legality import check_host
from generator.polyhedral.members import value_range
from generator.polyhedral.model import model
from generator.polyhedral.scheduling import compute_schedule
from generator.polyhedral.tree import Band, Launch, Sequence, Tree, from_isl, restrict, statements_of
from generator.program import Program

MAX_PARALLEL = 3  # a grid has three dimensions


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

    `prefix` are the members of the host loops around it; `parallel` the coincident members to map to blocks and
    threads, outermost first; `tree` what runs sequentially inside them; `dependences` those within one launch.
    """

    statements: tuple[str, ...]
    domain: Any
    prefix: tuple[Any, ...]
    parallel: tuple[Dimension, ...]
    tree: Tree
    dependences: Any


@dataclass(frozen=True, slots=True, eq=False)
class ScheduledProgram:
    """A schedule cut into a host tree and kernels (`Launch.number` indexes `kernels`)."""

    schedule: str
    host: Tree
    kernels: tuple[KernelPart, ...]


@lru_cache(maxsize=64)
def schedule_kernels(program: Program, choice: ScheduleChoice) -> ScheduledProgram:
    """Schedule `program` and find its kernels; checked exactly down to the launches.

    Raises:
        IllegalPlan: the scheduler gave up, or (never seen) its schedule breaks a dependence.
    """
    schedule = compute_schedule(program, choice)
    finder = _Finder()
    host = finder.place(from_isl(schedule), schedule.get_domain(), ())
    left = check_host(host, model(program).dependences)
    kernels = tuple(KernelPart(k.statements, k.domain, k.prefix, k.parallel, k.tree, left[number])
                    for number, k in enumerate(finder.found))
    return ScheduledProgram(str(schedule), host, kernels)


class _Finder:
    """Walks a tree from the top and collects kernels in launch order."""

    def __init__(self) -> None:
        self.found: list[KernelPart] = []

    def place(self, tree: Tree, domain: Any, prefix: tuple[Any, ...]) -> Tree:
        """The host tree for `tree`."""
        if not _has_parallel(tree):
            return self._kernel(domain, prefix, (), tree)
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
        band = _coincident_first(band)
        sequential = next((i for i, c in enumerate(band.coincident) if c), len(band.members))
        above, rest = band.members[:sequential], band.members[sequential:]
        flags = band.coincident[sequential:]
        if above:
            inner = Band(rest, flags, band.permutable, band.child) if rest else band.child
            return Band(above, (False,) * len(above), band.permutable,
                        self.place(inner, domain, (*prefix, *above)))
        count = next((i for i, c in enumerate(flags) if not c), len(flags))
        count = min(count, MAX_PARALLEL)
        below: Tree = band.child
        if count < len(rest):
            below = Band(rest[count:], flags[count:], band.permutable, band.child)
        return self._kernel(domain, prefix, rest[:count], below)

    def _kernel(self, domain: Any, prefix: tuple[Any, ...], parallel: tuple[Any, ...], below: Tree) -> Tree:
        dimensions = tuple(dimension(m, domain) for m in parallel)
        self.found.append(KernelPart(statements_of(domain), domain, prefix, dimensions, restrict(below, domain), None))
        return Launch(len(self.found) - 1)


def dimension(member: Any, domain: Any) -> Dimension:
    """`member` restricted to `domain`, with its range."""
    inside = member.intersect_domain(domain)
    return Dimension(inside, *value_range(inside))


def _has_parallel(tree: Tree) -> bool:
    match tree:
        case Band():
            return any(tree.coincident) or _has_parallel(tree.child)
        case Sequence(children=children):
            return any(_has_parallel(c) for c in children)
        case _:
            return False


def _coincident_first(band: Band) -> Band:
    """Members of a permutable band may run in any order: parallel ones first make one kernel of it.

    `permutable (t, i*)` -> `permutable (i*, t)`.
    """
    if not band.permutable:
        return band
    order = sorted(range(len(band.members)), key=lambda i: not band.coincident[i])
    return Band(tuple(band.members[i] for i in order), tuple(band.coincident[i] for i in order), True, band.child)


