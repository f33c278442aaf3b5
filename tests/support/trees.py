"""Schedule trees by brute force: place and time of each instance, and trees with random faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import islpy as isl
import numpy as np

from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Mapping, Sequence, Tree
from tests.support.programs import Instance, Pair, instances, pairs


@dataclass(frozen=True, slots=True)
class Position:
    """Block and thread indices of an instance, its time within the thread, and the launch that ends a host tree."""

    block: tuple[int, ...] = ()
    thread: tuple[int, ...] = ()
    time: tuple[int, ...] = ()
    launch: int = -1


def places(tree: Tree, domain: Any) -> dict[Instance, Position]:
    """Return place and time of the instances of the isl UnionSet `domain` in `tree`."""
    return _run(tree, domain, dict.fromkeys(instances(domain), Position()))


def _run(tree: Tree, domain: Any, here: dict[Instance, Position]) -> dict[Instance, Position]:
    match tree:
        case Leaf():
            return here
        case Launch(number):
            return {x: replace(place, launch=number) for x, place in here.items()}
        case Fill(child=child):
            return _run(child, domain, here)
        case Band(members=members, child=child):
            values = _values(members, domain)
            return _run(child, domain, {x: replace(p, time=(*p.time, *values[x])) for x, p in here.items()})
        case Mapping(level=level, members=members, child=child):
            values = _values(members, domain)
            if level == "block":
                return _run(child, domain, {x: replace(p, block=(*p.block, *values[x])) for x, p in here.items()})
            return _run(child, domain, {x: replace(p, thread=(*p.thread, *values[x])) for x, p in here.items()})
        case Sequence(filters, children):
            result: dict[Instance, Position] = {}
            for number, (part, child) in enumerate(zip(filters, children, strict=True)):
                mine = instances(part.intersect(domain))
                branch = {x: replace(p, time=(*p.time, number)) for x, p in here.items() if x in mine}
                result |= _run(child, domain.intersect(part), branch)
            return result


def _values(members: tuple[Any, ...], domain: Any) -> dict[Instance, tuple[int, ...]]:
    maps = [isl.UnionMap.from_union_pw_aff(m).intersect_domain(domain) for m in members]
    columns = [{x: value[0] for x, (_, value) in pairs(one)} for one in maps]
    return {x: tuple(column[x] for column in columns) for x in columns[0]}


def respects(found: dict[Instance, Position], dependences: Iterable[Pair]) -> bool:
    """The oracle for one launch: sources run before sinks, in the same block and thread."""
    return all(found[a].block == found[b].block and found[a].thread == found[b].thread
               and found[a].time < found[b].time for a, b in dependences)


def faulty(tree: Tree, rng: np.random.Generator) -> Tree:
    """Return `tree` with one random change, which may have no effect."""
    spots = list(_spots(tree))
    if not spots:
        return tree
    number, change = spots[rng.integers(len(spots))]
    return _change_at(tree, number, partial(change, rng=rng))[0]


def _spots(tree: Tree) -> Iterator[tuple[int, Any]]:
    """Yield (node number in preorder, function that changes this node)."""
    for number, node in enumerate(_nodes(tree)):
        if isinstance(node, Sequence) and len(node.children) > 1:
            yield from ((number, _swap) for _ in range(2))
        elif isinstance(node, Band):
            yield from ((number, change) for change in (_drop, _negate, _shift, _permute))
        elif isinstance(node, Mapping):
            yield from ((number, change) for change in (_shift, _negate))
    yield 0, _in_parallel


def _nodes(tree: Tree) -> Iterator[Tree]:
    yield tree
    match tree:
        case Band(child=child) | Mapping(child=child) | Fill(child=child):
            yield from _nodes(child)
        case Sequence(children=children):
            for child in children:
                yield from _nodes(child)
        case Leaf() | Launch():
            return


def _change_at(tree: Tree, number: int, change: Any) -> tuple[Tree, int]:
    """Apply `change` to the node with this number; also return the remaining number."""
    if number == 0:
        return change(tree), -1
    number -= 1
    match tree:
        case Band(child=child) | Mapping(child=child) | Fill(child=child):
            changed, number = _change_at(child, number, change)
            return replace(tree, child=changed), number
        case Sequence(children=children):
            result = list(children)
            for index, child in enumerate(children):
                if number >= 0:
                    result[index], number = _change_at(child, number, change)
            return replace(tree, children=tuple(result)), number
        case Leaf() | Launch():
            return tree, number


def _swap(node: Sequence, rng: np.random.Generator) -> Tree:
    order = rng.permutation(len(node.children))
    return Sequence(tuple(node.filters[k] for k in order), tuple(node.children[k] for k in order))


def _drop(node: Band, rng: np.random.Generator) -> Tree:
    gone = rng.integers(len(node.members))
    left = tuple(m for k, m in enumerate(node.members) if k != gone)
    return replace(node, members=left, coincident=node.coincident[1:], notes=()) if left else node.child


def _negate(node: Band | Mapping, rng: np.random.Generator) -> Tree:
    return _with_member(node, rng, lambda member: member.neg())


def _shift(node: Band | Mapping, rng: np.random.Generator) -> Tree:
    """Move the instances of one statement by one step."""
    by = int(rng.choice([-1, 1]))

    def shifted(member: Any) -> Any:
        listed = member.domain().get_set_list()
        moved = isl.UnionSet.from_set(listed.get_at(int(rng.integers(listed.n_set()))))
        one = isl.UnionPwAff.val_on_domain(moved, isl.Val(by))
        return member.intersect_domain(moved).add(one).union_add(member.subtract_domain(moved))

    return _with_member(node, rng, shifted)


def _with_member(node: Band | Mapping, rng: np.random.Generator, change: Any) -> Tree:
    members = list(node.members)
    k = int(rng.integers(len(members)))
    members[k] = change(members[k])
    return replace(node, members=tuple(members))


def _permute(node: Band, rng: np.random.Generator) -> Tree:
    return replace(node, members=tuple(node.members[k] for k in rng.permutation(len(node.members))))


def _in_parallel(tree: Tree, rng: np.random.Generator) -> Tree:
    """Make one member of the outermost bands a block or thread index."""
    level = "block" if rng.integers(2) else "thread"
    if isinstance(tree, Band):
        return _mapped(tree, level, int(rng.integers(len(tree.members))))
    if isinstance(tree, Sequence) and all(isinstance(child, Band) for child in tree.children):
        return replace(tree, children=tuple(_mapped(child, level, 0) for child in tree.children))
    return tree


def _mapped(band: Any, level: Any, member: int) -> Tree:
    rest = tuple(m for k, m in enumerate(band.members) if k != member)
    below = replace(band, members=rest, coincident=band.coincident[1:], notes=()) if rest else band.child
    return Mapping(level, ("t9",), (band.members[member],), below)
