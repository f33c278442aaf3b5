"""Functions for users take the inputs of a program in the order in which it declares them, then the results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import antune
from experiments.exports.chosen import choose
from experiments.exports.function import function_of
from experiments.exports.kinds import Kind
from experiments.store import read_store
from experiments.values.program_json import from_json, to_json
from generator.errors import InputError
from generator.program import Program
from tests.support.exports import exported, stored_run
from tests.support.programs import write_c
from tests.support.slow import in_turn

CHANGE = """
import numpy as np
from antune import halide as hl

def build(width: int = 32, height: int = 24):
    x, y = hl.vars("x y")
    weights = hl.Buffer(np.arange(24, dtype=np.float32), "first_of_all")
    target, base = hl.ImageParam(hl.UInt(8), 2, "target"), hl.ImageParam(hl.UInt(8), 2, "base")
    change, product = hl.Func("difference"), hl.Func("a_product")
    product[x, y] = hl.f32(base[x, y]) * hl.f32(target[x, y]) * weights[y]
    change[x, y] = hl.f32(target[x, y]) * 2 - hl.f32(base[x, y]) + 0 * product[x, y]
    for f in (change, product):
        f.set_estimates([(0, 32), (0, 24)])
    return [change, product]
"""
GLOBALS = """
double z[50], a[50], m[50];
int main(void) {
#pragma scop
  for (int i = 0; i < 50; i++) m[i] = z[i] - a[i];
#pragma endscop
  return (int)m[3];
}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "change.py").write_text(CHANGE)
    return stored_run(tmp_path / "run", tmp_path / "change.py")


def test_a_pipeline_is_called_in_the_order_of_its_declarations(run: Path) -> None:
    f = antune.load(run)
    assert str(f).startswith("change(target, base, first_of_all=None, *, difference=None, a_product=None, ")
    assert f.contract.results == ("difference", "a_product")


def test_a_header_says_what_is_read_and_what_is_written(run: Path, tmp_path: Path) -> None:
    header = (exported(run, Kind.opencl, tmp_path / "c") / "change.h").read_text()
    assert ("void change(const unsigned char target[24][32], const unsigned char base[24][32], "
            "const float first_of_all[24], float difference[24][32], float a_product[24][32]);") in header
    assert " * Inputs: `target`, `base`, `first_of_all`.\n" in header
    assert " * Results (written completely): `difference`, `a_product`.\n" in header
    python = (exported(run, Kind.python, tmp_path / "python") / "change.py").read_text()
    assert "\ndef change(target, base, first_of_all=None, *, difference=None, a_product=None, inplace=" in python


def test_globals_of_c_are_passed_in_the_order_of_their_declarations(tmp_path: Path) -> None:
    f = antune.load(stored_run(tmp_path / "run", write_c(GLOBALS, tmp_path)))
    assert str(f).startswith("main_scop(z, a, *, m=None, ")


def test_the_order_does_not_identify_a_program(run: Path) -> None:
    """Stored runs and recordings are found by digests that are older than the order."""
    with read_store(run) as store:
        chosen = choose(store, None, True, False, "")
    program = chosen.program
    older = replace(program, arguments=(), constants=())
    assert program.arguments == ("target", "base", "first_of_all", "difference", "a_product")
    assert (older.digest, older, hash(older)) == (program.digest, program, hash(program))
    before = replace(chosen, info=replace(chosen.info, subject=older))
    assert str(function_of(before)).startswith("change(base, first_of_all, target, *, a_product=None, difference=None")
    assert from_json(to_json(program), Program).arguments == program.arguments
    text = to_json(program).replace('"arguments":["target","base","first_of_all","difference","a_product"],', "")
    assert from_json(text, Program).arguments == () and from_json(text, Program).passed == older.passed
    with pytest.raises(InputError, match="an argument that no program"):
        from_json(to_json(replace(program, arguments=("system",))), Program)


@in_turn
def test_a_call_by_position_computes_what_the_declarations_say(tmp_path: Path) -> None:
    (tmp_path / "change.py").write_text(CHANGE)
    result = antune.tune(str(tmp_path / "change.py"), parameters={"width": 32, "height": 24}, evaluations=1,
                         finalists=0, device="pocl", reporter="silent", out=str(tmp_path / "run"))
    f = antune.load(result.directory)
    shape = (24, 32)
    change, _ = f(np.full(shape, 10, np.uint8), np.full(shape, 3, np.uint8), np.ones(24, np.float32))
    assert np.array_equal(change, np.full(shape, 17, np.float32))
