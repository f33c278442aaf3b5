"""`Func.realize`: a pipeline computed at once by the interpreter; and what it shares with tuning: sizes and regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.bounds import Bounds, infer, uses_edge
from generator.frontend_py.collect import Collected, collect
from generator.frontend_py.func import Func
from generator.frontend_py.images import Buffer, Image
from generator.frontend_py.interpret import interpret
from generator.frontend_py.sizes import Range, Sizes


def bounds_of(outputs: Sequence[Func], sizes: Sequence[int]) -> Bounds:
    """The regions of a pipeline whose outputs have the extents `sizes`, from coordinate 0.

    Fewer sizes than dimensions are those of the first dimensions: `bound` and the estimates give the others.

    Raises:
        InputError: an extent that nothing gives, or whatever `infer` refuses.
    """
    collected = collect(outputs)
    known = Sizes({id(image): _known(collected, image, sizes) for image in collected.images}, tuple(sizes))
    return infer(collected, {id(f): _wanted(f, sizes) for f in outputs}, known)


def _wanted(func: Func, sizes: Sequence[int]) -> list[Range]:
    regions: list[Range] = []
    args = func.args()
    if len(sizes) > len(args):
        raise InputError(f"{len(sizes)} sizes for output `{func.title}`, which has {len(args)} dimension(s)", func.at)
    for dim, var in enumerate(args):
        promised = func.bounds_.get(var.key)
        if dim < len(sizes):
            if promised is not None and promised[1] != sizes[dim]:
                raise InputError(f"{sizes[dim]} is wanted of output `{func.title}` in dimension `{var.name}` (number {dim}), which "
                                 f"`bound` limits to {promised[1]}; sizes are given from the first dimension on", func.at)
            promised = promised or (0, int(sizes[dim]))
        region = promised or func.estimates.get(var.key)
        if region is None:
            raise InputError(f"nothing says how large output `{func.title}` is in dimension `{var.name}`: use --size, or "
                             f"{func.name or 'output'}.set_estimates([(min, extent), ...])", func.at)
        if region[1] < 1:
            raise InputError(f"output `{func.title}` has the extent {region[1]} in dimension `{var.name}`", func.at)
        regions.append(region)
    return regions


def _known(collected: Collected, image: Image, sizes: Sequence[int]) -> tuple[Range | None, ...]:
    """The coordinates of an input: its data's, or by estimates; else the size asked for, if the pipeline uses its size.

    The wanted size comes before estimates, which are for any size.
    """
    if image.data is not None:
        return tuple(image.estimates)
    found: list[Range | None] = []
    for dim, estimate in enumerate(image.estimates):
        used = uses_edge(collected, image, dim)
        if dim < min(len(sizes), 2) and used:
            found.append((estimate[0] if estimate is not None else 0, int(sizes[dim])))
        else:
            found.append(estimate if used or dim >= len(sizes) else None)
    return tuple(found)


def realize(func: Func, sizes: Sequence[int]) -> Any:
    """The values of `func` from coordinate 0: a Buffer, or a list of them for a tuple.

    Raises:
        InputError: an input without data, or whatever `bounds_of` refuses.
    """
    bounds = bounds_of([func], sizes)
    inputs: dict[int, NDArray[Any]] = {}
    for image in bounds.collected.images:
        if image.data is None:
            raise InputError(f"image `{image.title}` has no data; give it some with set(...)", image.at)
        inputs[id(image)] = image.data
    results = interpret(bounds, inputs)[id(func)]
    region = bounds.regions[id(func)]
    window = tuple(slice(-low, -low + n) for (low, _), n in zip(reversed(region), reversed([n for _, n in _wanted(func, sizes)]),
                                                                strict=True))
    buffers = [Buffer(np.ascontiguousarray(result[window]), func.name) for result in results]
    return buffers[0] if len(buffers) == 1 else buffers
