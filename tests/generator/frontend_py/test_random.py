"""Random numbers: determined by seed and coordinates, the same in C, spread evenly; and what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from antune import halide as hl
from generator.errors import InputError
from tests.support.halide_wheel import Wanted, as_in_c
from tests.support.reading import problem_of

x, y = hl.Var("x"), hl.Var("y")
FACTOR, STEP = 0x5851F42D4C957F2D, 0x2545F491


def hashed(*words: int) -> int:
    """The hash that the language documents."""
    state = 0x9E3779B9
    for word in (*words, 0x9E3779B9, 0x3C6EF372, 0xDAA66D2B):
        state = ((state ^ (word % 2**32)) * FACTOR + STEP) % 2**64 >> 32
    return state


def noise(hl_: object) -> Wanted:
    f = hl.Func("noise")
    f[x, y] = (hl.random_uint(7), hl.random_int(7), hl.random_float(7), hl.random_uint())
    return [(f, [6, 4])]


def test_numbers_are_the_documented_hash_of_seed_and_coordinates() -> None:
    words, integers, reals, other = as_in_c(noise)
    expected = np.array([[hashed(7, i, j) for i in range(6)] for j in range(4)], np.uint32)
    assert np.array_equal(words, expected)
    assert np.array_equal(integers, expected.view(np.int32))
    assert np.array_equal(reals, ((expected >> 8) * 2.0**-24).astype(np.float32))
    assert not np.array_equal(other, words)


def test_inlined_or_read_elsewhere_a_number_stays_the_same() -> None:
    f, g, h, r = hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.RDom([(0, 5)])
    f[x] = hl.random_uint(3)
    g[x] = f[x + 2]
    h[x] = hl.u32(0)
    h[r.x] = hl.random_uint(3) ^ f[r.x]
    assert np.asarray(g.realize([3])).tolist() == [hashed(3, k) for k in (2, 3, 4)]
    assert np.asarray(h.realize([5])).tolist() == [hashed(3, k) ^ hashed(3, k) for k in range(5)]


def test_calls_without_a_seed_differ() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = (hl.random_uint(), hl.random_uint())
    g[x] = hl.random_uint()
    one, two = (np.asarray(part) for part in f.realize([50]))
    assert len({*one.tolist(), *two.tolist(), *np.asarray(g.realize([50])).tolist()}) == 150


def test_funcs_of_one_name_or_line_have_different_numbers() -> None:
    """Unnamed ones made on one line, ones with the same name, and the Funcs that `sum` makes."""
    same, out = [hl.Func() for _ in range(2)] + [hl.Func("f"), hl.Func("f")], hl.Func("out")
    r = hl.RDom([(0, 2)])
    for func in same:
        func[x] = hl.random_uint()
    out[x] = (*(func[x] for func in same), *(hl.sum(r, hl.u64(hl.random_uint()) + r + x) for _ in range(2)))
    found = [np.asarray(part).tolist() for part in out.realize([50])]
    assert len({number for part in found for number in part}) == 6 * 50
    assert [np.asarray(part).tolist() for part in out.realize([50])] == found


def test_numbers_without_a_seed_are_the_same_in_c() -> None:
    def sums(_: object) -> Wanted:
        noise, out = hl.Func(), hl.Func("out")
        noise[x, y] = hl.random_float() + hl.random_float()
        out[x, y] = noise[x, y] + hl.random_float()
        return [(out, [20, 3])]

    as_in_c(sums)


@pytest.mark.parametrize("message", ["print_when(x > 90, value, extra[x])", "require(extra[x] < 99, value)"])
def test_what_only_messages_read_is_no_stage(message: str) -> None:
    seen, extra, out = hl.Func("seen"), hl.Func("extra"), hl.Func("out")
    seen[x] = x + 2
    extra[x] = seen[x] + 1
    out[x] = eval(f"hl.{message}", {"hl": hl, "x": x, "extra": extra, "value": x * 3})
    program = problem_of([out], [8], "out").program
    assert [array.name for array in program.arrays] == ["out"]
    assert [statement.text for statement in program.statements] == ["out(x) = x * 3"]
    with pytest.raises(InputError, match="what Func `out` requires does not hold at x = 7"):
        out2 = hl.Func("out")
        out2[x] = hl.require(extra[x] < 10, x)
        problem_of([out2], [8], "out")


@pytest.mark.parametrize("seed", [0, 1, 12345])
def test_numbers_are_spread_evenly_and_neighbours_are_unrelated(seed: int) -> None:
    f = hl.Func("f")
    f[x, y] = hl.random_float(seed)
    found = np.asarray(f.realize([512, 512])).astype(float)
    assert 0 <= found.min() < 1e-4 and 1 - 1e-4 < found.max() < 1
    counts = np.bincount((found.ravel() * 256).astype(int), minlength=256)
    assert 150 < ((counts - 1024) ** 2 / 1024).sum() < 400, "chi-square of 255 degrees of freedom"
    centred = found - found.mean()
    for one, other in ((centred[:, 1:], centred[:, :-1]), (centred[1:], centred[:-1]), (centred[1:, 1:],
                       centred[:-1, :-1]), (centred[:, 16:], centred[:, :-16])):
        assert abs((one * other).mean() / centred.var()) < 0.01
    spectrum = abs(np.fft.fft2(centred)) ** 2 / centred.size / centred.var()
    assert spectrum.max() < 25, "no wave stands out"


def test_what_is_printed_comes_point_by_point(capsys: pytest.CaptureFixture[str]) -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.print(x * 2, "is twice", x, hl.f32(x) / 2)
    g[x] = hl.print_when(x == 1, f[x] + 1, "<- g")
    assert np.asarray(g.realize([3])).tolist() == [1, 3, 5]
    assert capsys.readouterr().out.splitlines() == ["0 is twice 0 0.000000", "2 is twice 1 0.500000",
                                                    "4 is twice 2 1.000000", "3 <- g"]
