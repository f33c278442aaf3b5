"""Independent references of the pipeline suite: each written in numpy from the definition, not from the program.

Every function takes the inputs by name (last coordinate first, like the program's arrays) and the extents of the
output, and returns the output in the same order of dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import exp, pi, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[str, Array]
F = np.float32
MARGIN = 3


def total(terms: Iterable[Array]) -> Array:
    """Return the sum of arrays."""
    return reduce(np.add, terms)


def at_edge(image: Array, y: Array, x: Array) -> Array:
    """Return `image[y, x]` (first two axes) with coordinates limited to the image."""
    picked: Array = image[np.clip(y, 0, image.shape[0] - 1)[:, None], np.clip(x, 0, image.shape[1] - 1)[None, :]]
    return picked


def planes(image: Array) -> Array:
    """(c, y, x) -> (y, x, c)."""
    return np.moveaxis(image, 0, -1)


def gray(image: Array) -> Array:
    """Return the brightness of (y, x, c)."""
    result: Array = F(0.299) * image[..., 0] + F(0.587) * image[..., 1] + F(0.114) * image[..., 2]
    return result


def blur(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    image = inputs["image"]
    rows = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) // np.uint16(3)
    result: Array = (rows[:-2] + rows[1:-1] + rows[2:]) // np.uint16(3)
    return result


def unsharp(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    image = planes(inputs["image"])
    h, w = image.shape[:2]
    weights = [exp(-i * i / (2 * 1.5 * 1.5)) / (sqrt(2 * pi) * 1.5) for i in range(-3, 4)]
    brightness = gray(at_edge(image, np.arange(-3, h + 3), np.arange(-3, w + 3))).astype(float)
    down = total(k * brightness[i:i + h] for i, k in enumerate(weights))
    both = total(k * down[:, i:i + w] for i, k in enumerate(weights))
    centre = brightness[3:-3, 3:-3]
    result: Array = np.moveaxis(((2 * centre - both) / centre)[..., None] * image, -1, 0)
    return result


def harris(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    g = gray(planes(inputs["image"])).astype(float)
    sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 12

    def filtered(image: Array, kernel: Array) -> Array:
        h, w = image.shape[0] - 2, image.shape[1] - 2
        return total(kernel[j, i] * image[j:j + h, i:i + w] for j in range(3) for i in range(3))

    ix, iy = filtered(g, sobel), filtered(g, sobel.T)
    sxx, syy, sxy = (filtered(p, np.ones((3, 3))) for p in (ix * ix, iy * iy, ix * iy))
    result: Array = sxx * syy - sxy**2 - 0.04 * (sxx + syy) ** 2
    return result


def max_filter(inputs: Inputs, size: tuple[int, ...], /, radius: int = 26) -> Array:
    image = planes(inputs["image"])
    h, w = image.shape[:2]
    disc = [(dx, dy) for dx in range(-radius, radius + 1) for dy in range(-radius, radius + 1)
            if dx * dx + dy * dy < (radius + 0.25) ** 2]
    moved = [at_edge(image, np.arange(h) + dy, np.arange(w) + dx) for dx, dy in disc]
    return np.moveaxis(np.max(moved, axis=0), -1, 0)


def histogram_equalize(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    image = planes(inputs["image"]).astype(F)
    luma = gray(image)
    cr, cb = (image[..., 0] - luma) * F(0.713) + F(128), (image[..., 2] - luma) * F(0.564) + F(128)
    level = np.clip(luma, 0, 255).astype(int)
    table = np.cumsum(np.bincount(level.ravel(), minlength=256))
    even = np.clip(table[level].astype(F) * F(255.0 / luma.size), 0, 255)
    r, b = cr - F(128), cb - F(128)
    shades = [even + F(1.4) * r, even - F(0.343) * b - F(0.711) * r, even + F(1.765) * b]
    return np.stack([np.clip(s, 0, 255).astype(np.uint8) for s in shades])


def stencil_chain(inputs: Inputs, size: tuple[int, ...], /, stages: int = 32) -> Array:
    image, margin = inputs["image"].astype(np.int64), 2 * stages
    h, w = image.shape
    wide = at_edge(image, np.arange(-margin, h + margin), np.arange(-margin, w + margin))
    for _ in range(stages):
        n, m = wide.shape[0] - 4, wide.shape[1] - 4
        wide = total((i + 1) * (j + 1) * wide[j:j + n, i:i + m] for j in range(5) for i in range(5))
        wide &= 0xFFFF
    return wide.astype(np.uint16)


def matmul(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    result: Array = inputs["a"].astype(float) @ inputs["b"].astype(float)
    return result


def conv_layer(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    image, weights = inputs["image"].astype(float), inputs["weights"].astype(float)  # n y x ci; ci ky kx co
    w, h = size[1:3]
    summed = total(image[:, j:j + h, i:i + w] @ weights[:, j, i] for j in range(3) for i in range(3))
    result: Array = np.maximum(summed + inputs["bias"], 0)
    return result


def depthwise_conv(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    image = np.pad(inputs["image"], ((0, 0), (1, 1), (1, 1), (0, 0)))
    weights = inputs["depthwise_weights"]
    h, w = size[2], size[1]
    filtered = total(image[:, j:j + h, i:i + w] * weights[j, i] for j, i in np.ndindex(3, 3))
    result: Array = np.maximum(filtered @ inputs["pointwise_weights"] + inputs["bias"], 0)
    return result


def iir_blur(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    def columns(image: Array) -> Array:
        rows = image.astype(float).copy()
        for y in range(1, len(rows)):
            rows[y] = 0.9 * rows[y - 1] + 0.1 * rows[y]
        for y in reversed(range(len(rows) - 1)):
            rows[y] = 0.9 * rows[y + 1] + 0.1 * rows[y]
        return rows

    image = planes(inputs["image"])
    return np.moveaxis(columns(columns(image).swapaxes(0, 1)).swapaxes(0, 1), -1, 0)


def bilateral_grid(inputs: Inputs, size: tuple[int, ...], /, **_: int) -> Array:
    image = inputs["image"]
    h, w = image.shape
    margin, bins = 4, 10
    grid = np.zeros((h // 8 + 2 * margin + 2, w // 8 + 2 * margin + 2, bins + 8, 2))
    for cell_y in range(-margin, h // 8 + margin + 2):
        for cell_x in range(-margin, w // 8 + margin + 2):
            values = at_edge(image, np.arange(8) + cell_y * 8 - 4, np.arange(8) + cell_x * 8 - 4).ravel()
            for value in np.clip(values, F(0), F(1)):
                cell = grid[cell_y + margin, cell_x + margin, int(value * F(10) + F(0.5)) + 3]
                cell += (value, 1)
    for axis in (2, 1, 0):
        grid = total(k * np.roll(grid, i - 2, axis) for i, k in enumerate((1, 4, 6, 4, 1)))
    level = np.clip(image, F(0), F(1)) * F(10)
    z = level.astype(int)
    y, x = np.mgrid[:h, :w]
    summed = np.zeros((h, w, 2))
    for dy in (0, 1):
        for dx in (0, 1):
            for dz in (0, 1):
                share = [f if d else 1 - f for f, d in ((y % 8 / 8, dy), (x % 8 / 8, dx), (level - z, dz))]
                summed += (share[0] * share[1] * share[2])[..., None] * grid[
                    y // 8 + dy + margin, x // 8 + dx + margin, z + dz + 3
                ]
    result: Array = summed[..., 0] / summed[..., 1]
    return result


def bilateral_upsample(
    inputs: Inputs, size: tuple[int, ...], /, width: int = 192, height: int = 320, factor: int = 8, spatial: int = 16,
    bins: int = 8,
) -> Array:
    image, margin, cell = planes(inputs["image"]), 5, spatial * factor
    tall, wide = height // spatial + 2 * margin + 2, width // spatial + 2 * margin + 2
    affine = upsampling_maps(inputs, (tall, wide, bins + 2 * margin), spatial, bins, margin)
    level = np.clip(image, F(0), F(1)) @ np.array([0.25, 0.5, 0.25], F) * F(bins)
    z = level.astype(int)
    y, x = np.mgrid[:image.shape[0], :image.shape[1]]
    chosen = np.zeros((*image.shape[:2], 3, 4))
    for dy, dx, dz in np.ndindex(2, 2, 2):
        share = [f if d else 1 - f for f, d in ((y % cell / cell, dy), (x % cell / cell, dx), (level - z, dz))]
        near = affine[y // cell + dy + margin, x // cell + dx + margin, z + dz + margin]
        chosen += (share[0] * share[1] * share[2])[..., None, None] * near
    extended = np.concatenate([image, np.ones_like(image[..., :1])], axis=-1)
    result: Array = np.clip(np.einsum("yxij,yxj->yxi", chosen, extended), 0, 1)
    return np.moveaxis(result, -1, 0)


def upsampling_maps(inputs: Inputs, cells: tuple[int, ...], spatial: int, bins: int, margin: int) -> Array:
    """Return the affine map of colours of every cell, by least squares."""
    low, made = planes(inputs["low"]), planes(inputs["low_result"])
    left, right = np.zeros((*cells, 4, 4)), np.zeros((*cells, 4, 3))
    for cell_y, cell_x in np.ndindex(*cells[:2]):
        rows, columns = (np.arange(spatial) + (at - margin) * spatial - spatial // 2 for at in (cell_y, cell_x))
        colours = np.clip(at_edge(low, rows, columns), F(0), F(1)).reshape(-1, 3)
        bright = colours @ np.array([0.25, 0.5, 0.25], F) * F(bins) + F(0.5)
        extended = np.concatenate([colours, np.ones_like(colours[:, :1])], axis=1).astype(float)
        for depth, given, wanted in zip(bright.astype(int), extended, at_edge(made, rows, columns).reshape(-1, 3),
                                        strict=True):
            left[cell_y, cell_x, depth + margin] += np.outer(given, given)
            right[cell_y, cell_x, depth + margin] += np.outer(given, wanted)
    weights = (1 / 64, 1 / 27, 1 / 8, 1, 1 / 8, 1 / 27, 1 / 64)
    for axis in (2, 1, 0):
        left, right = (total(k * np.roll(grid, i - 3, axis) for i, k in enumerate(weights)) for grid in (left, right))
    solved: Array = np.linalg.solve(left + 0.1 * np.eye(4), right + 0.1 * np.eye(4, 3))
    return np.swapaxes(solved, -1, -2)


class Plane:
    """A function on the whole grid of integers, computed on demand: `f(y, x)` for index arrays of one shape.

    Values are cached: those of a box around all previous requests.
    """

    def __init__(self, function: Callable[[Array, Array], Array]) -> None:
        self.function = function
        self.low, self.high = np.zeros(2, int), np.full(2, -1)
        self.values = np.zeros((0, 0))

    def __call__(self, y: Array, x: Array) -> Array:
        """Return the values at these coordinates."""
        low, high = np.array([y.min(), x.min()]), np.array([y.max(), x.max()])
        if (low < self.low).any() or (high > self.high).any():
            if self.values.size:
                low, high = np.minimum(low, self.low), np.maximum(high, self.high)
            self.low, self.high = low - MARGIN, high + MARGIN
            rows, columns = np.mgrid[self.low[0]:self.high[0] + 1, self.low[1]:self.high[1] + 1]
            found = self.function(rows.ravel(), columns.ravel())
            self.values = found.reshape(*rows.shape, *found.shape[1:])
        picked: Array = self.values[y - self.low[0], x - self.low[1]]
        return picked


def half(f: Plane, taps: Mapping[int, float]) -> Plane:
    """Return the separable filter with `taps` at every second element."""
    across = Plane(lambda y, x: total(w * f(y, 2 * x + k) for k, w in taps.items()))
    return Plane(lambda y, x: total(w * across(2 * y + k, x) for k, w in taps.items()))


def double(f: Plane) -> Plane:
    """Interpolate between two elements by their mean."""
    across = Plane(lambda y, x: (f(y, x // 2) + f(y, (x + 1) // 2)) / 2)
    return Plane(lambda y, x: (across(y // 2, x) + across((y + 1) // 2, x)) / 2)


def clamped(image: Array) -> Plane:
    """Return an image (y, x, ...) with repeated edges."""
    return Plane(lambda y, x: image[np.clip(y, 0, image.shape[0] - 1), np.clip(x, 0, image.shape[1] - 1)])


def pixels(size: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the coordinates y and x of an output."""
    rows, columns = np.mgrid[:size[1], :size[0]]
    return np.asarray(rows), np.asarray(columns)


def up(f: Plane) -> Plane:
    """Return three quarters of the nearer element plus one quarter of the other one."""
    def along(values: Callable[[Array], Array], n: Array) -> Array:
        t = ((n % 2) * 2 + 1) / 4
        one, other = values((n + 1) // 2), values((n - 1) // 2)
        t = t.reshape(t.shape + (1,) * (one.ndim - t.ndim))
        return one * (1 - t) + other * t

    across = Plane(lambda y, x: along(lambda at: f(y, at), x))
    return Plane(lambda y, x: along(lambda at: across(at, x), y))


def local_laplacian(inputs: Inputs, size: tuple[int, ...], /, levels: int = 8, intensities: int = 8) -> Array:
    image, last = planes(inputs["image"]), intensities - 1
    taps = {-1: 1 / 8, 0: 3 / 8, 1: 3 / 8, 2: 1 / 8}
    flat = gray(image)
    steps = np.arange(intensities) / last

    def remapped(y: Array, x: Array) -> Array:
        g = clamped(flat)(y, x)
        index = np.clip((g * F(last) * F(256)).astype(int), 0, last * 256)
        f = (index[:, None] - 256 * np.arange(intensities)) / 256
        result: Array = (g[:, None] - steps) + steps + f * np.exp(-f * f / 2) / last
        return result

    pyramid, plain = [Plane(remapped)], [clamped(flat)]
    for _ in range(1, levels):
        pyramid.append(half(pyramid[-1], taps))
        plain.append(half(plain[-1], taps))

    def collapsed(j: int) -> Plane:
        detail = up(pyramid[j + 1]) if j < levels - 1 else None
        coarse = up(collapsed(j + 1)) if j < levels - 1 else None

        def values(y: Array, x: Array) -> Array:
            laplacian = pyramid[j](y, x) - (detail(y, x) if detail else 0)
            v = plain[j](y, x) * last
            i = np.clip(v.astype(int), 0, last - 1)
            rows = np.arange(len(i))
            chosen = (1 - (v - i)) * laplacian[rows, i] + (v - i) * laplacian[rows, i + 1]
            result: Array = chosen + (coarse(y, x) if coarse else 0)
            return result
        return Plane(values)

    ratio = (collapsed(0)(*pixels(size)) + 0.01) / (flat + 0.01)
    return np.moveaxis(np.clip(image * ratio[..., None], 0, 1), -1, 0)


def interpolate(inputs: Inputs, size: tuple[int, ...], /, levels: int = 10) -> Array:
    image = planes(inputs["image"]).astype(float)
    w, h = size[0], size[1]
    premultiplied = np.concatenate([image[..., :3] * image[..., 3:], image[..., 3:]], axis=-1)
    down = [clamped(premultiplied)]
    for level in range(1, levels):
        before = down[-1]
        if level == 4:
            before = Plane(lambda y, x, f=down[-1]: f(np.clip(y, 0, h // 8), np.clip(x, 0, w // 8)))  # type: ignore[misc]  # a default binds the level
        down.append(half(before, {-1: 0.25, 0: 0.5, 1: 0.25}))

    def filled(level: int) -> Plane:
        if level == levels - 1:
            return down[level]
        coarse = double(filled(level + 1))

        def values(y: Array, x: Array) -> Array:
            own = down[level](y, x)
            result: Array = own + (1 - own[:, 3:]) * coarse(y, x)
            return result
        return Plane(values)

    result = filled(0)(*pixels(size))
    return np.moveaxis(result[..., :3] / result[..., 3:], -1, 0)


def pyramid_blend(inputs: Inputs, size: tuple[int, ...], /, levels: int = 4) -> Array:
    taps = {-2: 1 / 16, -1: 4 / 16, 0: 6 / 16, 1: 4 / 16, 2: 1 / 16}

    def pyramid(image: Array) -> list[Plane]:
        found = [clamped(image.astype(float))]
        for _ in range(1, levels):
            found.append(half(found[-1], taps))
        return found

    left, right, mask = (pyramid(a) for a in (planes(inputs["left"]), planes(inputs["right"]), inputs["mask"]))

    def collapsed(level: int) -> Plane:
        last = level == levels - 1
        finer = [None if last else double(p[level + 1]) for p in (left, right)]
        coarse = None if last else double(collapsed(level + 1))

        def values(y: Array, x: Array) -> Array:
            one, other = (p[level](y, x) - (f(y, x) if f else 0) for p, f in zip((left, right), finer, strict=True))
            share = mask[level](y, x)[:, None]
            result: Array = one * share + other * (1 - share)
            return result + coarse(y, x) if coarse else result
        return Plane(values)

    return np.moveaxis(collapsed(0)(*pixels(size)), -1, 0)


def nl_means(inputs: Inputs, size: tuple[int, ...], /, patch: int = 7, search: int = 7) -> Array:
    image = planes(inputs["image"]).astype(float)
    h, w = image.shape[:2]
    p, s = patch // 2, search // 2
    y, x = np.arange(-p, h + p), np.arange(-p, w + p)
    summed, weights = np.zeros_like(image), np.zeros((h, w, 1))
    for dy in range(-s, s + 1):
        for dx in range(-s, s + 1):
            d = ((at_edge(image, y, x) - at_edge(image, y + dy, x + dx)) ** 2).sum(-1)
            near = total(d[j:j + h, i:i + w] for j in range(patch) for i in range(patch))
            weight = np.exp(-near / (0.12**2 * patch * patch))[..., None]
            summed += weight * at_edge(image, np.arange(h) + dy, np.arange(w) + dx)
            weights += weight
    return np.moveaxis(np.clip(summed / weights, 0, 1), -1, 0)


REFERENCES: Mapping[str, Callable[..., Array]] = {
    "blur": blur,
    "unsharp": unsharp,
    "harris": harris,
    "max_filter": max_filter,
    "histogram_equalize": histogram_equalize,
    "stencil_chain": stencil_chain,
    "matmul": matmul,
    "conv_layer": conv_layer,
    "depthwise_conv": depthwise_conv,
    "iir_blur": iir_blur,
    "bilateral_grid": bilateral_grid,
    "bilateral_upsample": bilateral_upsample,
    "local_laplacian": local_laplacian,
    "interpolate": interpolate,
    "pyramid_blend": pyramid_blend,
    "nl_means": nl_means,
}
