"""Lens blur: depths from the two images of a stereo camera, then the left image as a wide aperture would show it.

What the shifted images differ by, per depth, is smoothed where all depths look alike (in a pyramid, weighted
by how much the depths differ). Then each element collects random neighbours whose disc of confusion reaches it.
"""

from __future__ import annotations

from pyramids import separable

from antune import halide as hl

DOWN = {-1: 1 / 8, 0: 3 / 8, 1: 3 / 8, 2: 1 / 8}
SCALE = 0.5
"""Elements of radius by which a depth blurs more than the one before."""


def build(slices: int = 32, focus: int = 13, samples: int = 32, levels: int = 8) -> hl.Func:
    """The blurred RGB image, for any size; sharp is what lies at the depth `focus` of 0 to `slices` - 1."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    left_image, right_image = hl.ImageParam(hl.UInt(8), 3, "left"), hl.ImageParam(hl.UInt(8), 3, "right")
    for image in (left_image, right_image):
        image.dim(2).set_bounds(0, 3)
    left, right = hl.BoundaryConditions.repeat_edge(left_image), hl.BoundaryConditions.repeat_edge(right_image)
    depth = nearest(left, right, slices, levels, left_image.width(), left_image.height())

    largest = int(max(slices - focus, focus) * SCALE)
    radius, tallest, worst = hl.Func("radius"), hl.Func("tallest"), hl.Func("worst")
    window = hl.RDom([(-largest, 2 * largest + 1)], "window")
    radius[x, y] = hl.f32(hl.abs(depth[x, y] - focus)) * SCALE
    tallest[x, y] = hl.maximum(radius[x, y + window])
    worst[x, y] = hl.maximum(tallest[x + window, y])

    dx, dy = (offset(worst, largest, seed) for seed in (1, 2))
    weight = weights(depth, radius, dx, dy)
    extended, collected, out = hl.Func("extended"), hl.Func("collected"), hl.Func("lens_blur")
    extended[x, y, c] = hl.select(c < 3, hl.f32(left[x, y, hl.min(c, 2)]), 255.0)
    s = hl.RDom([(0, samples)], "s")
    collected[x, y, c] = extended[x, y, c]
    collected[x, y, c] += weight[x, y, s] * extended[x + dx[x, y, s], y + dy[x, y, s], c]
    out[x, y, c] = 255.0 * collected[x, y, c] / collected[x, y, 3]
    out.bound(c, 0, 3)
    return out


def nearest(left: hl.Func, right: hl.Func, slices: int, levels: int, width: hl.Expr, height: hl.Expr) -> hl.Func:
    """The depth at which the images, of `width` x `height`, agree best."""
    x, y, z, c = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Var("c")
    difference, cost, sure, depth = hl.Func("difference"), hl.Func("cost"), hl.Func("sure"), hl.Func("depth")
    difference[x, y, z, c] = hl.min(
        hl.absd(left[x, y, c], right[x + 2 * z, y, c]), hl.absd(left[x, y, c], right[x + 2 * z + 1, y, c])
    )
    squares = [hl.f32(difference[x, y, z, k]) ** 2 for k in range(3)]
    cost[x, y, z] = squares[0] + squares[1] + squares[2]
    r = hl.RDom([(0, slices)], "r")
    sure[x, y] = hl.sum(cost[x, y, r] ** 2) / slices - (hl.sum(cost[x, y, r]) / slices) ** 2
    pushed = [hl.Func("pushed_0")]
    pushed[0][x, y, z, c] = hl.select(c == 0, cost[x, y, z], 1.0) * sure[x, y]
    for level in range(1, levels):
        width, height = hl.max(width // 2, 1), hl.max(height // 2, 1)
        smaller = separable(pushed[-1], DOWN, f"pushed_{level}")
        pushed.append(hl.BoundaryConditions.repeat_edge(smaller, [(0, width), (0, height)]))
    pulled = pushed[-1]
    for level in reversed(range(levels - 1)):
        finer, coarse = hl.Func(f"pulled_{level}"), smoothly_doubled(pulled, f"up_{level}")
        finer[x, y, z, c] = hl.lerp(coarse[x, y, z, c], pushed[level][x, y, z, c], 0.5)
        pulled = finer
    depth[x, y] = hl.argmin(pulled[x, y, r, 0] / pulled[x, y, r, 1])[0]
    return depth


def smoothly_doubled(source: hl.Func, name: str) -> hl.Func:
    """Twice the size: three quarters of the element there, one quarter of the nearer neighbour."""
    x, y, z, c = source.args()
    along_x, along_y = hl.Func(f"{name}_x"), hl.Func(name)
    along_x[x, y, z, c] = 0.75 * source[x // 2, y, z, c] + 0.25 * source[x // 2 - 1 + 2 * (x % 2), y, z, c]
    along_y[x, y, z, c] = 0.75 * along_x[x, y // 2, z, c] + 0.25 * along_x[x, y // 2 - 1 + 2 * (y % 2), z, c]
    return along_y


def offset(worst: hl.Func, largest: int, seed: int) -> hl.Func:
    """How far away a sample is in one dimension, at random within the greatest radius near the element."""
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    far = hl.Func(f"offset_{seed}")
    far[x, y, z] = hl.clamp(hl.i32((hl.random_float(seed) - 0.5) * 2.0 * worst[x, y]), -largest, largest)
    return far


def weights(depth: hl.Func, radius: hl.Func, dx: hl.Func, dy: hl.Func) -> hl.Func:
    """1 for a sample whose disc reaches the element, if it lies in front of it or the element's own disc is as wide."""
    x, y, z = hl.Var("x"), hl.Var("y"), hl.Var("z")
    weight = hl.Func("weight")
    sample_x, sample_y = x + dx[x, y, z], y + dy[x, y, z]
    squared = hl.f32(dx[x, y, z] ** 2 + dy[x, y, z] ** 2)
    reaches = squared < radius[sample_x, sample_y] ** 2
    blurred, in_front = squared < radius[x, y] ** 2, depth[sample_x, sample_y] < depth[x, y]
    weight[x, y, z] = hl.select(reaches & (blurred | in_front), 1.0, 0.0)
    return weight
