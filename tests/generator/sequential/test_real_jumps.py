"""Real results that jump: what other answers make of them is found for each element, and lends nothing to others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from antune import halide as hl
from generator.sequential import pipeline as sequential
from generator.sequential.jumps import HEAD
from runners.check import compare
from tests.support.undecided import MACHINES, contracted, elsewhere, image_of, read, sign_of, undecided_signs

x, y = hl.Var("x"), hl.Var("y")


def test_real_results_of_undecided_answers() -> None:
    data = contracted(4)
    image, func = image_of(hl.Float(32), data), hl.Func("side")
    func[x] = hl.select(image[x, 0] * image[x, 1] - image[x, 2] * 1.25 >= 0.0, 1.0, 5.0)
    _, ran = read(func, [data.shape[1]], image=data)
    assert (ran.outputs["side"] == 1).all() and (ran.rounding["side"] >= 4).all()


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


def test_a_real_result_that_several_answers_change_lends_its_neighbours_nothing() -> None:
    data, undecided = undecided_signs(1, 12)
    image, mask, func = image_of(hl.Float(32), data), hl.Func("mask"), hl.Func("shade")
    mask[x] = hl.select(sign_of(image, x), 1.0, 5.0)
    func[x] = mask[x] - 2.0 * mask[x + 13] + image[x, 0] / 3.0
    program, ran = read(func, [data.shape[1] - 13], image=data)
    allowed, undecided = ran.rounding["shade"], undecided[:-13]
    assert (allowed[undecided] >= 8).all() and allowed.max() <= 20.01 and (allowed[~undecided] < 1e-4).all()
    wrong = ran.outputs["shade"] + np.float32(0.01) * (np.arange(undecided.size) == 5)
    assert compare(program, ran.outputs, {"shade": wrong}, None, ran.rounding) is not None


def test_answers_of_different_stages_are_independent() -> None:
    """Only one of two stages may contract."""
    data, _ = undecided_signs(1, 0)
    image, one, two, func = image_of(hl.Float(32), data), hl.Func("one"), hl.Func("two"), hl.Func("difference")
    for mask in (one, two):
        mask[x] = hl.select(sign_of(image, x), 1.0, 5.0)
    func[x] = one[x] - two[x]
    program, ran = read(func, [data.shape[1]], image=data)
    for difference in (4, -4):
        got = ran.outputs["difference"] + np.float32(difference)
        assert compare(program, ran.outputs, {"difference": got}, None, ran.rounding) is None


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
