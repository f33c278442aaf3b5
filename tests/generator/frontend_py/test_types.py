"""Types and operators of the pipeline language: promotion, wrap-around, division; the interpreter against C and Python.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antune import halide as hl
from generator.errors import InputError
from generator.frontend_py.functions import acosh, asinh, atanh, erf, is_finite, is_inf
from generator.frontend_py.integers import div_round_to_zero, halving_sub, mod_round_to_zero
from generator.frontend_py.intervals import Intervals
from generator.frontend_py.problem import program_of
from generator.frontend_py.sizes import Sizes
from generator.frontend_py.types import Type, promoted
from generator.frontend_py.wide_integers import rounding_shift_right
from generator.sequential.pipeline import run_sequential
from tests.support.slow import few, in_turn

INTEGERS = [hl.Int(b) for b in (8, 16, 32)] + [hl.UInt(b) for b in (8, 16, 32)]
TYPES = [*INTEGERS, hl.Int(64), hl.UInt(64), hl.Float(32), hl.Float(64)]
x = hl.Var("x")


def numbers(kind: Type, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Random values of a type; the first ones are its edges."""
    random = np.random.default_rng(seed)
    if kind.is_float():
        return (random.normal(size=count) * 100).astype(kind.numpy)
    low, high = int(kind.least), int(kind.greatest)
    values = random.integers(low, high, count, kind.numpy, endpoint=True)
    small = random.integers(-3 if kind.is_int() else 0, 4, count).astype(kind.numpy)
    values = np.where(random.random(count) < 0.4, small, values)
    values[:3] = [low, high, 0]
    return values


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (hl.UInt(8), hl.UInt(16), hl.UInt(16)),
        (hl.UInt(8), hl.Int(8), hl.Int(8)),
        (hl.UInt(32), hl.Int(8), hl.Int(32)),
        (hl.Int(16), hl.UInt(16), hl.Int(16)),
        (hl.Int(64), hl.Float(32), hl.Float(32)),
        (hl.Float(32), hl.Float(64), hl.Float(64)),
        (hl.Bool(), hl.UInt(8), hl.UInt(8)),
        (hl.Bool(), hl.Int(32), hl.Int(32)),
    ],
)
def test_operands_meet_in_the_type_that_halide_says(one: Type, other: Type, both: Type) -> None:
    assert promoted(one, other) == promoted(other, one) == both


@given(st.sampled_from(TYPES), st.sampled_from(TYPES))
def test_promotion_is_symmetric_and_loses_no_width(one: Type, other: Type) -> None:
    both = promoted(one, other)
    assert both == promoted(other, one)
    assert both.is_float() or both.bits == max(one.bits, other.bits)


def test_python_numbers_take_the_type_of_the_other_operand() -> None:
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    assert (image[x] + 1).type == hl.UInt(8)
    assert (1.5 * image[x]).type == hl.Float(32)
    assert (hl.f64(image[x]) * 1.5).type == hl.Float(64)
    with pytest.raises(InputError, match="300 does not exist in uint8"):
        image[x] + 300


def evaluate_all(values: list[Any], columns: int, inputs: dict[hl.ImageParam, np.ndarray[Any, Any]]) -> tuple[Any, Any]:
    """The values of expressions of x, one per row, by the interpreter and by sequential C."""
    func, row = hl.Func("result"), hl.Var("row")
    func[x, row] = hl.mux(row, values)
    for image, data in inputs.items():
        image.set(data)
    program = program_of([func], [columns, len(values)])
    given_: dict[str, Any] = {image.name: data for image, data in inputs.items()}
    found = np.asarray(func.realize([columns, len(values)]))
    ran = run_sequential(program, {a.name: given_[a.name] for a in program.arrays if a.role == "in"})
    return found, ran.outputs["result"]


OPERATIONS = ["+", "-", "*", "/", "%", "min", "max", "absd", "&", "|", "^", "<", "=="]


def applied(name: str, a: Any, b: Any) -> Any:
    match name:
        case "min" | "max" | "absd":
            return getattr(hl, name)(a, b)
        case _:
            return {
                "+": lambda: a + b,
                "-": lambda: a - b,
                "*": lambda: a * b,
                "/": lambda: a // b,
                "%": lambda: a % b,
                "&": lambda: a & b,
                "|": lambda: a | b,
                "^": lambda: a ^ b,
                "<": lambda: a < b,
                "==": lambda: a == b,
            }[name]()


def wrapped(kind: Type, value: int) -> int:
    """`value` cut to the bits of a type."""
    cut = value % 2**kind.bits
    return int(cut - 2**kind.bits if kind.is_int() and cut >= 2 ** (kind.bits - 1) else cut)


def exact(name: str, a: int, b: int) -> int:
    """The result by Python's integers."""
    match name:
        case "/" | "%":
            if b == 0:
                return 0
            rest = a % abs(b)
            return rest if name == "%" else (a - rest) // b
        case "absd":
            return abs(a - b)
        case _:
            return int({"+": a + b, "-": a - b, "*": a * b, "min": min(a, b), "max": max(a, b), "&": a & b, "|": a | b,
                        "^": a ^ b, "<": a < b, "==": a == b}[name])


@pytest.mark.parametrize("kind", few(INTEGERS, 1), ids=str)
def test_integer_arithmetic_is_that_of_the_type(kind: Type) -> None:
    """All operators at once: sequential C and the interpreter give what Python's integers, cut to the type, give."""
    count = 200
    a, b = hl.ImageParam(kind, 1, "a"), hl.ImageParam(kind, 1, "b")
    one, other = numbers(kind, count, 1), numbers(kind, count, 2)
    one[-1], other[-1] = 1, 1
    if kind == hl.Int(32):  # the overflow of signed 32-bit integers has no meaning
        one, other = one % 30000, other % 30000
    values = [applied(name, a[x], b[x]) for name in OPERATIONS]
    kinds = [value.type for value in values]
    found, ran = evaluate_all([hl.i64(value) for value in values], count, {a: one, b: other})
    for name, type_, numpys, cs in zip(OPERATIONS, kinds, found, ran, strict=True):
        expected = [wrapped(type_, exact(name, int(p), int(q))) for p, q in zip(one, other, strict=True)]
        assert numpys.tolist() == expected, name
        assert cs.tolist() == expected, name


def test_conversions_wrap_around_and_truncate() -> None:
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.ImageParam(hl.Float(32), 1, "f")
    values = np.array([-1, 256, 300, -129, 65536, 7], np.int32)
    for found in evaluate_all([hl.i64(hl.cast(kind, a[x])) for kind in INTEGERS], 6, {a: values}):
        assert found.tolist() == [[wrapped(kind, int(v)) for v in values] for kind in INTEGERS]
    reals = np.array([-2.7, 2.7, 255.9, 0.0], np.float32)
    for found in evaluate_all([hl.i32(f[x]), hl.i32(hl.u8_sat(f[x] * 2.0))], 4, {f: reals}):
        assert found.tolist() == [[-2, 2, 255, 0], [0, 5, 255, 0]]


def test_remainders_of_numbers_that_were_large_without_sign() -> None:
    """What is read as a negative number afterwards has a remainder that is not negative all the same."""
    a, b = hl.ImageParam(hl.UInt(32), 1, "a"), hl.ImageParam(hl.UInt(8), 1, "b")
    numbers_, bytes_ = np.array([2**32 - 1, 2**31, 5, 2**32 - 8], np.uint32), np.array([255, 128, 5, 249], np.uint8)
    values = [hl.i32(a[x]) % 7, hl.i32(a[x]) // 7, hl.i32(hl.i8(b[x])) % 7, hl.i32(hl.i8(hl.u32(b[x]))) // 7]
    for found in evaluate_all(values, 4, {a: numbers_, b: bytes_}):
        assert found.tolist() == [[6, (-(2**31)) % 7, 5, 6], [-1, -(2**31) // 7, 0, -2], [6, 5, 5, 0], [-1, -19, 0, -1]]


def test_rounding_functions_and_shifts() -> None:
    f, i = hl.ImageParam(hl.Float(32), 1, "f"), hl.ImageParam(hl.Int(16), 1, "i")
    reals = np.array([-2.5, -1.5, 0.5, 1.5, 2.4], np.float32)
    for found in evaluate_all([hl.round(f[x]), hl.floor(f[x]), hl.ceil(f[x]), hl.trunc(f[x])], 5, {f: reals}):
        assert found.tolist() == [[-2, -2, 0, 2, 2], [-3, -2, 0, 1, 2], [-2, -1, 1, 2, 3], [-2, -1, 0, 1, 2]]
    values = np.array([-9, 9, -1], np.int16)
    given_ = [i[x] >> 1, i[x] << 3, hl.i16(hl.abs(i[x])), ~i[x], -i[x]]
    for found in evaluate_all(given_, 3, {i: values}):
        assert found.tolist() == [[-5, 4, -1], [-72, 72, -8], [9, 9, 1], [8, -10, 0], [9, -9, 1]]


def test_shifts_follow_halide() -> None:
    """A Python number leaves the type, an expression widens it; a negative number shifts the other way."""
    b = hl.ImageParam(hl.UInt(8), 1, "b")
    assert [(b[x] << 1).type, (b[x] << x).type, (1 << b[x]).type, (b[x] >> hl.u16(1)).type] == [
        hl.UInt(8), hl.UInt(32), hl.Int(32), hl.UInt(16)]
    for found in evaluate_all([hl.i32(64) << (x - 2), hl.i32(64) >> (x - 2), hl.i32(b[x] << 7), hl.i32(b[x] >> -3)], 4,
                              {b: np.array([3, 2, 255, 1], np.uint8)}):
        assert found.tolist() == [[16, 32, 64, 128], [256, 128, 64, 32], [128, 0, 128, 128], [24, 16, 248, 8]]


@in_turn
def test_integers_of_64_bits_and_constants_at_the_edges() -> None:
    a, b = hl.ImageParam(hl.Int(64), 1, "a"), hl.ImageParam(hl.UInt(64), 1, "b")
    signed, unsigned = [-2**63 + 1, 2**63 - 1, -7, 5], [2**64 - 1, 2**63, 7, 5]
    inputs = {a: np.array(signed, np.int64), b: np.array(unsigned, np.uint64)}
    for found in evaluate_all([a[x] // 3, a[x] % 3, a[x] // hl.i64(x - 1), a[x] >> 3], 4, inputs):
        assert found.tolist() == [[v // 3 for v in signed], [v % 3 for v in signed],
                                  [exact("/", v, k - 1) for k, v in enumerate(signed)], [v >> 3 for v in signed]]
    for found in evaluate_all([b[x] // 3, b[x] // hl.u64(x), hl.max(b[x], 9), b[x] + hl.u64(2**63 + 5)], 4, inputs):
        assert found.tolist() == [[v // 3 for v in unsigned], [exact("/", v, k) for k, v in enumerate(unsigned)],
                                  [max(v, 9) for v in unsigned], [(v + 2**63 + 5) % 2**64 for v in unsigned]]
    for found in evaluate_all([hl.f32(1e300), hl.f32(-1e300), hl.f32(float("nan")), hl.f32(3.4e38)], 1, {}):
        assert np.array_equal(found[:, 0], np.array([np.inf, -np.inf, np.nan, 3.4e38], np.float32), equal_nan=True)


@pytest.mark.parametrize(("kind", "given_"), few(
    [(k, g) for g in (hl.Float(32), hl.Float(64)) for k in (hl.Int(64), hl.UInt(8), *INTEGERS, hl.UInt(64))],
    2), ids=str)
def test_saturating_casts_of_real_numbers_stay_inside(kind: Type, given_: Type) -> None:
    f = hl.ImageParam(given_, 1, "f")
    for found in evaluate_all([hl.saturating_cast(kind, f[x])], 3, {f: np.array([-1e30, 1e30, 5.5], given_.numpy)}):
        low, high, middle = (int(v) for v in found[0])
        assert (low, middle) == (kind.least, 5)
        assert kind.greatest * (1 - 2**-23) <= high <= kind.greatest


def test_numbers_and_types_are_converted_as_in_halide() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 3)], "r")
    f[x] = hl.u8(7)
    f[r] += 1
    f[0] = 9
    assert f.type() == hl.UInt(8)
    assert np.asarray(f.realize([4])).tolist() == [9, 8, 8, 7]
    assert hl.Expr(3).type == hl.Int(32)
    assert (hl.Expr(2) + x).type == hl.Int(32)
    assert hl.Int(16).max().type == hl.Int(16)
    assert hl.u32(3000000000).type == hl.UInt(32)
    buffer = hl.Buffer(np.arange(12, dtype=np.uint8).reshape(3, 4))
    assert [buffer[i, 2] for i in range(buffer.width())] == [8, 9, 10, 11]


@pytest.mark.parametrize("kind", few(
    [hl.Int(8), hl.UInt(16), hl.Int(64), hl.UInt(8), hl.Int(32), hl.UInt(32)], 1), ids=str)
def test_integer_powers_are_products_in_the_type_of_the_base(kind: Type) -> None:
    a = hl.ImageParam(kind, 1, "a")
    data = numbers(kind, 50, 4) if kind.bits < 32 else np.arange(50).astype(kind.numpy) % 23
    powers = [a[x] ** 0, a[x] ** 1, a[x] ** 2, hl.pow(a[x], 5), hl.fast_pow(a[x], hl.Expr(7)), a[x] ** -1]
    assert [p.type for p in powers] == [kind] * 6
    for found in evaluate_all([hl.i64(p) for p in powers], 50, {a: data}):
        for row, n in zip(found[:5], (0, 1, 2, 5, 7), strict=True):
            assert row.tolist() == [wrapped(kind, int(v) ** n) for v in data]
        assert found[5].tolist() == [exact("/", 1, int(v)) for v in data]


def test_powers_of_real_numbers() -> None:
    """Integer constants are multiplied out, of negative numbers too; the type is the base's."""
    f = hl.ImageParam(hl.Float(64), 1, "f")
    data = np.array([-1.5, 0.5, 2.0, 3.0])
    values = [f[x] ** 2, f[x] ** 3, f[x] ** -2, hl.pow(f[x], 0), hl.abs(f[x]) ** 0.5, hl.abs(f[x]) ** 80, 2 ** f[x]]
    for found in evaluate_all(values, 4, {f: data}):
        assert np.allclose(
            found, [data**2, data**3, data**-2, data**0, abs(data) ** 0.5, data**80, 2**data], rtol=1e-14
        )
    g = hl.f32(f[x])
    assert [(g**2).type, (g**f[x]).type, (x**0.5).type, (2 ** f[x]).type] == [hl.Float(32)] * 3 + [hl.Float(64)]


@pytest.mark.parametrize("kind", [hl.Float(32), hl.Float(64)], ids=str)
def test_functions_of_real_numbers(kind: Type) -> None:
    f = hl.ImageParam(kind, 1, "f")
    data = np.array([-0.75, 0.0, 0.5, 0.9], kind.numpy)
    values = [erf(f[x]), asinh(f[x]), acosh(f[x] + 2), atanh(f[x])]
    assert [v.type for v in values] == [kind] * 4
    for found in evaluate_all(values, 4, {f: data}):
        expected = [[math.erf(v) for v in data], np.arcsinh(data), np.arccosh(data + 2), np.arctanh(data)]
        assert np.allclose(found, expected, rtol=1e-6 if kind.bits == 32 else 1e-14)


def test_numbers_that_are_not_finite_are_found() -> None:
    f = hl.ImageParam(hl.Float(32), 1, "f")
    data = np.array([1.0, np.inf, -np.inf, np.nan, 3e38], np.float32)
    for found in evaluate_all([hl.u8(is_inf(f[x])), hl.u8(is_finite(f[x])), hl.u8(hl.is_nan(f[x]))], 5, {f: data}):
        assert found.tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 1, 0]]
    with pytest.raises(InputError, match="is_inf needs a floating-point number, not int32"):
        is_inf(x)


@pytest.mark.parametrize("kind", few([hl.Int(8), hl.UInt(8), hl.Int(32), hl.UInt(32)], 2), ids=str)
def test_functions_on_integers_follow_halide(kind: Type) -> None:
    a, b = hl.ImageParam(kind, 1, "a"), hl.ImageParam(kind, 1, "b")
    one, other = numbers(kind, 60, 5), numbers(kind, 60, 6)
    one[0], other[0] = kind.least, 1
    values = [div_round_to_zero(a[x], b[x]), mod_round_to_zero(a[x], b[x]), halving_sub(a[x], b[x]),
              rounding_shift_right(a[x], 3), rounding_shift_right(a[x], -2),
              rounding_shift_right(a[x], hl.cast(kind, x % 6))]
    assert [v.type for v in values] == [kind] * 6
    for found in evaluate_all([hl.i64(v) for v in values], 60, {a: one, b: other}):
        for k, (p, q) in enumerate(zip(map(int, one), map(int, other), strict=True)):
            quotient = 0 if q == 0 else abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
            rest = 0 if q == 0 else p - quotient * q
            shifted = [wrapped(kind, v) for v in ((p + 4) >> 3, p << 2, (p + (1 << k % 6) // 2) >> k % 6)]
            assert found[:, k].tolist() == [wrapped(kind, quotient), rest, wrapped(kind, (p - q) // 2), *shifted], (
                p,
                q,
            )


leaves = st.sampled_from(["a", "b", "x", "3", "7"])
trees = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from([*OPERATIONS[:-2], "select", "cast8", "cast16"]), inner, inner),
    max_leaves=7,
)


def built(tree: Any, a: Any, b: Any) -> Any:
    """An int16 expression of a random tree."""
    if isinstance(tree, str):
        return {"a": a[x], "b": b[x], "x": hl.i16(x), "3": hl.i16(3), "7": hl.i16(-7)}[tree]
    name, left, right = tree
    one, other = built(left, a, b), built(right, a, b)
    if name == "select":
        return hl.select(one < other, one, other - one)
    if name.startswith("cast"):
        return hl.i16(hl.cast(hl.UInt(8) if name == "cast8" else hl.UInt(16), one))
    return hl.i16(applied(name, one, other))


@in_turn
@settings(max_examples=3)
@given(st.lists(trees, min_size=8, max_size=8), st.integers(0, 99))
def test_random_expressions_mean_the_same_in_c(picked: list[Any], seed: int) -> None:
    """Random int16 expressions, several in one program: C, with the casts that intervals left, computes what numpy
    does.
    """
    kind = hl.Int(16)
    a, b = hl.ImageParam(kind, 1, "a"), hl.ImageParam(kind, 1, "b")
    one, other = numbers(kind, 64, seed), numbers(kind, 64, seed + 1)
    found, ran = evaluate_all([built(tree, a, b) for tree in picked], 64, {a: one, b: other})
    assert (found == ran).all()


@settings(max_examples=150)
@given(trees, st.integers(0, 99))
def test_values_are_inside_of_their_intervals(tree: Any, seed: int) -> None:
    kind = hl.Int(16)
    a, b = hl.ImageParam(kind, 1, "a"), hl.ImageParam(kind, 1, "b")
    a.set(numbers(kind, 64, seed))
    b.set(numbers(kind, 64, seed + 1))
    value = built(tree, a, b)
    func = hl.Func("result")
    func[x] = hl.i64(value)
    low, high = Intervals(Sizes({}, ()), {x.key: (0, 63)}).of(value)
    found = np.asarray(func.realize([64]))
    assert low <= found.min() and found.max() <= high


@given(st.floats(-4, 4, width=32), st.floats(0, 4, width=32), st.sampled_from([8, 10, 255]))
def test_clamped_coordinates_are_inside_of_their_intervals(low: float, size: float, scale: int) -> None:
    """The usual way to make a coordinate of a real number: clamp, scale, round."""
    f = hl.ImageParam(hl.Float(32), 1, "f")
    f.set((numbers(hl.Float(32), 64, 5) / 20).astype(np.float32))
    value = hl.i32(hl.clamp(f[x], low, low + size) * float(scale) + 0.5)
    func = hl.Func("result")
    func[x] = value
    least, most = Intervals(Sizes({}, ()), {x.key: (0, 63)}).of(value)
    found = np.asarray(func.realize([64]))
    assert least <= found.min() and found.max() <= most
    assert most - least <= size * scale + 2


def test_numbers_cut_off_near_an_integer_are_known_to_depend_on_rounding() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image, func = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("cut")
    func[x, y] = hl.u8(0.1 * hl.f32(image[x, y]))
    data = np.tile(np.arange(250, dtype=np.uint8), (4, 1))
    image.set(data)
    ran = run_sequential(program_of([func], [250, 4]), {"image": data})
    allowed = ran.rounding["cut"]
    assert (allowed[:, 10::10] >= 1).all()  # 0.1 * 30 is 3, or a little less
    assert (allowed[:, np.arange(250) % 10 != 0] == 0).all()


def test_integers_that_no_rounding_decides_get_no_tolerance() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    image, func = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("halved")
    func[x, y] = (image[x, y] + image[x + 1, y]) // 2
    data = np.random.default_rng(0).integers(0, 256, (8, 65)).astype(np.uint8)
    image.set(data)
    assert run_sequential(program_of([func], [64, 8]), {"image": data}).rounding == {}


def test_who_compares_nothing_has_one_quick_build_of_sequential_c() -> None:
    x = hl.Var("x")
    func = hl.Func("squares")
    func[x] = hl.cast(hl.Float(32), x) * x
    program = program_of([func], [64])
    asked, alone = run_sequential(program, {}), run_sequential(program, {}, baselines=False)
    assert "-O3 -fsigned-char -fwrapv" in asked.compiler and [one.name for one in asked.baselines] == ["o3"]
    assert "-O1 -ftree-vectorize -fsigned-char -fwrapv" in alone.compiler and not alone.baselines
    np.testing.assert_array_equal(asked.outputs["squares"], alone.outputs["squares"])
