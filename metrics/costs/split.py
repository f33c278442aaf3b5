"""The resources of a warp's tile that is partly in registers (Jangda & Guha 2020, sections 4.2 and 5.1).

Of the T points of a lane along x the last `R = T * fraction` are in registers, one variable per point and row, until
the last stage that reads them is computed. The rest, with all overlap, is in shared memory: `(T - R) * W + left +
right` points in each row, also of a tile that is longer than rows are. Deviation: the paper scales the whole tile by
the fraction, including overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generator.dataflow import Read
from generator.decisions.fractions import MOST_WORDS
from metrics.costs.base import Wrong
from metrics.costs.groups import Group, Numbers, TileWork, column, flat, in_places


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """The lanes of warps, per configuration: `team[d]` of them along each dimension, with `points[d]` each, also beyond
    the extents; `tenths` of those along `x` are in registers.
    """

    team: Numbers
    points: Numbers
    tenths: Numbers
    x: int

    def beyond(self, extents: tuple[int, ...]) -> Numbers:
        """Return the rows of tiles beyond the extents, which stages have, too, except where each lane has all rows."""
        return np.where(self.team > 1.0, np.maximum(self.team * self.points - column(extents), 0.0), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Per configuration: bytes of shared memory of a warp, and the maximum number of live 32-bit registers of a lane.
    """

    bytes: Numbers
    words: Numbers


def can_split(group: Group) -> bool:
    """Return whether lanes can hold its stages for each other with some block."""
    return bool(group.members) and group.lanes_along_x and alone_along(group) is not None


def alone_along(group: Group, x: int | None = None) -> frozenset[int] | None:
    """Return the dimensions of the output along which lanes may not alternate between rows, as distances of stages grow
    there.

    None if distances grow along `x` (None: the last one), or stages do not follow it.
    """
    last, found = len(group.extents) - 1 if x is None else x, set[int]()
    along: dict[str, tuple[int, ...]] = {group.output: tuple(range(len(group.extents)))}
    for stage in reversed(group.stages):
        for read in flat(group.flow, stage, group.inlined).reads:
            if read.array not in group.members:
                continue
            follows, grows = _along(read, along[stage])
            before = along.setdefault(read.array, follows)
            if read.by_data or follows.count(last) != 1 or before.index(last) != follows.index(last) or last in grows:
                return None
            found |= grows | {d for pair in zip(before, follows, strict=True) if len({*pair}) > 1 for d in pair}
    return frozenset(found - {-1})


def _along(read: Read, reader: tuple[int, ...]) -> tuple[tuple[int, ...], set[int]]:
    """Return the dimension of the output that each dimension of the read array follows (-1: none), and those that it
    does not follow at the same speed.
    """
    follows, grows = list[int](), set[int]()
    for reach in read.reach:
        moving = [d for d, slope in enumerate(reach.slopes) if slope]
        follows.append(reader[moving[0]] if moving else -1)
        if len(moving) > 1 or (moving and reach.slopes[moving[0]] != 1.0):
            grows |= {reader[d] for d in moving}
    return tuple(follows), grows


def split_room(group: Group, work: TileWork, lanes: Lanes) -> Split:
    """Return the resources of the tiles of a group that `can_split`."""
    x, team, count = lanes.x, lanes.team, len(lanes.tenths)
    held, beyond = np.floor((lanes.points[x] * lanes.tenths + 5.0) / 10.0), lanes.beyond(group.extents)
    shared, words = dict[str, Numbers](), dict[str, Numbers]()
    for member in group.members:
        element = group.flow.array(member).element
        points, rows = np.ones(count), np.ones(count)
        for d, follows in enumerate(work.along[member]):
            extent = work.extents[member][d]
            if follows == x:
                overlap = np.maximum(extent - work.extents[group.output][x], 0.0)
                points = points * ((lanes.points[x] - held) * team[x] + overlap)
                continue
            extent = extent + (beyond[follows] if follows >= 0 else 0.0)
            points, rows = points * extent, rows * np.ceil(extent / (team[follows] if follows >= 0 else 1.0))
        shared[member] = points * element
        words[member] = held * rows * -(-element // 4)
    return Split(in_places(group, shared, np.zeros(count)), _alive(group, words))


def _alive(group: Group, words: dict[str, Numbers]) -> Numbers:
    """Return the maximum number of registers that are live during a stage."""
    order = {stage: k for k, stage in enumerate(group.stages)}
    last = {member: order[member] for member in group.members}
    for stage in group.stages:
        for read in flat(group.flow, stage, group.inlined).reads:
            if read.array in last:
                last[read.array] = max(last[read.array], order[stage])
    most = np.zeros_like(next(iter(words.values())))
    for k in range(len(group.stages)):
        alive = [n for member, n in words.items() if order[member] <= k <= last[member]]
        most = np.maximum(most, sum(alive, np.zeros_like(most)))
    return most


def wrongs_of(group: Group, words: Numbers, lanes: Lanes) -> tuple[Wrong, ...]:
    """Return the objections to parts of tiles in registers."""
    alone = alone_along(group, lanes.x)
    taking_turns = np.full(len(lanes.tenths), alone is None)
    for d in alone or ():
        taking_turns |= lanes.team[d] > 1
    return (
        Wrong("lanes cannot hold its stages for each other: their distances grow", taking_turns & (lanes.tenths > 0)),
        Wrong(f"more than {MOST_WORDS} registers of a thread would hold parts of its tile", words > MOST_WORDS, True),
    )
