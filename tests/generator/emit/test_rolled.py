"""Long loops of blocks of one thread stay loops for Intel's compiler."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generator.emit.rolled import LEAST_ROUNDS, with_rolled_loops
from generator.expr import Binary, Expr, Int, Load, Name
from generator.lowering import lower
from generator.nest import Assign, For, If, Node
from tests.support.suite import TARGET
from tests.support.teams import chain, chain_plan

X = Name("x")
STORE = Assign(Load("out", (X,)), "", Int(0))


def loop(bound: Expr, op: str = "<", start: int = 0, body: tuple[Node, ...] = (STORE,), unroll: int = 1) -> For:
    return For("x", Int(start), Binary(op, X, bound), 1, body, unroll=unroll)


@pytest.mark.parametrize(
    "node",
    [loop(Int(LEAST_ROUNDS)), loop(Int(1535), "<="), loop(Int(100), start=9, unroll=0)],
    ids=["just long enough", "to the end", "copies"],
)
def test_long_loops_stay(node: For) -> None:
    assert with_rolled_loops((node,)) == (replace(node, rolled=True),)
    around = If(Binary("<", Name("b"), Int(3)), (loop(Int(4), body=(node,)),))
    rolled = replace(loop(Int(4), body=(replace(node, rolled=True),)), rolled=True)
    assert with_rolled_loops((around,)) == (replace(around, then=(rolled,)),), "unrolled, its rows are no vectors"
    wanted = loop(Int(4), body=(node,), unroll=2)
    assert with_rolled_loops((wanted,)) == (replace(wanted, body=(replace(node, rolled=True),)),)


@pytest.mark.parametrize(
    "node",
    [loop(Int(LEAST_ROUNDS - 1)), loop(Name("n")), loop(Int(100), unroll=4), loop(Int(100), start=90)],
    ids=["short", "unknown", "the plan unrolls it", "short from there on"],
)
def test_others_are_left_to_the_compiler(node: For) -> None:
    assert with_rolled_loops((node,)) == (node,)


def test_marks_of_streamed_rows_stay_around_short_loops() -> None:
    """A part of a row whose elements are sums of three: `emit/streams.py` has marked the loop over the part."""
    part = replace(loop(Name("end"), "<=", body=(loop(Int(3)),)), rolled=True)
    assert with_rolled_loops((part,)) == (part,)


def test_only_where_a_thread_of_intels_runtime_is_alone() -> None:
    plan, intel = chain_plan("block", (8, 64), (1, 1)), replace(TARGET, intel_cpu=True)
    assert "#pragma unroll 1\n" in lower(chain(), plan, intel).source
    assert "#pragma unroll 1\n" not in lower(chain(), plan, TARGET).source
    assert "#pragma unroll 1\n" not in lower(chain(), chain_plan("block", (8, 64), (1, 2)), intel).source
