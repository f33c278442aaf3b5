"""Error bounds of expressions: what they must not lose, and what is not computed."""

from __future__ import annotations

import numpy as np

from antune import halide as hl
from generator.frontend_py.problem import program_of
from generator.sequential.pipeline import c_program, run_sequential

x = hl.Var("x")


def test_errors_of_sums_whose_squares_are_0() -> None:
    """Sums of numbers near 1e-155 have errors near 1e-171; squares of these are less than any double."""
    data = np.random.default_rng(3).uniform(1, 2, (8, 32)) * 1e-155
    data[7] = data[:7].sum(axis=0)
    image, total, func = hl.ImageParam(hl.Float(64), 2, "image"), hl.Func("total"), hl.Func("side")
    image.set(data)
    r = hl.RDom([(0, 7)], "r")
    total[x] = hl.f64(0.0)
    total[x] += image[x, r]
    func[x] = hl.u8(hl.select(total[x] > image[x, 7], 1, 0))
    ran = run_sequential(program_of([func], [32]), {"image": data}, baselines=False)
    assert (ran.rounding["side"] >= 1).mean() > 0.9  # few sums are exact


def test_one_value_of_a_selection_by_a_loop_variable_is_computed() -> None:
    data = np.linspace(0.1, 3, 32, dtype=np.float32)
    image, func = hl.ImageParam(hl.Float(32), 1, "image"), hl.Func("rounded")
    image.set(data)
    func[x] = hl.floor(hl.select(x < 16, image[x] * 3.0 / 3.0, image[x] * 7.0 / 7.0) * 8.0)
    program = program_of([func], [32])
    runs = c_program(program).split("void antune_bounded")[1]
    assert runs.index("if (") < runs.index("7.0f") and "? " not in runs[: runs.index("rounded[")]
    assert not run_sequential(program, {"image": data}, baselines=False).warnings
