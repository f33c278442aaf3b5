"""Neighbours at places chosen by data are loaded together, and are the same numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from experiments.suites.image_pipelines import pipeline
from generator.emit.pairs import AS_FLOAT, PAIR, PAIR_FUNCTION, with_pairs
from generator.expr import Binary, Call, Cast, Expr, Int, Load, Name, Select, Unary
from generator.lowering import lower
from generator.lowering.heuristics.usual import usual_plan
from generator.nest import Assign, Declare, For, Node
from generator.program import Array
from generator.schedules.stages import Stages
from metrics.outcome import Timed
from tests.support.bench import outcomes_of
from tests.support.devices import device_named, has_intel
from tests.support.slow import in_turn
from tests.support.suite import small_problem
from tests.support.targets import CPU

X, Z = Name("x"), Load("z", (Name("x"),))
GRID = Array("grid", "float", (4, 16), "in")
INTEL = replace(CPU, intel_cpu=True)


def grid(column: Expr, row: Expr = Z) -> Load:
    return Load("grid", (row, column))


def plus(*terms: Expr) -> Expr:
    first, *others = terms
    for term in others:
        first = Binary("+", first, term)
    return first


def loop(value: Expr, target: str = "out") -> For:
    return For("x", Int(0), Binary("<", X, Int(64)), 1, (Assign(Load(target, (X,)), "", value),))


def rounded(*terms: Expr) -> Expr:
    return Cast("int", plus(*terms))


U, V, W = (Load(name, (X,)) for name in "uvw")
CELL = Binary("/", X, Int(8))
NEXT = plus(CELL, Int(1))


def test_neighbours_at_a_place_that_data_choose_are_loaded_together() -> None:
    pair = Load(f"{PAIR}_0")
    (made,) = with_pairs((loop(Binary("-", grid(NEXT), grid(CELL))),), (GRID,), ())
    low, high = Call(AS_FLOAT, (pair,)), Call(AS_FLOAT, (Binary(">>", pair, Int(32)),))
    assert made == replace(loop(Int(0)), body=(
        Declare(pair.array, "unsigned long", ()), Assign(pair, "", Call(PAIR, (Unary("&", grid(CELL)),))),
        Assign(Load("out", (X,)), "", Binary("-", high, low))))


@pytest.mark.parametrize(
    ("node", "array", "elsewhere"),
    [
        (loop(plus(grid(X, Int(0)), grid(plus(X, Int(1)), Int(0)))), GRID, ()),
        (loop(plus(grid(CELL), grid(plus(CELL, Int(2))))), GRID, ()),
        (loop(plus(grid(CELL), grid(NEXT, plus(Z, Int(1))))), GRID, ()),
        (loop(Select(Binary("<", X, Int(9)), grid(CELL), grid(NEXT))), GRID, ()),
        (loop(plus(grid(CELL), grid(NEXT)), "grid"), GRID, ()),
        (loop(plus(grid(CELL), grid(NEXT))).body[0], GRID, ()),
        (loop(plus(grid(CELL), grid(NEXT))), replace(GRID, type="double"), ()),
        (loop(plus(grid(CELL), grid(NEXT))), replace(GRID, name="other"), ()),
        (loop(plus(grid(CELL), grid(NEXT))), GRID, ("grid",)),
        (loop(plus(grid(X, Load("z")), grid(plus(X, Int(1)), Load("z")))), GRID, ()),
        (loop(plus(grid(rounded(U, V, W)), grid(plus(rounded(U, plus(V, W)), Int(1))))), GRID, ()),
    ],
    ids=["a stencil", "a gap", "other rows", "one of both", "written", "no loop", "double", "in shared memory",
         "a texture", "along a chosen row",
         "floating-point sums in another order"],
)
def test_other_loads_stay(node: Node, array: Array, elsewhere: Sequence[str]) -> None:
    assert with_pairs((node,), (array,), elsewhere) == (node,)


def value_of(expr: Expr, memory: Mapping[int, float], pairs: Mapping[str, int]) -> float | int:
    """Evaluate sums, with element (0, column) of the grid in memory[column]; `pairs` are integers of 64 bits."""
    match expr:
        case Binary("+", left, right):
            return value_of(left, memory, pairs) + value_of(right, memory, pairs)
        case Binary(">>", Load(name), Int(bits)):
            return pairs[name] >> bits
        case Call("antune_as_float", (bits_of,)):
            whole = value_of(bits_of, memory, pairs)
            assert isinstance(whole, int)
            number: float = struct.unpack("<f", struct.pack("<I", whole & 0xFFFFFFFF))[0]
            return number
        case Load("grid", (_, Int(column))):
            return memory[column]
        case Load(name):
            return pairs[name]
    raise AssertionError(expr)


@pytest.mark.parametrize("columns", [(3, 4), (4, 3), (0, 1, 2), (0, 1, 2, 3), (2, 0, 1), (5, 5, 6), (1, 3, 5)])
def test_pairs_are_the_same_numbers(columns: Sequence[int]) -> None:
    memory = {column: 1.5 ** (column + 1) for column in range(8)}
    node = loop(plus(*(grid(Int(column)) for column in columns)))
    (made,) = with_pairs((node,), (GRID,), ())
    assert isinstance(made, For)
    pairs, found = dict[str, int](), []
    for inner in made.body:
        match inner:
            case Assign(Load(name), _, Call("antune_pair", (Unary("&", Load("grid", (_, Int(first)))),))):
                pairs[name] = int.from_bytes(struct.pack("<ff", memory[first], memory[first + 1]), "little")
            case Assign(_, _, value):
                found.append(value_of(value, memory, pairs))
    assert found == [sum(struct.unpack("<f", struct.pack("<f", memory[c]))[0] for c in columns)]
    assert len(pairs) <= len(columns) // 2


def test_only_where_a_thread_of_intels_runtime_is_alone() -> None:
    program = small_problem(pipeline("bilateral_grid"))[0].program
    alone = usual_plan(program, INTEL, Stages())
    together = replace(alone, kernels=tuple(
        replace(kernel, tile=(*kernel.tile[:-1], 2), block=(*kernel.block[:-1], 2)) for kernel in alone.kernels))
    assert lower(program, alone, INTEL).source.count(f"= {PAIR}(") == 4
    assert PAIR_FUNCTION in lower(program, alone, INTEL).source
    assert PAIR not in lower(program, alone, CPU).source + lower(program, together, INTEL).source


@in_turn
@pytest.mark.skipif(not has_intel(), reason="the extra `intel` is not installed")
def test_grids_are_interpolated_rightly_on_intel() -> None:
    found = small_problem(pipeline("bilateral_grid"))[0]
    plan = usual_plan(found.program, INTEL, Stages((("interpolated", "inline"),)))
    assert lower(found.program, plan, INTEL).source.count(f"= {PAIR}(") == 8
    (outcome,) = outcomes_of(device_named("intel"), found, [plan])
    assert isinstance(outcome, Timed)
