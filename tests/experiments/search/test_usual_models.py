"""With which models a search begins if its user names none: those that pay for its program, device and explorer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antune import halide as hl
from experiments.search.usual_models import FEWEST, with_usual_models, without_usual
from experiments.values.options import USUAL_MODELS, Budget, RunOptions
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.frontend_py.problem import program_of
from generator.program import Program
from generator.target import Target
from metrics.costs.constants import Calibration
from tests.support.suite import polybench_program
from tests.support.targets import CPU, CUDA

USUAL = RunOptions("chain.py", Compilation(), Budget(evaluations=1), space="pipeline", models=(USUAL_MODELS,),
                   beam="width=1,passes=1")


def chain(stages: int) -> Program:
    """A program of so many stages before the output, each of which reads two elements of the one before."""
    x, y = hl.Var("x"), hl.Var("y")
    image, stage = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("first")
    stage[x, y] = image[x, y]
    for number in range(stages):
        after = hl.Func(f"stage_{number}")
        after[x, y] = stage[x, y] + stage[x + 1, y]
        stage = after
    return program_of((stage,), (64, 32), "chain")


def models(program: Program, target: Target = CPU, options: RunOptions = USUAL) -> tuple[str, ...]:
    told = list[str]()
    found = with_usual_models(options, program, target, told.append).models
    assert bool(told) == ("beam" in found), "it takes a while"
    return found


def test_only_programs_with_many_stages_begin_with_a_beam() -> None:
    assert models(chain(FEWEST)) == ("beam",)
    assert models(chain(FEWEST - 1)) == ()


@pytest.mark.parametrize("options", [
    replace(USUAL, explorer="random"), replace(USUAL, explorer="beam"), replace(USUAL, space="wide"),
    replace(USUAL, calibration=Calibration("CPU", 20.0, 1e6, (1.0,) * 7))])
def test_searches_that_nothing_is_known_about_begin_without_models(options: RunOptions) -> None:
    assert models(chain(FEWEST), options=options) == ()


def test_gpus_and_loops_have_no_usual_models() -> None:
    assert models(chain(FEWEST), CUDA) == ()
    assert models(polybench_program("gemm"), options=replace(USUAL, space="wide")) == ()


def test_a_beam_without_a_plan_is_told_and_the_search_begins_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InputError("the beam found no plan")

    monkeypatch.setattr("experiments.search.first_walks.plans_by", fail)
    told = list[str]()
    assert with_usual_models(USUAL, chain(FEWEST), CPU, told.append).models == ()
    assert told[1:] == ["the search begins without: the beam found no plan"]


def test_what_the_user_names_stays() -> None:
    named = replace(USUAL, models=("sioutas", USUAL_MODELS))
    assert models(chain(FEWEST), options=named) == ("sioutas", "beam")
    assert models(chain(2), options=named) == ("sioutas",)
    assert models(chain(FEWEST), options=replace(USUAL, models=())) == ()
    assert without_usual(named).models == ("sioutas",)
