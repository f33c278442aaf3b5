"""What keeps long pipelines quick: no call that could be spared, and the same answers without it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from antune import halide as hl
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.expr import Binary, Expr, Int, Name
from generator.frontend_c.source import Compilation
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.affine import Iteration, NotAffine, loop_domain, top
from generator.polyhedral.kit.limited import limited
from generator.polyhedral.kit.parsed import _map_of, _set_of, map_of
from generator.polyhedral.pipelines.stages import possible_stages
from generator.polyhedral.schedules import scheduling
from generator.program import Program
from generator.schedules.stages import Stages
from graph.optimization_graph import OptimizationGraph
from graph.policies import prefer, preferences, uniform
from tests.support.plans import TARGET
from tests.support.programs import pairs, program_of, scop

STAGES, MANY = 12, 100


SMALL = ((-1, 0), (0, 1))
SQUARE = tuple((i, j) for i in range(-2, 3) for j in range(-2, 3))


def chain(name: str, stages: int = STAGES, reads: Sequence[tuple[int, int]] = SMALL) -> Program:
    """A pipeline of stages in a row, each of which `reads` elements around its own; no other test has one with this
    name.
    """
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.Float(32), 2, "image")
    last: hl.Func = hl.BoundaryConditions.repeat_edge(image)
    for number in range(stages):
        stage = hl.Func(f"{name}{number}")
        stage[x, y] = sum(
            (last[x + i, y + j] * (0.5 + k) for k, (i, j) in enumerate(reads[1:])),
            last[x + reads[0][0], y + reads[0][1]],
        )
        last = stage
    return pipeline_program([last], [40, 24])


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the scheduler has asked child processes for."""
    asked: list[str] = []

    def noted(function: Callable[[], str], what: str) -> str:
        asked.append(what)
        return limited(function, what)

    monkeypatch.setattr(scheduling, "limited", noted)
    return asked


def test_stages_without_dependences_are_scheduled_without_a_child_process(children: list[str]) -> None:
    program = chain("alone")
    assert len(default_plan(program, TARGET, choice=Stages()).kernels) == STAGES + 1
    assert not children


def test_a_program_with_dependences_is_scheduled_under_a_time_limit(children: list[str]) -> None:
    default_plan(program_of(scop("for (i = 1; i < 9; i++) x[i] = x[i - 1] + 3;")), TARGET)
    assert children


def test_other_plans_read_no_text_again() -> None:
    program = chain("read")
    lower(program, default_plan(program, TARGET, choice=Stages()), TARGET)
    before = _map_of.cache_info().misses, _set_of.cache_info().misses
    for where in ("inline", "block"):
        choice = Stages(tuple(sorted((array, where) for array in list(possible_stages(program))[1::2])))
        lower(program, default_plan(program, TARGET, choice=choice), TARGET)
    assert (_map_of.cache_info().misses, _set_of.cache_info().misses) == before


def took_s(work: Callable[[], object]) -> float:
    """Seconds of processor time."""
    began_s = time.process_time()
    work()
    return time.process_time() - began_s


@pytest.mark.slow
@pytest.mark.parametrize(("name", "reads"), [("hundred", SMALL), ("squares", SQUARE)])
def test_a_hundred_stages_are_lowered_in_seconds_and_walked_through_in_no_time(
    name: str, reads: Sequence[tuple[int, int]]
) -> None:
    program = chain(name, MANY, reads)
    options = RunOptions("pipeline.py", Compilation(), Budget(1), space="pipeline")
    space, graph = PARTS.make_space(program, TARGET, options), OptimizationGraph()
    walks = [walk for seed in range(3) if (walk := graph.walk(space, uniform(np.random.default_rng(seed)))) is not None]
    plans = [default_plan(program, TARGET, choice=Stages()), *(walk.plan for walk in walks)]
    assert len(plans) == 4 and len(plans[0].kernels) == MANY + 1
    lowering = [took_s(lambda: lower(program, plan, TARGET)) for plan in plans]  # noqa: B023 - called at once

    def ask(number: int) -> None:
        """Stages as in a walk of before, whose kernels are known, and other sizes."""
        places = [choice for choice in walks[number % len(walks)].choices if choice.decision.name == "stage"]
        assert graph.walk(space, prefer(preferences(places), uniform(np.random.default_rng(number + 10)))) is not None

    asking = [took_s(lambda: ask(number)) for number in range(45)][15:]  # noqa: B023 - called at once
    print(f"lowering {max(lowering):.2f} s, asking {1000 * float(np.median(asking)):.0f} ms")
    assert max(lowering) < 3
    assert np.median(asking) < 0.05


def test_nobody_shares_what_was_read() -> None:
    text = "{ S[i] -> x[i + 1] : 0 <= i < 4 }"
    assert map_of(text) is not map_of(text)
    assert map_of(text).is_equal(map_of(text))
    assert str(map_of(text)) == str(_map_of(text))


@pytest.mark.parametrize("seed", range(40))
def test_loops_that_end_for_good_are_understood_quickly_and_right(seed: int) -> None:
    """`for (i = a; i < b && i <= c; i += s)` in a loop over j, with bounds that depend on j or even on i."""
    random = np.random.default_rng(seed)
    outer = loop_domain(top().enter("j"), Int(0), Binary("<", Name("j"), Int(6)), 1)
    step = int(random.choice([1, 2, 3])) * (1 if seed % 2 else -1)

    def bound(own: bool) -> Expr:
        names = ["j", "i"] if own else ["j"]
        return Binary(
            "+",
            Binary("*", Int(int(random.integers(-2, 3))), Name(str(random.choice(names)))),
            Int(int(random.integers(0, 9))),
        )

    def test() -> Expr:
        op = str(random.choice(["<", "<="] if step > 0 else [">", ">="]))
        return Binary(
            op, Name("i"), Binary("min", bound(False), bound(False)) if seed % 5 == 1 else bound(seed % 7 == 3)
        )

    start, condition = bound(False), Binary(str(random.choice(["&&", "||"])), test(), test())

    def found(quick: bool) -> Iteration | None:
        try:
            return loop_domain(outer.enter("i"), start, condition, step, quick)
        except NotAffine:  # a loop without end
            return None

    slow, quick = found(False), found(True)
    assert (slow is None) == (quick is None)
    assert slow is None or quick is None or slow.domain.is_equal(quick.domain)


@pytest.mark.parametrize("seed", range(12))
def test_flow_of_one_statement(seed: int) -> None:
    """Whether iterations meet at an element or not."""
    a, c = np.random.default_rng(seed).integers(0, 4, 2).tolist()
    b, d = np.random.default_rng(seed + 100).integers(0, 9, 2).tolist()
    last: dict[int, int] = {}
    expected = set()
    for i in range(7):
        if c * i + d in last:
            expected.add((("S0", (last[c * i + d],)), ("S0", (i,))))
        last[a * i + b] = i
    assert (
        pairs(model(program_of(scop(f"for (i = 0; i < 7; i++) x[{a} * i + {b}] = x[{c} * i + {d}] + 1;"))).flow)
        == expected
    )
