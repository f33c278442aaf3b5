"""The hint at the space that decides where intermediate arrays are computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.search.other_space import other_space
from experiments.values.options import Budget, RunOptions, SpaceName
from generator.frontend_c.source import Compilation
from tests.support.programs import program_of, scop
from tests.support.suite import pipeline_program

CHAIN = ("double t[16], u[16]; for (i = 1; i < 15; i++) t[i] = x[i]; for (i = 1; i < 15; i++) u[i] = 2 * t[i];"
         "for (i = 1; i < 15; i++) y[i] = u[i];")


def options(space: SpaceName) -> RunOptions:
    return RunOptions(str(Path("chain.c")), Compilation(), Budget(evaluations=1), space=space)


def test_a_program_with_intermediate_arrays() -> None:
    program = program_of(scop(CHAIN))
    assert other_space(program, options("wide")) is None, "not all of them is written"
    whole = program_of(scop(CHAIN.replace("i = 1", "i = 0").replace("i < 15", "i < 16")))
    assert other_space(whole, options("wide")) == (
        "`t`, `u` only pass values from loops to later loops; `--space pipeline` also decides where such arrays are "
        "computed, which is often faster")
    assert other_space(whole, options("pipeline")) is None


@pytest.mark.parametrize("body", ["for (i = 0; i < 64; i++) y[i] = x[i];",
                                  "for (i = 0; i < 64; i++) { double t = x[i]; y[i] = t * t; }"])
def test_programs_without_any(body: str) -> None:
    assert other_space(program_of(scop(body)), options("wide")) is None


def test_a_few_are_named() -> None:
    said = other_space(pipeline_program("harris"), options("wide"))
    assert said is not None and said.startswith("`gray`, `ix`, `ixx` and 8 more only pass values")
