"""Results that jump: which ones depend on rounding is found from error bounds, and no others get a tolerance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from antune import halide as hl
from experiments.suites.image_pipelines import PIPELINES, pipeline
from generator.capture.build import UNTIMED
from generator.frontend_py.func import Func
from generator.frontend_py.load import built, outputs_of
from generator.frontend_py.problem import program_of, read_pipeline
from generator.program import Program
from generator.rounding import relative_tolerance
from generator.sequential import pipeline as sequential
from generator.sequential.jumps import HEAD
from generator.sequential.pipeline import Sequential, run_sequential
from runners.check import compare

x, y = hl.Var("x"), hl.Var("y")
MACHINES = (("-O0",), ("-O3", "-march=native", "-ffp-contract=fast"),
            ("-O3", "-march=native", "-ffast-math", "-fno-finite-math-only"))


def read(func: Func, sizes: list[int], **images: NDArray[Any]) -> tuple[Program, Sequential]:
    program = program_of([func], sizes)
    return program, run_sequential(program, images, baselines=False)


def elsewhere(program: Program, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
              **images: NDArray[Any]) -> NDArray[Any]:
    """Return the results of a build as other machines and compilers make it."""
    with monkeypatch.context() as patched:
        patched.setattr(sequential, "UNTIMED", replace(UNTIMED, level=flags))
        return run_sequential(program, images, baselines=False).outputs[program.outputs[0].name]


def image_of(kind: hl.Type, data: NDArray[Any], name: str = "image") -> hl.ImageParam:
    image = hl.ImageParam(kind, data.ndim, name)
    image.set(data)
    return image


def contracted(seed: int) -> NDArray[np.float32]:
    """Return numbers a, b, c such that a b - 1.25 c is 0 in float, but not if one product keeps its digits."""
    rng = np.random.default_rng(seed)
    a, b = (np.sqrt(rng.uniform(1, 2, 4096)).astype(np.float32) for _ in range(2))
    c = (a.astype(float) * b / np.float32(1.25)).astype(np.float32)
    same = (a * b == c * np.float32(1.25)) & (a.astype(float) * b != c.astype(float) * 1.25)
    return np.stack([a[same], b[same], c[same]])


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


def test_real_results_of_undecided_answers() -> None:
    data = contracted(4)
    image, func = image_of(hl.Float(32), data), hl.Func("side")
    func[x] = hl.select(image[x, 0] * image[x, 1] - image[x, 2] * 1.25 >= 0.0, 1.0, 5.0)
    _, ran = read(func, [data.shape[1]], image=data)
    assert (ran.outputs["side"] == 1).all() and (ran.rounding["side"] >= 4).all()


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


def undecided_signs(seed: int, gaps: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return numbers as `contracted`, `gaps` decided ones after each, and which answers are undecided."""
    data = contracted(seed)[:, :64]
    spread = np.ones((3, data.shape[1], 1 + gaps), np.float32)
    spread[:, :, 0] = data
    return spread.reshape(3, -1), np.arange(spread[0].size) % (1 + gaps) == 0


def sign_of(image: hl.ImageParam, index: Any) -> hl.Expr:
    return image[index, 0] * image[index, 1] - image[index, 2] * 1.25 >= 0.0


def test_a_real_result_that_jumps_lends_its_neighbours_nothing() -> None:
    data, undecided = undecided_signs(1, 12)
    image, func = image_of(hl.Float(32), data), hl.Func("shade")
    func[x] = hl.select(sign_of(image, x), 1.0, 5.0) + image[x, 0] / 3.0
    program, ran = read(func, [data.shape[1]], image=data)
    allowed = ran.rounding["shade"]
    assert (allowed[undecided] >= 4).all() and (allowed[undecided] <= 8.01).all() and (allowed[~undecided] < 1e-4).all()
    for place in (1, 5, 14):
        wrong = ran.outputs["shade"].copy()
        wrong[place] += np.float32(0.01)
        assert compare(program, ran.outputs, {"shade": wrong}, None, ran.rounding) is not None


@pytest.mark.parametrize("weights", [(-1, 1), (-1, -2, 0, 2, 1), (1, -1) * 4])
def test_jumps_of_several_elements_that_others_read(weights: tuple[int, ...]) -> None:
    """Each undecided element may have either value: the tolerance covers their sums, and not much more."""
    data, _ = undecided_signs(2, 0)
    image, mask, func = image_of(hl.Float(32), data), hl.Func("mask"), hl.Func("stencil")
    size = data.shape[1] - len(weights) + 1
    mask[x] = hl.select(sign_of(image, x), 1.0, 0.0)
    func[x] = sum((weight * mask[x + k] for k, weight in enumerate(weights)), hl.f32(0.0))
    program, ran = read(func, [size], image=data)
    rng = np.random.default_rng(0)
    for share in np.linspace(0, 1, 41):
        answers = (rng.random(data.shape[1]) < share).astype(np.float32)
        got = sum(np.float32(weight) * answers[k:k + size] for k, weight in enumerate(weights))
        assert compare(program, ran.outputs, {"stencil": np.asarray(got)}, None, ran.rounding) is None
    assert ran.rounding["stencil"].max() <= 2 * sum(map(abs, weights))


def test_counts_as_real_numbers() -> None:
    """All values of a bin may go to the next one together, those of the other bins not."""
    data = np.repeat(np.arange(1, 33, dtype=np.float32), 40) / np.float32(10)
    image, func = image_of(hl.Float(32), data), hl.Func("count")
    r = hl.RDom([(0, data.size)], "r")
    func[x] = 0.0
    func[hl.clamp(hl.i32(image[r] * 10.0), 0, 33)] += 1.0
    program, ran = read(func, [34], image=data)
    for moved in range(32):
        for other in ([moved], [moved, moved + 2], list(range(moved % 2, 32, 2))):
            bins = np.repeat(np.arange(1, 33), 40)
            bins[np.isin(bins, np.array(other) + 1)] -= 1
            got = np.bincount(bins, minlength=34).astype(np.float32)
            assert compare(program, ran.outputs, {"count": got}, None, ran.rounding) is None
    wrong = ran.outputs["count"] * 0
    assert compare(program, ran.outputs, {"count": wrong + 400}, None, ran.rounding) is not None


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


def test_a_remainder_that_jumps_lends_its_neighbours_nothing() -> None:
    data = np.full(64, 1.3, np.float32)
    data[20] = 1.5
    image, func = image_of(hl.Float(32), data), hl.Func("rest")
    func[x] = (image[x] * 0.7 + image[x] * 1.3) % 1.0
    _, ran = read(func, [64], image=data)
    allowed = ran.rounding["rest"]
    assert 1 <= allowed[20] < 10 and (np.delete(allowed, 20) < 1e-4).all()


def test_real_results_of_programs_without_time_for_other_answers(tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow program has only one run with error bounds: runs with another rounding show what jumps."""
    changed, limit = tmp_path / "head.h", "#define ANTUNE_MOST_WAYS_MS"
    text = HEAD.read_text()
    assert limit in text
    changed.write_text(text.replace(limit, f"{limit} 0 *"))
    monkeypatch.setattr(sequential, "JUMPS_HEAD", changed)
    data = np.arange(64, dtype=np.float32)
    image, func = image_of(hl.Float(32), data), hl.Func("side")
    func[x] = hl.select(hl.f32(0.1) * image[x] > 1.0, 1.0, 5.0)
    _, ran = read(func, [64], image=data)
    assert ran.outputs["side"][10] == 5
    assert 4 <= ran.rounding["side"][10] <= 8 and not ran.rounding["side"][20:].any()


def test_jumps_of_doubles_beyond_floats() -> None:
    data, _ = undecided_signs(2, 0)
    image, mask, func = image_of(hl.Float(32), data), hl.Func("mask"), hl.Func("gradient")
    mask[x] = hl.select(sign_of(image, x), hl.f64(1e200), hl.f64(0.0))
    func[x] = mask[x + 1] - mask[x]
    _, ran = read(func, [data.shape[1] - 1], image=data)
    assert 2e200 <= ran.rounding["gradient"].max() <= 4e200


def test_errors_that_the_terms_of_a_sum_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """They add up to n times that of a term, not sqrt(n) times, also where the program compares."""
    data = contracted(11)
    products = data[0].astype(float) * data[1]
    data[2] = data[0] * data[1]
    data = data[:, (products < 1.2) & (np.abs(products - data[2]) > 0.7 * 2.0**-24)]
    weights = np.random.default_rng(2).uniform(1, 2, 1000).astype(np.float32)
    image, weight = image_of(hl.Float(32), data), image_of(hl.Float(32), weights, "weight")
    factor, row, func, r = hl.Func("factor"), hl.Func("row"), hl.Func("total"), hl.RDom([(0, 1000)], "r")
    factor[x] = image[x, 0] * image[x, 1] - image[x, 2]
    row[x] += factor[x] * hl.select(weight[r] > 0.0, weight[r], 0.0)
    func[x] += row[x] * weight[r]
    program, ran = read(func, [data.shape[1]], image=data, weight=weights)
    fused = elsewhere(program, MACHINES[1], monkeypatch, image=data, weight=weights)
    assert not ran.outputs["total"].any() and fused.all()
    assert compare(program, ran.outputs, {"total": fused}, None, ran.rounding) is None


def test_a_sum_of_undecided_answers_without_dimensions() -> None:
    data, _ = undecided_signs(2, 0)
    image, func, r = image_of(hl.Float(32), data), hl.Func("total"), hl.RDom([(0, 64)], "r")
    func[()] = 0.0
    func[()] += hl.select(sign_of(image, r), 1.0, 0.0)
    program, ran = read(func, [], image=data)
    assert isinstance(ran.rounding["total"], np.ndarray)
    for count in (0, 10, 64):
        assert compare(program, ran.outputs, {"total": np.asarray(count, np.float32)}, None, ran.rounding) is None
