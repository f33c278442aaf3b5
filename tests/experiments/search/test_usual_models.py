"""With which models a search begins if its user names none: those that pay for its program, device and explorer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from antune import halide as hl
from experiments.search.usual_models import FEWEST, SHARE, STAGE_S, check_beam, with_usual_models, without_usual
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


PLAIN = replace(USUAL, beam="")


def models(program: Program, target: Target = CPU, options: RunOptions = PLAIN) -> tuple[str, ...]:
    told = list[str]()
    found = with_usual_models(options, program, target, told.append).models
    assert bool(told) == ("beam" in found and "beam" not in options.models), "it takes a while"
    return found


def test_only_programs_with_many_stages_begin_with_a_beam() -> None:
    assert models(chain(FEWEST), options=USUAL) == ("beam",)
    assert models(chain(FEWEST - 1)) == ()


NEVER = [
    ("for the explorer `random`", replace(USUAL, explorer="random")),
    ("in the space `wide`", replace(USUAL, space="wide")),
    ("with --calibration", replace(USUAL, calibration=Calibration("CPU", 20.0, 1e6, (1.0,) * 7)))]


@pytest.mark.parametrize("options", [replace(PLAIN, explorer="beam"), *(replace(one, beam="") for _, one in NEVER)])
def test_searches_that_nothing_is_known_about_begin_without_models(options: RunOptions) -> None:
    assert models(chain(FEWEST), options=options) == ()


@pytest.mark.parametrize(("why", "options"), NEVER)
def test_parameters_of_a_beam_that_surely_never_runs_are_refused_at_once(why: str, options: RunOptions) -> None:
    check_beam(USUAL)  # it depends on the program
    with pytest.raises(InputError, match=f"--beam has no effect .* --models usual .* has none {why}: add --explorer"):
        check_beam(options)


@pytest.mark.parametrize(("why", "stages", "target"), [
    (f"for fewer than {FEWEST} stages that the model can rate .here 3.", 3, CPU), ("on GPUs", FEWEST, CUDA)])
def test_parameters_of_a_beam_are_refused_where_the_program_or_the_device_has_none(why: str, stages: int,
                                                                                   target: Target) -> None:
    with pytest.raises(InputError, match=f"--beam has no effect .* --models usual .* has none {why}: add --explorer"):
        with_usual_models(USUAL, chain(stages), target, lambda _: None)


def test_planning_takes_a_share_of_the_time_at_most_unless_the_user_asked_for_it(
        monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    monkeypatch.setattr("experiments.search.first_walks.plans_by", lambda *_: asked.append(1))
    enough = FEWEST * STAGE_S / SHARE / 60
    short, told = replace(PLAIN, budget=Budget(minutes=enough * 0.99)), list[str]()
    assert with_usual_models(short, chain(FEWEST), CPU, told.append).models == () and not asked
    [line] = told
    assert line == ("the search begins without plans of a cost model: planning 20 stages takes about 12 s, more than "
                    "20 % of its time (--models beam: with)")
    assert models(chain(FEWEST), options=replace(PLAIN, budget=Budget(minutes=enough * 1.01))) == ("beam",)
    assert models(chain(FEWEST), options=replace(short, beam=USUAL.beam)) == ("beam",)
    assert models(chain(FEWEST), options=replace(short, models=("beam", USUAL_MODELS))) == ("beam",)
    assert len(asked) == 2


def test_gpus_and_loops_have_no_usual_models() -> None:
    assert models(chain(FEWEST), CUDA) == ()
    assert models(polybench_program("gemm"), options=replace(PLAIN, space="wide")) == ()


def test_a_beam_without_a_plan_is_told_and_the_search_begins_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InputError("the beam found no plan")

    monkeypatch.setattr("experiments.search.first_walks.plans_by", fail)
    told = list[str]()
    assert with_usual_models(PLAIN, chain(FEWEST), CPU, told.append).models == ()
    assert told[1:] == ["the search begins without: the beam found no plan"]
    with pytest.raises(InputError, match="the beam found no plan"):
        with_usual_models(USUAL, chain(FEWEST), CPU, told.append)


def test_what_the_user_names_stays() -> None:
    named = replace(USUAL, models=("sioutas", USUAL_MODELS))
    assert models(chain(FEWEST), options=named) == ("sioutas", "beam")
    assert models(chain(2), options=replace(named, beam="")) == ("sioutas",)
    assert models(chain(FEWEST), options=replace(PLAIN, models=())) == ()
    assert without_usual(named).models == ("sioutas",)
