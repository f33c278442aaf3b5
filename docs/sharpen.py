"""Sharpen a picture: what is brighter than its surroundings becomes brighter. `docs/pipelines.md` explains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from antune import halide as hl


def picture(width: int, height: int) -> Any:
    """A star out of focus, as an array [y][x] of bytes. For a photo: np.asarray(Image.open("a.jpg").convert("L"))."""
    y, x = np.mgrid[0:height, 0:width] / height - 0.5
    x -= (width / height - 1) / 2
    angle, radius = np.arctan2(y, x), np.hypot(x, y)
    soft = np.clip(radius * 60 - 3, 0.1, 3)  # the rays are soft at their edges, as if out of focus
    star = 0.5 + 0.4 * np.tanh(soft * np.sin(24 * angle)) * (radius < 0.45)
    return (255 * star).astype(np.uint8)


def build(width: int = 1536, height: int = 1024) -> hl.Func:
    """The sharpened picture of this size."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    image.set(hl.Buffer(picture(width, height)))
    edge = hl.BoundaryConditions.repeat_edge(image)
    light, blur_x, blur, out = hl.Func("light"), hl.Func("blur_x"), hl.Func("blur"), hl.Func("sharpened")
    light[x, y] = hl.i32(edge[x, y])
    blur_x[x, y] = light[x - 2, y] + light[x - 1, y] + light[x, y] + light[x + 1, y] + light[x + 2, y]
    blur[x, y] = (blur_x[x, y - 2] + blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1] + blur_x[x, y + 2]) // 25
    out[x, y] = hl.u8_sat(light[x, y] + 2 * (light[x, y] - blur[x, y]))
    return out


if __name__ == "__main__":
    from PIL import Image

    result = np.asarray(build(384, 256).realize([384, 256]))
    for name, pixels in (("sharpen-in", picture(384, 256)), ("sharpen-out", result)):
        Image.fromarray(pixels).save(Path(__file__).with_name(f"{name}.png"), optimize=True)
