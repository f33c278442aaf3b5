"""Models that have no plans for a program: they end no search of another explorer, and a line says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from explorer.registry import PLAN_MAKERS
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.program import Program
from tests.support.programs import program_of, scop
from tests.support.targets import CPU

OPTIONS = RunOptions("test.py", Compilation(), Budget(evaluations=1), space="pipeline")
WITHOUT = "the search begins without its plans: "


@pytest.fixture(scope="module")
def program() -> Program:
    """One array, which no other reads."""
    return program_of(scop("for (i = 0; i < 64; i++) y[i] = x[i] + 1.0;"))


@pytest.mark.parametrize("models", [("sioutas",), PLAN_MAKERS, ("sioutas", "beam")])
def test_other_explorers_begin_without_the_plans_of_such_models(models: tuple[str, ...], program: Program) -> None:
    asked = replace(OPTIONS, models=models)
    told = [line.split(": ", 1) for line in PARTS.reasons(program, CPU, asked)]
    left = {maker: line for maker, line in told if line.startswith(WITHOUT)}
    assert left == {
        maker: f"{WITHOUT}{program.name} has no stages that the model of `{maker}` can judge: it computes no array "
               "between others" for maker in models if maker != "beam"}
    starts = PARTS.starts(program, CPU, asked)
    assert starts if "beam" in models else [*starts] == [*PARTS.starts(program, CPU, OPTIONS)]
    assert not any("sioutas" in words for words in PARTS.words(program, CPU, asked).values())


@pytest.mark.parametrize("maker", PLAN_MAKERS)
def test_a_model_that_is_the_explorer_ends_the_search_with_the_reason(maker: str, program: Program) -> None:
    with pytest.raises(InputError, match="no array between others; use another explorer, such as colony"):
        PARTS.reasons(program, CPU, replace(OPTIONS, explorer=maker))


def test_a_beam_without_plans_ends_the_search_only_if_its_parameters_are_given(
        program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise InputError("no plan today")

    monkeypatch.setattr("experiments.search.first_walks.plans_by", none)
    asked = replace(OPTIONS, models=("beam",))
    assert PARTS.reasons(program, CPU, asked) == (f"beam: {WITHOUT}no plan today",)
    with pytest.raises(InputError, match="no plan today"):
        PARTS.reasons(program, CPU, replace(asked, beam="width=2"))
