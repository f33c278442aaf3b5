"""What is wrong with a pipeline is said with the Func and the line, before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_py.problem import read_pipeline
from tests.support.cli import antune_command

HEAD = """from antune import halide as hl; import numpy as np
x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
image = hl.ImageParam(hl.UInt(8), 2, "image")
wide = hl.ImageParam(hl.Int(32), 2, "wide")
r, q = hl.RDom([(0, 5)], "r"), hl.RDom([(0, 5)], "q")
f, g = hl.Func("f"), hl.Func("g")
def build():
"""
FIRST = HEAD.count("\n") + 1

CASES = {
    "free Var": ("f[x] = image[x, y]", 1, "Var `y` is free in the definition of Func `f`"),
    "free Var of an update": (
        "f[x] = hl.u8(0)\n f[3] = image[x, 0] + 0",
        2,
        "Var `x` is free in the definition of Func `f`",
    ),
    "too few coordinates": ("f[x, y] = 1\n g[x] = f[x]", 2, "Func `f` has 2 coordinate(s) but is used with 1"),
    "too many of an image": ("f[x] = image[x, 0, 0]", 1, "image `image` has 2 dimensions but is used with 3"),
    "recursive": ("f[x] = f[x - 1] + 1", 1, "Func `f` is used before it has a definition"),
    "recursive alone": ("f[x] = f[x - 1]", 1, "Func `f` is used before it has a definition"),
    "undefined": ("f[x] = g[x] * 2", 1, "Func `g` is used before it has a definition"),
    "undefined output": ("return g", None, "Func `g` has no definition"),
    "defined twice": ("f[x] = 1\n f[x] = 2", 2, "Func `f` is defined twice"),
    "other type": ("f[x] = hl.u8(1)\n f[r] = f[r] + 1.5", 2, "the update of Func `f` has the type float32"),
    "two RDoms": ("f[x] = 1\n f[r] = f[q] + 1", 2, "the update of Func `f` uses 2 RDoms"),
    "RDom in a pure definition": ("f[x] = image[x, r]", 1, "the pure definition of Func `f` uses RDom `r`"),
    "moved Var": ("f[x, y] = 1\n f[x, 0] = f[x + 1, 0]", 2, "the update of Func `f` moves Var `x`"),
    "same Var twice": ("f[x, x] = 1", 1, "the first definition of Func `f` must be for all coordinates"),
    "real coordinate": ("f[x] = 1\n g[x] = f[x / 2.0]", 2, "Func `f` is used with a coordinate of type float32"),
    "no condition": ("f[x] = hl.select(x, 1, 2)", 1, "select needs a condition"),
    "numpy's function": ("f[x] = np.sqrt(hl.f32(x))", 1, "runs: use hl.sqrt"),
    "numpy's function of another name": ("f[x] = np.where(x > 2, x, 0)", 1, "runs: use hl.select"),
    "function of math": ("import math\n f[x] = math.exp(hl.f32(x))", 2, "halide (hl.exp, hl.sqrt, ...)"),
    "rounded": ("f[x] = round(x / 2.0)", 1, "a number is needed where an expression stands"),
    "range": ("for k in range(x): pass", 1, "a number is needed where an expression stands"),
    "numpy's array": ("f[x] = np.arange(9)[x]", 1, "has to be a Buffer: hl.Buffer(array)[x, y]"),
    "realize without a list": ("f[x, y] = x + y\n f.realize(64, 48)", 2, "a list of whole numbers, f.realize(["),
    "realize to numpy's array": ("f[x, y] = x\n f.realize(np.zeros((2, 2), np.int32))", 2, "f.realize(hl.Buffer("),
    "if": ("f[x] = 1 if x > 3 else 2", 1, "use select(condition, a, b)"),
    "unbounded": (
        "f[x, y] = image[wide[x, 0], y]\n return f",
        1,
        "Func `f` reads `image` at coordinates without bounds in dimension 0",
    ),
    "unbounded Func": (
        "g[x] = x\n f[x, y] = g[wide[x, y] * 2]\n return f",
        2,
        "Func `f` reads `g` at coordinates without bounds",
    ),
    "RDom of data": ("s = hl.RDom([(0, image[0, 0])], 's')", 1, "the bounds of RDom `s` depend on data"),
    "constant too large": ("f[x] = image[x, 0] + 256", 1, "the constant 256 does not exist in uint8"),
    "two values": ("f[x] = (1, 2)\n g[x] = f[x] + 1", 2, "Func `f` has 2 values; choose one"),
    "Param without value": ("p = hl.Param(hl.Int(32), 'p')\n f[x, y] = p + x\n return f", 1, "Param `p` has no value"),
    "Python's own error": ("f[x] = undefined_name", 1, "NameError"),
    "too deep": ("f[x] = sum([image[x + k, 0] for k in range(200)], hl.u8(0))", 1, "the definition of Func `f` has 20"),
    "update after use": ("f[x] = 1\n g[x] = f[x]\n f[0] = 5", 3, "Func `f` is used by Func `g` (line "),
    "two Funcs that use each other": (
        "f[x] = 1\n g[x] = f[x]\n f[r] = g[r] + 1",
        3,
        "Func `f` is used by Func `g` (line ",
    ),
    "sum of the Func itself": (
        "f[x] = x\n f[x] += hl.sum(f[x + r])",
        2,
        "Func `f` is used by Func `sum` (line 9) already",
    ),
    "late where": ("f[x] = 1\n f[r] += 1\n r.where(r < 3)", 3, "RDom `r` is used in line "),
    "where of another RDom": ("r.where(q < 3)", 1, "RDom `r`: the condition of `where` uses another RDom"),
    "where with a free Var": (
        "r.where(y < 3)\n f[x] = 1\n f[r] += 1",
        3,
        "Var `y` is free in the definition of Func `f`",
    ),
    "sum over two RDoms": ("f[x] = hl.sum(image[r, q])", 1, "this one has 2; say which one: sum(r, expression)"),
    "sum without its RDom": ("f[x] = hl.sum(r, image[x, 0])", 1, "the expression does not use RDom `r`"),
    "clamp to another type": ("f[x] = hl.clamp(image[x, 0], 0, x)", 1, "clamp of a uint8 to a bound of type int32"),
    "clamp to a real number": (
        "f[x] = hl.clamp(image[x, 0], 0, 3.5)",
        1,
        "clamp of a uint8 to a bound of type float32",
    ),
    "size against bound": (
        "f[x, y] = 1\n f.bound(x, 0, 3)\n return f",
        None,
        "16 is wanted of output `f` in dimension `x` (number 0)",
    ),
    "a large number as a negative one": (
        (
            "b = hl.Buffer(__import__('numpy').array([4294967291] * 16, 'uint32'), 'b')\n g[x] = x\n"
            " f[x, y] = g[hl.min(hl.i32(b[x]), 9)]\n return f"
        ),
        3,
        "Func `f` reads `g` at coordinates without bounds in dimension 0",
    ),
    "outside of a promise": (
        "image.dim(0).set_bounds(0, 16)\n f[x, y] = image[x + 1, y]\n return f",
        2,
        "Func `f` reads `image` at coordinate 16 in dimension 0, which exists from 0 to 15",
    ),
    "below a promised start": (
        "image.dim(1).set_min(2)\n f[x, y] = image[x, y + 1]\n return f",
        2,
        "Func `f` reads `image` at coordinate 1 in dimension 1, which begins at 2",
    ),
    "data against a promise": (
        "image.dim(1).set_bounds(0, 3)\n image.set(hl.Buffer(hl.UInt(8), [4, 5]))",
        2,
        "the data of image `image` has (min, extent) (0, 5) in dimension 1, but dim(1).set_bounds(0, 3)",
    ),
    "a promise against data": (
        "image.set(hl.Buffer(hl.UInt(8), [4, 5]))\n image.dim(1).set_bounds(0, 3)",
        2,
        "image `image` has data with (min, extent) (0, 5) in dimension 1, which set_bounds(0, 3)",
    ),
    "a start against data": (
        "image.set(hl.Buffer(hl.UInt(8), [4, 5]))\n image.dim(1).set_min(1)",
        2,
        "has data from 0 on",
    ),
    "power of too many": ("f[x] = image[x, 0] ** 65", 1, "uint8 to the power of 65: at most 64"),
    "no value": ("f[x] = hl.Expr()", 1, "an undefined Expr() is used as a value"),
    "no element": (
        "b = hl.Buffer(hl.UInt(8), [4, 5], 'b')\n f[x] = b[4, 0]",
        2,
        "image `b` has no element 4 in dimension 0",
    ),
    "exit": ("raise SystemExit(3)", 1, "the pipeline's own code fails: SystemExit: 3"),
    "too large": (
        "f[x, y, z] = image[x, y]\n f.bound(z, 0, 10**12)\n return f",
        None,
        "there is not enough memory for",
    ),
    "undef inside": ("f[x] = hl.undef(hl.Int(32)) + 1", 1, "the definition of Func `f` has `undef` where it has"),
    "random numbers as a condition": (
        "r.where(hl.random_int(3) > 0)\n f[x] = 0\n f[r] += 1", 3, "the definition of Func `f` has `random` where"
    ),
    "a seed that is no integer": ("f[x] = hl.random_float(0.5)", 1, "the seed of random numbers is an integer"),
    "requirement": (
        "f[x, y] = hl.require(x < 9, x, 'x is at most', 8)\n return f",
        1,
        "what Func `f` requires does not hold at x = 9, y = 0: x is at most 8",
    ),
    "print without a condition": ("f[x] = hl.print_when(x, 3)", 1, "print needs a condition, not a int32"),
    "another declared type": (
        "f = hl.Func(hl.UInt(8), 2, 'f')\n f[x, y] = x",
        2,
        "Func `f` is declared with the type uint8 but defined with int32",
    ),
    "another declared number": (
        "f = hl.Func(hl.Int(32), 2, 'f')\n f[x] = x",
        2,
        "Func `f` is declared with 2 coordinate(s) but defined with 1",
    ),
    "lerp by a signed weight": ("f[x] = hl.lerp(hl.u8(1), hl.u8(9), x)", 1, "lerp of uint8 by a int32"),
    "no part of a Buffer": (
        "hl.Buffer(hl.UInt(8), [4, 5], 'b').cropped(0, 2, 3)",
        1,
        "Buffer `b` has the coordinates 0 to 3 in dimension 0; 2 to 4 are not all among them",
    ),
    "a bound by data": ("f[x, y] = 1\n f.bound(x, 0, image[0, 0])\n return f", None, "`bound` of `x` depends on data"),
    "select of other tuples": ("f[x] = hl.select(x > 1, (x, 2), (1, 2, 3))", 1, "select of a tuple of 2 values: all"),
    "tuple as one value": ("f[x] = hl.print((x, x), 'at', x)", 1, "2 values are used as one expression; choose one"),
    "requirement on data": (
        "f[x] = 1\n hl.Pipeline([f]).add_requirement(f[3] > 1)",
        2,
        "a requirement is a condition on Params and the sizes of inputs",
    ),
    "no such update": ("f[x] = 1\n f.update_value(0)", 2, "Func `f` has 0 update(s), number 0 is none of them"),
    "no half": ("f[x] = hl.widen_right_add(hl.u16(x), hl.u16(3))", 1, "this needs a second operand of half as many"),
    "three bytes": ("f[x] = hl.concat_bits([hl.u8(x)] * 3)", 1, "concat_bits of uint8, uint8, uint8: give integers of"),
    "pipeline of nothing": ("return hl.Pipeline([])", 1, "Pipeline needs an output Func"),
    "no Func": ("return 3", 0, "`build` returns int"),
}


@pytest.mark.parametrize("case", CASES)
def test_errors_name_the_func_and_the_line(case: str, tmp_path: Path) -> None:
    body, line, message = CASES[case]
    file = tmp_path / "pipeline.py"
    file.write_text(HEAD + "".join(f" {part.strip()}\n" for part in body.split("\n")))
    with pytest.raises(InputError) as caught:
        read_pipeline(file, None, {"width": 16, "height": 16}, 0)
    assert message in str(caught.value)
    if line is not None:
        assert str(caught.value).startswith(f"{file}:{FIRST + line - 1}: ")


def test_reads_outside_of_an_input_are_refused_with_the_size_that_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.py"
    file.write_text(
        HEAD
        + " image.set_estimates([(0, 16), (0, 16)])\n f[x, y] = image[x + 2, y] + image[x, y] + hl.u8(image.width() * "
            "0)\n"
        " return f\n"
    )
    with pytest.raises(
        InputError,
        match=r"Func `f` reads `image` at coordinate 17 in dimension 0, which exists from 0 to 15; "
        r"it must be at least 0 to 17 \(18 elements\)",
    ) as caught:
        read_pipeline(file, None, {"width": 16, "height": 16}, 0)
    assert f"{file}:{FIRST + 1}" in str(caught.value)


def test_no_size_is_said_with_the_dimension(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.py"
    file.write_text(HEAD + " f[x, y] = image[x, y]\n return f\n")
    with pytest.raises(InputError, match=r"how large output `f` is in dimension `y`: use --size \(in Python: "
                                         r"parameters=.*\), or f.set_estimates"):
        read_pipeline(file, None, {"width": 16}, 0)


@pytest.mark.parametrize(("arguments", "message"), [
    (("{file}:other",), "has no function `other`"),
    (("{file}", "--size", "16"), "in dimension `y`"),
    (("{file}", "--size", "16x0"), "--size '16x0' is not a size"),
    (("{file}", "--size", "4x4x4"), "3 sizes for output `f`"),
    (("{file}", "--size", "4x4", "--param", "sigma=2"), "`build` has no argument of that name; it has none"),
    (("{file}", "--param", "wdth=2"), "has no argument of that name (`width`?)"),
    (("{file}", "-D", "N=3"), "is a pipeline: -I, -D"),
    (("{file}:build", "--function", "other"), "names another one"),
    (("{folder}/nothing.py:build",), "is not a file"),
    (("{folder}/broken.py",), "broken.py:1: this is not Python"),
])
def test_bad_commands_end_with_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pipeline.py"
    file.write_text(HEAD + " f[x, y] = image[x, y]\n return f\n")
    (tmp_path / "broken.py").write_text("def build(:\n")
    given = [word.format(file=file, folder=tmp_path) for word in arguments]
    assert antune_command(monkeypatch)("explain", *given, "--device", "deterministic") == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
