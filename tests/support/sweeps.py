"""Random loops over time around sweeps as C text, and random plans that run several of their steps per launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generator.plan import KernelPlan, Plan
from generator.polyhedral.time.time_steps import required_time_loop
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles

_ITERATORS = (("t", "i", "j", "k"), ("begin", "c", "last", "b0"))
"""Including names that the check and the kernel also use."""
_TYPES = ("float", "int", "float", "int", "short", "unsigned char")
_EXTENTS = {1: (10, 40), 2: (10, 14), 3: (7, 8)}
_REACH = {1: 2, 2: 2, 3: 1}


def sweeps_text(seed: int, wide: int = 0) -> str:
    """Return a C file; most of these contain a loop over time that `time_loop` accepts, some do not.

    Arrays are `wide` elements wider than small ones.
    """
    rng = np.random.default_rng(seed)
    dims = int(rng.choice([1, 2, 2, 2, 3]))
    low, high = _EXTENTS[dims]
    extents = [int(n) for n in rng.integers(low, high + 1, dims)]
    extents[-1] += wide
    names = "ABC"[:int(rng.integers(1, 4))]
    kind = str(rng.choice(_TYPES))
    time, *iterators = _ITERATORS[int(rng.integers(4) == 0)]
    declared = [f"{name}{''.join(f'[{n + int(rng.integers(3))}]' for n in extents)}" for name in (*names, "R")]
    first, steps = int(rng.integers(-2, 3)), int(rng.integers(1, 9))
    sweeps = [_sweep(rng, names, extents, time, iterators) for _ in range(int(rng.integers(1, 4)))]
    lines = [line for sweep in sweeps for line in sweep]
    return "\n".join(
        [
            f"{kind} {', '.join(declared)}, w[{first + steps + 2}];",
            "void f(void) {",
            f"  int {time}, {', '.join(iterators)};",
            "#pragma scop",
            f"  for ({time} = {first}; {time} < {first + steps}; {time}++) {{",
            *lines,
            "  }",
            "#pragma endscop",
            "}",
            "",
        ]
    )


def _sweep(rng: np.random.Generator, names: str, extents: list[int], time: str, iterators: list[str]) -> list[str]:
    """Return a nest over the inside of an array, or over one of its sides; some loops run backwards."""
    target = str(rng.choice(list(names)))
    side = int(rng.integers(len(extents))) if rng.integers(4) == 0 else None
    at = 0 if side is None or rng.integers(2) else extents[side] - 1
    shift = int(rng.integers(-1, 2))
    own = [
        str(at) if d == side else f"{iterators[d]} + {shift}" if shift and not d else iterators[d]
        for d in range(len(extents))
    ]
    reads = _Reads(target, names, extents, time, iterators, side, at, shift)
    parts = [reads.one(rng) for _ in range(int(rng.integers(1, 5)))]
    if rng.integers(6) == 0 and side != 0:
        parts.append(f"({iterators[0]} > {extents[0] // 2} ? {reads.one(rng)} : {reads.one(rng)})")
    value = " + ".join(str(rng.choice([part, f"3 * {part}"])) for part in parts)
    op = str(rng.choice(["=", "=", "=", "+="]))
    text = f"{target}{''.join(f'[{index}]' for index in own)} {op} {value};"
    for d in reversed(range(len(extents))):
        if d != side:
            margin = _REACH[len(extents)] + 1
            begin, end = margin + int(rng.integers(2)), extents[d] - margin - int(rng.integers(2))
            name = iterators[d]
            head = (
                f"{name} = {begin}; {name} < {end}; {name}++"
                if rng.integers(5)
                else f"{name} = {end - 1}; {name} >= {begin}; {name}--"
            )
            text = f"for ({head}) {text}"
    return [f"    {text}"]


@dataclass(frozen=True)
class _Reads:
    """Possible reads of a sweep over `target`; on a side, `at` is its place."""

    target: str
    names: str
    extents: list[int]
    time: str
    iterators: list[str]
    side: int | None
    at: int
    shift: int

    def one(self, rng: np.random.Generator) -> str:
        """Return an element: of an array that is written, nearby; of one that is only read; of a list by time."""
        choice = rng.integers(6)
        if choice == 0:
            return f"w[{self.time} + 2]"
        name = str(rng.choice([*self.names, "R"]))
        near = name == self.target and rng.integers(12) > 0
        index, reach = [], _REACH[len(self.extents)]
        for d, iterator in enumerate(self.iterators[:len(self.extents)]):
            distance = (self.shift if not d else 0) if near else int(rng.integers(-reach, reach + 1))
            if d == self.side:
                index.append(str(abs(self.at - abs(0 if near else distance))))
            else:
                index.append(iterator + (f" + {distance}" if distance > 0 else f" - {-distance}" if distance else ""))
        return name + "".join(f"[{i}]" for i in index)


def time_plan(program: Program, rng: np.random.Generator) -> Plan:
    """Return random steps, sizes (often not powers of two), order and details."""
    dims = len(required_time_loop(program).extents)
    block = [int(rng.choice([1, 1, 2, 3])) for _ in range(dims)]
    tile = tuple(b * int(rng.choice([1, 2, 3, 5])) for b in block)
    order = tuple(int(k) for k in rng.permutation(dims)) if rng.integers(2) else ()
    statements = tuple(sorted(statement.name for statement in program.statements))
    kernel = KernelPlan(
        statements,
        tile,
        tuple(block),
        unroll=int(rng.integers(1, 4)),
        order=order,
        padding=int(rng.integers(3)),
        exchange=bool(rng.integers(6) == 0),
        columns=sum(block) % 2 == 1,
    )
    return Plan(TimeTiles(int(rng.choice([1, 2, 3, 4, 9]))), (kernel,))


WARPS: Mapping[int, tuple[tuple[int, ...], ...]] = MappingProxyType(
    {
        1: ((32,), (64,)),
        2: ((1, 32), (2, 32), (4, 8), (2, 16), (4, 16), (2, 64)),
        3: ((1, 1, 32), (2, 2, 8), (2, 1, 16)),
    }
)
"""Blocks of whole warps, by dimensions."""


def split_steps_plan(program: Program, rng: np.random.Generator, rows: int = 1) -> Plan:
    """Return tiles of warps that are partly in registers: random blocks, tiles, fractions, steps, order and details.

    Blocks have at least `rows` threads along x.
    """
    dims = len(required_time_loop(program).extents)
    blocks = [block for block in WARPS[dims] if block[-1] >= rows]
    block = blocks[int(rng.integers(len(blocks)))]
    points = tuple(map(int, rng.integers(1, [2, 3, 5][3 - dims :])))
    kernel = KernelPlan(
        tuple(sorted(statement.name for statement in program.statements)),
        tuple(b * p for b, p in zip(block, points, strict=True)),
        block,
        level="sub-group",
        in_registers=int(rng.integers(1, 11)),
        order=tuple(int(k) for k in rng.permutation(dims)) if rng.integers(3) == 0 else (),
        padding=int(rng.integers(3)),
        exchange=bool(rng.integers(6) == 0),
        unroll=int(rng.integers(1, 3)),
    )
    return Plan(TimeTiles(int(rng.choice([1, 2, 3]))), (kernel,))
