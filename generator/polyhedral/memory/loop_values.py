"""The intended values of the iterators of generated loops: functions of the instance, by the schedule tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from typing import Any, TypeAlias

import islpy as isl

from generator.polyhedral.dependences.model import sets
from generator.polyhedral.kit.ast import LoopName
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Sequence, Tree
from generator.polyhedral.kit.tree import Mapping as Indices

LoopValues: TypeAlias = Mapping[str, Mapping[str, Any]]
"""By statement and by name of a loop around it: the isl Map from its instances to the values of the iterator."""


def loop_values(tree: Tree, domain: Any, names: SequenceOf[LoopName]) -> LoopValues:
    """Return the values of the iterators of the loops that `generate` makes, by statement and by name.

    Statements that run at several places of the tree are left out.
    """
    found: dict[str, dict[str, Any]] = {}
    several = set()
    for part, members in _leaves(tree, domain, ()):
        for one in sets(part):
            statement, values = one.get_tuple_name(), {}
            for loop, member in zip(names, members, strict=False):
                inside = member.intersect_domain(isl.UnionSet.from_set(one))
                values[loop.name] = isl.Map.from_union_map(isl.UnionMap.from_union_pw_aff(inside))
            if statement in found:
                several.add(statement)
            found[statement] = values
    return {statement: values for statement, values in found.items() if statement not in several}


def _leaves(tree: Tree, domain: Any, members: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield the instances at each leaf of the tree, with the members of the bands above."""
    match tree:
        case Leaf() | Launch():
            yield domain, members
        case Band(members=more, child=child):
            yield from _leaves(child, domain, (*members, *more))
        case Indices(child=child) | Fill(child=child):
            yield from _leaves(child, domain, members)
        case Sequence(filters, children):
            for part, child in zip(filters, children, strict=True):
                yield from _leaves(child, domain.intersect(part), members)
