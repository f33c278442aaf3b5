"""One launch of a lowered kernel in Python: blocks and threads in random order, with checks of everything that a device
leaves open.

Within one launch, no element of global memory may be touched by two threads if one of them writes it, except for atomic
updates by the same operator; the same holds for shared memory between two barriers. Every subscript must exist, all
threads of a block (of a sub-group, if sub-groups synchronize separately) must reach every barrier and shuffle, integers
are never divided by 0, and registers and shared memory contain garbage before the first write.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from generator.expr import Load
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
from generator.program import ELEMENT_BYTES, Program
from generator.target import LANES
from tests.support.memory import Element, Memory
from tests.support.values import Number, common, compiled, operate, wrap

Names: TypeAlias = dict[str, int]
Event: TypeAlias = tuple[Node, Any] | None
"""The Barrier, the Shuffle (with the thread's value) or the Receive (with its value and the requested lane) at which a
thread waits; None at its end.
"""
Running: TypeAlias = Generator[Event, Number, None]
Step: TypeAlias = Callable[[Names, "DeviceMemory"], None]
Waiting: TypeAlias = Callable[[Names, "DeviceMemory"], Running]
MANY = -1  # several threads


class Uses:
    """Which threads touched which elements, and how, since all of them last met."""

    def __init__(self) -> None:
        self.elements: dict[Element, dict[str, int]] = {}

    def note(self, element: Element, mode: str, thread: int) -> None:
        """Record that `thread` reads, writes, exchanges or updates (`mode` is the operator) an element."""
        uses = self.elements.setdefault(element, {})
        for other, who in uses.items():
            together = mode == other and mode not in ("write", "=")
            assert together or who == thread, f"{element}: {mode} by thread {thread} beside {other} by thread {who}"
        uses[mode] = thread if uses.get(mode, thread) == thread else MANY


class DeviceMemory(Memory):
    """Global memory, the shared memory of the running block, and the registers of the running thread."""

    def __init__(self, program: Program, rng: np.random.Generator) -> None:
        super().__init__(program)
        self.rng, self.thread = rng, 0
        self.everywhere, self.in_block, self.in_team, self.team = Uses(), Uses(), Uses(), -1
        self.between, self.block = Uses(), -1
        self.begun: dict[int, list[tuple[Names, Step]]] = {}
        self.shared: dict[str, dict[Element, Number]] = {}
        self.registers: dict[str, dict[Element, Number]] = {}
        self.whole = dict(self.types), dict(self.extents)

    def enter(self, lowered: LoweredKernel) -> None:
        """Prepare a launch: names and sizes of shared arrays and registers."""
        self.everywhere, self.shared, self.registers = Uses(), {}, {}
        self.types, self.extents = (
            dict(self.whole[0]),
            dict(self.whole[1]),
        )  # a kernel may use the name of an array of others
        for array in lowered.shared:
            self.types[array.name], self.extents[array.name], self.shared[array.name] = array.type, array.sizes, {}
        for node in walk(lowered.body):
            if isinstance(node, Declare):
                self.types[node.name], self.extents[node.name] = node.type, node.sizes
        self.declared = {node.name for node in walk(lowered.body) if isinstance(node, Declare)}

    def load(self, array: str, index: tuple[int, ...], mode: str = "read") -> Number:
        """Return the value of an element; `mode` other than "read": as a part of an atomic update."""
        held = self._held(array)
        if held is None:
            self._note_array(array, index, mode)
            return super().load(array, index)
        self._note(array, index, mode)
        found = held.get(self.check(array, index))
        return self.garbage(self.types[array]) if found is None else found

    def store(self, array: str, index: tuple[int, ...], value: Number, mode: str = "write") -> None:
        """Overwrite an element."""
        held = self._held(array)
        if held is None:
            self._note_array(array, index, mode)
            super().store(array, index, value)
            return
        self._note(array, index, mode)
        held[self.check(array, index)] = wrap(self.types[array], value)

    def _note(self, array: str, index: tuple[int, ...], mode: str) -> None:
        """Record a use; sub-groups that synchronize separately never see each other's shared memory in order."""
        if array in self.shared:
            self.in_team.note((array, index), mode, self.thread)
            if self.team >= 0:
                self.in_block.note((array, index), mode, self.team)

    def copy(self) -> int:
        """Wait for the thread's asynchronous copies: they are done now."""
        for names, step in self.begun.pop(self.thread, []):
            step(names, self)
        return 0

    def _note_array(self, array: str, index: tuple[int, ...], mode: str) -> None:
        """Record a use of global memory.

        Threads of a block (its number, if barriers of the kernel are for arrays, too) see each other's writes after
        such a barrier, those of other blocks never.
        """
        self.everywhere.note((array, index), mode, self.thread if self.block < 0 else self.block)
        if self.block >= 0:
            self.between.note((array, index), mode, self.thread)

    def garbage(self, kind: str) -> Number:
        """Return any value."""
        return wrap(kind, int(self.rng.integers(4)) and int(self.rng.integers(-2**40, 2**40)))

    def _held(self, array: str) -> dict[Element, Number] | None:
        """Return the storage of a shared array or a register; None for global memory."""
        if array in self.shared:
            return self.shared[array]
        assert array not in self.declared or array in self.registers, f"{array} is used before its declaration"
        return self.registers.get(array)


class Machine:
    """A kernel, ready to be launched."""

    def __init__(self, lowered: LoweredKernel, memory: DeviceMemory) -> None:
        memory.enter(lowered)
        self.lowered = lowered
        self.sizes = tuple(reversed(lowered.block))
        self.body = self._waiting(lowered.body, memory)

    def launch(self, names: Names, memory: DeviceMemory) -> None:
        """Run all blocks, in random order."""
        memory.enter(self.lowered)
        blocks = list(product(*(range(n) for n in reversed(self.lowered.grid))))
        for number in memory.rng.permutation(len(blocks)):
            at = dict(zip(block_names(len(blocks[number])), blocks[number], strict=True))
            self.block(names | at, memory, int(number))

    def block(self, names: Names, memory: DeviceMemory, number: int) -> None:
        """Run the threads of a block, or of each of its sub-groups if only these synchronize, in a random order."""
        threads = list(product(*(range(n) for n in self.sizes)))
        nodes = list(walk(self.lowered.body))
        apart = Barrier() not in nodes and any(
            isinstance(node, Shuffle | Receive) or node == Barrier("sub-group") for node in nodes
        )
        size = LANES if apart else len(threads)
        assert len(threads) % size == 0, "a sub-group with threads that do not exist"
        memory.shared = {name: {} for name in memory.shared}
        memory.in_block, memory.between = Uses(), Uses()
        memory.block = number if any(isinstance(node, Barrier) and node.arrays for node in nodes) else -1
        for team in memory.rng.permutation(len(threads) // size):
            memory.team = int(team) if size < len(threads) else -1
            self._together(
                names, memory, threads[team * size : (team + 1) * size], number * len(threads) + int(team) * size
            )

    def _together(self, names: Names, memory: DeviceMemory, threads: Sequence[tuple[int, ...]], first: int) -> None:
        """Run threads that synchronize, numbered from `first` on, in a new random order after each meeting."""
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

    def run(names: Names, memory: DeviceMemory) -> None:
        result = function(names, memory)
        at = tuple([i(names, memory) for i in index])
        memory.store(array, at, operate(kind, op, memory.load(array, at), result) if op else result)

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
