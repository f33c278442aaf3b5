"""Execution counts of the nodes of a kernel, by simulating sampled blocks with all their threads at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.expr import Binary, Expr, names_of
from generator.lowering.analysis.sampling import DataDependentError, Ints, samples, trips, values
from generator.nest import For, If, Node, walk

NodePath: TypeAlias = tuple[int, ...]
"""The position of a node: its position among its siblings, per level (the `else` part is counted after `then`)."""
Floats: TypeAlias = NDArray[np.float64]
LEAST, MOST = 3, 9  # samples of a loop that is too long to simulate
WORK = 1_000_000  # threads times iterations that are simulated in one nest


@dataclass(frozen=True, slots=True, eq=False)
class Grounds:
    """The samples of a kernel: names of block, thread and host indices with their values.

    The first axis of the values is the sample, whose `weights` add up to the number of blocks of all launches; the
    others are the thread dimensions, outermost first.
    """

    names: Mapping[str, Ints]
    weights: Floats
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Means per thread: executions by position; starts and iterations of loops that run at least once.

    `balance`: the mean cost of a thread divided by the cost of the busiest one of its block.
    """

    executions: Mapping[NodePath, float]
    entries: Mapping[NodePath, float]
    iterations: Mapping[NodePath, float]
    balance: float


def children_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes inside `node`, in order of position."""
    match node:
        case For(body=body):
            return body
        case If(_, then, otherwise):
            return (*then, *otherwise)
        case _:
            return ()


def count(nodes: tuple[Node, ...], grounds: Grounds, cost: Callable[[Node], float]) -> Counts:
    """Simulate the samples. `cost`: that of one execution of a node that is neither a loop nor a condition."""
    counter = _Counter(grounds, cost)
    room = min(150.0, max(25.0, WORK / np.prod(grounds.shape)))
    counter.run(tuple(enumerate(nodes)), (), grounds.names, np.ones(grounds.shape), room)
    busiest = counter.work.reshape(len(grounds.weights), -1).max(axis=1)
    mean = counter.work.reshape(len(grounds.weights), -1).mean(axis=1)
    most = float(busiest @ grounds.weights)
    return Counts(counter.executions, counter.entries, counter.iterations,
                  float(mean @ grounds.weights) / most if most else 1.0)


class _Counter:
    """Adds up the executions of the sampled threads."""

    def __init__(self, grounds: Grounds, cost: Callable[[Node], float]) -> None:
        self.cost, self.shape = cost, grounds.shape
        share = grounds.weights / grounds.weights.sum() / np.prod(grounds.shape[1:])
        self.share = share.reshape(-1, *(1,) * (len(grounds.shape) - 1))
        self.executions: dict[NodePath, float] = defaultdict(float)
        self.entries: dict[NodePath, float] = defaultdict(float)
        self.iterations: dict[NodePath, float] = defaultdict(float)
        self.decisive: dict[NodePath, bool] = {}
        self.work = np.zeros(grounds.shape)

    def run(self, nodes: tuple[tuple[int, Node], ...], at: NodePath, names: Mapping[str, Ints], weight: Floats,
            room: float) -> None:
        """Run the nodes, each with its position; every thread runs them `weight` times. `room`: iterations to simulate.
        """
        for position, node in nodes:
            place = (*at, position)
            match node:
                case For():
                    self._loop(node, place, names, weight, room)
                case If(condition, then, otherwise):
                    holds, certain = _decide(condition, names)
                    inside = tuple(enumerate(children_of(node)))
                    self.run(inside[:len(then)], place, names, weight * holds, room)
                    if otherwise:
                        rest = weight * ~holds if certain else weight
                        self.run(inside[len(then):], place, names, rest, room)
                case _:
                    self.executions[place] += float((weight * self.share).sum())
                    self.work += weight * self.cost(node)

    def _loop(self, node: For, place: NodePath, names: Mapping[str, Ints], weight: Floats, room: float) -> None:
        start = values(node.start, names)
        often = np.where(weight > 0, trips(node.iterator, start, node.condition, node.step, names), 0)
        total = float((weight * often * self.share).sum())
        if not total:
            return
        self.entries[place] += float((weight * (often > 0) * self.share).sum())
        self.iterations[place] += total
        inside = tuple(enumerate(node.body))
        if place not in self.decisive:
            self.decisive[place] = _decides(node)
        if not self.decisive[place]:
            middle = {**names, node.iterator: start + node.step * (often // 2)}
            self.run(inside, place, middle, weight * often, room)
            return
        longest = int(often.max())
        most = longest if longest <= room else max(LEAST, min(MOST, int(room)))
        for ordinal, part in _visits(often, weight, most):
            here = {**names, node.iterator: start + node.step * ordinal}
            self.run(inside, place, here, part, room / most)


def _visits(often: Ints, weight: Floats, most: int) -> Iterator[tuple[Ints, Floats]]:
    """Yield sampled iterations of a loop that runs `often` times, and the number of iterations that each represents.

    The threads of a block run in lockstep: all are in the same iteration, and those that are done wait. The weights are
    scaled so that they cover all iterations of a block.
    """
    flat = (-1, *(1,) * (often.ndim - 1))
    longest = often.reshape(len(often), -1).max(axis=1)
    chosen = [(*samples(int(n), most), *((0, 0.0),) * most)[:most] for n in longest]
    ordinals = [np.array([c[k][0] for c in chosen], dtype=np.int64).reshape(flat) for k in range(most)]
    parts = [np.array([c[k][1] for c in chosen]).reshape(flat) * weight * (o < often)
             for k, o in enumerate(ordinals)]
    axes = tuple(range(1, often.ndim))
    wanted = (weight * often).sum(axis=axes, keepdims=True)
    got = sum(part.sum(axis=axes, keepdims=True) for part in parts)
    scale = wanted / np.where(got > 0, got, 1.0)
    for ordinal, part in zip(ordinals, parts, strict=True):
        if part.any():
            yield ordinal, part * scale


def _decides(loop: For) -> bool:
    """Return whether conditions or bounds inside the loop depend on its iterator."""
    bounds = [bound for n in walk(loop.body) if isinstance(n, For) for bound in (n.start, n.condition)]
    bounds += [n.condition for n in walk(loop.body) if isinstance(n, If)]
    return any(loop.iterator in names_of(bound) for bound in bounds)


def _decide(condition: Expr, names: Mapping[str, Ints]) -> tuple[NDArray[np.bool_], bool]:
    """Return where a condition may hold, and whether that is certain; parts that depend on data may always hold."""
    if isinstance(condition, Binary) and condition.op == "&&":
        left, sure = _decide(condition.left, names)
        right, too = _decide(condition.right, names)
        return left & right, sure and too
    try:
        return values(condition, names) != 0, True
    except DataDependentError:
        return np.asarray(True), False
