"""`antune explain --cost`: what models say of the kernels of a plan."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from antune.costs import cost_lines
from experiments.search.costs import find_model, judge, total
from generator.lowering.heuristics.default import default_plan
from generator.lowering.heuristics.usual import usual_plan
from generator.plan import Plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from generator.schedules.stages import Stages
from metrics.costs.base import Cost, Refused
from tests.support.cli import Antune, antune_command
from tests.support.costs import kwhz_program
from tests.support.programs import program_of, scop
from tests.support.suite import TARGET
from tests.support.targets import CPU, CUDA

BLURRED = Stages((("H", "inline"), ("K", "block"), ("W", "block")))
SCALE = """
void scale(int n, double A[n][n], double B[n][n])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      B[i][j] = 2.0 * A[i][j];
#pragma endscop
}
"""


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.c").write_text(SCALE)
    return antune_command(monkeypatch)


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("static", ["launches", "global traffic"]),
        ("sioutas", ["arithmetic", "active threads"]),
        ("polymage", ["transactions", "computed again"]),
    ],
)
def test_the_terms_of_every_kernel_are_printed(
    name: str, terms: list[str], run_antune: Antune, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_antune("explain", "scale.c", "--param", "n=600", "--device", "deterministic", "--cost", name) == 0
    out = capsys.readouterr().out
    assert f"Cost by the model {name}" in out and "kernel0: stores B; tiles of" in out
    for term in (*terms, "cost"):
        assert re.search(rf"^    {term}: +[\d.e+]+", out, re.MULTILINE), term
    assert re.search(r"^the plan: [\d.e+]+$", out, re.MULTILINE)


def test_an_unknown_model_is_refused_with_the_names(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("explain", "scale.c", "--param", "n=60", "--device", "deterministic", "--cost", "oracle") == 2
    assert "unknown cost model 'oracle'; use one of static, sioutas, polymage" in capsys.readouterr().err


def test_what_blocks_and_threads_compute_is_named() -> None:
    program = kwhz_program((150, 90))
    lines = "\n".join(cost_lines(program, usual_plan(program, CPU, BLURRED), CPU, find_model("sioutas", CPU)))
    assert "stores Z, computes K, W in its blocks, H in its threads; tiles of" in lines


def test_the_cost_of_a_plan_is_the_sum_of_its_kernels() -> None:
    program = kwhz_program((400, 300))
    judged = judge(program, default_plan(program, CUDA, choice=Stages()), CUDA, find_model("sioutas", CUDA))
    whole, numbers = total(judged), [one.judgement.number for one in judged if isinstance(one.judgement, Cost)]
    assert isinstance(whole, Cost) and len(numbers) == 4 and whole.number == pytest.approx(sum(numbers))


@pytest.mark.parametrize("name", ["sioutas", "polymage"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "for (i = 0; i < 24; i++) t[u[i] % 24] += in[i]; for (i = 0; i < 24; i++) out[i] = t[i];",
            "element by element",
        ),
        ("for (i = 0; i < 24; i++) { out[i] = in[i]; t[i] = in[i] + 1; }", "in loops with other arrays"),
    ],
)
def test_what_a_model_cannot_judge_is_refused_with_the_reason(name: str, body: str, reason: str) -> None:
    program = expand(program_of(scop(body, "int in[24], out[24], t[24]; unsigned char u[24];")))
    judged = judge(program, usual_plan(program, CPU), CPU, find_model(name, CPU))
    whole = total(judged)
    assert isinstance(whole, Refused) and reason in whole.reason


ELEMENT = 4 * (1 + 3)
"""Bytes of W, and of the three channels of K."""


@pytest.mark.parametrize("name", ["sioutas", "polymage"])
def test_blocks_that_walk_down_their_tiles_compute_as_much_and_keep_the_rows_of_a_step(name: str) -> None:
    program = kwhz_program((150, 90))
    [kernel] = usual_plan(program, CPU, BLURRED).kernels
    plans = [Plan(BLURRED, (replace(kernel, tile=(16, 64), block=(1, 1), walk=rows),)) for rows in (0, 2)]
    whole, stepwise = (_terms(program, one, name) for one in plans)
    assert whole["shared memory"] == (16 + 4) * 64 * ELEMENT, "a row of Z reads five rows of W"
    assert stepwise["shared memory"] == 8 * 64 * ELEMENT, "six rows, stored as a power of two"
    same = "arithmetic" if name == "sioutas" else "computed again"
    assert whole[same] == stepwise[same]


@pytest.mark.parametrize("name", ["sioutas", "polymage"])
def test_threads_with_tiles_of_their_own_compute_more_twice_than_blocks_do(name: str) -> None:
    program = kwhz_program((150, 90))
    plan = usual_plan(program, CPU, BLURRED)
    cut = replace(plan, kernels=tuple(replace(one, tile=(16, 64), block=(4, 8)) for one in plan.kernels))
    apart = replace(cut, kernels=tuple(replace(one, level="thread") for one in cut.kernels))
    together, alone = (_terms(program, one, name) for one in (cut, apart))
    assert together["shared memory"] == 20 * 64 * ELEMENT and alone["shared memory"] == 8 * 8 * ELEMENT
    same = "arithmetic" if name == "sioutas" else "computed again"
    assert alone[same] > together[same]


def _terms(program: Program, plan: Plan, name: str) -> dict[str, float]:
    """What a model says of the only kernel."""
    [judged] = judge(program, plan, CPU, find_model(name, CPU))
    assert isinstance(judged.judgement, Cost), judged.judgement
    return {term.name: term.value for term in judged.judgement.terms}


def test_the_static_model_judges_whatever_has_a_text() -> None:
    program = expand(
        program_of(scop("for (i = 0; i < 24; i++) t[u[i] % 24] += in[i];", "int in[24], t[24]; unsigned char u[24];"))
    )
    assert isinstance(total(judge(program, usual_plan(program, CPU), CPU, find_model("static", CPU))), Cost)


def test_models_see_how_a_plan_cuts_the_array_whatever_the_order_of_its_loops() -> None:
    program = expand(
        program_of(
            scop(
                "for (i = 0; i < 60; i++) for (j = 0; j < 90; j++) B[j][i] = A[j][i] + 1.0;",
                "double A[90][60], B[90][60];",
            )
        )
    )
    plan = default_plan(program, TARGET)
    assert plan.kernels[0].order == (1, 0), "neighbours along x"
    [one] = judge(program, plan, TARGET, find_model("sioutas", TARGET))
    assert one.kernel.tile == (32, 32)
    assert one.kernel.block == plan.kernels[0].block, "x of the array is x of the plan"
