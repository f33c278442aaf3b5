"""The space of the O2 level: which statements share loops, where arrays lie, then the decisions of every kernel.

Papenhausen & Mueller's Coding Ants, section 5.1.2. A level is the whole program, or the part inside the loops that a
group shares. At every level the strongly connected components of the dependences are put into an order, component by
component. Then the order is cut into partitions: first their number, then the size of each. A partition holds only
components that can share a loop. At the outermost level they must have equally many parallel loops (the paper's
pruning rule 1). At every level they must share a parallel loop if each of them has one (rule 2; `levels` raises
IllegalPlan otherwise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.errors import IllegalPlan
from generator.plan import Plan
from generator.schedules.partition import Group, Partition
from generator.target import Target
from graph.kernels import KernelSpace, number
from graph.node import Node
from graph.o1 import Shapes, choose_reductions, other_answers, with_kernels
from graph.placement import Placeable
from graph.reaching import Answers, Asked, NotOnOffer, Reachable
from graph.space import Chooser, DeadEnd, Decision, Option, PageRow

_NEXT, _COUNT, _SIZE = "component", "number of partitions", "size of partition"
LEFT_OPEN = 0
"""A number of partitions that is never offered. Preferring it inside a group means no preference there: without it, the
preferred number of the whole program would apply.
"""

ROWS = (
    PageRow(
        "component 1, 2, ...",
        "the program, or the part inside the shared loops of a group, `--level o2` and `o3`",
        "components that can come next",
        "any topological order of the strongly connected components",
    ),
    PageRow(
        "number of partitions, size of partition 1, 2, ...",
        "the program, or the part inside the shared loops of a group, `--level o2` and `o3`",
        "all partitions of this order into groups that can share a loop (a parallel one, if their components have "
        "some)",
        "statements of a group share their parallel loops; groups become kernels, or loop nests inside a kernel",
    ),
)
"""Rows of the tables in docs/decisions.md."""

MOST_ORDERS = 5040
"""Upper limit of the orders of a group's components that are tried, to find one that the space offers."""

Path: TypeAlias = tuple[tuple[str, ...], ...]


class Component(Protocol):
    """A strongly connected component (generator.polyhedral.schedules.partition.Component)."""

    @property
    def statements(self) -> tuple[str, ...]:
        """The sorted names of its statements."""

    @property
    def parallel(self) -> int:
        """The number of its outermost parallel loops."""


class Level(Protocol):
    """The components at one place of a schedule (generator.polyhedral.schedules.partition.Level)."""

    @property
    def components(self) -> Sequence[Component]:
        """The components in a legal order."""

    @property
    def before(self) -> frozenset[tuple[int, int]]:
        """Pairs of components: the first must come before the second."""


Levels: TypeAlias = Callable[[tuple[str, ...], Path], Level]
"""Maps (statements reduced in parallel, path of groups) to the level inside the loops of the path's last group.

Raises IllegalPlan if the group shares no loop.
"""


def make_o2_space(shapes: Shapes, levels: Levels, target: Target, wide: bool = True,
                  reductions: Sequence[str] = (), arrays: Sequence[Placeable] = ()) -> Reachable:
    """Return the O2 space of a program. `levels` should cache its results; the other arguments: see `make_o1_space`."""
    return _O2Space(shapes, levels, KernelSpace(target, wide), tuple(sorted(reductions)), tuple(arrays))


@dataclass(frozen=True, slots=True)
class _O2Space:
    shapes: Shapes
    levels: Levels
    kernels: KernelSpace
    reductions: tuple[str, ...]
    arrays: tuple[Placeable, ...]

    def answers(self, plan: Plan) -> Answers:
        """See graph.reaching.Reachable."""
        if not isinstance(plan.schedule, Partition):
            raise NotOnOffer(
                f"the plan is not in the space: {_COUNT} is not a decision of a {type(plan.schedule).__name__}"
            )
        found: dict[Asked, Option] = {}
        self._add_answers(found, plan.schedule.groups, plan.schedule.reductions, ())
        return {**found, **other_answers(plan, self.shapes, self.reductions, self.arrays)}

    def _add_answers(
        self, found: dict[Asked, Option], groups: Sequence[Group], reduced: tuple[str, ...], path: Path
    ) -> None:
        """Add the answers inside the shared loops of `path` that lead to `groups`. Raises NotOnOffer."""
        try:
            level = self.levels(reduced, path)
        except IllegalPlan as error:
            raise NotOnOffer(f"the plan is not in the space: its groups share no loop: {error}") from error

        def shares(order: Sequence[int]) -> bool:
            return self._run(reduced, path, [level.components[k] for k in order]) == len(order)

        members = [members_of(group.statements, [one.statements for one in level.components], path) for group in groups]
        runs = [next((order for order in orders(one, level.before) if shares(order)), one) for one in members]
        add_order(found, runs, path[-1] if path else (), len(path))
        for group in groups:
            if group.parts:
                self._add_answers(found, group.parts, reduced, (*path, group.statements))

    def __call__(self, chooser: Chooser) -> Plan:
        reduced = choose_reductions(chooser, self.reductions)
        partition = Partition(self._groups(chooser, reduced, ()), reduced)
        return with_kernels(chooser, partition, self.shapes, self.kernels, self.arrays)

    def _groups(self, chooser: Chooser, reduced: tuple[str, ...], path: Path) -> tuple[Group, ...]:
        """Ask for the groups inside the shared loops of `path`, in order. Raises DeadEnd."""
        level = self._level(reduced, path)
        here: tuple[tuple[str, Option], ...] = (("depth", len(path)), *(("reduced", name) for name in reduced))
        subject = path[-1] if path else ()
        order = choose_order(chooser, len(level.components), level.before, subject, here)
        components = [level.components[number_] for number_ in order]
        here = (*here, ("order", order))
        groups = []
        runs = [self._run(reduced, path, components[first:]) for first in range(len(components))]
        for size in choose_sizes(chooser, runs, subject, here):
            chosen, components = components[:size], components[size:]
            statements = _statements(chosen)
            groups.append(Group(statements, self._parts(chooser, reduced, (*path, statements))))
        return tuple(groups)

    def _run(self, reduced: tuple[str, ...], path: Path, components: Sequence[Component]) -> int:
        """Return how many of `components`, from the first on, can form one group."""
        size = 1
        while size < len(components) and (path or components[size].parallel == components[0].parallel):
            try:
                self.levels(reduced, (*path, _statements(components[:size + 1])))
            except IllegalPlan:
                break
            size += 1
        return size

    def _parts(self, chooser: Chooser, reduced: tuple[str, ...], path: Path) -> tuple[Group, ...]:
        """Ask for the parts inside the loops that path[-1] shares; () if there is nothing to decide."""
        if len(path[-1]) == 1:
            return ()
        try:
            level = self.levels(reduced, path)
        except IllegalPlan:  # one component without a loop
            return ()
        return self._groups(chooser, reduced, path) if len(level.components) > 1 else ()

    def _level(self, reduced: tuple[str, ...], path: Path) -> Level:
        try:
            return self.levels(reduced, path)
        except IllegalPlan as error:
            raise DeadEnd(str(error)) from error


def apart(node: Node, allowed: NDArray[np.intp]) -> int:
    """A policy that chooses the largest number of partitions, and the first allowed option of all other decisions."""
    return int(allowed[-1 if node.decision.name == _COUNT else 0])


def choose_order(chooser: Chooser, count: int, before: frozenset[tuple[int, int]], subject: tuple[str, ...],
                 here: tuple[tuple[str, Option], ...]) -> tuple[int, ...]:
    """Ask for a topological order of `count` components, one decision per component. `before`: see Level.

    `subject` and `here` become the subject and the `depends` of the decisions.
    """
    order: tuple[int, ...] = ()
    while len(order) < count:
        ready = [c for c in range(count) if c not in order
                 and all(a in order for a, b in before if b == c)]
        depends = (*here, ("placed", tuple(sorted(order))))
        order = (*order, number(chooser, Decision(f"{_NEXT} {len(order) + 1}", subject, depends), ready))
    return order


def _statements(components: Sequence[Component]) -> tuple[str, ...]:
    return tuple(sorted(name for component in components for name in component.statements))


def choose_sizes(chooser: Chooser, runs: Sequence[int], subject: tuple[str, ...],
                 here: tuple[tuple[str, Option], ...]) -> tuple[int, ...]:
    """Ask how many components each partition takes, in order: at most `runs[k]` in one that begins with component k."""
    count = len(runs)
    least = [0] * (count + 1)  # partitions that the components from here on need
    for first in reversed(range(count)):
        least[first] = 1 + min(least[first + size] for size in range(1, runs[first] + 1))
    parts = number(chooser, Decision(_COUNT, subject, here), range(least[0], count + 1))
    sizes: tuple[int, ...] = ()
    for left in reversed(range(parts)):
        first = sum(sizes)
        options = [size for size in range(1, runs[first] + 1) if least[first + size] <= left <= count - first - size]
        depends = (*here, ("partitions", parts), ("sizes", sizes))
        sizes = (*sizes, number(chooser, Decision(f"{_SIZE} {len(sizes) + 1}", subject, depends), options))
    return sizes


def members_of(statements: tuple[str, ...], components: Sequence[tuple[str, ...]], path: Path = ()) -> tuple[int, ...]:
    """Return the numbers of the components that make up `statements`. Raises NotOnOffer if there are none."""
    members = tuple(k for k, component in enumerate(components) if set(component) <= set(statements))
    if {name for k in members for name in components[k]} != set(statements):
        raise NotOnOffer(
            f"the plan is not in the space: {_SIZE} of {' '.join(statements)}: they do not make up whole "
            f"strongly connected components"
            f"{' in the loops of ' + ' '.join(path[-1]) if path else ''}"
        )
    return members


def orders(members: tuple[int, ...], before: frozenset[tuple[int, int]]) -> Iterable[tuple[int, ...]]:
    """Yield the legal orders among the first MOST_ORDERS permutations of `members`, in lexicographic order."""
    tried = islice(permutations(members), MOST_ORDERS)
    return (order for order in tried if not any((b, a) in before for k, a in enumerate(order) for b in order[k + 1:]))


def add_order(
    found: dict[Asked, Option], groups: Sequence[Sequence[int]], subject: tuple[str, ...], depth: int
) -> None:
    """Add to `found` the answers that put the components into the order of `groups`, and cut it into these groups."""
    found[_COUNT, subject, depth] = len(groups)
    found.update({(f"{_SIZE} {number_}", subject, depth): len(group) for number_, group in enumerate(groups, 1)})
    order = (member for group in groups for member in group)
    found.update({(f"{_NEXT} {place}", subject, depth): member for place, member in enumerate(order, 1)})


def preferences_of_partition(partition: Partition, levels: Levels) -> dict[tuple[str, tuple[str, ...]], Option]:
    """Return the choices that lead to `partition`; decisions inside a group without parts are left open.

    Raises:
        IllegalPlan: as `levels`.
    """
    wanted: dict[tuple[str, tuple[str, ...]], Option] = {}
    _add_preferences(wanted, partition.groups, partition.reductions, (), levels)
    return wanted


def _add_preferences(wanted: dict[tuple[str, tuple[str, ...]], Option], groups: Sequence[Group],
                     reduced: tuple[str, ...], path: Path, levels: Levels) -> None:
    subject = path[-1] if path else ()
    components = levels(reduced, path).components
    order: list[int] = []
    for number_, group in enumerate(groups, 1):
        members = [k for k, component in enumerate(components) if set(component.statements) <= set(group.statements)]
        order += members
        wanted[f"{_SIZE} {number_}", subject] = len(members)
        wanted[_COUNT, group.statements] = LEFT_OPEN
        if group.parts:
            _add_preferences(wanted, group.parts, reduced, (*path, group.statements), levels)
    wanted[_COUNT, subject] = len(groups)
    wanted |= {(f"{_NEXT} {position}", subject): k for position, k in enumerate(order, 1)}
