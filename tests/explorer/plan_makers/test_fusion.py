"""Fusion by dynamic programming against all groupings of small graphs, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.plan_makers.fusion import fuse

Graph = tuple[int, ...]
"""The readers of each node, which have greater numbers."""


@st.composite
def graphs(draw: st.DrawFn, most: int) -> Graph:
    count = draw(st.integers(1, most))
    return tuple(draw(st.integers(0, (1 << (count - 1 - k)) - 1)) << (k + 1) for k in range(count))


def price_of(seed: int, mask: int) -> float:
    """What the nodes of a set cost as one group: anything from 0 to a little more for large ones."""
    return ((mask * 2654435761 + seed * 40503) % 1009) / 1009 * (1 + 0.3 * mask.bit_count())


def partitions(left: int) -> Iterator[tuple[int, ...]]:
    """All ways to divide a set."""
    if not left:
        yield ()
        return
    first = left & -left
    others = left ^ first
    more = others
    while True:
        for rest in partitions(others & ~more):
            yield (first | more, *rest)
        if not more:
            return
        more = (more - 1) & others


def nodes_of(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def is_connected(graph: Graph, mask: int) -> bool:
    found, waiting = 0, mask & -mask
    while waiting:
        found |= waiting
        near = 0
        for k in nodes_of(mask):
            if waiting >> k & 1:
                near |= graph[k]
            elif graph[k] & waiting:
                near |= 1 << k
        waiting = near & mask & ~found
    return found == mask


def in_some_order(graph: Graph, groups: Sequence[int]) -> bool:
    """Whether the groups can run one after the other."""
    left = list(groups)
    while left:
        last = next(
            (one for one in left if not any(graph[k] & other for k in nodes_of(one) for other in left if other != one)),
            None,
        )
        if last is None:
            return False
        left.remove(last)
    return True


def has_one_output(graph: Graph, mask: int) -> bool:
    *others, _ = nodes_of(mask)
    return all(not graph[k] & ~mask for k in others) and all(graph[k] for k in others)


def by_brute_force(graph: Graph, seed: int, one_output: bool) -> list[float]:
    costs = []
    for groups in partitions((1 << len(graph)) - 1):
        if all(
            is_connected(graph, one) and (not one_output or has_one_output(graph, one)) for one in groups
        ) and in_some_order(graph, groups):
            costs.append(sum(price_of(seed, one) for one in groups))
    return sorted(costs)


def found(graph: Graph, seed: int, one_output: bool, count: int = 1, limit: int = 16) -> list[float]:
    plans = fuse(graph, lambda mask: [(price_of(seed, mask), mask)], count, limit, one_output)
    for plan in plans:
        masks = [mask for mask, _ in plan.groups]
        assert sum(masks) == (1 << len(graph)) - 1 and sum(mask.bit_count() for mask in masks) == len(graph)
        assert plan.cost == pytest.approx(sum(price_of(seed, mask) for mask in masks))
    return [plan.cost for plan in plans]


@settings(max_examples=60)
@given(graphs(7), st.integers(0, 1000), st.booleans())
def test_the_best_groupings_are_those_of_brute_force(graph: Graph, seed: int, one_output: bool) -> None:
    wanted = by_brute_force(graph, seed, one_output)
    assert found(graph, seed, one_output, 4) == pytest.approx(wanted[:4])


@pytest.mark.slow
@settings(max_examples=40)
@given(graphs(10), st.integers(0, 1000), st.booleans())
def test_the_best_grouping_of_up_to_ten_nodes_is_that_of_brute_force(graph: Graph, seed: int, one_output: bool) -> None:
    assert found(graph, seed, one_output) == pytest.approx(by_brute_force(graph, seed, one_output)[:1])


@settings(max_examples=30)
@given(graphs(9), st.integers(0, 1000), st.booleans())
def test_small_limits_find_a_grouping_that_is_no_better_than_the_best(
    graph: Graph, seed: int, one_output: bool
) -> None:
    [best], [limited] = (found(graph, seed, one_output, limit=limit) for limit in (16, 2))
    assert limited >= best - 1e-9


def test_groups_grow_beyond_the_limit_in_later_rounds() -> None:
    """A chain of twelve in groups of two at first; one kernel is best in the end."""
    chain = tuple(1 << (k + 1) if k < 11 else 0 for k in range(12))
    [best] = fuse(chain, lambda mask: [(1.0 + mask.bit_count() / 100, mask)], limit=2)
    assert [mask for mask, _ in best.groups] == [(1 << 12) - 1]


def test_what_is_impossible_is_not_chosen() -> None:
    chain = (2, 4, 0)
    [best] = fuse(chain, lambda mask: [] if mask.bit_count() == 3 else [(1.0, mask)])
    assert best.cost == 2.0
    assert fuse(chain, lambda mask: [] if mask == 1 or mask.bit_count() > 1 else [(1.0, mask)]) == []


def test_a_node_that_two_groups_read_is_a_group_of_its_own_unless_both_are_one() -> None:
    """0 is read by 1 and 2, which 3 reads."""
    diamond = (0b0110, 0b1000, 0b1000, 0)
    asked: list[int] = []

    def price(mask: int) -> list[tuple[float, int]]:
        asked.append(mask)
        return [(1.0, mask)]

    fuse(diamond, price)
    assert 0b0011 not in asked and 0b0101 not in asked and 0b1111 in asked
    assert len(asked) == len(set(asked)), "each group is priced once"


def test_several_ways_to_make_a_group_are_several_groupings() -> None:
    plans = fuse((0,), lambda mask: [(1.0, "a"), (2.0, "b"), (3.0, "c")], count=2)
    assert [(plan.cost, plan.groups[0][1]) for plan in plans] == [(1.0, "a"), (2.0, "b")]
