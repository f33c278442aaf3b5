"""Results that jump: which ones depend on rounding is found from error bounds, and no others get a tolerance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antune import halide as hl
from experiments.suites.image_pipelines import PIPELINES, pipeline
from generator.capture.build import UNTIMED
from generator.frontend_py.load import built, outputs_of
from generator.frontend_py.problem import read_pipeline
from generator.rounding import Bounds, from_other_answers, relative_tolerance, within
from generator.sequential import pipeline as sequential
from generator.sequential.pipeline import run_sequential
from runners.check import compare
from tests.support.slow import in_turn
from tests.support.undecided import MACHINES, contracted, elsewhere, image_of, read, sign_of, undecided_signs

x, y = hl.Var("x"), hl.Var("y")


def test_an_answer_that_a_contraction_changes_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both products round to the same number, also upwards and downwards, so that their difference is 0 in all runs."""
    data = contracted(1)
    image, func = image_of(hl.Float(32), data), hl.Func("side")
    difference = image[x, 0] * image[x, 1] - image[x, 2] * 1.25
    func[x] = hl.u8(hl.select(difference > 0.0, 200, 3))
    program, ran = read(func, [data.shape[1]], image=data)
    fused = elsewhere(program, MACHINES[1], monkeypatch, image=data)
    assert compare(program, ran.outputs, {"side": fused}, None, ran.rounding) is None
    exact = data[0].astype(float) * data[1] > data[2].astype(float) * 1.25
    assert (ran.rounding["side"][exact] >= 197).all() and exact.any()


def test_a_look_up_at_an_undecided_place() -> None:
    data = contracted(2)
    table = np.array([7, 100, 30, 1], np.uint8)
    image, values, func = image_of(hl.Float(32), data), image_of(hl.UInt(8), table, "table"), hl.Func("found")
    shift = image[x, 0] * image[x, 1] - image[x, 2] * 1.25
    func[x] = values[hl.clamp(hl.i32(hl.floor(1.0 + shift)), 0, 3)]
    _, ran = read(func, [data.shape[1]], image=data, table=table)
    assert (ran.outputs["found"] == 100).all()
    assert (ran.rounding["found"] >= 93).all() and (ran.rounding["found"] < 255).all()


@pytest.mark.parametrize("rounded", [hl.round, hl.floor, lambda value: value])
def test_integers_in_real_arithmetic_must_be_right(rounded: Any) -> None:
    """An error of one in all of them is as wrong as ever."""
    data = np.random.default_rng(0).integers(0, 200, (8, 64)).astype(np.uint8)
    image, stage, func = image_of(hl.UInt(8), data), hl.Func("stage"), hl.Func("kept")
    stage[x, y] = hl.f32(image[x, y]) * 2.0 - 3.0 + hl.f32(image[x, y]) / 4.0
    func[x, y] = hl.i32(rounded((stage[x, y] + 3.0) * 4.0))
    program, ran = read(func, [64, 8], image=data)
    assert ran.rounding == {}
    assert compare(program, ran.outputs, {"kept": ran.outputs["kept"] + 1}, None, ran.rounding) is not None


def test_exactly_the_numbers_near_an_integer_are_marked() -> None:
    data = np.random.default_rng(1).integers(0, 256, (3, 64, 64)).astype(np.uint8)
    image, func = image_of(hl.UInt(8), data), hl.Func("gray")
    red, green, blue = (hl.f32(image[x, y, k]) for k in range(3))
    func[x, y] = hl.u8(hl.clamp(0.299 * red + 0.587 * green + 0.114 * blue, 0.0, 255.0))
    program, ran = read(func, [64, 64], image=data)
    thousandths = 299 * data[0].astype(int) + 587 * data[1].astype(int) + 114 * data[2].astype(int)
    near = (thousandths % 1000 == 0) & (thousandths > 0)
    np.testing.assert_array_equal(ran.rounding["gray"] > 0, near)
    assert near.any() and ran.rounding["gray"].max() == 1
    for wrong, permitted in ((near, True), (~near & (np.cumsum(~near).reshape(near.shape) == 999), False)):
        got = ran.outputs["gray"] - wrong.astype(np.uint8)
        assert (compare(program, ran.outputs, {"gray": got}, None, ran.rounding) is None) is permitted


def test_sums_in_another_order() -> None:
    data = np.random.default_rng(2).uniform(0, 1, (500, 999)).astype(np.float32)
    image, total, func = image_of(hl.Float(32), data), hl.Func("total"), hl.Func("cut")
    r = hl.RDom([(0, 999)], "r")
    total[y] = 0.0
    total[y] += image[r, y]
    func[y] = hl.i32(total[y] * 1000.0)
    program, ran = read(func, [500], image=data)
    backwards = np.cumsum(data[:, ::-1], axis=1, dtype=np.float32)[:, -1]
    for other in (backwards, data.sum(axis=1), data.astype(float).sum(axis=1).astype(np.float32)):
        got = (other * np.float32(1000)).astype(np.int32)
        assert (got != ran.outputs["cut"]).any()
        assert compare(program, ran.outputs, {"cut": got}, None, ran.rounding) is None
    usual = relative_tolerance("float", 999) * ran.outputs["cut"].max()  # that of the sums as real numbers
    assert ran.rounding["cut"].max() <= usual
    assert compare(program, ran.outputs, {"cut": ran.outputs["cut"] + int(usual)}, None, ran.rounding) is not None


@pytest.mark.slow
def test_other_machines_equalize_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms differ by some counts, and shades are near integers; few elements get a tolerance."""
    equalize, = outputs_of(built(pipeline("histogram_equalize").file, None, {}))
    data = np.random.default_rng(3).integers(0, 256, (3, 160, 240)).astype(np.uint8)
    program, ran = read(equalize, [240, 160, 3], image=data)
    allowed, result = ran.rounding["equalized"], ran.outputs["equalized"]
    assert 0 < (allowed > 0).mean() < 0.02
    got = [elsewhere(program, flags, monkeypatch, image=data) for flags in MACHINES[1:]]
    for other in got:
        assert compare(program, ran.outputs, {"equalized": other}, None, ran.rounding) is None
    for sign in (1, -1):
        wrong = np.where(allowed > 0, result, result.astype(int) + sign).astype(np.uint8)
        assert compare(program, ran.outputs, {"equalized": wrong}, None, ran.rounding) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in PIPELINES])
@pytest.mark.parametrize("flags", MACHINES)
def test_other_machines_compute_the_suite_alike(name: str, flags: tuple[str, ...],
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    found = pipeline(name)
    for seed in range(3):
        problem = read_pipeline(found.file, None, dict(found.parameters_at("small")), seed)
        reference, program = problem.reference, problem.program
        with monkeypatch.context() as patched:
            patched.setattr(sequential, "UNTIMED", replace(UNTIMED, level=flags))
            other = run_sequential(program, reference.inputs, baselines=False).outputs
        assert compare(program, reference.outputs, other, None, reference.rounding) is None


@pytest.mark.parametrize("cut", [lambda ratio: hl.clamp(hl.round(ratio), 0.0, 255.0),
                                 lambda ratio: hl.round(hl.clamp(ratio, 0.0, 255.0)),
                                 lambda ratio: hl.select(ratio > 0.5, 9, 4)])
def test_a_quotient_by_0_is_decided(cut: Any) -> None:
    data = np.arange(1, 65, dtype=np.float32)
    divisors = np.where(data % 4 == 0, 0, 3 * data - 1).astype(np.float32)
    image, other, func = image_of(hl.Float(32), data), image_of(hl.Float(32), divisors, "divisors"), hl.Func("share")
    func[x] = hl.i32(cut(image[x] / other[x]))
    _, ran = read(func, [64], image=data, divisors=divisors)
    assert ran.warnings == () and (ran.outputs["share"][3::4] == ran.outputs["share"][3]).all()
    assert not ran.rounding.get("share", np.zeros(64))[3::4].any()


@pytest.mark.parametrize("cut", [lambda number: hl.i32(hl.round(number / 4.0)), hl.i32,
                                 lambda number: hl.u8(hl.select(number == 7.0, 200, 3))])
def test_runs_with_another_rounding_say_nothing_about_exact_numbers(cut: Any) -> None:
    """`rint` follows the rounding of the processor, and the last runs have other inputs."""
    data = np.arange(64, dtype=np.float32)
    image, func = image_of(hl.Float(32), data), hl.Func("cut")
    func[x] = cut(image[x])
    _, ran = read(func, [64], image=data)
    assert ran.rounding == {} and ran.warnings == ()


def test_integers_among_zeros_have_no_more_than_their_answers() -> None:
    data = contracted(7)
    image, func = image_of(hl.Float(32), np.pad(data, ((0, 0), (0, 4096)))), hl.Func("mask")
    func[x] = hl.u8(hl.select(image[x, 0] * image[x, 1] - image[x, 2] * 1.25 > 0.0, 1, 0))
    _, ran = read(func, [data.shape[1] + 4096], image=np.pad(data, ((0, 0), (0, 4096))))
    assert not ran.outputs["mask"].any() and ran.rounding["mask"].max() == 1


def test_a_lesser_number_does_not_jump() -> None:
    data = contracted(5)
    image, func = image_of(hl.Float(32), data), hl.Func("less")
    func[x] = hl.min(image[x, 0] * image[x, 1], image[x, 2] * 1.25)
    _, ran = read(func, [data.shape[1]], image=data)
    assert ran.rounding == {}


@pytest.mark.parametrize(("head", "more", "reason"), [
    ("HEAD_OF_ALL", "\n#undef ANTUNE_MOST_MS\n#define ANTUNE_MOST_MS 0.0\n", "one run takes"),
    ("JUMPS_HEAD", "\n#define antune_another(way) (abort(), 0)\n", "the runs for it fail"),
])
def test_what_was_not_measured_is_said(head: str, more: str, reason: str, tmp_path: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "head.h"
    changed.write_text(getattr(sequential, head).read_text() + more)
    monkeypatch.setattr(sequential, head, changed)
    data = np.arange(64, dtype=np.uint8)
    image, func = image_of(hl.UInt(8), data), hl.Func("cut")
    func[x] = hl.u8(0.1 * hl.f32(image[x]))
    _, ran = read(func, [64], image=data)
    assert ran.outputs["cut"][15] == 1 and ran.rounding == {}
    assert [reason in warning for warning in ran.warnings] == [True]


def test_conditions_of_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed before a condition is used after it."""
    data = np.random.default_rng(6).integers(0, 256, (40, 64)).astype(np.uint8)
    image, shade, func = image_of(hl.UInt(8), data), hl.Func("shade"), hl.Func("counted")
    r = hl.RDom([(0, 40)], "r")
    shade[x, y] = 0.1 * hl.f32(image[x, y])
    r.where(shade[x, r] * shade[x, r] > 2.0)
    func[x] = 0
    func[x] += hl.i32(shade[x, r]) * hl.i32(shade[x, r] * 3.0)
    program, ran = read(func, [64], image=data)
    assert ran.warnings == ()
    undecided = ((data % 10 == 0) & (data >= 20)).sum(axis=0)
    assert (ran.rounding["counted"][undecided > 0] > 0).all()
    assert compare(program, ran.outputs, {"counted": elsewhere(program, MACHINES[2], monkeypatch, image=data)}, None,
                   ran.rounding) is None


@in_turn
@pytest.mark.parametrize("bits", [lambda value: hl.reinterpret(hl.UInt(32), value) & 255,
                                  lambda value: hl.reinterpret(hl.UInt(16), hl.cast(hl.Float(16), value)) & 3])
def test_the_last_bits_of_inexact_numbers(bits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.random.default_rng(8).uniform(1, 2, (3, 20000)).astype(np.float32)
    image, exact = image_of(hl.Float(32), data), hl.Func("bits")
    exact[x] = bits(image[x, 0])
    assert read(exact, [data.shape[1]], image=data)[1].rounding == {}
    func = hl.Func("bits")
    func[x] = bits(image[x, 0] * image[x, 1] - image[x, 2])
    program, ran = read(func, [data.shape[1]], image=data)
    fused = elsewhere(program, MACHINES[1], monkeypatch, image=data)
    assert (fused != ran.outputs["bits"]).any()
    assert compare(program, ran.outputs, {"bits": fused}, None, ran.rounding) is None


def test_a_square_root_by_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed from undetermined bits is as near as the number was."""
    data = np.random.default_rng(9).uniform(1, 2, (3, 500)).astype(np.float32)
    image, func = image_of(hl.Float(32), data), hl.Func("root")
    number = image[x, 0] * image[x, 1] + image[x, 2]
    func[x] = hl.reinterpret(hl.Float(32), (hl.reinterpret(hl.UInt(32), number) >> 1) + hl.u32(0x1FBD1DF5))
    program, ran = read(func, [data.shape[1]], image=data)
    fused = elsewhere(program, MACHINES[1], monkeypatch, image=data)
    assert compare(program, ran.outputs, {"root": fused}, None, ran.rounding) is None
    assert ran.rounding.get("root", np.zeros(1)).max() < 1e-4


def test_errors_of_doubles_beyond_floats() -> None:
    data = contracted(10).astype(np.float64) * np.array([1e-30, 1e-5, 1e-35])[:, None]
    for factor in (1.0, 1e100):
        image, func = image_of(hl.Float(64), data * factor), hl.Func("side")
        stage = hl.Func("stage")
        stage[x] = image[x, 0] * image[x, 1] / 3.0
        func[x] = hl.u8(hl.select(stage[x] * 3.0 > image[x, 0] * image[x, 1], 1, 0))
        _, ran = read(func, [data.shape[1]], image=data * factor)
        assert (ran.rounding["side"] >= 1).all()


@pytest.mark.parametrize(("kind", "limit"), [(hl.UInt(bits), 2**bits) for bits in (8, 16, 32, 64)])
def test_an_undecided_unsigned_result_that_wraps(kind: hl.Type, limit: int) -> None:
    """0 - 1 is the greatest number, and as near to 0 as 1 is; nothing else is permitted."""
    data, _ = undecided_signs(1, 0)
    image, func = image_of(hl.Float(32), data), hl.Func("less")
    func[x] = hl.select(sign_of(image, x), hl.cast(kind, 0), hl.cast(kind, 1)) - hl.cast(kind, 1)
    program, ran = read(func, [data.shape[1]], image=data)
    result = ran.outputs["less"]
    assert (result == limit - 1).all()
    wrong = (5, limit // 2, limit - 5)
    for number, permitted in ((0, True), (limit - 1, True), *((number, False) for number in wrong)):
        got = {"less": np.full_like(result, number)}
        assert (compare(program, ran.outputs, got, None, ran.rounding) is None) is permitted, number


@pytest.mark.parametrize("bits", [8, 16])
def test_an_undecided_signed_result_that_wraps(bits: int) -> None:
    data, _ = undecided_signs(1, 0)
    kind, least = hl.Int(bits), -2**(bits - 1)
    image, func = image_of(hl.Float(32), data), hl.Func("less")
    func[x] = hl.select(sign_of(image, x), hl.cast(kind, least), hl.cast(kind, least + 1)) - hl.cast(kind, 1)
    program, ran = read(func, [data.shape[1]], image=data)
    assert (ran.outputs["less"] == -least - 1).all()
    for number, permitted in ((least, True), (-least - 1, True), (0, False), (least // 2, False), (-least - 9, False)):
        got = {"less": np.full_like(ran.outputs["less"], number)}
        assert (compare(program, ran.outputs, got, None, ran.rounding) is None) is permitted, number


def test_small_integers_without_random_answers_are_not_compared_modulo() -> None:
    """All groups that there was time for may always give both answers that make black white."""
    plain, white = np.zeros(1, np.uint8), np.array([255], np.uint8)
    bounds = Bounds((plain, white), balanced=np.zeros(1), groups=np.ones(1), around=np.ones(1))
    for sampled, permitted in ((False, True), (True, False)):
        tolerance = from_other_answers(plain, replace(bounds, sampled=sampled))
        assert within(plain, np.array([127], np.uint8), tolerance).all() == permitted


def test_from_black_to_white_by_two_answers_is_no_wrap() -> None:
    """What single answers change is less than 2^n, and what is between is permitted."""
    data, _ = undecided_signs(1, 0)
    image, func = image_of(hl.Float(32), data), hl.Func("shade")
    sides = [hl.select(sign_of(image, hl.clamp(x + k, 0, data.shape[1] - 1)), 0, 127 + k) for k in (0, 1)]
    func[x] = hl.u8(sides[0] + sides[1])
    program, ran = read(func, [data.shape[1]], image=data)
    for number in (0, 127, 128, 255):
        got = {"shade": np.full_like(ran.outputs["shade"], number)}
        assert compare(program, ran.outputs, got, None, ran.rounding) is None, number
