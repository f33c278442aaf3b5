"""Small definitions, one per feature of the language, with their results by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.halide_wheel import Wanted

PHOTO: NDArray[np.uint8] = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) * 7 % 251
BYTES: NDArray[np.uint8] = np.arange(256, dtype=np.uint8)


def implicit_vars(hl: Any) -> Wanted:
    x, image, double, row = hl.Var("x"), hl.Buffer(PHOTO), hl.Func("double"), hl.Func("row")
    double[hl._] = hl.u16(image[hl._]) * 2
    row[x, hl._] = double[x, 1, hl._] + hl.u16(x)
    row[x, hl._] += hl.u16(1)
    return [(double, [4, 3, 2]), (row, [4, 2])]


def expected_implicit_vars() -> list[NDArray[Any]]:
    return [PHOTO.astype(np.uint16) * 2, (PHOTO[:, 1, :].astype(int) * 2 + np.arange(4) + 1).astype(np.uint16)]


def several_outputs(hl: Any) -> Wanted:
    x, y = hl.Var("x"), hl.Var("y")
    both, total, less = hl.Func("both"), hl.Func("total"), hl.Func("less")
    both[x, y] = (x + y, hl.f32(x) / 2)
    total[x, y] = both[x, y][0] * 3
    less[x, y] = hl.u8(total[x, y] + 1)
    return [(hl.Pipeline([both, less, total]), [5, 3])]


def expected_several_outputs() -> list[NDArray[Any]]:
    y, x = np.mgrid[:3, :5].astype(np.int32)
    return [x + y, x.astype(np.float32) / 2, (3 * (x + y) + 1).astype(np.uint8), 3 * (x + y)]


def undefined_values(hl: Any) -> Wanted:
    x, f, r = hl.Var("x"), hl.Func("f"), hl.RDom([(0, 10)])
    f[x] = hl.undef(hl.Int(32))
    f[r.x] = hl.select(r.x % 2 == 0, r.x, 0)
    f[r.x] = hl.select(r.x > 5, 100 + r.x, hl.undef(hl.Int(32)))
    return [(f, [10])]


def expected_undefined_values() -> list[NDArray[Any]]:
    return [np.array([k + 100 if k > 5 else k * (k % 2 == 0) for k in range(10)], np.int32)]


def declared_types(hl: Any) -> Wanted:
    x = hl.Var("x")
    one, two = hl.Func(hl.UInt(16), 1, "one"), hl.Func([hl.Int(32), hl.Float(32)], 1, "two")
    one[x] = hl.u16(x * 3)
    two[x] = (x, hl.f32(x) * 0.5)
    return [(one, [6]), (two, [6])]


def expected_declared_types() -> list[NDArray[Any]]:
    x = np.arange(6)
    return [(3 * x).astype(np.uint16), x.astype(np.int32), (x / 2).astype(np.float32)]


def ranges_of_funcs(hl: Any) -> Wanted:
    """A histogram of a Func's values, which its definition keeps below 8."""
    x, y, image = hl.Var("x"), hl.Var("y"), hl.Buffer(PHOTO[0])
    level, shifted, histogram, r = hl.Func("level"), hl.Func("shifted"), hl.Func("histogram"), hl.RDom([(0, 4), (0, 3)])
    level[x, y] = hl.i32(image[x, y]) % 7
    shifted[x, y] = level[x, y] + 1
    histogram[x] = 0
    histogram[shifted[r.x, r.y]] += 1
    return [(histogram, [8])]


def expected_ranges_of_funcs() -> list[NDArray[Any]]:
    return [np.bincount(PHOTO[0].ravel() % 7 + 1, minlength=8).astype(np.int32)]


def integer_lerp(hl: Any) -> Wanted:
    x, row, bytes_ = hl.Var("x"), hl.Var("row"), hl.Buffer(BYTES)
    funcs = []
    for kind in (hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16), hl.UInt(32), hl.Int(32)):
        low, high = hl.cast(kind, hl.u32(bytes_[x]) * 16909320), hl.cast(kind, hl.u32(bytes_[255 - x]) * 77001)
        one, two = hl.u8(row * 60), hl.u16(row * 13000)
        f = hl.Func("f")
        f[x, row] = (hl.lerp(low, high, one), hl.lerp(low, high, two), hl.lerp(low, high, hl.f32(row) / 4.0),
                     hl.lerp(low, high, hl.u32(two) * 65537), hl.lerp(hl.f32(x), hl.f32(x) * 7.5, one))
        funcs.append((f, [256, 5]))
    return funcs


def buffer_parts(hl: Any) -> Wanted:
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    image = hl.Buffer(PHOTO.copy())
    part, plane = image.cropped(0, 1, 2), image.sliced(2, 1)
    box, moved, turned = image.cropped([(1, 3), (1, 2)]), image.translated(0, 10), image.transposed(0, 1)
    image[1, 1, 1] = 99
    f, g, h, k = hl.Func("f"), hl.Func("g"), hl.Func("h"), hl.Func("k")
    f[x, y, c] = part[x + 1, y, c]
    g[x, y] = plane[x, y] + hl.u8(moved[x + 10, y, 0])
    h[x, y, c] = turned[x, y, c]
    k[x, y, c] = box[x + box.left(), y + box.top(), c]
    return [(f, [2, 3, 2]), (g, [4, 3]), (h, [3, 4, 2]), (k, [3, 2, 2])]


def expected_buffer_parts() -> list[NDArray[Any]]:
    data = PHOTO.copy()
    data[1, 1, 1] = 99
    return [data[:, :, 1:3], data[1] + data[0], data.transpose(0, 2, 1), data[:, 1:, 1:]]


def bits(hl: Any) -> Wanted:
    x, bytes_ = hl.Var("x"), hl.Buffer(BYTES)
    funcs = []
    for kind in (hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16), hl.UInt(32), hl.Int(32), hl.UInt(64), hl.Int(64)):
        value = hl.cast(kind, hl.u64(bytes_[x]) << (x % 57))
        f = hl.Func("f")
        f[x] = (hl.popcount(value), hl.count_leading_zeros(value), hl.count_trailing_zeros(value))
        funcs.append((f, [256]))
    return funcs


def expected_bits() -> list[NDArray[Any]]:
    found: list[NDArray[Any]] = []
    for size in (8, 8, 16, 16, 32, 32, 64, 64):
        kind = f"{'u' * (len(found) % 6 == 0)}int{size}"
        values = [f"{(k << (k % 57)) % 2**size:0{size}b}" for k in range(256)]
        found += [np.array([v.count("1") for v in values], kind),
                  np.array([size - len(v.lstrip("0")) for v in values], kind),
                  np.array([size - len(v.rstrip("0")) for v in values], kind)]
    return found


def same_bits(hl: Any) -> Wanted:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    real = hl.f32(x) * 0.375 - 9.0
    f[x] = (hl.reinterpret(hl.UInt(32), real), hl.reinterpret(hl.Int(32), real),
            hl.reinterpret(hl.Float(32), hl.u32(x) * 8388608 + 77))
    g[x] = (hl.reinterpret(hl.UInt(64), hl.f64(real)), hl.reinterpret(hl.Float(64), hl.i64(x) << 54))
    return [(f, [60]), (g, [60])]


def expected_same_bits() -> list[NDArray[Any]]:
    x = np.arange(60)
    real = x.astype(np.float32) * np.float32(0.375) - np.float32(9.0)
    return [real.view(np.uint32), real.view(np.int32), (x.astype(np.uint32) * 8388608 + 77).view(np.float32),
            real.astype(np.float64).view(np.uint64), (x.astype(np.int64) << 54).view(np.float64)]


HALVES: NDArray[np.float16] = np.array(
    [0.0, -0.0, 0.1, 1 / 3, -2.5, 6e-8, 6e-5, 2049, 60000, 65504, 3e-6, -7.3], np.float16)


def halves(hl: Any) -> Wanted:
    x, image, half, r = hl.Var("x"), hl.Buffer(HALVES), hl.Float(16), hl.RDom([(0, 12)])
    near, twice, total, kinds = hl.Func("near"), hl.Func("twice"), hl.Func("total"), hl.Func("kinds")
    near[x] = image[x] * hl.cast(half, 0.5) + hl.cast(half, x)
    twice[x] = hl.f32(near[x]) * 2
    total[x] = hl.cast(half, 0)
    total[x] += image[r.x] * hl.cast(half, 0.125)
    kinds[x] = (hl.reinterpret(hl.UInt(16), image[x]), hl.reinterpret(half, hl.u16(x * 3000)), hl.i32(image[x]),
                hl.cast(half, x * 8001), hl.select(image[x] > 0, image[x], hl.cast(half, 7)))
    return [(near, [12]), (twice, [12]), (total, [3]), (kinds, [12])]


def expected_halves() -> list[NDArray[Any]]:
    x, wide = np.arange(12), HALVES.astype(np.float32)
    near = (wide * np.float32(0.5) + x.astype(np.float32)).astype(np.float16)
    total = np.float16(0)
    for value in wide:
        total = np.float16(np.float32(total) + value * np.float32(0.125))
    with np.errstate(over="ignore"):
        large = (x * 8001).astype(np.float16)
    return [near, near.astype(np.float32) * 2, np.full(3, total), HALVES.view(np.uint16),
            (x * 3000).astype(np.uint16).view(np.float16), wide.astype(np.int32), large,
            np.where(HALVES > 0, HALVES, np.float16(7))]


def generator_class(hl: Any) -> Wanted:
    class Blur(hl.Generator):  # type: ignore[misc, name-defined, unused-ignore]  # the module is given
        size = hl.GeneratorParam(2)
        image = hl.InputBuffer(hl.UInt(8), 2)
        offset = hl.InputScalar(hl.Int(32))
        blurred = hl.OutputBuffer(hl.UInt(16), 2)
        plain = hl.OutputBuffer(hl.Int(32), 2)

        def generate(self) -> None:
            x, y = hl.Var("x"), hl.Var("y")
            self.blurred[x, y] = sum((hl.u16(self.image[x + k, y]) for k in range(1, self.size)),
                                     hl.u16(self.image[x, y]))
            self.plain[x, y] = hl.i32(self.blurred[x, y]) + self.offset

    made = hl.generator(name="definitions_blur")(Blur)
    with hl.GeneratorContext(hl.get_host_target()):
        first, second = made.call(hl.Buffer(PHOTO[0]), 7, generator_params={"size": 3})
    return [(first, [2, 3]), (second, [2, 3])]


def expected_generator_class() -> list[NDArray[Any]]:
    total = PHOTO[0, :, :2].astype(np.uint16) + PHOTO[0, :, 1:3] + PHOTO[0, :, 2:]
    return [total, total.astype(np.int32) + 7]


def shifts(hl: Any) -> Wanted:
    """Shifts and products of integers of several types; the counts of unsigned types are not negative."""
    x, made = hl.Var("x"), []
    for a, b in ((hl.i8, hl.i8), (hl.u8, hl.i8), (hl.u8, hl.u8), (hl.i16, hl.u8), (hl.i16, hl.i32), (hl.u16, hl.i16)):
        one, other, by = a(x * 9731 - 70000), b(x * 7711 - 9000), hl.u16(x % 9)
        count = b(x % 7) if b in (hl.u8, hl.u16) else b(x % 7 - 3)
        f = hl.Func("f")
        f[x] = (hl.rounding_shift_right(one, count), hl.rounding_shift_left(one, count),
                hl.widening_shift_left(one, b(x % 7)), hl.widening_shift_right(one, b(x % 7)),
                hl.mul_shift_right(one, other, by), hl.rounding_mul_shift_right(one, other, by),
                hl.widening_mul(one, other))
        made.append((f, [40]))
    f = hl.Func("f")
    low, word = hl.u8(x * 77), hl.u16(x * 9731)
    f[x] = (hl.concat_bits([low, hl.u8(x), low, low + 1]), hl.extract_bits(hl.Int(8), word, 5),
            hl.extract_bits(hl.UInt(32), hl.i16(word), 3), hl.widen_right_add(word, low), hl.widen_right_mul(word, low),
            hl.widen_right_sub(word, low))
    return [*made, (f, [40])]


class Complex:
    """A user's own class of two values."""

    def __init__(self, real: Any, imaginary: Any) -> None:
        self.both = real, imaginary

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return self.both[index]


def short_forms(hl: Any) -> Wanted:
    """Own classes as tuples, selection by several conditions, Funcs in one call, facts about Funcs, bounds by inputs.
    """
    x, y, image, r = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "image"), hl.RDom([hl.Range(0, 4)])
    both, chosen, last, grown = hl.Func("both"), hl.Func("chosen"), hl.Func("last"), hl.Func("grown")
    image.set(hl.Buffer(PHOTO[0]))
    both[x] = Complex(hl.f32(x) * 0.5, x * 3)
    chosen[x] = hl.select((x < 3, x < 5), (x, hl.Expr(1)), (hl.Expr(8), x + 9))
    moved = hl.lambda_func(x, y, hl.i32(image[hl.clamp(x, 0, 3), hl.clamp(y, 0, 2)]) + both[x][1])
    last[x, y] = moved[x + 1, y] * hl.evaluate(hl.Expr(2) * 3) + moved.outputs()
    last.bound(x, 0, image.width()).bound(y, 0, image.dim(1).extent())
    grown[x] = both.values()[1] - 1
    grown[x] += r * x
    grown.update().unroll(grown.rvars(0)[0])
    grown[x] += grown.num_update_definitions() + r.dimensions()
    moved.compute_at(hl.LoopLevel(last, x)).store_in(hl.MemoryType.Stack)
    return [(both, [6]), (chosen, [8]), (last, [4, 3]), (grown, [5])]


def expected_short_forms() -> list[NDArray[Any]]:
    x = np.arange(8, dtype=np.int32)
    y, wide = np.mgrid[:3, :4].astype(np.int32)
    moved = PHOTO[0].astype(np.int32)[y, np.minimum(wide + 1, 3)] + 3 * (wide + 1)
    return [x[:6].astype(np.float32) / 2, 3 * x[:6], np.where(x < 3, x, 8), np.where(x < 5, 1, x + 9).astype(np.int32),
            moved * 6 + 1, (3 * x - 1 + 6 * x + 2)[:5]]


def buffers_in_place(hl: Any) -> Wanted:
    """Buffers that change their coordinates, and facts about them."""
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    image, other = hl.Buffer(PHOTO[0].copy()), hl.Buffer(hl.UInt(8), [2, 2])
    facts = [image.number_of_elements(), image.size_in_bytes(), image.contains([3, 2]), image.contains([4, 0]),
             image.dim(1).stride(), hl.Buffer.make_scalar(hl.Int(32)).dimensions(), image.embedded(2, 0).dimensions()]
    image.translate([10, 20])
    image.crop(0, 11, 2)
    image.transpose(0, 1)
    other.set_min([20, 11])
    other.copy_from(image)
    facts += [image.dim(0).min(), image.dim(0).extent(), image.dim(1).min(), image.dim(1).extent(),
              hl.Buffer.make_interleaved(hl.UInt(8), 4, 3, 3).dim(0).stride(), other.all_equal(0)]
    f[x, y] = (hl.i32(other[x + 20, y + 11]), hl.mux(x, [int(fact) for fact in facts]) + y * 0)
    return [(f, [2, 2]), (hl.lambda_func(x, hl.mux(x, [int(fact) for fact in facts])), [len(facts)])]


def plain_generators(hl: Any) -> Wanted:
    """A Generator without its base class, with inputs that `configure` adds, and types that the caller chooses."""
    class Weighted:
        count = hl.GeneratorParam(1)
        bright = hl.GeneratorParam(False)
        image = hl.InputBuffer(None, None)
        offset = hl.InputScalar(int)

        def configure(self) -> None:
            for k in range(self.count):
                self.add_input(f"weight{k}", hl.InputScalar(hl.Int(32)))  # type: ignore[attr-defined]  # decorated
            self.add_output("weighted", hl.OutputBuffer(hl.Int(32), 2))  # type: ignore[attr-defined]  # decorated

        def generate(self) -> None:
            x, y = hl.Var("x"), hl.Var("y")
            total = hl.i32(self.image[x, y]) + self.offset
            for k in range(self.count):
                total += getattr(self, f"weight{k}") * x
            if self.bright:
                total += 1000
            getattr(self, "weighted")[x, y] = total  # noqa: B009  # configure adds it
            self.add_requirement(self.offset > 0, "the offset was", self.offset)  # type: ignore[attr-defined]  # ditto

    made = hl.alias(definitions_bright={"bright": True})(hl.generator(name="definitions_weighted")(Weighted))
    with hl.GeneratorContext(hl.get_host_target()):
        found = made.call(hl.Buffer(PHOTO[0]), 5, 7, 9, generator_params={
            "count": 2, "image.type": hl.UInt(8), "image.dim": 2})
    return [(found, [4, 3])]


def expected_plain_generators() -> list[NDArray[Any]]:
    return [PHOTO[0].astype(np.int32) + 5 + 16 * np.arange(4, dtype=np.int32)]
