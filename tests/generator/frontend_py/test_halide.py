"""What definitions for Halide contain besides stages: schedules, targets, buffers, methods of types, numpy's numbers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antune import halide as hl
from generator.errors import InputError
from generator.frontend_py import casts, functions, integers, reductions, shorthand
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of
from generator.frontend_py.realize import bounds_of
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from tests.support.cli import antune_command
from tests.support.suite import TARGET

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


ON_DEVICES = """from antune import halide as hl

def build():
    x, y = hl.Var("x"), hl.Var("y")
    real, whole, out = hl.ImageParam(hl.Float(32), 2, "real"), hl.ImageParam(hl.Int(16), 2, "whole"), hl.Func("out")
    e, i = real[x, y] * 0.9, whole[x, y]
    some = hl.erf(e) + hl.asinh(e) + hl.acosh(e + 2) + hl.atanh(e) + e**3 + e**-2
    some += hl.select(hl.is_inf(e) | ~hl.is_finite(e), 5.0, 1.0)
    more = hl.div_round_to_zero(i, x - 3) + hl.mod_round_to_zero(i, 7) + hl.halving_sub(i, 9)
    more += hl.rounding_shift_right(i, 3) + i**2
    out[x, y] = some + hl.f32(more)
    return out
"""


def values(func: hl.Func, sizes: Any = ()) -> Any:
    return np.asarray(func.realize(sizes)).tolist()


def test_types_names_and_bits_are_methods_too() -> None:
    image, f, r = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("f"), hl.RDom([(1, 5)], "r")
    f[x] = hl.u16(3)
    e = image[x, y] + 1
    assert image.type() == e.type() == image.type == hl.UInt(8)
    assert f[x].type() == f.type() == hl.cast(f[x].type(), x).type() == hl.UInt(16)
    assert hl.UInt(e.type().bits() * 2) == hl.UInt(16) == hl.UInt(e.type().bits * 2)
    assert (hl.Int(32).bytes(), hl.Bool().bytes(), hl.Float(64).with_bits(32).bits()) == (4, 1, 32)
    named = hl.Func(f.name() + "_x")
    assert [named.name(), image.name(), x.name(), r.name(), r.x.name(), hl.Param(hl.Int(8), "p", 1).name()] == [
        "f_x", "image", "x", "r", "r", "p"]
    assert named.name == "f_x" and type(f.name()) is str
    assert {hl.UInt(8): 1}[e.type()] == 1


def test_a_schedule_for_cpus_and_gpus_is_accepted_where_it_stands() -> None:
    """As in programs for Halide: a choice by target, `rfactor` with names of loops, wrappers, the output's memory."""
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    image.set(np.arange(12, dtype=np.uint8).reshape(3, 4))
    total, out, r = hl.Func("total"), hl.Func("out"), hl.RDom([(0, 4), (0, 3)], "r")
    ro, ri, u, xo, xi = hl.RVar("ro"), hl.RVar("ri"), hl.Var("u"), hl.Var("xo"), hl.RVar()
    total[()] = 0
    total[()] += hl.i32(image[r.x, r.y])
    out[x] = total[()] + x
    target = hl.get_jit_target_from_environment()
    if target.has_gpu_feature():
        out.gpu_tile(x, xo, xi, 16)
    else:
        wide = target.natural_vector_size(hl.UInt(8))
        out.split(x, xo, xi, wide).vectorize(xi).specialize(out.output_buffer().dim(0).extent() >= wide).parallel(xo)
    total.compute_root().update().split(r.x, ro, ri, 2)
    part = total.update().rfactor(ro, u)
    part.compute_root().update().parallel(u)
    image.in_().compute_at(out, xo).store_in(hl.MemoryType.Stack)
    out.output_buffer().dim(0).set_stride(1).dim(0).set_min(0)
    out.output_buffer().set_host_alignment(16)
    out.compile_jit(target)
    out.print_loop_nest()
    out.copy_to_host().copy_to_device()
    assert values(out, [3]) == [66, 67, 68]


def test_a_target_has_no_feature() -> None:
    target = hl.get_host_target()
    assert not target.has_gpu_feature() and not target.has_feature(hl.TargetFeature.CUDA)
    assert not hl.Target("host-cuda").with_feature(hl.TargetFeature.CUDA).features_any_of([hl.TargetFeature.CUDA])
    assert target.natural_vector_size(hl.Float(32)) * 4 == target.natural_vector_size(hl.UInt(8))


def test_the_name_of_a_loop_is_no_coordinate() -> None:
    f = hl.Func("f")
    with pytest.raises(InputError, match="Var `ro` is free in the definition of Func `f`"):
        f[x] = x + hl.RVar("ro")
    with pytest.raises(AttributeError, match="gpu_tiel"):
        f.gpu_tiel(x)


def test_an_output_buffer_bounds_its_func() -> None:
    f = hl.Func("f")
    f[x, y, c] = x + y + c
    f.output_buffer().dim(2).set_bounds(0, 3).dim(0).set_estimate(0, 9)
    assert bounds_of([f], [8, 5]).regions[id(f)] == ((0, 8), (0, 5), (0, 3))
    with pytest.raises(InputError, match="2 is wanted of output `f` in dimension `c`"):
        bounds_of([f], [8, 5, 2])
    with pytest.raises(InputError, match="output `f` has 3 dimensions, number 3 is not one of them"):
        f.output_buffer().dim(3)


def test_buffers_are_written_by_coordinate() -> None:
    """The first coordinate is x, the last axis of the numpy array; they may begin elsewhere than at 0."""
    buffer, f = hl.Buffer(hl.UInt(8), [4, 3], "b"), hl.Func("f")
    buffer.fill(7)
    buffer[3, 0] = 9
    buffer[np.int64(0), 2] = np.uint8(1)
    assert np.asarray(buffer).tolist() == [[7, 7, 7, 9], [7, 7, 7, 7], [1, 7, 7, 7]]
    buffer.set_min([10, -1])
    assert (buffer[13, -1], buffer.left(), buffer.right(), buffer.top()) == (9, 10, 13, -1)
    f[x, y] = buffer[x + 10, y - 1]
    assert values(f, [4, 3]) == np.asarray(buffer).tolist()
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    image.set(buffer)
    assert bounds_of([hl.Func(image)], [1, 1], [12, 0]).regions[id(image)] == ((10, 4), (-1, 3))


@pytest.mark.parametrize(
    ("index", "value", "message"),
    [
        ((4, 0), 1, "image `b` has no element 4 in dimension 0"),
        ((0, -1), 1, "image `b` has no element -1 in dimension 1"),
        ((0, 0), 256, "a number of type uint8, which 256 is not"),
        ((0, 0), 2.5, "a number of type uint8, which 2.5 is not"),
        ((0, 0), x, "a number of type uint8"),
        ((x, 0), 1, "is set by 2 numbers as coordinates"),
        (0, 1, "is set by 2 numbers"),
    ],
)
def test_what_a_buffer_cannot_take_is_said(index: Any, value: Any, message: str) -> None:
    buffer = hl.Buffer(hl.UInt(8), [4, 3], "b")
    with pytest.raises(InputError, match=message):
        buffer[index] = value


def test_a_func_is_realized_to_a_buffer_and_without_sizes() -> None:
    f, pair, total, r = hl.Func("f"), hl.Func("pair"), hl.Func("total"), hl.RDom([(1, 4)], "r")
    f[x, y] = hl.i16(x + 10 * y)
    into = hl.Buffer(hl.Int(16), [2, 3])
    into.set_min([5, 1])
    assert f.realize(into) is None
    assert np.asarray(into).tolist() == [[15, 16], [25, 26], [35, 36]]
    pair[x] = (x, hl.f32(x) / 2)
    whole, half = hl.Buffer(hl.Int(32), [3]), hl.Buffer(hl.Float(32), [3])
    pair.realize([whole, half])
    assert (whole[2], half[1]) == (2, 0.5)
    total[()] = hl.sum(r.x)
    assert total.realize()[()] == 10
    assert values(total) == 10


def test_buffers_that_do_not_fit_are_refused() -> None:
    f = hl.Func("f")
    f[x] = hl.i16(x)
    with pytest.raises(
        InputError, match="Func `f` has 1 dimensions and the type int16; it is realized to 1 dimensions and int32"
    ):
        f.realize(hl.Buffer(hl.Int(32), [2]))
    with pytest.raises(InputError, match="realized to 2 dimensions and int16"):
        f.realize(hl.Buffer(hl.Int(16), [2, 2]))
    g = hl.Func("g")
    g[x] = (x, x)
    with pytest.raises(InputError, match="have different coordinates"):
        g.realize([hl.Buffer(hl.Int(32), [2]), hl.Buffer(hl.Int(32), [3])])


def test_numbers_of_numpy_are_numbers() -> None:
    f, out = hl.Func("f"), hl.Func("out")
    two: Any = np.float32(2)  # to mypy, operators of numpy take numpy's own kinds of numbers only
    three: Any = np.uint8(3)
    many: Any = np.int32(300)
    true: Any = np.bool_(True)
    kernel: Any = np.array([1.0, 2.0, 0.5], np.float32)
    f[x, y] = hl.f32(x + 10 * y)
    scaled = two * f[x, y]
    assert isinstance(scaled, hl.Expr) and scaled.type == hl.Float(32)
    out[x, y] = sum(kernel[k] * f[x + k, y] for k in range(3)) + np.int64(1) - np.float64(0.5)
    assert values(out, [2, 2]) == [[3.5, 7.0], [38.5, 42.0]]
    assert (three + hl.u8(x)).type == hl.UInt(8)
    assert (three < x).type == hl.Bool() and (three == hl.RDom([(0, 2)])[0]).type == hl.Bool()
    assert hl.Expr(true).type == hl.Bool()
    with pytest.raises(InputError, match=r"a numpy array of shape \(3,\) is not an expression; use its elements"):
        kernel * f[x, y]
    with pytest.raises(InputError, match="the constant 300 does not exist in uint8"):
        many + hl.u8(x)


def test_several_vars_and_funcs_at_once() -> None:
    (a, b), (f, g) = hl.vars("a b"), hl.funcs("f, g")
    f[a, b] = a + b
    g[a] = f[a, 3]
    assert (f.name(), g.name(), values(g, [2])) == ("f", "g", [3, 4])


def test_dimensions_without_limits_stand_where_they_are() -> None:
    source, out, v = hl.Buffer(np.arange(6, dtype=np.int32).reshape(2, 3)), hl.Func("out"), hl.Func("v")
    free = (hl.Expr(), hl.Expr())
    out[x, y] = hl.BoundaryConditions.repeat_edge(source, [free, (0, 2)])[x, y - 1]
    assert values(out, [3, 4]) == [[0, 1, 2], [0, 1, 2], [3, 4, 5], [3, 4, 5]]
    v[x, y] = hl.BoundaryConditions.constant_exterior(source, 9, [(None, None), (0, 2)])[x, y - 1]
    assert values(v, [3, 4]) == [[9, 9, 9], [0, 1, 2], [3, 4, 5], [9, 9, 9]]
    assert not hl.Expr().defined() and hl.Expr(0).defined()
    with pytest.raises(InputError, match=r"an undefined Expr\(\) is used as a value"):
        hl.Expr() + 1


def test_an_image_is_a_func_of_its_elements() -> None:
    source = hl.Buffer(np.arange(6, dtype=np.int32).reshape(2, 3))
    wrapped, out = hl.Func(source), hl.Func("out")
    out[x, y] = wrapped[2 - x, y]
    assert values(out, [3, 2]) == [[2, 1, 0], [5, 4, 3]]


def test_devices_compute_what_the_interpreter_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions beyond C's operators, as OpenCL; CUDA has them under the names of C."""
    file = tmp_path / "functions.py"
    file.write_text(ON_DEVICES)
    assert antune_command(monkeypatch)("check", file, "--size", "64x8") == 0
    program = program_of(load_pipeline(file, {}), [64, 8])
    cuda = replace(TARGET, dialect="cuda", sub_group=32)
    source = lower(program, default_plan(program, cuda), cuda).source
    assert [name for name in ("erff(", "asinhf(", "acoshf(", "atanhf(") if name not in source] == []


def test_every_function_of_the_front_end_has_its_name_in_the_language() -> None:
    homes = (casts, functions, integers, reductions, shorthand)
    there = {name for home in homes for name, thing in vars(home).items()
             if callable(thing) and getattr(thing, "__module__", "") == home.__name__ and not name.startswith("_")}
    assert there - set(hl.__all__) <= {"wider"}
    assert all(hasattr(hl, name) for name in hl.__all__)
