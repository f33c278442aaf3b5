"""Teams of threads that share a tile: a block, a sub-group (warp) or a single thread, with one lowering for all.

It works on a *team*: the threads that share a tile, fill boxes together and wait for each other. `b0`, .. number tiles,
`t0`, .. the threads of a team. The result is put into blocks at the end:

    level       the threads of a team              its boxes                        how it waits
    block       all of a block                     shared memory                    barrier of the block
    sub-group   32 in a row, or in several rows    its part of every shared array   barrier of the sub-group
    thread      one                                arrays of the thread             not needed
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from generator.decisions.fractions import sub_group
from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.lowering.memory.box import LocalBox
from generator.nest import Barrier, Declare, For, If, Level, Node, map_expressions
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import block_names, check_sizes, thread_names
from generator.target import LANES, Language

OUTER = "outer "
"""Before the name of a block index in loops of a team: the tile around the team's, not yet put into blocks."""


@dataclass(frozen=True, slots=True)
class Team:
    """`threads[d]` threads in dimension d, the outermost first; a block has `count[d]` such teams side by side."""

    level: Level
    threads: tuple[int, ...]
    count: tuple[int, ...]

    def plan(self, plan: KernelPlan) -> KernelPlan:
        """Return the plan of a kernel whose blocks are the teams."""
        tile = tuple(size // count for size, count in zip(plan.tile, self.count, strict=True))
        return replace(plan, tile=tile, block=self.threads, level="block") if self.level != "block" else plan

    def grid(self, tiles: Sequence[int]) -> tuple[int, ...]:
        """Return the blocks in x, y and z for so many tiles (outermost dimension first)."""
        return tuple(-(-tiles[d] // self.count[d]) for d in reversed(range(len(tiles)))) or (1,)

    def in_blocks(
        self, body: tuple[Node, ...], boxes: Sequence[LocalBox], tiles: Sequence[int]
    ) -> tuple[tuple[Node, ...], tuple[LocalBox, ...]]:
        """Return the loops of a team's thread as those of a block's thread, and the shared memory of the block."""
        if self.level == "block":
            return body, tuple(boxes)
        alone = self.level == "thread"
        names = {box.name for box in boxes} if prod(self.count) > 1 and not alone else set()
        body = map_expressions(_waiting(body, self.level), lambda expr: self._placed(expr, names))
        if alone:
            body = (*(Declare(box.name, box.type, box.sizes) for box in boxes), *body)
        beyond = [Binary("<", self._tile(d), Int(n)) for d, n in enumerate(tiles) if n % self.count[d]]
        if beyond:
            body = (If(reduce(lambda a, b: Binary("&&", a, b), beyond), body),)
        shared = tuple(
            replace(box, sizes=(prod(self.count), *box.sizes), level=self.level)
            if names
            else replace(box, level=self.level)
            for box in boxes
        )
        return body, () if alone else shared

    def _placed(self, expr: Expr, boxes: Collection[str]) -> Expr:
        """Return `expr` with the indices of a block, and in `boxes` the part of the team."""
        if isinstance(expr, Name):
            return self._index(expr)
        placed = map_children(expr, lambda child: self._placed(child, boxes))
        return (
            Load(placed.array, (self._number, *placed.index), placed.access)
            if isinstance(placed, Load) and placed.array in boxes
            else placed
        )

    def _index(self, name: Name) -> Expr:
        dims = len(self.count)
        if name.name in block_names(dims):
            return self._tile(block_names(dims).index(name.name))
        if name.name.startswith(OUTER):
            return Name(name.name.removeprefix(OUTER))
        if name.name in thread_names(dims):
            d = thread_names(dims).index(name.name)
            return (
                name
                if self.count[d] == 1
                else Int(0)
                if self.threads[d] == 1
                else Binary("%", name, Int(self.threads[d]))
            )
        return name

    def _tile(self, dim: int) -> Expr:
        """Return the number of the team's tile."""
        block = Name(block_names(len(self.count))[dim])
        return (
            block
            if self.count[dim] == 1
            else Binary("+", Binary("*", block, Int(self.count[dim])), self._in_block(dim))
        )

    def _in_block(self, dim: int) -> Expr:
        """Return the number of the team among those of its block."""
        thread = Name(thread_names(len(self.count))[dim])
        return thread if self.threads[dim] == 1 else Binary("/", thread, Int(self.threads[dim]))

    @property
    def _number(self) -> Expr:
        """The same over all dimensions."""
        number: Expr | None = None
        for dim, count in enumerate(self.count):
            if count > 1:
                here = self._in_block(dim)
                number = here if number is None else Binary("+", Binary("*", number, Int(count)), here)
        return number or Int(0)


def team_of(plan: KernelPlan, language: Language) -> Team:
    """Return the team that shares a tile. Raises IllegalPlan if the threads of a block are not whole sub-groups."""
    if plan.level == "block":
        return Team("block", plan.block, (1,) * len(plan.block))
    check_sizes(replace(plan, walk=0))  # steps are those of a team's tile
    threads = _sub_group(plan, language) if plan.level == "sub-group" else (1,) * len(plan.block)
    return Team(plan.level, threads, tuple(size // n for size, n in zip(plan.block, threads, strict=True)))


def _sub_group(plan: KernelPlan, language: Language) -> tuple[int, ...]:
    """Return the threads of a sub-group in each dimension."""
    called = f"block {plan.block} of {', '.join(plan.statements)}"
    found = sub_group(plan.block)
    if found is None:
        raise IllegalPlan(f"{called} has no whole sub-groups of {LANES} threads")
    if found[-1] < LANES and not language.rows_in_sub_groups:
        raise IllegalPlan(
            f"{called}: {language.title} leaves open which rows form a sub-group; use a "
            f"multiple of {LANES} threads along x"
        )
    return found


def _waiting(nodes: tuple[Node, ...], level: Level) -> tuple[Node, ...]:
    """Return `nodes` with the barriers of a level."""
    result: list[Node] = []
    for node in nodes:
        match node:
            case Barrier():
                result += [] if level == "thread" else [replace(node, level=level)]
            case For(body=body):
                result.append(replace(node, body=_waiting(body, level)))
            case If(condition, then, otherwise):
                result.append(If(condition, _waiting(then, level), _waiting(otherwise, level)))
            case _:
                result.append(node)
    return tuple(result)
