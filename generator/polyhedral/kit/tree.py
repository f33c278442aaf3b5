"""Schedule trees as values, the form that transformations work on; from isl and back to isl.

    Band      loops over the members of a partial schedule
    Sequence  children run one after the other, each on its own statements
    Mapping   block or thread indices, given by the partial schedule
    Fill      shared copies are filled before and protected after the subtree
    Launch    a kernel runs (the leaves of host trees)
    Leaf      the statements themselves
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import islpy as isl


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """The end of a path."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """`members[k]` is an isl UnionPwAff; `notes[k]` describes the loop in the printed code.

    `sizes`: if the members count tiles of a wavefront, the tile sizes in each of the tiled rows.
    """

    members: tuple[Any, ...]
    coincident: tuple[bool, ...]
    permutable: bool
    child: Tree
    notes: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """`filters[k]` is the isl UnionSet that `children[k]` runs; in order."""

    filters: tuple[Any, ...]
    children: tuple[Tree, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mapping:
    """Instance x runs in the block (thread) whose index `names[k]` equals `members[k](x)`."""

    level: Literal["block", "thread"]
    names: tuple[str, ...]
    members: tuple[Any, ...]
    child: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """The block fills shared copies here (`number` identifies them) and waits."""

    number: int
    child: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    """Kernel `number` runs here."""

    number: int


Tree: TypeAlias = Leaf | Launch | Band | Sequence | Mapping | Fill


def from_isl(schedule: Any) -> Tree:
    """Return the tree below the domain node of an isl Schedule."""
    return _read(schedule.get_root().child(0))


def _read(node: Any) -> Tree:
    kind = node.get_type()
    if kind == isl.schedule_node_type.leaf:
        return Leaf()
    if kind == isl.schedule_node_type.band:
        count = node.band_n_member()
        partial = node.band_get_partial_schedule()
        return Band(tuple(partial.get_union_pw_aff(i) for i in range(count)),
                    tuple(bool(node.band_member_get_coincident(i)) for i in range(count)),
                    bool(node.band_get_permutable()), _read(node.child(0)))
    if kind in (isl.schedule_node_type.sequence, isl.schedule_node_type.set):
        filters = [node.child(i) for i in range(node.n_children())]
        return Sequence(tuple(f.filter_get_filter() for f in filters), tuple(_read(f.child(0)) for f in filters))
    raise AssertionError(f"the scheduler made a node of type {kind}")


def multi(members: SequenceOf[Any]) -> Any:
    """Return the isl MultiUnionPwAff of some members."""
    parts = isl.UnionPwAffList.alloc(isl.DEFAULT_CONTEXT, len(members))
    for member in members:
        parts = parts.add(member)
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(members))
    space = space.align_params(members[0].get_space()) if members else space
    return isl.MultiUnionPwAff.from_union_pw_aff_list(space, parts)


def restrict(tree: Tree, domain: Any) -> Tree:
    """Return the part of `tree` that runs instances of `domain`; sequences of one part vanish.

        `[A; B]` restricted to A's statements -> `A`.
    """
    match tree:
        case Band():
            members = tuple(m.intersect_domain(domain) for m in tree.members)
            return replace(tree, members=members, child=restrict(tree.child, domain))
        case Sequence(filters, children):
            kept = [(f.intersect(domain), c) for f, c in zip(filters, children, strict=True)
                    if not f.intersect(domain).is_empty()]
            if len(kept) == 1:
                return restrict(kept[0][1], kept[0][0])
            return Sequence(tuple(f for f, _ in kept), tuple(restrict(c, f) for f, c in kept))
        case Leaf() | Launch():
            return tree
        case Mapping() | Fill():
            raise AssertionError("only unmapped trees are restricted")


def statements_of(domain: Any) -> tuple[str, ...]:
    """Return the sorted statement names of an isl UnionSet."""
    listed = domain.get_set_list()
    return tuple(sorted(listed.get_at(i).get_tuple_name() for i in range(listed.n_set())))


def coincident_first(band: Band) -> Band:
    """Return the band with parallel members first, which make one kernel; only a permutable band is reordered.

        `permutable (t, i*)` -> `permutable (i*, t)`.
    """
    if not band.permutable:
        return band
    order = sorted(range(len(band.members)), key=lambda i: not band.coincident[i])
    return Band(tuple(band.members[i] for i in order), tuple(band.coincident[i] for i in order), True, band.child)


def launches_of(tree: Tree) -> list[int]:
    """Return the kernels that a host tree launches, in order."""
    match tree:
        case Launch(number):
            return [number]
        case Band(child=child):
            return launches_of(child)
        case Sequence(children=children):
            return [n for c in children for n in launches_of(c)]
        case _:
            raise AssertionError("a host tree holds bands, sequences and launches")


def members_of(tree: Tree) -> Iterator[Any]:
    """Yield the members of all bands of an unmapped tree."""
    match tree:
        case Band(members=members, child=child):
            yield from members
            yield from members_of(child)
        case Sequence(children=children):
            for child in children:
                yield from members_of(child)
        case _:
            return
