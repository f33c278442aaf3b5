"""Loop names that a reader of the source recognises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import Any

from generator.emit.names import free_name
from generator.polyhedral.kit.affine import isl_word
from generator.polyhedral.kit.ast import LoopName
from generator.polyhedral.kit.members import iterator_of
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Mapping, Sequence, Tree, statements_of
from generator.polyhedral.memory.mapping import Points
from generator.polyhedral.schedules.kernels import dimension
from generator.program import Program

SHORT = {"neighbour": "next", "around": "value"}
"""Words for kinds of loops in names."""
POINTS = ("point", "neighbour")
"""Kinds of loops over the points of a thread, after which registers are named."""


@dataclass(frozen=True, slots=True)
class LoopKey:
    """The name of a loop in plans, and its kind: `tile`, `point`, `neighbour` or another note of a band; "" for none.
    """

    name: str
    kind: str

    @property
    def note(self) -> str:
        """See `note_of`."""
        return note_of(self.name.removesuffix(f"_{SHORT.get(self.kind, self.kind)}"), self.kind)


def loop_names(tree: Tree, program: Program, taken: Iterable[str]) -> tuple[LoopName, ...]:
    """Return a name and a note per schedule dimension of `tree`, outermost first; no name is in `taken`.

    Where branches have loops over points along different iterators, the name is `point`.
    """
    used = set(taken) | {array.name for array in program.arrays}
    names: list[LoopName] = []
    own = {(depth, iterator_of(member, program), kind) for depth, member, kind in _members(tree, 0) if kind in POINTS}
    several = Counter(depth for depth, _, _ in own)
    for depth, member, kind in _one_per_depth(tree):
        assert depth == len(names)
        base = iterator_of(member, program) or "c"
        name = f"{base}_{SHORT.get(kind, kind)}" if kind else base
        name = fresh_name("point" if kind in POINTS and several[depth] > 1 else name, used)
        names.append(LoopName(name, note_of(base, kind)))
    return tuple(names)


def note_of(base: str, kind: str) -> str:
    """Return the words for a loop along the iterator `base`, in the printed code."""
    words = {"tile": f"tile of {base}", "point": f"points of this thread along {base}",
             "neighbour": f"neighbours of this thread along {base}",
             "around": f"values of {base} around the copies",
             "wavefront": "one wavefront of tiles", "step": f"steps of this block along {base}"}
    return words.get(kind, "")


def loop_keys(tree: Tree, domain: Any, program: Program, depth: int = 0) -> dict[tuple[str, int], LoopKey]:
    """Return the names in plans of the loops of a statement, by its name and the depth: `k_tile`, `i_point`, `k`.

    They are the names of `loop_names`, unless several branches share one, or a name is taken. Loops with one iteration
    are left out: the text has none.
    """
    match tree:
        case Band(members=members, child=child, notes=notes):
            found = dict[tuple[str, int], LoopKey]()
            for offset, member in enumerate(members):
                own = member.intersect_domain(domain)
                if dimension(own, domain).extent == 1:
                    continue
                base = iterator_of(own, program) or "c"
                kind = notes[offset] if notes else ""
                key = LoopKey(f"{base}_{SHORT.get(kind, kind)}" if kind else base, kind)
                found |= dict.fromkeys(((name, depth + offset) for name in statements_of(domain)), key)
            return found | loop_keys(child, domain, program, depth + len(members))
        case Sequence(filters, children):
            parts = zip(filters, children, strict=True)
            return {at: key for part, child in parts
                    for at, key in loop_keys(child, domain.intersect(part), program, depth).items()}
        case Mapping(child=child) | Fill(child=child):
            return loop_keys(child, domain, program, depth)
        case Leaf() | Launch():
            return {}


def fresh_name(name: str, taken: set[str]) -> str:
    """Return `name`, extended if it is in `taken` or reserved (generator.emit.names); it is added to `taken`.

    Reserved words of isl are extended, too: loops around a kernel are parameters in isl's texts.
    """
    free = free_name(f"{name}_" if isl_word(name) else name, taken)
    taken.add(free)
    return free


def point_loops(tree: Tree, domain: Any, names: SequenceOf[LoopName], points: SequenceOf[Points],
                depth: int = 0) -> dict[str, dict[Points, str]]:
    """Return the names of the loops over a thread's points, by statement.

    `points`: these loops, outermost first. `names`: those of all loops by depth.
    """
    match tree:
        case Band(members=members, child=child, notes=notes):
            if notes and notes[0] in POINTS:
                found = {one: names[depth + k].name for k, one in enumerate(points)}
                return dict.fromkeys(statements_of(domain), found)
            return point_loops(child, domain, names, points, depth + len(members))
        case Sequence(filters, children):
            result: dict[str, dict[Points, str]] = {}
            for part, child in zip(filters, children, strict=True):
                result |= point_loops(child, domain.intersect(part), names, points, depth)
            return result
        case Mapping(child=child) | Fill(child=child):
            return point_loops(child, domain, names, points, depth)
        case Leaf() | Launch():
            return {statement: {} for statement in statements_of(domain)}


def _one_per_depth(tree: Tree) -> list[tuple[int, Any, str]]:
    """Return one of `_members` per depth: of several branches, that of the first one. If there are loops around copies,
    loops over points come first, because registers are named after them (`branch_names` renames others).
    """
    found = list(_members(tree, 0))
    if any(kind == "around" for _, _, kind in found):
        found.sort(key=lambda one: one[2] not in POINTS)
    first: dict[int, tuple[int, Any, str]] = {}
    for one in found:
        first.setdefault(one[0], one)
    return [first[depth] for depth in sorted(first)]


def _members(tree: Tree, depth: int) -> Iterator[tuple[int, Any, str]]:
    """Yield (schedule depth, member, kind of loop) of every band member, top down."""
    match tree:
        case Band(members=members, child=child, notes=notes):
            for offset, member in enumerate(members):
                yield depth + offset, member, notes[offset] if notes else ""
            yield from _members(child, depth + len(members))
        case Sequence(children=children):
            for child in children:
                yield from _members(child, depth)
        case Mapping(child=child) | Fill(child=child):
            yield from _members(child, depth)
        case Leaf() | Launch():
            return
