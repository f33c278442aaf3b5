"""Place the boxes of a directed graph in layers from top to bottom, so that arrows point down and seldom cross.

Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures", 1981: layers by longest
path, a bend in every layer that an arrow passes, the order within a layer by the mean position of the neighbours. The
positions within a layer are the nearest to the neighbours that keep order and distance (isotonic regression). All
lengths are in pixels.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TypeAlias

SWEEPS = 40
BEND = 12.0
"""The width reserved for an arrow that passes a layer."""
STRAIGHT = 20.0
"""The relative weight of straightness for the parts of arrows that pass layers."""

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Item:
    """A box to be placed; `first`: it must be in the first layer."""

    name: str
    width: float
    height: float
    first: bool = False


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from the bottom of `start` to the top of `end`.

    `leaves` and `arrives` are its distances from the middle of each, to the right. Arrows with one `trunk` (and one
    `start`) share their path as far as possible.
    """

    start: str
    end: str
    trunk: str
    leaves: float = 0.0
    arrives: float = 0.0


@dataclass(frozen=True, slots=True)
class Layout:
    """The middle of each item's top edge, the points of each arrow, and the total size."""

    places: Mapping[str, Point]
    ways: Mapping[Arrow, tuple[Point, ...]]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Knot:
    """An item, or the point at which the arrows of a trunk pass a layer (with height 0)."""

    name: str
    layer: int
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Link:
    """The part of an arrow from one layer to the next."""

    upper: _Knot
    lower: _Knot
    leaves: float
    arrives: float


_Rows: TypeAlias = "list[list[_Knot]]"
_Middles: TypeAlias = "dict[_Knot, float]"


def layout(items: Sequence[Item], arrows: Sequence[Arrow], across: float, down: float) -> Layout:
    """Return positions with distance `across` between neighbours and `down` between layers.

    Arrows must lead to items later in the list.
    """
    knots = _knots(items, arrows)
    chains = {arrow: _chain(arrow, knots) for arrow in arrows}
    links = tuple(dict.fromkeys(link for arrow, chain in chains.items() for link in _links(arrow, chain)))
    every = dict.fromkeys([*knots.values(), *(knot for chain in chains.values() for knot in chain)])
    rows: _Rows = [[knot for knot in every if knot.layer == layer] for layer in range(1 + max(k.layer for k in every))]
    rows = _ordered(rows, links)
    middles = _settled(rows, links, across)
    left = min(middle - knot.width / 2 for knot, middle in middles.items())
    middles = {knot: middle - left for knot, middle in middles.items()}
    heights = [max(knot.height for knot in row) for row in rows]
    tops = [0.0, *accumulate(height + down for height in heights)]
    places = {item.name: (middles[knots[item.name]], tops[knots[item.name].layer]) for item in items}
    ways = {arrow: _way(arrow, chain, middles, tops, heights) for arrow, chain in chains.items()}
    return Layout(places, ways, max(middle + knot.width / 2 for knot, middle in middles.items()), tops[-1] - down)


def _knots(items: Sequence[Item], arrows: Sequence[Arrow]) -> dict[str, _Knot]:
    """Return the items in their layers, each as low as possible: just above the first item that it leads to."""
    steps = {item.name: 0 for item in items}
    place = {item.name: number for number, item in enumerate(items)}
    for arrow in sorted(arrows, key=lambda arrow: -place[arrow.start]):
        steps[arrow.start] = max(steps[arrow.start], 1 + steps[arrow.end])
    most = max(steps.values())
    return {item.name: _Knot(item.name, 0 if item.first else most - steps[item.name], item.width, item.height)
            for item in items}


def _chain(arrow: Arrow, knots: Mapping[str, _Knot]) -> tuple[_Knot, ...]:
    start, end = knots[arrow.start], knots[arrow.end]
    bends = (_Knot(f"{arrow.start}\n{arrow.trunk}", layer, BEND, 0.0) for layer in range(start.layer + 1, end.layer))
    return (start, *bends, end)


def _links(arrow: Arrow, chain: Sequence[_Knot]) -> Iterator[_Link]:
    last = len(chain) - 2
    for number, (upper, lower) in enumerate(pairwise(chain)):
        yield _Link(upper, lower, arrow.leaves if number == 0 else 0.0, arrow.arrives if number == last else 0.0)


def _ordered(rows: _Rows, links: Sequence[_Link]) -> _Rows:
    """Return the order with the fewest crossings found while each row is sorted by its neighbours, in sweeps up and
    down.
    """
    best, fewest = rows, _crossings(rows, links)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        rows = _swept(rows, links, downwards=sweep % 2 == 0)
        found = _crossings(rows, links)
        if found < fewest:
            best, fewest = rows, found
    return best


def _swept(rows: _Rows, links: Sequence[_Link], downwards: bool) -> _Rows:
    result = list(rows)
    numbers = range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1)
    for number in numbers:
        beside = {knot: place for place, knot in enumerate(result[number - 1 if downwards else number + 1])}
        wanted: dict[_Knot, list[float]] = {knot: [] for knot in result[number]}
        for link in links:
            mine, other = (link.lower, link.upper) if downwards else (link.upper, link.lower)
            if mine.layer == number:
                shift = (link.leaves - link.arrives) / (other.width + 1)
                wanted[mine].append(beside[other] + (shift if downwards else -shift))
        at = {knot: sum(places) / len(places) if places else float(place)
              for place, (knot, places) in enumerate(wanted.items())}
        result[number] = sorted(result[number], key=at.__getitem__)
    return result


def _crossings(rows: _Rows, links: Sequence[_Link]) -> int:
    place = {knot: number for row in rows for number, knot in enumerate(row)}
    ends: list[list[tuple[tuple[int, float], tuple[int, float]]]] = [[] for _ in rows]
    for link in links:
        ends[link.upper.layer].append(((place[link.upper], link.leaves), (place[link.lower], link.arrives)))
    return sum(_inversions([lower for _, lower in sorted(row)]) for row in ends)


def _inversions(values: Sequence[tuple[int, float]]) -> int:
    seen: list[tuple[int, float]] = []
    found = 0
    for value in values:
        found += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return found


def _settled(rows: _Rows, links: Sequence[_Link], across: float) -> _Middles:
    """Return the middles. Each row in turn moves as near to its neighbours as order and distance allow, in several
    sweeps.
    """
    middles: _Middles = {}
    for row in rows:
        x = 0.0
        for knot in row:
            middles[knot] = x + knot.width / 2
            x += knot.width + across
    neighbours: dict[_Knot, tuple[list[_Link], list[_Link]]] = {knot: ([], []) for knot in middles}
    for link in links:
        neighbours[link.lower][0].append(link)
        neighbours[link.upper][1].append(link)
    for sweep in range(SWEEPS):
        downwards, last = sweep % 2 == 0, sweep >= SWEEPS - 4
        for row in rows if downwards else reversed(rows):
            wanted = [_wanted(knot, neighbours[knot], middles, downwards or last, not downwards or last)
                      for knot in row]
            middles |= zip(row, _apart(row, wanted, across), strict=True)
    return middles


def _wanted(knot: _Knot, links: tuple[Sequence[_Link], Sequence[_Link]], middles: _Middles, above: bool,
            below: bool) -> tuple[float, float]:
    """Return the best position of a knot with regard to its neighbours, and the weight of it."""
    found = [(middles[link.upper] + link.leaves - link.arrives, link.upper) for link in links[0] if above]
    found += [(middles[link.lower] + link.arrives - link.leaves, link.lower) for link in links[1] if below]
    weights = [STRAIGHT if not knot.height and not other.height else 1.0 for _, other in found]
    if not found:
        return middles[knot], 0.1
    return sum(x * weight for (x, _), weight in zip(found, weights, strict=True)) / sum(weights), sum(weights)


def _apart(row: Sequence[_Knot], wanted: Sequence[tuple[float, float]], across: float) -> list[float]:
    """Return the positions nearest to the wanted ones (least squares) that keep the order and the distances."""
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + across)
    blocks: list[tuple[float, float, int]] = []
    for (x, weight), offset in zip(wanted, offsets, strict=True):
        blocks.append((x - offset, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, heavy, many), (b, light, few) = blocks[-2:]
            blocks[-2:] = [((a * heavy + b * light) / (heavy + light), heavy + light, many + few)]
    flat = [x for x, _, count in blocks for _ in range(count)]
    return [x + offset for x, offset in zip(flat, offsets, strict=True)]


def _way(arrow: Arrow, chain: Sequence[_Knot], middles: _Middles, tops: Sequence[float],
         heights: Sequence[float]) -> tuple[Point, ...]:
    """Return the points of an arrow: vertical in layers, slanted between them."""
    points: list[Point] = []
    for number, knot in enumerate(chain):
        shift = arrow.leaves if number == 0 else arrow.arrives if number == len(chain) - 1 else 0.0
        x, top = middles[knot] + shift, tops[knot.layer]
        if number:
            points.append((x, top))
        if number < len(chain) - 1:
            points.append((x, top + knot.height))
            points.append((x, top + heights[knot.layer]))
    return tuple(dict.fromkeys(points))
