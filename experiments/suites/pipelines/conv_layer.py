"""A 3x3 convolution layer with bias and ReLU; dimensions are channels (fastest), x, y, number of the image."""

from __future__ import annotations

from antune import halide as hl


def build(inputs: int = 128) -> hl.Func:
    """The layer's result, for any size (channels x width x height x images); `inputs` counts the input's channels."""
    co, x, y, n = hl.Var("co"), hl.Var("x"), hl.Var("y"), hl.Var("n")
    image, weights = hl.ImageParam(hl.Float(32), 4, "image"), hl.ImageParam(hl.Float(32), 4, "weights")
    bias = hl.ImageParam(hl.Float(32), 1, "bias")
    r = hl.RDom([(0, inputs), (0, 3), (0, 3)], "r")
    conv, relu = hl.Func("conv"), hl.Func("relu")
    conv[co, x, y, n] = bias[co]
    conv[co, x, y, n] += weights[co, r.y, r.z, r.x] * image[r.x, x + r.y, y + r.z, n]
    relu[co, x, y, n] = hl.max(0.0, conv[co, x, y, n])
    return relu
