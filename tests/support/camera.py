"""The independent reference of the camera pipe: in Python's integers, at the requested coordinates."""

from __future__ import annotations

import camera_pipe
import numpy as np

from tests.support.pipelines import Array, F, Inputs, Plane, pixels, total


def mean(a: Array, b: Array) -> Array:
    return (a + b + 1) // 2


def steadier(one: tuple[Array, Array], other: tuple[Array, Array], a: Array, b: Array) -> Array:
    """Return `a` if the first pair differs less, else `b`."""
    return np.where(np.abs(one[0] - one[1]) < np.abs(other[0] - other[1]), a, b)


def green(y: Array, x: Array, vertical: Plane, dy: int, horizontal: Plane, dx: int) -> Array:
    v, h = (vertical(y + dy, x), vertical(y, x)), (horizontal(y, x + dx), horizontal(y, x))
    return steadier(h, v, mean(*h), mean(*v))


def beside(here: Plane, colour: Plane, own: Plane, dy: int, dx: int) -> Plane:
    return Plane(lambda y, x: mean(colour(y, x), colour(y + dy, x + dx)) + here(y, x)
                 - mean(own(y, x), own(y + dy, x + dx)))


def diagonal(colour: Plane, own: Plane, here: Plane, s: int) -> Plane:
    def values(y: Array, x: Array) -> Array:
        ends = [((y, x), (y + s, x - s)), ((y, x - s), (y + s, x))]
        c = [(colour(*a), colour(*b)) for a, b in ends]
        o = [(own(*a), own(*b)) for a, b in ends]
        made = [here(y, x) - mean(*o[k]) + mean(*c[k]) for k in (0, 1)]
        return steadier(c[0], c[1], made[0], made[1])
    return Plane(values)


def full(even: tuple[Plane, Plane], odd: tuple[Plane, Plane]) -> Plane:
    def values(y: Array, x: Array) -> Array:
        at = [f(y // 2, x // 2) for f in (*even, *odd)]
        return np.where(y % 2 == 0, np.where(x % 2 == 0, at[0], at[1]), np.where(x % 2 == 0, at[2], at[3]))
    return Plane(values)


def camera(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    """Return the finished image of `inputs["raw"]`."""
    raw = inputs["raw"].astype(np.int64) & 1023

    def shifted(y: Array, x: Array) -> Array:
        picked: Array = raw[np.clip(y + 12, 0, raw.shape[0] - 1), np.clip(x + 16, 0, raw.shape[1] - 1)]
        return picked

    def sensor(y: Array, x: Array) -> Array:
        around = np.max([shifted(y, x - 2), shifted(y, x + 2), shifted(y - 2, x), shifted(y + 2, x)], axis=0)
        return np.asarray(np.minimum(shifted(y, x), around))

    def quarter(oy: int, ox: int) -> Plane:
        return Plane(lambda y, x: sensor(2 * y + oy, 2 * x + ox))

    gr, red, blue, gb = quarter(0, 0), quarter(0, 1), quarter(1, 0), quarter(1, 1)

    g_r = Plane(lambda y, x: green(y, x, gb, -1, gr, 1))
    g_b = Plane(lambda y, x: green(y, x, gr, 1, gb, -1))

    rgb = (full((beside(gr, red, g_r, 0, -1), red), (diagonal(red, g_r, g_b, 1), beside(gb, red, g_r, 1, 0))),
           full((gr, g_r), (g_b, gb)),
           full((beside(gr, blue, g_b, -1, 0), diagonal(blue, g_b, g_r, -1)), (blue, beside(gb, blue, g_b, 0, 1))))
    return _developed(rgb, size)


def _developed(rgb: tuple[Plane, Plane, Plane], size: tuple[int, ...]) -> Array:
    """Return a demosaicked image with its colours, tones and sharpness."""
    p = camera_pipe
    y, x = (a - 1 for a in pixels((size[0] + 2, size[1] + 2)))
    given = [f(y, x) for f in rgb]
    alpha = (1 / p.KELVIN - 1 / 3200) / (1 / 7000 - 1 / 3200)
    matrix = ((np.array(p.WARM, F) * F(alpha) + np.array(p.COLD, F) * F(1 - alpha)) * F(256)).astype(int)
    steps = np.arange(1024)
    g = np.clip((steps - p.BLACK) / (p.WHITE - p.BLACK), 0, 1) ** (1 / p.GAMMA)
    b = 2 - 2 ** (p.CONTRAST / 100)
    a = 2 - 2 * b
    z = np.where(g > 0.5, 1 - (a * (1 - g) ** 2 + b * (1 - g)), a * g * g + b * g)
    table = np.where(steps <= p.BLACK, 0, np.where(steps > p.WHITE, 255, np.clip(z * 255 + 0.5, 0, 255).astype(int)))
    result = []
    for row in matrix:
        linear = (row[3] + total(int(m) * plane for m, plane in zip(row[:3], given, strict=True))) // 256
        tone = table[np.clip(linear, 0, 1023)]
        rows = ((tone[:-2] + tone[2:] + 1) // 2 + tone[1:-1] + 1) // 2
        soft = ((rows[:, :-2] + rows[:, 2:] + 1) // 2 + rows[:, 1:-1] + 1) // 2
        centre = tone[1:-1, 1:-1]
        result.append(np.clip(centre + (centre - soft) * 32 // 32, 0, 255))
    return np.stack(result).astype(np.uint8)
