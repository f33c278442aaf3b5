"""Strongly connected components, against their definition."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.polyhedral.kit.components import strongly_connected

NAMES = tuple(f"S{k}" for k in (3, 0, 10, 1, 7, 2))
EDGES = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14)


def reachable(start: str, edges: set[tuple[str, str]]) -> set[str]:
    """All names on paths from `start`."""
    found = {start}
    for _ in NAMES:
        found |= {b for a, b in edges if a in found}
    return found


def by_definition(edges: set[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Those that reach each other; again and again the first group that nothing left must precede."""
    reach = {name: reachable(name, edges) for name in NAMES}
    left = list(dict.fromkeys(tuple(sorted(b for b in NAMES if b in reach[a] and a in reach[b])) for a in NAMES))
    ordered = []
    while left:
        after = {group for group in left for other in left if other != group and group[0] in reach[other[0]]}
        ordered.append(next(group for group in left if group not in after))
        left.remove(ordered[-1])
    return ordered


@given(EDGES)
@settings(max_examples=150)
def test_components_and_their_order_are_those_of_the_definition(edges: set[tuple[str, str]]) -> None:
    assert strongly_connected(NAMES, edges) == by_definition(edges)


def test_a_long_chain_and_a_long_cycle_are_no_trouble() -> None:
    names = [f"S{k}" for k in range(5000)]
    chain = {(a, b) for a, b in pairwise(names)}
    assert strongly_connected(names, chain) == [(name,) for name in names]
    assert strongly_connected(names, chain | {(names[-1], names[0])}) == [tuple(sorted(names))]
