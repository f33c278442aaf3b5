"""Generator classes in a pipeline file: parameters, inputs and outputs from the command; what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from antune import halide as hl
from generator.errors import InputError
from generator.frontend_py.problem import read_pipeline
from tests.support.slow import in_turn

SOURCE = """
from antune import halide as hl

@hl.generator(name="shift")
class Shift(hl.Generator):
    step = hl.GeneratorParam(1)
    image = hl.InputBuffer(hl.UInt(8), 2)
    offset = hl.InputScalar(hl.Int(32))
    shifted = hl.OutputBuffer(hl.Int(32), 2)

    def generate(self):
        x, y = hl.Var("x"), hl.Var("y")
        self.shifted[x, y] = hl.i32(self.image[x + self.step, y]) + self.offset

class Nothing(hl.Generator):
    out = hl.OutputBuffer(hl.Int(32), 1)

    def generate(self):
        pass

class Wrong(hl.Generator):
    out = hl.OutputBuffer(hl.Int(32), 1)

    def generate(self):
        self.out[hl.Var("x")] = hl.f32(1)

@hl.alias(far={"step": 3, "autoscheduler": "Mullapudi2016"})
@hl.generator(name="plain_shift")
class Plain:
    step = hl.GeneratorParam(1)
    image = hl.InputBuffer(hl.UInt(8), 2)
    shifted = hl.OutputBuffer(hl.Int(32), 2)

    def generate(self):
        x, y = hl.Var("x"), hl.Var("y")
        self.shifted[x, y] = hl.i32(self.image[x + self.step, y])
        self.add_requirement(self.image.height() > 2, "the height is", self.image.height())

class Open(hl.Generator):
    image = hl.InputBuffer(None, 2)
    out = hl.OutputBuffer(hl.Int(32), 1)

    def generate(self):
        self.add_input("more", hl.InputScalar(int))

if __name__ == "__main__":
    hl.main()
"""


def file(tmp_path: Path) -> Path:
    made = tmp_path / "shift.py"
    made.write_text(SOURCE)
    return made


def test_a_generator_is_built_with_parameters_and_scalars_of_the_command(tmp_path: Path) -> None:
    problem = read_pipeline(file(tmp_path), "Shift", {"width": 5, "height": 3, "step": 2, "offset": 40}, 0)
    image, (shifted,) = problem.reference.inputs["image"], problem.reference.outputs.values()
    assert image.shape == (3, 7)
    assert np.array_equal(shifted, image[:, 2:].astype(np.int32) + 40)


@in_turn
@pytest.mark.parametrize(("name", "step"), [("Plain", 1), ("plain_shift", 1), ("far", 3)])
def test_a_generator_is_found_by_its_class_its_name_and_its_aliases(name: str, step: int, tmp_path: Path) -> None:
    problem = read_pipeline(file(tmp_path), name, {"width": 5, "height": 3}, 0)
    image, (shifted,) = problem.reference.inputs["image"], problem.reference.outputs.values()
    assert image.shape == (3, 5 + step)
    assert np.array_equal(shifted, image[:, step:])


@pytest.mark.parametrize(("name", "parameters", "message"), [
    ("Plain", {"height": 2}, "requires does not hold at x = 0, y = 0: the height is 2"),
    ("Open", {}, "Generator `Open` leaves the type of `image` open: declare it, or give call(..., generator_params="),
    ("none", {}, "(there are: Nothing, Open, Plain, Shift, Wrong)"),
    ("Shift", {}, "Param `offset` has no value of type int32"),
    ("Shift", {"offset": 1, "stride": 2}, "Generator `Shift` has no parameter or input `stride`; it has step, image"),
    ("Nothing", {}, "Generator `Nothing` does not define its output `out`"),
    ("Wrong", {}, "Func `out` is declared with the type int32 but defined with float32"),
])
def test_what_is_wrong_with_a_generator_is_said(name: str, parameters: dict[str, int], message: str,
                                                 tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_pipeline(file(tmp_path), name, {"width": 5, "height": 3, **parameters}, 0)
    assert message in str(caught.value)


def test_inputs_are_added_before_the_pipeline_is_built() -> None:
    class Late(hl.Generator):
        out = hl.OutputBuffer(hl.Int(32), 1)

        def generate(self) -> None:
            self.add_input("more", hl.InputScalar(int))

    with pytest.raises(InputError, match=r"Generator `Late`: inputs and outputs are added in configure\(self\)"):
        Late().outputs()


@pytest.mark.parametrize(("wrong", "message"), [
    (lambda: hl.generator(int), r"write @generator\(\)"),  # type: ignore[arg-type]  # as a user may
    (lambda: hl.alias(one={})(int), r"@alias\(...\) stands above @generator\(\)"),
    (lambda: hl.InputScalar("int"), "'int' is not a type of numbers"),
    (hl.main, "antune tune FILE.py:NAME"),
])
def test_decorators_say_how_they_are_written(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        wrong()
