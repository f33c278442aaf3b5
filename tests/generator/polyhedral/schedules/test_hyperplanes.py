"""Explicit schedules: which rows are offered, random ones against the interpreter, wavefronts of tiles as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import gcd

import numpy as np
import pytest

from experiments.exports.flat import rows_of
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from experiments.words import describe_schedule
from explorer.registry import make_explorer
from generator.errors import IllegalPlan, InputError
from generator.explain import explain, host_lines, why
from generator.frontend_c.source import Compilation
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.core.assemble import lower
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.polyhedral.schedules import candidates, hyperplanes
from generator.polyhedral.schedules.hyperplanes import MOST_WEIGHT, O3
from generator.polyhedral.schedules.kernels import schedule_kernels
from generator.schedules.hyperplanes import Hyperplanes, LoopNest, NestPath, Row
from generator.target import Target
from graph.o3 import make_o3_space
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, replay, uniform
from graph.space import DeadEnd, Decision, Option
from tests.support.hyperplanes import (
    ARRAYS,
    PROGRAMS,
    SEIDEL_TILES,
    brute_force,
    check,
    one,
    processor_s,
    program,
    random_kernels,
    random_rows,
    random_walk_plan,
)
from tests.support.nests import nest_texts
from tests.support.orders import conflicts
from tests.support.plans import TARGET
from tests.support.programs import program_of, scop
from tests.support.slow import counted, few
from tests.support.suite import ODD_SIZES, large_program, polybench_program
from tests.support.suite import TARGET as DEVICE

CUDA = Target("cuda test", "cuda", 1024, (1024, 1024, 64), 48 * 1024, 8, True, False)
REASON = re.compile(r"isl |loops do not run what they should|loops run an instance of S\d+ twice|S\d+(\(.*\))? "
                    r"depends on S\d|no atomic updates of|was given up")


@pytest.mark.parametrize(("name", "count"), counted(PROGRAMS, ("jacobi", "seidel"), 3, 6))
def test_random_walks_compute_what_the_program_computes(name: str, count: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(count):
        rng = np.random.default_rng(seed)
        plan = random_walk_plan(program(name), rng)
        assert plan is not None
        counts[check(program(name), plan, rng)] += 1
    assert all(reason == "right" or REASON.search(reason) for reason in counts), counts
    assert counts["right"] >= 2 * count // 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_by_hand_are_right_or_refused(name: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(10):
        rng, found = np.random.default_rng(seed), program(name)
        schedule = random_rows(found, rng)
        try:
            plan = Plan(schedule, random_kernels(found, schedule, rng))
        except IllegalPlan as error:
            assert REASON.search(str(error)), error
            counts["refused"] += 1
            continue
        result = check(found, plan, rng)
        assert result == "right" or REASON.search(result), result
        counts["right" if result == "right" else "refused"] += 1
    assert counts["refused"]


def random_program(seed: int) -> str:
    """What becomes of a random nest on a random walk: `right`, a refusal, or `none` where no row is legal."""
    rng = np.random.default_rng(seed)
    try:
        found = program_of(nest_texts(seed)[0])
    except InputError:
        return "empty"
    plan = random_walk_plan(found, rng)
    if plan is None:
        return "none"
    result = check(found, plan, rng)
    assert result == "right" or REASON.search(result), result
    return "right" if result == "right" else "refused"


@pytest.mark.parametrize(("count", "right"), few([(4, 5), (12, 12)], 1))
def test_random_programs(count: int, right: int) -> None:
    """The last three: tiles with no row inside; rows with and without tiles; a component without rows."""
    assert Counter(random_program(seed) for seed in (*range(count), 577, 617, 693))["right"] >= right


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 1100, 100))
def test_many_random_programs(start: int) -> None:
    assert Counter(random_program(seed) for seed in range(start, start + 100))["right"] >= 75


def legal(pairs: list[tuple[tuple[int, ...], tuple[int, ...]]], vector: tuple[int, ...], parallel: bool) -> bool:
    """Whether a row orders all dependent pairs (or, parallel, runs none apart), by trying each."""
    distances = [sum(c * (b - a) for c, a, b in zip(vector, before, after, strict=True)) for before, after in pairs]
    return not any(distances) if parallel else min(distances) >= 0


@pytest.mark.parametrize("name", ["seidel", "triangle"])
def test_offered_rows_are_all_legal_ones(name: str) -> None:
    """Against brute force over all pairs of instances and all coefficients in [-2, 2]."""
    found = program(name)
    pairs = [(a[1], b[1]) for a, b in conflicts(found, set())]
    dims = len(found.statement("S0").iterators)
    vectors = [v for v in product(range(-2, 3), repeat=dims) if gcd(*v) == 1]
    expected = {v for v in vectors if legal(pairs, v, False)}
    offered = {row[0][:-1] for row in O3(found).band((), (), ("S0",), ())}
    assert offered == {v for v in expected if tuple(-c for c in v) not in expected or v > tuple(-c for c in v)}


CROSSED = ("for (i = 1; i < 14; i++) for (j = 0; j < 14; j++) { A[i][j] = B[i-1][j] * 2; "
           "B[i][j] = A[i-1][j+1] + C[i][j]; }")
TOGETHER = ("S0", "S1")


@pytest.mark.parametrize(("text", "place", "legal_rows"), [
    (PROGRAMS["jacobi"], (), 3), (PROGRAMS["jacobi"], ((TOGETHER, ((2, 1, 0), (2, 1, 1))),), 1),
    (CROSSED, (), 8), (CROSSED, ((TOGETHER, ((1, 2, 0), (1, 2, 1))),), 1)])
def test_rows_of_two_statements_are_all_legal_ones_but_for_the_filters(text: str, place: NestPath,
                                                                       legal_rows: int) -> None:
    """Against brute force modulo the rows outside, which has the filters of single rows; and those of `offer`: if there
    are parallel rows, no others; else, where two loops are left, those with most that is parallel right inside."""
    found = program_of(scop(text, ARRAYS))
    question, rows = brute_force(found, place), O3(found)
    offer = rows.offer((), place, TOGETHER, False)
    assert {*offer.permute, *offer.skew} == question.rows(False) and not offer.parallel
    assert len(question.rows(False)) == legal_rows
    offer = rows.offer((), place, TOGETHER, True)
    parallel = question.rows(True)
    promises = {row: question.promise(row) for row in question.rows(False)}
    best = {row for row, promise in promises.items() if promise == max(promises.values())}
    assert {*offer.permute, *offer.skew} == (parallel or best) and offer.parallel == bool(parallel)


def test_candidates_of_three_statements_in_three_loops_take_less_than_a_second() -> None:
    """And a fourth statement in two loops. Nothing is remembered of a program with another name."""
    found, seconds = polybench_program("fdtd-2d", ODD_SIZES["fdtd-2d"]), []
    for number in range(2):
        begin = processor_s()
        rows = O3(replace(found, name=f"unknown {number}"))
        (component,) = rows.inside((), (), ()).components
        assert rows.offer((), (), component.statements, True).skew and rows.band((), (), component.statements, ())
        seconds.append(processor_s() - begin)
    assert min(seconds) < 1, seconds


def test_no_row_at_all_is_told_from_no_row_among_those_that_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def dead_end(name: str) -> str:
        found = replace(program("jacobi"), name=name)  # nothing is remembered of it
        with pytest.raises(DeadEnd) as caught:
            make_o3_space(partial(kernel_shapes, found), O3(found), TARGET)(Nobody())
        return str(caught.value)

    monkeypatch.setattr(candidates, "MOST_JOINED", 0)
    assert dead_end("cut") == "no legal row was found for S0, S1 for loop 1; there are too many combinations to try all"
    monkeypatch.setattr(hyperplanes, "find_rows", lambda *_: candidates.Found((), False))
    assert dead_end("all tried") == "no row with coefficients in [-2, 2] is legal for S0, S1 for loop 1"


class Nobody:
    """Is never asked."""

    def choose(self, decision: Decision, options: Sequence[Option]) -> Option:
        raise AssertionError(decision)


def test_candidates_of_a_component_of_four_statements_are_counted() -> None:
    """The electromagnetic fields of fdtd-2d: hyperplanes with constants, among them those that Pluto finds."""
    found = polybench_program("fdtd-2d", ODD_SIZES["fdtd-2d"])
    rows = O3(found)
    component, = rows.inside((), (), ()).components
    assert (component.statements, component.left) == (("S0", "S1", "S2", "S3"), 3)
    offer = rows.offer((), (), component.statements, True)
    assert (len(offer.permute), offer.parallel, offer.tilable) == (1, False, True)
    along_i: Row = ((1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 0), (1, 1, 0, 1))
    assert along_i in offer.skew
    assert along_i in rows.band((), (), component.statements, offer.permute)
    assert len(offer.skew) == 18


def test_outer_loops_are_parallel_where_they_can_be() -> None:
    for name, loops in (("product", 2), ("pair", 1), ("jacobi", 1)):
        for seed in range(8):
            rng = np.random.default_rng(seed)
            plan = random_walk_plan(program(name), rng)
            assert plan is not None
            assert isinstance(plan.schedule, Hyperplanes)
            whole = {nest.statements for nest in plan.schedule.nests if not nest.parts}  # others part after a loop
            for part in schedule_kernels(program(name), plan.schedule).kernels:
                depth = len(program(name).statement(part.statements[0]).iterators)
                wanted = min(loops, depth) if part.statements in whole else 1
                assert len(part.parallel) >= wanted, plan.to_json()


def test_a_walk_is_replayed_and_comes_from_a_plan() -> None:
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    options = RunOptions("x.c", Compilation(), Budget(evaluations=1), level="o3")
    space = PARTS.make_space(found, DEVICE, options)
    walks = [OptimizationGraph().walk(space, uniform(np.random.default_rng(seed))) for seed in range(12)]
    for walk in walks:
        assert walk is not None
        again = OptimizationGraph().walk(space, replay(walk.choices, first))
        assert again is not None
        assert again.plan == walk.plan == plan_from_json(walk.plan.to_json())
    tiled = PARTS.starts(found, DEVICE, options)[-1]
    assert isinstance(tiled.plan.schedule, Hyperplanes)
    assert tiled.plan.schedule.nests[0].wavefront == (8, 32, 32)
    assert len(tiled.plan.schedule.nests[0].rows) == 3
    assert len(make_explorer("random", space, 3).ask(5)) == 5


def test_answers_are_remembered() -> None:
    found = program("waves")
    rows = O3(found)
    component, = rows.inside((), (), ()).components
    assert rows.offer((), (), component.statements, True) is rows.offer((), (), component.statements, True)


BAD: dict[str, tuple[str, str]] = {
    "not all statements": ('{"nests": []}', "must hold each of S0 once; they hold"),
    "too short": ('{"nests": [{"statements": ["S0"], "rows": [[[1, 0]]]}]}',
                  "a row of S0 has 2 numbers; it has 3 iterators"),
    "dependent rows": ('{"nests": [{"statements": ["S0"], "rows": [[[1,0,0,0]], [[2,0,0,0]], [[0,1,0,0]]]}]}',
                       "do not tell all its iterations apart: 2 of them are independent, it has 3"),
    "backwards": ('{"nests": [{"statements": ["S0"], "rows": [[[-1,0,0,0]], [[0,1,0,0]], [[0,0,1,0]]]}]}',
                  "runs a dependence backwards"),
    "one tile size": (('{"nests": [{"statements": ["S0"], "rows": [[[1,0,0,0]], [[0,1,0,0]], [[0,0,1,0]]], '
                      '"wavefront": [4]}]}'), "a wavefront of tiles needs 2 rows or more"),
    "no band": (('{"nests": [{"statements": ["S0"], "rows": [[[1,0,0,0]], [[0,1,0,0]], [[0,0,1,0]]], '
                '"wavefront": [2, 2, 2]}]}'), "depends on S0"),
}


@pytest.mark.parametrize("name", BAD)
def test_schedules_that_do_not_fit(name: str) -> None:
    text, message = BAD[name]
    plan = plan_from_json('{"schedule": ' + text + ', "kernels": []}')
    with pytest.raises(IllegalPlan, match=re.escape(message)):
        kernel_shapes(program("seidel"), plan.scheduled)
        shapes = kernel_shapes(program("seidel"), plan.scheduled)
        kernels = tuple(KernelPlan(s.statements, (2,) * len(s.extents), (1,) * len(s.extents)) for s in shapes)
        lower(program("seidel"), Plan(plan.schedule, kernels), TARGET)


@pytest.mark.parametrize(("text", "message"), [
    ('{"nests": 3}', "a list of loop nests"), ('{"nests": [{"rows": []}]}', "lacks the field 'statements'"),
    ('{"nests": [{"statements": ["S0"], "rows": [[1]]}]}', "a row is a list with one list of integers per statement"),
    ('{"nests": [{"statements": ["S0"], "wavefront": [0]}]}', "positive integers, one per tiled row")])
def test_bad_json(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        plan_from_json('{"schedule": ' + text + ', "kernels": []}')


def test_statements_of_a_plan_may_come_in_any_order() -> None:
    text = '{"schedule": {"nests": [{"statements": ["S1", "S0"], "rows": [[[7, 8], [1, 2]]]}]}, "kernels": []}'
    assert plan_from_json(text).schedule == Hyperplanes((LoopNest(("S0", "S1"), (((1, 2), (7, 8)),)),))


@pytest.mark.parametrize(("target", "kind"), [(DEVICE, "cl"), (CUDA, "cu")])
def test_text_of_tiles_along_wavefronts(target: Target, kind: str, golden: Callable[[str, str], None]) -> None:
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    plan = Plan(Hyperplanes((SEIDEL_TILES,)), (KernelPlan(("S0",), (1, 1), (1, 1)),))
    variant = lower(found, plan, target)
    host = "".join(f"// host: {line}\n" for line in host_lines(variant.host))
    golden(f"seidel-2d-wavefront.{kind}", host + variant.source)


def test_explain_shows_rows_and_tiles() -> None:
    found = polybench_program("seidel-2d", ODD_SIZES["seidel-2d"])
    plan = Plan(Hyperplanes((SEIDEL_TILES,)), (KernelPlan(("S0",), (1, 1), (1, 1)),))
    text = explain(found, plan, DEVICE)
    assert "loop: S0 at 2 * t + i + j" in text
    assert "the first 3 loops in tiles of (2, 8, 16), which run along wavefronts" in text
    assert why(found, plan, DEVICE).startswith("The plan is legal")


def test_words_for_explicit_schedules() -> None:
    nest = one(("S0", "S1"), (1, 0, 0), (2, 1, 1), wavefront=(4, 8), parts=(LoopNest(("S0",)), LoopNest(("S1",))))
    plan = Plan(Hyperplanes((nest,), ("S1",)), ())
    assert describe_schedule(plan.scheduled) == (
        "schedule: S0 S1 by (1,0,0 1,0,0, 2,1,1 2,1,1) in tiles of 4x8 along wavefronts (S0 | S1); parallel "
        "reductions: S1")
    assert rows_of([plan])[0]["schedule_nests"] == "[S0 S1 <1 0 0|1 0 0> <2 1 1|2 1 1> ~4x8[S0][S1]]"


def weight(row: Row) -> int:
    return max(sum(abs(c) for c in vector[:-1]) for vector in row)


def test_tiles_that_take_long_to_generate_are_not_on_offer() -> None:
    """Bands of heat-3d have four rows if their coefficients are small, and three otherwise."""
    rows, rng = O3(large_program("heat-3d")), np.random.default_rng(1)
    names = rows.inside((), (), ()).components[0].statements

    def band(pick: Callable[[tuple[Row, ...]], Row]) -> tuple[Row, ...]:
        found: tuple[Row, ...] = ()
        while offered := rows.band((), (), names, found):
            found = (*found, pick(offered))
        return found

    assert len(band(lambda offered: min(offered, key=weight))) == 4
    for _ in range(20):
        found = band(lambda offered: offered[rng.integers(len(offered))])
        assert len(found) == 3 or sum(map(weight, found)) <= MOST_WEIGHT
