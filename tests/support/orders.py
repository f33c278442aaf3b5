"""Orders of a program's instances by brute force: the pairs that must stay in order, and the results of other orders.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import islpy as isl
import numpy as np

from generator.program import Program
from tests.support.memory import Element, Memory, execute
from tests.support.programs import Instance, Pair, original_order, pairs


def conflicts(program: Program, relaxed: set[str]) -> set[Pair]:
    """Return (earlier, later): instances that touch one element, which one of them may write.

    Pairs of the same statement in `relaxed` are left out.
    """
    touched: dict[Instance, dict[Element, bool]] = defaultdict(dict)  # whether it may be written
    for statement in program.statements:
        for access in statement.accesses:
            for instance, element in pairs(isl.UnionMap(access.relation)):
                touched[instance][element] = touched[instance].get(element, False) or access.kind != "read"
    order = original_order(program)
    return {(a, b) for n, a in enumerate(order) for b in order[n + 1:] if not (a[0] == b[0] and a[0] in relaxed)
            and any(written or touched[b][e] for e, written in touched[a].items() if e in touched[b])}


def reachable(links: Iterable[Pair]) -> set[Pair]:
    """Return the transitive closure."""
    after: dict[Instance, set[Instance]] = defaultdict(set)
    for a, b in links:
        after[a].add(b)
    result: set[Pair] = set()
    for start in list(after):
        found: set[Instance] = set()
        waiting = list(after[start])
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += after.get(here, ())
        result |= {(start, end) for end in found}
    return result


def extension(program: Program, links: Iterable[Pair], rng: np.random.Generator) -> list[Instance]:
    """Return all instances in a random order that respects `links`."""
    left: dict[Instance, int] = dict.fromkeys(original_order(program), 0)
    after: dict[Instance, list[Instance]] = defaultdict(list)
    for a, b in links:
        after[a].append(b)
        left[b] += 1
    ready = [x for x, count in left.items() if not count]
    result = []
    while ready:
        x = ready.pop(int(rng.integers(len(ready))))
        result.append(x)
        for y in after[x]:
            left[y] -= 1
            if not left[y]:
                ready.append(y)
    assert len(result) == len(left), "the links contradict each other"
    return result


def run_in(program: Program, order: Sequence[Instance]) -> Memory:
    """Run the program with its instances in another order."""
    memory, statements = Memory(program), {s.name: s for s in program.statements}
    for name, values in order:
        body, names = statements[name].body, dict(zip(statements[name].iterators, values, strict=True))
        execute(body, names, memory)
    return memory


def differences(program: Program, found: Memory, expected: Memory) -> dict[Element, tuple[object, object]]:
    """Return the elements of the program's arrays that differ: (found, expected)."""
    initial = Memory(program)
    names = {array.name for array in program.arrays if array.role != "temp"}
    elements = {e for memory in (found, expected) for e in memory.values if e[0] in names}
    values = {e: tuple(memory.values.get(e, initial.load(*e)) for memory in (found, expected)) for e in elements}
    return {e: (one, other) for e, (one, other) in values.items() if one != other}
