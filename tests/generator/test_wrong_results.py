"""Wrong results of the 30 PolyBench programs are found: the tolerances are no wider than the programs need."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from generator.capture import capture
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from generator.problem import Problem
from generator.rounding import scale, undetermined
from runners.check import compare
from tests.support.suite import ALL_NAMES, SUITE, polybench_program, problem

MINI = ("MINI_DATASET",)
FLOAT = ("MINI_DATASET", "DATA_TYPE_IS_FLOAT")
LOOP = re.compile(r"^( *)for \((\w+) = [^;]*; \w+ (<=?|>=) ([^;]*);", re.MULTILINE)
QUICK = (("durbin", FLOAT), ("gemm", MINI), ("gramschmidt", MINI), ("nussinov", MINI), ("trisolv", FLOAT))
# A minimum or maximum may not miss one of its candidates.
EXTREMES = ("floyd-warshall", "nussinov")


def undecided(found: Problem, name: str) -> NDArray[np.bool_]:
    value = found.reference.outputs[name]
    return undetermined(value, found.reference.rounding.get(name, np.zeros(value.shape)))


def check(found: Problem, name: str, place: tuple[int, ...], wrong: float) -> str | None:
    got = {array.name: found.reference.outputs[array.name].copy() for array in found.program.outputs}
    got[name][place] = wrong
    return compare(found.program, found.reference.outputs, got, None, found.reference.rounding)


@pytest.mark.parametrize(("name", "defines"), [
    pytest.param(name, defines, marks=() if (name, defines) in QUICK else pytest.mark.slow)
    for defines in (MINI, FLOAT) for name in ALL_NAMES])
def test_one_wrong_element(name: str, defines: tuple[str, ...]) -> None:
    """Off by 2 % of its size and that of its peers, anywhere; elsewhere at least no number at all."""
    found = problem(name, defines)
    rng = np.random.default_rng(1)
    for array in found.program.outputs:
        value = found.reference.outputs[array.name]
        wide, off = undecided(found, array.name), 0.02 * scale(value)
        for _ in range(20):
            place = tuple(int(rng.integers(extent)) for extent in value.shape)
            step = 1 if value.dtype.kind in "iu" else off[place]
            if step and not wide[place]:
                assert check(found, array.name, place, value[place] + step) is not None, (array.name, place)
            if value.dtype.kind == "f":
                assert check(found, array.name, place, np.nan) is not None, (array.name, place)


@pytest.mark.slow
def test_few_programs_have_undecided_results() -> None:
    shares = {name: max(float(np.mean(undecided(problem(name, MINI), array.name)))
                        for array in polybench_program(name, MINI).outputs) for name in ALL_NAMES}
    assert {name for name, share in shares.items() if share} == {"gramschmidt"}


def mutants(text: str) -> list[str]:
    """The program with the last iteration of an innermost loop left out once: when the loop around it is at 2."""
    begin, end = text.index("#pragma scop"), text.index("#pragma endscop")
    loops = list(LOOP.finditer(text, begin, end))
    found = []
    for number, loop in enumerate(loops):
        outer = next((o for o in reversed(loops[:number]) if len(o[1]) < len(loop[1])), None)
        if outer and (number + 1 == len(loops) or len(loops[number + 1][1]) <= len(loop[1])):
            sign = "+" if loop[3] == ">=" else "-"
            bound = f"{loop[4]} {sign} ({outer[2]} == 2)"
            found.append(text[:loop.start(4)] + bound + text[loop.end(4):])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("defines", [MINI, FLOAT], ids=["double", "float"])
@pytest.mark.parametrize("name", [name for name in ALL_NAMES if name not in EXTREMES])
def test_one_lost_update(name: str, defines: tuple[str, ...], tmp_path: Path) -> None:
    found = problem(name, defines)
    texts = mutants((SUITE / f"{name}.c").read_text())
    assert texts
    missed = []
    for number, text in enumerate(texts):
        file = tmp_path / f"{name}.c"
        file.write_text(text)
        source = read_scop(file, Compilation(include_dirs=(str(SUITE),), defines=defines))
        got = capture(source, {}, lambda *_: {}, seed=0).reference.outputs
        if compare(found.program, found.reference.outputs, got, None, found.reference.rounding) is None:
            missed.append(number)
    assert not missed
