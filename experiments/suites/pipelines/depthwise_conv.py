"""A depthwise-separable layer (MobileNet's): 3x3 per channel, then all channels of a point to the outputs, with ReLU.

Dimensions are channels (fastest), x, y, number of the image; around the images are zeros.
"""

from __future__ import annotations

from antune import halide as hl


def build(inputs: int = 32) -> hl.Func:
    """The layer's result, for any size (channels x width x height x images); `inputs` counts the input's channels."""
    d, co, x, y, n = hl.Var("d"), hl.Var("co"), hl.Var("x"), hl.Var("y"), hl.Var("n")
    image, depthwise = hl.ImageParam(hl.Float(32), 4, "image"), hl.ImageParam(hl.Float(32), 3, "depthwise_weights")
    pointwise, bias = hl.ImageParam(hl.Float(32), 2, "pointwise_weights"), hl.ImageParam(hl.Float(32), 1, "bias")
    unlimited = (hl.Expr(), hl.Expr())
    width, height = image.dim(1).extent(), image.dim(2).extent()
    padded = hl.BoundaryConditions.constant_exterior(image, 0.0, [unlimited, (0, width), (0, height), unlimited])
    near, channel = hl.RDom([(0, 3), (0, 3)], "near"), hl.RDom([(0, inputs)], "channel")
    filtered, mixed, relu = hl.Func("filtered"), hl.Func("mixed"), hl.Func("relu")
    filtered[d, x, y, n] = 0.0
    filtered[d, x, y, n] += depthwise[d, near.x, near.y] * padded[d, x + near.x - 1, y + near.y - 1, n]
    mixed[co, x, y, n] = bias[co]
    mixed[co, x, y, n] += pointwise[co, channel] * filtered[channel, x, y, n]
    relu[co, x, y, n] = hl.max(0.0, mixed[co, x, y, n])
    return relu
