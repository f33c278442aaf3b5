"""Random loops over time around sweeps as C text, and random plans that run several of their steps per launch."""

from __future__ import annotations

import numpy as np

from generator.plan import KernelPlan, Plan, TimeTiles
from generator.polyhedral.time_steps import required_time_loop
from generator.program import Program

_ITERATORS = "ijk"
_EXTENTS = {1: (10, 40), 2: (10, 14), 3: (7, 8)}
_REACH = {1: 2, 2: 2, 3: 1}


def sweeps_text(seed: int) -> str:
    """A C file; most of what it holds is a loop over time as `time_loop` knows them, some are not quite."""
    rng = np.random.default_rng(seed)
    dims = int(rng.choice([1, 2, 2, 2, 3]))
    low, high = _EXTENTS[dims]
    extents = [int(n) for n in rng.integers(low, high + 1, dims)]
    names = "ABC"[:int(rng.integers(1, 4))]
    kind = str(rng.choice(["float", "int"]))
    declared = [f"{name}{''.join(f'[{n + int(rng.integers(3))}]' for n in extents)}" for name in (*names, "R")]
    first, steps = int(rng.integers(3)), int(rng.integers(1, 9))
    sweeps = [_sweep(rng, names, extents) for _ in range(int(rng.integers(1, 4)))]
    lines = [line for sweep in sweeps for line in sweep]
    return "\n".join([f"{kind} {', '.join(declared)}, w[{first + steps}];", "void f(void) {", "  int t, i, j, k;", "#pragma scop",
                      f"  for (t = {first}; t < {first + steps}; t++) {{", *lines, "  }", "#pragma endscop", "}", ""])


def _sweep(rng: np.random.Generator, names: str, extents: list[int]) -> list[str]:
    """A nest over the inside of an array, or over one of its sides."""
    target = str(rng.choice(list(names)))
    side = int(rng.integers(len(extents))) if rng.integers(4) == 0 else None
    shift = int(rng.integers(-1, 2))
    own = [str(0) if d == side else f"{_ITERATORS[d]} + {shift}" if shift and not d else _ITERATORS[d] for d in range(len(extents))]
    parts = [_read(rng, target, names, extents, side, shift) for _ in range(int(rng.integers(1, 5)))]
    value = " + ".join(str(rng.choice([part, f"3 * {part}"])) for part in parts)
    op = str(rng.choice(["=", "=", "=", "+="]))
    text = f"{target}{''.join(f'[{index}]' for index in own)} {op} {value};"
    for d in reversed(range(len(extents))):
        if d != side:
            margin = _REACH[len(extents)] + 1
            begin, end = margin + int(rng.integers(2)), extents[d] - margin - int(rng.integers(2))
            text = f"for ({_ITERATORS[d]} = {begin}; {_ITERATORS[d]} < {end}; {_ITERATORS[d]}++) {text}"
    return [f"    {text}"]


def _read(rng: np.random.Generator, target: str, names: str, extents: list[int], side: int | None, shift: int) -> str:
    """An element: of an array that is written, nearby; of one that is only read; of a list by time."""
    choice = rng.integers(6)
    if choice == 0:
        return "w[t]"
    name = str(rng.choice([*names, "R"]))
    near = name == target and rng.integers(12) > 0
    index, reach = [], _REACH[len(extents)]
    for d in range(len(extents)):
        distance = (shift if not d else 0) if near else int(rng.integers(-reach, reach + 1))
        if d == side:
            index.append(str(0 if near else abs(distance)))
        else:
            index.append(_ITERATORS[d] + (f" + {distance}" if distance > 0 else f" - {-distance}" if distance else ""))
    return name + "".join(f"[{i}]" for i in index)


def time_plan(program: Program, rng: np.random.Generator) -> Plan:
    """Random steps, sizes (often no powers of two), order and details."""
    dims = len(required_time_loop(program).extents)
    block = [int(rng.choice([1, 1, 2, 3])) for _ in range(dims)]
    tile = tuple(b * int(rng.choice([1, 2, 3, 5])) for b in block)
    order = tuple(int(k) for k in rng.permutation(dims)) if rng.integers(2) else ()
    statements = tuple(sorted(statement.name for statement in program.statements))
    kernel = KernelPlan(statements, tile, tuple(block), unroll=int(rng.integers(1, 4)), order=order, padding=int(rng.integers(3)),
                        exchange=bool(rng.integers(6) == 0))
    return Plan(TimeTiles(int(rng.choice([1, 2, 3, 4, 9]))), (kernel,))
