"""The bounds of outputs that `Func.bound` promises: numbers, or expressions of the sizes of inputs and of Params."""

from __future__ import annotations

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image
from generator.frontend_py.intervals import Intervals
from generator.frontend_py.nodes import Call, Edge, Expr, Pixel, RVar, Var, parts
from generator.frontend_py.sizes import Range, Sizes


def promised(func: Func, key: str) -> Range | None:
    """Return the promised (min, extent) of the dimension `key` of an output; None without a promise, or as long as the
    size of an input that it depends on is unknown.

    Raises InputError for a promise that depends on data or on Vars.
    """
    found = func.bounds_.get(key)
    if found is None:
        return None
    edges = [node for node in parts(*found) if isinstance(node, Edge)]
    if any(isinstance(node, Call | Pixel | Var | RVar) for node in parts(*found)):
        raise InputError(f"output `{func.title}`: `bound` of `{key}` depends on data or Vars; use numbers, Params and "
                         "the sizes of inputs", func.at)
    images = {id(edge.image): _known(edge.image) for edge in edges}
    if any(images[id(edge.image)][edge.dim] is None for edge in edges):
        return None
    return _number(func, key, images, found[0]), _number(func, key, images, found[1])


def _known(image: Image) -> tuple[Range | None, ...]:
    return tuple(image.estimates if image.data is not None else image.limits)


def _number(func: Func, key: str, images: dict[int, tuple[Range | None, ...]], expr: Expr) -> int:
    number = Intervals(Sizes(images, ()), {}).integer(expr)
    if number is None:
        raise InputError(f"output `{func.title}`: `bound` of `{key}` is no whole number", func.at)
    return number
