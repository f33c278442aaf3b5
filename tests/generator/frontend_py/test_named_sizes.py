"""`--size` for pictures whose first dimension is the channel: `bound` tells which dimension is the width."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_py.load import built
from generator.frontend_py.problem import pipeline_program

INTERLEAVED = """
from antune import halide as hl

def build(width: int = 640, height: int = 480):
    c, x, y = hl.vars("c x y")
    rgb, scaled = hl.ImageParam(hl.UInt(8), 3, "rgb"), hl.Func("scaled")
    scaled[c, x, y] = hl.f32(rgb[c, x, y]) / (width * height)
    scaled.bound(c, 0, 3)
    return scaled

def planar(width, height, channels=3):
    c, x, y = hl.vars("c x y")
    rgb, scaled = hl.ImageParam(hl.UInt(8), 3, "rgb"), hl.Func("scaled")
    scaled[x, y, c] = hl.f32(rgb[x, y, c]) / (width * height)
    scaled.bound(c, 0, channels)
    return scaled

def whole(width, height):
    x, y = hl.vars("x y")
    image, half = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("half")
    half[x, y] = image[x, y] / 2
    half.bound(x, 0, width)
    return half

def without():
    return build()
"""


def shape(folder: Path, function: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The extents of the output for these sizes."""
    file = folder / "picture.py"
    file.write_text(INTERLEAVED)
    program = pipeline_program(built(file, function, sizes), file, function, sizes)
    return program.outputs[0].extents


def test_dimensions_that_bound_fixes_may_be_left_out(tmp_path: Path) -> None:
    assert shape(tmp_path, "build", {"width": 64, "height": 48}) == (48, 64, 3)
    assert shape(tmp_path, "planar", {"width": 64, "height": 48}) == (3, 48, 64)
    assert shape(tmp_path, "planar", {"width": 64, "height": 48, "channels": 4}) == (4, 48, 64)
    assert shape(tmp_path, "planar", {"width": 3, "height": 48}) == (3, 48, 3)
    assert shape(tmp_path, "whole", {"width": 64, "height": 48}) == (48, 64)
    with pytest.raises(InputError, match="it is unknown how large output `scaled` is in dimension `y`"):
        shape(tmp_path, "build", {"width": 64})
    with pytest.raises(InputError, match=r"64 is wanted .*or for all dimensions without `bound`"):
        shape(tmp_path, "build", {"width": 64, "height": 48, "channels": 3})


def test_the_channels_are_no_width(tmp_path: Path) -> None:
    """Nothing but the name is wrong: the extents fit."""
    given = {"width": 3, "height": 64, "channels": 48}
    with pytest.raises(InputError, match=r"`build` gets width = 3, height = 64, channels = 48, but dimension `c` "
                                         r"\(number 0\) of output `scaled` has the extent 3 by `bound`: leave it out, "
                                         r"as in --size 64x48, for width = 64, height = 48"):
        shape(tmp_path, "build", given)
    assert shape(tmp_path, "without", given) == (48, 64, 3)
