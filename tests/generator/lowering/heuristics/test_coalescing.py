"""Coalescing: what neighbouring threads touch in global memory by the static model, and what the first plans do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from generator.facts import Access, KernelFacts
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.neighbours import neighbours_along_x, spread
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.time_tiles import TimeTiles
from metrics.device_model import device_model
from metrics.transactions import request
from tests.support.cli import antune_command
from tests.support.programs import program_of, scop
from tests.support.slow import few, in_turn
from tests.support.space_plans import first_walks
from tests.support.suite import ALL_NAMES, ODD_SIZES, TARGET, polybench_program
from tests.support.targets import HOPPER

ALIGNED = {"gemm": ("NI=64", "NJ=128", "NK=96"), "mvt": ("N=128",), "atax": ("M=64", "N=128"), "gemver": ("N=128",),
           "jacobi-2d": ("N=128", "TSTEPS=20"), "doitgen": ("NQ=8", "NR=16", "NP=64")}
QUICK = ("gemver", "mvt")
FLOAT = ("DATA_TYPE_IS_FLOAT",)
# Products of a matrix and a vector whose only parallel loop runs over the rows of A: with a point per thread,
# as some starts have it, neighbours read different rows. In the default plan and in other starts blocks copy A
# into shared memory first.
A_ROW_PER_THREAD = {"atax": "S2", "gemver": "S3", "mvt": "S0"}
# What no choice of x coalesces, by program and array: threads follow the columns of what is written.
SPREAD = {"adi": {"p", "q", "u"}, "cholesky": {"A"}, "correlation": {"corr"}, "covariance": {"cov"},
          "deriche": {"imgOut", "y1", "y2"}, "floyd-warshall": {"path"}, "gramschmidt": {"A", "Q"}, "lu": {"A"},
          "nussinov": {"table"}, "seidel-2d": {"A"}, "trisolv": {"L"}}


def access(strides: tuple[int | None, ...], *, size: int = 4, origin: int = 0, spacing: int = 0) -> Access:
    return Access("A", "global", "read", size, (1 << 20,), 1.0, strides, origin, spacing, ())


@pytest.mark.parametrize(("strides", "coalesced"), [
    ((), True), ((0,), True), ((1,), True), ((-1, 9), True), ((2,), False), ((40, 1), False), ((None,), False)])
def test_neighbours_along_x_decide(strides: tuple[int | None, ...], coalesced: bool) -> None:
    found = access(strides)
    assert found.coalesced is coalesced
    assert found.neighbour_stride == (strides[0] if strides else 0)


@pytest.mark.parametrize(("strides", "block", "size", "sectors", "least"), [
    ((1,), (32,), 4, 4, 4), ((1,), (32,), 8, 8, 8), ((0,), (64,), 8, 1, 1), ((100,), (32,), 4, 32, 4),
    ((2,), (32,), 4, 8, 4), ((1, 1000), (16, 32), 4, 4, 4), ((1, 1000), (4, 4), 4, 4, 2), ((None,), (32,), 4, 32, 4),
    ((1,), (8,), 4, 1, 1), ((0, 1), (16, 32), 4, 1, 1)])
def test_sectors_of_a_request(strides: tuple[int | None, ...], block: tuple[int, ...], size: int, sectors: float,
                              least: float) -> None:
    found = request(access(strides, size=size), block, 32, 32)
    assert (found.sectors, found.least) == (sectors, least)


@pytest.mark.parametrize("name", few(sorted(ALIGNED), ("mvt",)))
def test_the_default_plan_is_coalesced_on_a_gpu(name: str) -> None:
    """Every access to global memory: neighbours along x share it, and a warp moves no sector more than it has to."""
    program = polybench_program(name, (*ALIGNED[name], *FLOAT))
    for facts in kernel_facts(program, default_plan(program, HOPPER), HOPPER):
        assert not wasteful(facts), facts.statements


def wasteful(facts: KernelFacts, run: int = 1) -> list[Access]:
    """The accesses to global memory that are not coalesced, or with which a warp moves sectors that it need not.

    A thread of a `run` reads neighbours one after the other where they are not aligned: from the sectors that its
    first access brought into the first-level cache.
    """
    model, found = device_model(HOPPER), []
    for one in facts.accesses:
        asked = request(one, facts.block, model.warp, model.sector_bytes)
        shifted = 1 if one.origin % 8 or one.spacing % 8 else 0  # a row that begins inside a sector
        rows = model.warp // min(model.warp, facts.block[0])
        least = asked.least + shifted * rows
        if one.space == "global" and not ((one.coalesced or run > 1) and asked.sectors / run <= least):
            found.append(one)
    return found


@pytest.mark.parametrize("name", few(sorted(ALIGNED), ("mvt",)))
def test_what_a_search_starts_with_is_coalesced_on_a_gpu(name: str) -> None:
    """Also with several time steps per launch; but for A_ROW_PER_THREAD, and for atomic updates of the columns that a
    thread sums up: it updates them one after the other.
    """
    program = polybench_program(name, (*ALIGNED[name], *FLOAT))
    plans, known = first_walks(program, "o2", HOPPER), False
    for plan in plans:
        for facts in kernel_facts(program, plan, HOPPER):
            run = plan.kernel(facts.statements).run
            several = plan.scheduled.reductions and run > 1
            found = {(one.array, one.mode) for one in wasteful(facts, run) if not (several and one.mode == "atomic")}
            if found and A_ROW_PER_THREAD.get(name) in facts.statements:
                assert found == {("A", "read")} and not plan.kernel(facts.statements).shared
                known = True
            else:
                assert not found, (facts.statements, plan.to_json())
    assert known == (name in A_ROW_PER_THREAD), "where the list says so, and nowhere else"
    assert any(isinstance(plan.schedule, TimeTiles) for plan in plans) == (name == "jacobi-2d")


def spreading(program: Program, plan: Plan) -> set[str]:
    return {a.array for f in kernel_facts(program, plan, HOPPER) for a in f.accesses
            if a.space == "global" and not a.coalesced}


@pytest.mark.parametrize("name", [n if n == "syrk" else pytest.param(n, marks=pytest.mark.slow)
                                  for n in ALL_NAMES])
def test_what_is_not_coalesced_is_known(name: str) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    assert spreading(program, default_plan(program, HOPPER)) == SPREAD.get(name, set())


@in_turn
@pytest.mark.parametrize(("name", "statement"), [("symm", "S1"), ("gramschmidt", "S6")])
def test_another_dimension_becomes_x_where_that_is_better(name: str, statement: str) -> None:
    program = polybench_program(name, ODD_SIZES[name])
    plan = default_plan(program, HOPPER)
    kernel = plan.kernel((statement,))
    assert kernel.order == (1, 0)
    as_scheduled = replace(plan, kernels=tuple(replace(k, order=()) for k in plan.kernels))
    before, after = ({f.statements: spread(f) for f in kernel_facts(program, p, HOPPER)} for p in (as_scheduled, plan))
    assert before[(statement,)] > after[(statement,)] == 0
    assert all(k.order == () for k in plan.kernels if k is not kernel)
    assert neighbours_along_x(program, plan, HOPPER) == plan
    for start in start_plans(program, HOPPER):
        assert start.kernel((statement,)).order == (1, 0)
        lower(program, start, HOPPER)


def test_the_default_of_a_cpu_stays_that_of_ppcg() -> None:
    cpu = replace(TARGET, shares_host_cores=True)
    for name in ("symm", "doitgen"):
        program = polybench_program(name, ODD_SIZES[name])
        plan = default_plan(program, cpu)
        assert all(k.order == () for k in plan.kernels)
        assert {k.block for k in plan.kernels if len(k.block) == 3} == ({(32, 4, 4)} if name == "doitgen" else set())


def test_threads_of_three_dimensions_lie_along_x() -> None:
    program = polybench_program("doitgen", ODD_SIZES["doitgen"])
    assert {k.block for k in default_plan(program, HOPPER).kernels} == {(4, 4, 32)}


COLUMNS = """void columns(float A[64][96], float B[64][96]) {
#pragma scop
  for (int j = 0; j < 96; j++)
    for (int i = 0; i < 64; i++)
      B[i][j] = 2.0f * A[i][j];
#pragma endscop
}
"""


def test_explain_tells_what_is_coalesced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "columns.c"
    file.write_text(COLUMNS)
    assert antune_command(monkeypatch)("explain", file, "--device", "deterministic") == 0
    out = capsys.readouterr().out
    assert "its parallel dimensions in the order 1, 0 of the schedule; the last is x" in out
    section = out.split("== Global memory")[1].split("== Static model")[0]
    assert "read A: coalesced, neighbours touch elements 1 apart; 4 sectors (at least 4); 2 per thread" in section
    by_hand = tmp_path / "plan.json"
    by_hand.write_text(Plan(ScheduleChoice(), (KernelPlan(("S0",), (32, 32), (1, 32)),)).to_json())
    assert antune_command(monkeypatch)("explain", file, "--device", "deterministic", "--plan", by_hand) == 0
    section = capsys.readouterr().out.split("== Global memory")[1].split("== Static model")[0]
    assert (
        "write B: not coalesced, neighbours touch elements 96 apart; 32 sectors (at least 4); 32 per thread" in section
    )


@pytest.mark.parametrize(("read", "turned"), [("a[i][2 * j]", None), ("a[j][2 * i]", None), ("a[j][i]", (1, 0))])
def test_only_dimensions_along_which_a_transfer_may_be_closer_are_tried(
    read: str, turned: tuple[int, ...] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subscripts tell that neighbours along `i` read no closer elements of `a` either, so no kernel is generated."""
    text = scop(f"for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) b[{'j][i' if turned else 'i][j'}] = {read};",
                "float a[128][128], b[64][64];")
    program = program_of(text)
    plan = Plan(ScheduleChoice(), (KernelPlan(("S0",), (8, 32), (8, 32)),))
    if turned is None:
        monkeypatch.setattr("generator.lowering.heuristics.neighbours.some_facts", None)
    assert neighbours_along_x(program, plan, HOPPER).kernels[0].order == (turned or ())
