"""A camera's pipeline, in integers: from raw sensor values (rows G R G R / B G B G, 10 bits) to an 8-bit RGB image.

The raw image is 32 elements wider and 48 higher than the result. The colour matrices are those of no camera in
particular.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from antune import halide as hl

WARM = ((1.62, -0.31, -0.33, -41.0), (-0.34, 1.11, 1.42, -36.5), (-0.21, -1.72, 6.35, -27.2))
COLD = ((2.21, -0.42, 0.14, -38.4), (-0.37, 1.52, -0.18, -25.1), (-0.09, -0.71, 2.24, -20.3))
KELVIN, GAMMA, CONTRAST, BLACK, WHITE, STRENGTH = 3700.0, 2.0, 50.0, 25, 1023, 1.0

x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")


def named(name: str, value: hl.Expr) -> hl.Func:
    """A Func of x and y."""
    func = hl.Func(name)
    func[x, y] = value
    return func


def average(one: hl.Expr, other: hl.Expr) -> hl.Expr:
    """The mean of two values, rounded up."""
    return hl.rounding_halving_add(one, other)


def interleaved(name: str, sites: Sequence[hl.Func]) -> hl.Func:
    """The full image of its four quarters: even and odd x in even rows, then in odd rows."""
    at = [site[x // 2, y // 2] for site in sites]
    return named(name, hl.select(y % 2 == 0, hl.select(x % 2 == 0, at[0], at[1]), hl.select(x % 2 == 0, at[2], at[3])))


def across(name: str, colour: hl.Func, green: hl.Func, here: hl.Func, step: int) -> hl.Func:
    """A colour at the sites of the opposite one: from the diagonal of the two that differ less, corrected by green."""
    def mean(a: tuple[hl.Expr, hl.Expr], b: tuple[hl.Expr, hl.Expr]) -> hl.Expr:
        return here[x, y] - average(green[a], green[b]) + average(colour[a], colour[b])

    falling, rising = ((x, y), (x - step, y + step)), ((x - step, y), (x, y + step))
    return named(
        name,
        hl.select(
            hl.absd(colour[falling[0]], colour[falling[1]]) < hl.absd(colour[rising[0]], colour[rising[1]]),
            mean(*falling),
            mean(*rising),
        ),
    )


def demosaic(mosaic: hl.Func) -> tuple[hl.Func, hl.Func, hl.Func]:
    """Red, green and blue at all sites."""
    gr, red = named("gr", mosaic[2 * x, 2 * y]), named("red", mosaic[2 * x + 1, 2 * y])
    blue, gb = named("blue", mosaic[2 * x, 2 * y + 1]), named("gb", mosaic[2 * x + 1, 2 * y + 1])

    def green_at(name: str, vertical: tuple[hl.Expr, hl.Expr], horizontal: tuple[hl.Expr, hl.Expr]) -> hl.Func:
        return named(
            name, hl.select(hl.absd(*horizontal) < hl.absd(*vertical), average(*horizontal), average(*vertical))
        )

    g_r = green_at("g_r", (gb[x, y - 1], gb[x, y]), (gr[x + 1, y], gr[x, y]))
    g_b = green_at("g_b", (gr[x, y + 1], gr[x, y]), (gb[x - 1, y], gb[x, y]))

    def corrected(name: str, here: hl.Func, colour: hl.Func, green: hl.Func, dx: int, dy: int) -> hl.Func:
        correction = here[x, y] - average(green[x, y], green[x + dx, y + dy])
        return named(name, average(colour[x, y], colour[x + dx, y + dy]) + correction)

    r_gr, b_gr = corrected("r_gr", gr, red, g_r, -1, 0), corrected("b_gr", gr, blue, g_b, 0, -1)
    r_gb, b_gb = corrected("r_gb", gb, red, g_r, 0, 1), corrected("b_gb", gb, blue, g_b, 1, 0)
    r_b, b_r = across("r_b", red, g_r, g_b, 1), across("b_r", blue, g_b, g_r, -1)
    return (interleaved("full_red", (r_gr, red, r_b, r_gb)), interleaved("full_green", (gr, g_r, g_b, gb)),
            interleaved("full_blue", (b_gr, b_r, blue, b_gb)))


def colour_corrected(planes: tuple[hl.Func, hl.Func, hl.Func]) -> hl.Func:
    """The planes times a matrix in 1/256 between those of warm and of cold light."""
    warm, cold = hl.Buffer(np.array(WARM, np.float32), "warm"), hl.Buffer(np.array(COLD, np.float32), "cold")
    alpha = (1 / KELVIN - 1 / 3200) / (1 / 7000 - 1 / 3200)
    matrix, corrected = hl.Func("matrix"), hl.Func("corrected")
    matrix[x, y] = hl.i16((warm[x, y] * alpha + cold[x, y] * (1 - alpha)) * 256.0)
    given = [hl.i32(plane[x, y]) for plane in planes]
    total = hl.i32(matrix[3, c]) + sum(
        (hl.i32(matrix[k, c]) * given[k] for k in (1, 2)), hl.i32(matrix[0, c]) * given[0]
    )
    corrected[x, y, c] = hl.i16(total // 256)
    return corrected


def toned(corrected: hl.Func) -> hl.Func:
    """Eight bits by a table with gamma and contrast."""
    curve, curved = hl.Func("curve"), hl.Func("curved")
    g = hl.pow(hl.clamp(hl.f32(x - BLACK) / float(WHITE - BLACK), 0.0, 1.0), 1.0 / GAMMA)
    b = 2.0 - 2.0 ** (CONTRAST / 100.0)
    a = 2.0 - 2.0 * b
    z = hl.select(g > 0.5, 1.0 - (a * (1.0 - g) * (1.0 - g) + b * (1.0 - g)), a * g * g + b * g)
    curve[x] = hl.select(x <= BLACK, hl.u8(0), x > WHITE, hl.u8(255), hl.u8(hl.clamp(z * 255.0 + 0.5, 0.0, 255.0)))
    curved[x, y, c] = curve[hl.i32(hl.clamp(corrected[x, y, c], 0, 1023))]
    return curved


def sharpened(curved: hl.Func) -> hl.Func:
    """What a blur takes away, added."""
    blur_y, blur, out = hl.Func("blur_y"), hl.Func("blur"), hl.Func("sharpened")
    blur_y[x, y, c] = average(average(curved[x, y - 1, c], curved[x, y + 1, c]), curved[x, y, c])
    blur[x, y, c] = average(average(blur_y[x - 1, y, c], blur_y[x + 1, y, c]), blur_y[x, y, c])
    mask = hl.i16(curved[x, y, c]) - hl.i16(blur[x, y, c])
    out[x, y, c] = hl.u8_sat(hl.i16(curved[x, y, c]) + mask * int(STRENGTH * 32) // 32)
    out.bound(c, 0, 3)
    return out


def build() -> hl.Func:
    """The finished image, for any even size."""
    raw = hl.ImageParam(hl.UInt(16), 2, "raw")
    shifted = named("shifted", hl.i16(raw[x + 16, y + 12] & 1023))
    around = hl.max(shifted[x - 2, y], shifted[x + 2, y], shifted[x, y - 2], shifted[x, y + 2])
    return sharpened(toned(colour_corrected(demosaic(named("denoised", hl.min(shifted[x, y], around))))))
