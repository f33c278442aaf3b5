"""One launch of a lowered kernel in Python: blocks and threads in random order, with checks of everything that a device
leaves open.

Within one launch, no element of global memory may be touched by two threads if one of them writes it, except for atomic
updates by the same operator; the same holds for shared memory between two barriers. Every subscript must exist, all
threads of a block (of a sub-group, if sub-groups synchronize separately) must reach every barrier and shuffle, integers
are never divided by 0, and registers and shared memory contain garbage before the first write.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any, TypeAlias

from generator.expr import Load, evaluate
from generator.lowered_kernel import LoweredKernel
from generator.nest import (
    Assign,
    Atomic,
    Barrier,
    Declare,
    For,
    Fragments,
    If,
    Instance,
    Node,
    Note,
    Receive,
    Shuffle,
    Streamed,
    Wide,
    walk,
)
from generator.polyhedral.memory.mapping import block_names, thread_names
from generator.program import ELEMENT_BYTES
from generator.target import LANES
from tests.support.device_memory import DeviceMemory, Names, Step, Uses
from tests.support.memory import Element
from tests.support.values import Number, common, compiled, operate, wrap

Event: TypeAlias = tuple[Node, Any] | None
"""The Barrier, the Shuffle (with the thread's value) or the Receive (with its value and the requested lane) at which a
thread waits; None at its end.
"""
Running: TypeAlias = Generator[Event, Number, None]
Waiting: TypeAlias = Callable[[Names, DeviceMemory], Running]


class Machine:
    """A kernel, ready to be launched."""

    def __init__(self, lowered: LoweredKernel, memory: DeviceMemory) -> None:
        memory.enter(lowered)
        self.lowered = lowered
        self.sizes = tuple(reversed(lowered.block))
        self.body = self._waiting(lowered.body, memory)

    def launch(self, names: Names, memory: DeviceMemory) -> None:
        """Run all blocks of a launch, in random order."""
        memory.enter(self.lowered)
        parts = [(evaluate(one.first, names), evaluate(one.count, names)) for one in self.lowered.parts]
        axes = parts or [(0, n) for n in self.lowered.grid]
        batch = self.lowered.batch
        outer = [(batch.low, batch.count)] if batch else []
        called = (*([batch.iterator] if batch else []), *block_names(len(axes)))
        blocks = list(product(*(range(first, first + n) for first, n in (*outer, *reversed(axes)))))
        for number in memory.rng.permutation(len(blocks)):
            self.block(names | dict(zip(called, blocks[number], strict=True)), memory, int(number))

    def block(self, names: Names, memory: DeviceMemory, number: int) -> None:
        """Run the threads of a block, or of each of its sub-groups if these synchronize, in a random order; sub-groups
        wait for each other at barriers of the block.
        """
        threads = list(product(*(range(n) for n in self.sizes)))
        nodes = list(walk(self.lowered.body))
        shuffled = any(isinstance(node, Shuffle | Receive) for node in nodes)
        apart = Barrier("sub-group") in nodes or (shuffled and Barrier() not in nodes)
        size = LANES if apart else len(threads)
        assert len(threads) % size == 0, "a sub-group with threads that do not exist"
        memory.shared = {name: {} for name in memory.shared}
        memory.in_block, memory.between = Uses(), Uses()
        memory.block = number if any(isinstance(node, Barrier) and node.arrays for node in nodes) else -1
        teams = [self._together(names, memory, threads[first : first + size], number * len(threads) + first, apart)
                 for first in range(0, len(threads), size)]
        while True:
            reached = list[Event]()
            for team in memory.rng.permutation(len(teams)):
                memory.team = int(team) if size < len(threads) else -1
                reached.append(next(teams[team], None))
            assert len({id(event[0]) if event else None for event in reached}) == 1, "some sub-groups wait for others"
            if reached[0] is None:
                return
            memory.in_block = Uses()

    def _together(self, names: Names, memory: DeviceMemory, threads: Sequence[tuple[int, ...]], first: int,
                  apart: bool) -> Iterator[Event]:
        """Run threads that synchronize, numbered from `first` on, in a new random order after each meeting.

        Yield where all of the block must wait, if they are only a part of it (`apart`).
        """
        indices = thread_names(len(self.sizes))
        running = [self.body(names | dict(zip(indices, t, strict=True)), memory) for t in threads]
        registers: list[dict[str, dict[Element, Number]]] = [{} for _ in threads]
        answers: list[Any] = [None] * len(threads)
        memory.in_team = Uses()
        while True:
            reached: list[Event] = [None] * len(threads)
            for k in memory.rng.permutation(len(threads)):
                memory.thread, memory.registers = first + int(k), registers[k]
                reached[k] = _advance(running[k], answers[k])
            places = {id(event[0]) if event else None for event in reached}
            assert len(places) == 1, "some threads wait where others never come"
            if reached[0] is None:
                return
            if isinstance(reached[0][0], Barrier) and reached[0][0].arrays:
                memory.between = Uses()
            if apart and isinstance(reached[0][0], Barrier) and reached[0][0].level == "block":
                yield reached[0]
            if isinstance(reached[0][0], Barrier):  # shuffles order nothing in memory
                memory.in_team = Uses()
            answers = _answers(reached[0][0], [event[1] for event in reached if event])

    def _waiting(self, nodes: tuple[Node, ...], memory: DeviceMemory) -> Waiting:
        """Return `nodes` as a generator that yields where threads meet."""
        parts: list[tuple[Waiting | None, Step | None]] = []
        for node in nodes:
            meets = any(isinstance(inner, Barrier | Shuffle | Receive) for inner in walk((node,)))
            parts.append((self._meeting(node, memory), None) if meets else (None, self._step(node, memory)))

        def run(names: Names, memory: DeviceMemory) -> Running:
            for waiting, step in parts:
                if step is not None:
                    step(names, memory)
                elif waiting is not None:
                    yield from waiting(names, memory)

        return run

    def _meeting(self, node: Node, memory: DeviceMemory) -> Waiting:
        """Return a node in which threads meet."""
        match node:
            case For(iterator, start, condition, step, body):
                inner, begin, goes_on = self._waiting(body, memory), memory.function(start), memory.function(condition)

                def loop(names: Names, memory: DeviceMemory) -> Running:
                    names[iterator] = begin(names, memory)
                    while goes_on(names, memory):
                        yield from inner(names, memory)
                        names[iterator] += step
                    del names[iterator]

                return loop
            case If(condition, then, otherwise):
                test = memory.function(condition)
                yes, no = (self._waiting(nodes, memory) for nodes in (then, otherwise))
                return lambda names, memory: (yes if test(names, memory) else no)(names, memory)
            case Barrier(copies=copies):
                return _wait(node, lambda _names, memory: memory.copy() if copies else 0,
                             lambda _names, _memory, _value: None)
            case Shuffle(Load(array, index)):
                places = [memory.function(i) for i in index]
                return _wait(node, lambda n, m: m.load(array, tuple(p(n, m) for p in places)),
                             lambda n, m, value: m.store(array, tuple(p(n, m) for p in places), value))
            case Receive(variable, source, lane):
                return _receive(node, variable, source, memory.function(lane))
        raise AssertionError(f"threads do not meet in {node}")

    def _step(self, node: Node, memory: DeviceMemory) -> Step:
        """Return a node in which threads do not meet."""
        match node:
            case For(iterator, start, condition, step, body):
                return _loop(iterator, memory.function(start), memory.function(condition), step,
                             [self._step(n, memory) for n in body])
            case If(condition, then, otherwise):
                test = memory.function(condition)
                yes, no = ([self._step(n, memory) for n in nodes] for nodes in (then, otherwise))
                return _choice(test, yes, no)
            case Assign(later=True):
                copy = self._step(replace(node, later=False), memory)
                return lambda names, memory: memory.begun.setdefault(memory.thread, []).append((dict(names), copy))
            case Assign(target, "", Load() as source, wide=Wide(kind, lanes)):
                assert kind == memory.types[target.array] == memory.types[source.array]
                return _copy(target, source, lanes, memory)
            case Assign(target, op, value):
                return _assign(target, op, compiled(value, memory.types), memory)
            case Streamed(target, source, count, kind):
                assert kind == memory.types[target.array] == memory.types[source.array]
                return _stream(target, source, memory.function(count), memory)
            case Atomic(target, operator, value, kind):
                assert kind == memory.types[target.array] and ELEMENT_BYTES[kind] >= 4, f"no atomic update of {kind}"
                return _atomic(target, operator, kind, memory.function(value), memory)
            case Declare(name):
                return lambda _names, memory: memory.registers.update({name: {}})
            case Note():
                return lambda _names, _memory: None
            case Fragments():
                raise AssertionError("fragments are multiplied by tests/cuda_double")
            case Instance() | Barrier() | Shuffle() | Receive():
                raise AssertionError(f"{node} is no step of one thread")


def _advance(running: Running, answer: Any) -> Event:
    try:
        return running.send(answer)
    except StopIteration:
        return None


def _answers(node: Node, values: list[Any]) -> list[Any]:
    """Return the values for the threads where they meet: for a shuffle, the combined value of the lanes, or that of
    one.
    """
    if isinstance(node, Receive):
        assert len(values) % LANES == 0 and all(0 <= lane < LANES for _, lane in values), "lanes that do not exist"
        return [values[k - k % LANES + lane][0] for k, (_, lane) in enumerate(values)]
    if not isinstance(node, Shuffle):
        return [None] * len(values)
    assert len(values) % node.lanes == 0, "a sub-group with lanes that do not exist"
    answers: list[Any] = []
    for first in range(0, len(values), node.lanes):
        total = values[first]
        for value in values[first + 1:first + node.lanes]:
            total = operate(node.type, node.operator, total, value)
        answers += [total] * node.lanes
    return answers


def _receive(node: Node, variable: Load, source: Load, lane: Any) -> Waiting:
    """Variables without sizes: the value of one of them in another lane."""
    return _wait(node, lambda n, m: (m.load(source.array, ()), lane(n, m)),
                 lambda _names, m, value: m.store(variable.array, (), value))


def _wait(node: Node, offer: Callable[[Names, DeviceMemory], Any],
          take: Callable[[Names, DeviceMemory, Number], None]) -> Waiting:
    def run(names: Names, memory: DeviceMemory) -> Running:
        take(names, memory, (yield node, offer(names, memory)))

    return run


def _loop(iterator: str, start: Any, condition: Any, step: int, body: list[Step]) -> Step:
    def run(names: Names, memory: DeviceMemory) -> None:
        names[iterator] = start(names, memory)
        while condition(names, memory):
            for part in body:
                part(names, memory)
            names[iterator] += step
        del names[iterator]  # an outer loop of the same name could not continue

    return run


def _choice(test: Any, yes: list[Step], no: list[Step]) -> Step:
    def run(names: Names, memory: DeviceMemory) -> None:
        for part in yes if test(names, memory) else no:
            part(names, memory)

    return run


def _assign(target: Load, op: str, value: tuple[str, Any], memory: DeviceMemory) -> Step:
    array, index = target.array, [memory.function(i) for i in target.index]
    kind, function = common(memory.types[target.array], value[0]), value[1]
    if not op:
        return _store(array, index, function)

    def run(names: Names, memory: DeviceMemory) -> None:
        result = function(names, memory)
        at = tuple([i(names, memory) for i in index])
        memory.store(array, at, operate(kind, op, memory.load(array, at), result))

    return run


def _store(array: str, index: list[Any], function: Any) -> Step:
    def run(names: Names, memory: DeviceMemory) -> None:
        result = function(names, memory)
        memory.store(array, tuple([i(names, memory) for i in index]), result)

    return run


def _copy(target: Load, source: Load, lanes: int, memory: DeviceMemory) -> Step:
    """Copy adjacent elements of a row, which begin at a multiple of their number in both arrays."""
    places = [[memory.function(i) for i in load.index] for load in (target, source)]

    def run(names: Names, memory: DeviceMemory) -> None:
        to, at = ([i(names, memory) for i in place] for place in places)
        for array, index in ((target.array, to), (source.array, at)):
            number = reduce(lambda whole, part: whole * part[1] + part[0],
                            zip(index, memory.extents[array], strict=True), 0)
            assert number % lanes == 0, f"{array}{index} does not begin at a multiple of {lanes} elements"
        for lane in range(lanes):
            memory.store(target.array, (*to[:-1], to[-1] + lane), memory.load(source.array, (*at[:-1], at[-1] + lane)))

    return run


def _stream(target: Load, source: Load, count: Any, memory: DeviceMemory) -> Step:
    """Copy adjacent elements, anywhere in both arrays."""
    places = [[memory.function(i) for i in load.index] for load in (target, source)]

    def run(names: Names, memory: DeviceMemory) -> None:
        to, at = ([i(names, memory) for i in place] for place in places)
        for k in range(count(names, memory)):
            memory.store(target.array, (*to[:-1], to[-1] + k), memory.load(source.array, (*at[:-1], at[-1] + k)))

    return run


def _atomic(target: Load, operator: str, kind: str, value: Any, memory: DeviceMemory) -> Step:
    array, index = target.array, [memory.function(i) for i in target.index]

    def run(names: Names, memory: DeviceMemory) -> None:
        result = wrap(kind, value(names, memory))
        at = tuple([i(names, memory) for i in index])
        if operator != "=":
            result = operate(kind, operator, memory.load(array, at, operator), result)
        memory.store(array, at, result, operator)

    return run
