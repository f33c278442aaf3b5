"""`Func.realize`: compute a pipeline immediately with the interpreter; and sizes and regions, which tuning also uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.bounds import Bounds, infer, uses_edge
from generator.frontend_py.buffer import Buffer
from generator.frontend_py.collect import Collected, collect
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image
from generator.frontend_py.interpret import interpret
from generator.frontend_py.promises import promised
from generator.frontend_py.sizes import Range, Sizes
from generator.frontend_py.where import here


def bounds_of(outputs: Sequence[Func], sizes: Sequence[int], lows: Sequence[int] = ()) -> Bounds:
    """Return the regions of a pipeline whose outputs have the extents `sizes`, from the coordinates `lows` on (default
    0).

    Fewer sizes than dimensions are those of the first dimensions: `bound` and the estimates give the others.

    Raises:
        InputError: an unknown extent, or as `infer`.
    """
    collected = collect(outputs)
    return _inferred(collected, {id(f): _wanted(f, sizes, lows) for f in outputs}, sizes)


def _inferred(collected: Collected, wanted: Mapping[int, Sequence[Range]], sizes: Sequence[int]) -> Bounds:
    known = Sizes({id(image): _known(collected, image, sizes) for image in collected.images}, tuple(sizes))
    return infer(collected, wanted, known)


def _wanted(func: Func, sizes: Sequence[int], lows: Sequence[int]) -> list[Range]:
    regions: list[Range] = []
    args = func.args()
    if len(sizes) > len(args):
        raise InputError(f"{len(sizes)} sizes for output `{func.title}`, which has {len(args)} dimension(s)", func.at)
    for dim, var in enumerate(args):
        limit = promised(func, var.key)
        if dim < len(sizes):
            if limit is not None and limit[1] != sizes[dim]:
                raise InputError(
                    f"{sizes[dim]} is wanted of output `{func.title}` in dimension `{var.name}` (number {dim}), which "
                    f"`bound` limits to {limit[1]}; sizes are given from the first dimension on, or for all dimensions "
                    "without `bound`",
                    func.at,
                )
            if limit is not None and lows and limit[0] != lows[dim]:
                raise InputError(
                    f"output `{func.title}` is wanted from {lows[dim]} on in dimension `{var.name}` (number {dim}), "
                    f"which `bound` lets begin at {limit[0]}",
                    func.at,
                )
            limit = limit or (int(lows[dim]) if lows else 0, int(sizes[dim]))
        region = limit or func.estimates.get(var.key)
        if region is None:
            raise InputError(
                f"it is unknown how large output `{func.title}` is in dimension `{var.name}`: use --size (in Python: "
                f"parameters={{'width': ..., 'height': ...}}, or realize([width, height])), or "
                f"{func.name or 'output'}.set_estimates([(min, extent), ...])",
                func.at,
            )
        if region[1] < 1:
            raise InputError(f"output `{func.title}` has the extent {region[1]} in dimension `{var.name}`", func.at)
        regions.append(region)
    return regions


def _known(collected: Collected, image: Image, sizes: Sequence[int]) -> tuple[Range | None, ...]:
    """Return the coordinates of an input: those of its data, or promised ones; else the requested size, if the pipeline
    uses its size.

    The requested width and height take precedence over estimates, which are for any size; for other extents the
    estimates do.
    """
    if image.data is not None:
        return tuple(image.estimates)
    found: list[Range | None] = []
    for dim, (limit, estimate) in enumerate(zip(image.limits, image.estimates, strict=True)):
        used = uses_edge(collected, image, dim)
        if limit is not None:
            found.append(limit)
        elif used and dim < len(sizes) and (dim < 2 or estimate is None):
            first = image.lows[dim] if estimate is None else estimate[0]
            found.append((first or 0, int(sizes[dim])))
        else:
            found.append(estimate if used or dim >= len(sizes) else None)
    return tuple(found)


def realize(outputs: Sequence[Func], target: Any) -> Any:
    """Return the values of `outputs`, from the interpreter: a Buffer, or a list of them for several values.

    `target`: sizes, or Buffers to be filled: one, or a list of one per value; then there is no result.

    Raises:
        InputError: an input without data, Buffers that do not fit, or as `bounds_of`.
    """
    given: list[Any] = [target] if isinstance(target, Buffer) else _listed(outputs[0], target)
    if any(isinstance(buffer, Buffer) for buffer in given):
        return _fill(outputs, given)
    made: list[Buffer] = []
    collected = collect(outputs)
    for func, lows, results in _values(collected, {id(f): _wanted(f, given, ()) for f in outputs}, given):
        for values in results:
            made.append(Buffer(values, func.name))
            made[-1].set_min(lows)
    return made[0] if len(made) == 1 else made


def _listed(func: Func, target: Any) -> list[Any]:
    """Return the sizes or Buffers that `target` lists. Raises InputError for anything else."""
    title = func.name or "f"
    try:
        given = [target] if isinstance(target, np.ndarray) and target.ndim != 1 else list(target)
    except TypeError:
        given = [None]
    if any(isinstance(one, np.ndarray) and one.ndim for one in given):
        raise InputError(f"Func `{func.title}` is realized to an array of numpy: give it as a Buffer, {title}.realize("
                         f"hl.Buffer(array)), or sizes, {title}.realize([width, height])", here())
    if not all(isinstance(one, Buffer | int | np.integer) for one in given):
        raise InputError(f"Func `{func.title}` is realized to {target!r:.60}: sizes are a list of whole numbers, "
                         f"{title}.realize([width, height])", here())
    return given


def _fill(outputs: Sequence[Func], buffers: Sequence[Buffer]) -> None:
    kinds = [(func, kind) for func in outputs for kind in func.types()]
    fits = len(buffers) == len(kinds) and all(isinstance(b, Buffer) and b.type == kind and b.dims == f.dimensions()
                                              for b, (f, kind) in zip(buffers, kinds, strict=True))
    if not fits:
        func, dims = outputs[0], getattr(buffers[0], "dims", 0)
        raise InputError(
            f"Func `{func.title}` has {func.dimensions()} dimensions and the type "
            f"{', '.join(str(kind) for _, kind in kinds)}; it is realized to {dims} dimensions and "
            f"{', '.join(str(getattr(b, 'type', b)) for b in buffers)}",
            func.at,
        )
    regions: dict[int, list[Range]] = {}
    for (func, _), buffer in zip(kinds, buffers, strict=True):
        if regions.setdefault(id(func), buffer.bounds()) != buffer.bounds():
            raise InputError(
                f"the Buffers to which Func `{func.title}` is realized have different coordinates", func.at
            )
    wanted = {id(f): _wanted(f, [n for _, n in regions[id(f)]], [low for low, _ in regions[id(f)]]) for f in outputs}
    found = [values for _, _, results in _values(collect(outputs), wanted, [n for _, n in regions[id(outputs[0])]])
             for values in results]
    for buffer, values in zip(buffers, found, strict=True):
        buffer.store(values)


def _values(collected: Collected, wanted: Mapping[int, Sequence[Range]], sizes: Sequence[int]
            ) -> Iterator[tuple[Func, list[int], list[NDArray[Any]]]]:
    """Yield each output, the least coordinates of its values, and the values, one array per value of a tuple."""
    bounds = _inferred(collected, wanted, sizes)
    inputs: dict[int, NDArray[Any]] = {}
    for image in bounds.collected.images:
        if image.data is None:
            raise InputError(f"image `{image.title}` has no data; give it some with set(...)", image.at)
        inputs[id(image)] = image.data
    found = interpret(bounds, inputs, print)
    for func in collected.outputs:
        window = tuple(slice(start - low, start - low + n) for (low, _), (start, n)
                       in zip(reversed(bounds.regions[id(func)]), reversed(wanted[id(func)]), strict=True))
        yield func, [start for start, _ in wanted[id(func)]], [result[window] for result in found[id(func)]]
