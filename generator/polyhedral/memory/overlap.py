"""The exact check of overlapped tiling: the threads that share a tile recompute values that others compute, too.

    stages in boxes          a tile of the readers, and the elements of stages that it reads
    several time steps       a tile of the last step, and all contributions of the steps before it

It depends only on the resulting margins and boxes, and is the same for blocks, sub-groups and threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from generator.errors import IllegalPlan


@dataclass(frozen=True, slots=True, eq=False)
class OverlappedTiles:
    """All tiles of a kernel, as isl UnionMaps from a tile's numbers.

    `runs`: the instances that run for it. `stores`: those of them whose results are seen outside. `launch`: all
    instances of its launch. `holds`: the elements that it has outside of global memory.
    """

    runs: Any
    stores: Any
    launch: Any
    holds: Any


def check_overlap(tiles: OverlappedTiles, stored: Any, sources: Any, touched: Any) -> None:
    """Raise IllegalPlan unless tiles are independent and correct.

    `stored`: the instances (isl UnionSet) whose results must be seen, each of exactly one tile. `sources`: maps
    instances to those that compute their operands; those of the same launch must run for the same tile. `touched`: maps
    instances to elements of arrays that tiles hold; a tile must hold them.
    """
    owners = tiles.stores.reverse()
    if not owners.is_single_valued():
        raise IllegalPlan("two tiles would store what one of them has to")
    if not stored.is_subset(owners.domain()) or not tiles.stores.is_subset(tiles.runs):
        raise IllegalPlan("a block would not compute all of its tile")
    if not tiles.runs.apply_range(sources).intersect(tiles.launch).is_subset(tiles.runs):
        raise IllegalPlan("a block would need what it does not compute")
    left = tiles.runs.apply_range(touched).subtract(tiles.holds)
    if not left.is_empty():
        raise IllegalPlan(f"a block would leave what it holds of {_array(left)}")


def _array(touched: Any) -> str:
    listed = touched.get_map_list()
    return str(min(listed.get_at(k).range().get_tuple_name() for k in range(listed.n_map())))
