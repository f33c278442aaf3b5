"""Loops that compute several intermediate arrays, as loops for each of them.

    for (y ...) for (x ...) { ix[y][x] = ..; iy[y][x] = ..; }        an array that is a stage is computed by nests of
    ->                                                               its own (`nests`), and C programs rarely have those
    for (y ...) for (x ...) ix[y][x] = ..;
    for (y ...) for (x ...) iy[y][x] = ..;

The exact dependences decide what may be separated (loop distribution: statements that depend on each other in a cycle
stay together). Arrays that only pass values within these loops stay in the loops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import permutations

import islpy as isl

from generator.polyhedral.dependences.model import maps, model
from generator.polyhedral.kit.ast import to_schedule
from generator.polyhedral.kit.components import strongly_connected
from generator.polyhedral.kit.members import union_of
from generator.polyhedral.kit.parsed import set_of
from generator.polyhedral.kit.tree import Sequence, from_isl, restrict
from generator.polyhedral.pipelines.nests import Nest, nests_of
from generator.program import Program


def distributed(program: Program) -> Program:
    """Return `program` in an order that computes each intermediate array by nests of its own, as far as this is legal.
    """
    schedule = isl.Schedule(program.schedule)
    nests = list(nests_of(from_isl(schedule), schedule.get_domain()))
    parts = [part for nest in nests for part in _parts(program, nest)]
    if len(parts) == len(nests):
        return program
    tree = Sequence(tuple(part.domain for part in parts), tuple(part.tree for part in parts))
    return replace(program, schedule=str(to_schedule(tree, schedule.get_domain())))


def _parts(program: Program, nest: Nest) -> Iterator[Nest]:
    """Yield the nests into which a nest is separated: itself, if it computes no intermediate array beside others.

    Statements that write the same array follow each other, where their dependences allow it.
    """
    targets = {s.name: s.body.target.array for s in program.statements if s.name in nest.statements}
    arrays = list(dict.fromkeys(targets.values()))
    if len(arrays) == 1 or not any(_is_passed_on(program, array, targets) for array in arrays):
        yield nest
        return
    names = sorted(targets, key=lambda name: arrays.index(targets[name]))
    for group in strongly_connected(names, _bound(program, targets)):
        domain = union_of([set_of(program.statement(name).domain) for name in group])
        yield Nest(domain, restrict(nest.tree, domain))


def _users(program: Program, array: str) -> set[str]:
    return {s.name for s in program.statements if any(access.array == array for access in s.accesses)}


def _is_passed_on(program: Program, array: str, names: Collection[str]) -> bool:
    """Return whether other loops than those of the statements `names` use a local array."""
    found = program.array(array)
    return found.role == "temp" and bool(found.extents) and not _users(program, array) <= set(names)


def _bound(program: Program, names: Collection[str]) -> set[tuple[str, str]]:
    """Return pairs of statements whose order must stay, because the second one depends on the first. Statements with a
    local array that no other loops use depend on each other.
    """
    found = {(one.get_tuple_name(isl.dim_type.in_), one.get_tuple_name(isl.dim_type.out))
             for one in maps(model(program).dependences)}
    kept = {(a, b) for a, b in found if a in names and b in names}
    for array in program.arrays:
        users = _users(program, array.name)
        if array.role == "temp" and users <= set(names):
            kept |= set(permutations(sorted(users), 2))
    return kept
