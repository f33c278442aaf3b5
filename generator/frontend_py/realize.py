"""`Func.realize`: a pipeline computed at once by the interpreter; and what it shares with tuning: sizes and regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from generator.errors import InputError
from generator.frontend_py.bounds import Bounds, infer, uses_edge
from generator.frontend_py.collect import Collected, collect
from generator.frontend_py.func import Func
from generator.frontend_py.images import Buffer, Image
from generator.frontend_py.interpret import interpret
from generator.frontend_py.sizes import Range, Sizes


def bounds_of(outputs: Sequence[Func], sizes: Sequence[int], lows: Sequence[int] = ()) -> Bounds:
    """The regions of a pipeline whose outputs have the extents `sizes`, from the coordinates `lows` on (else from 0).

    Fewer sizes than dimensions are those of the first dimensions: `bound` and the estimates give the others.

    Raises:
        InputError: an extent that nothing gives, or whatever `infer` refuses.
    """
    collected = collect(outputs)
    known = Sizes({id(image): _known(collected, image, sizes) for image in collected.images}, tuple(sizes))
    return infer(collected, {id(f): _wanted(f, sizes, lows) for f in outputs}, known)


def _wanted(func: Func, sizes: Sequence[int], lows: Sequence[int]) -> list[Range]:
    regions: list[Range] = []
    args = func.args()
    if len(sizes) > len(args):
        raise InputError(f"{len(sizes)} sizes for output `{func.title}`, which has {len(args)} dimension(s)", func.at)
    for dim, var in enumerate(args):
        promised = func.bounds_.get(var.key)
        if dim < len(sizes):
            if promised is not None and promised[1] != sizes[dim]:
                raise InputError(
                    f"{sizes[dim]} is wanted of output `{func.title}` in dimension `{var.name}` (number {dim}), which "
                    f"`bound` limits to {promised[1]}; sizes are given from the first dimension on",
                    func.at,
                )
            if promised is not None and lows and promised[0] != lows[dim]:
                raise InputError(
                    f"output `{func.title}` is wanted from {lows[dim]} on in dimension `{var.name}` (number {dim}), "
                    f"which `bound` lets begin at {promised[0]}",
                    func.at,
                )
            promised = promised or (int(lows[dim]) if lows else 0, int(sizes[dim]))
        region = promised or func.estimates.get(var.key)
        if region is None:
            raise InputError(
                f"nothing says how large output `{func.title}` is in dimension `{var.name}`: use --size, or "
                f"{func.name or 'output'}.set_estimates([(min, extent), ...])",
                func.at,
            )
        if region[1] < 1:
            raise InputError(f"output `{func.title}` has the extent {region[1]} in dimension `{var.name}`", func.at)
        regions.append(region)
    return regions


def _known(collected: Collected, image: Image, sizes: Sequence[int]) -> tuple[Range | None, ...]:
    """The coordinates of an input: its data's, or those promised; else the size asked for, if the pipeline uses its
    size.

    The wanted size comes before estimates, which are for any size.
    """
    if image.data is not None:
        return tuple(image.estimates)
    found: list[Range | None] = []
    for dim, (limit, estimate) in enumerate(zip(image.limits, image.estimates, strict=True)):
        used = uses_edge(collected, image, dim)
        if limit is not None:
            found.append(limit)
        elif dim < min(len(sizes), 2) and used:
            first = image.lows[dim] if estimate is None else estimate[0]
            found.append((first or 0, int(sizes[dim])))
        else:
            found.append(estimate if used or dim >= len(sizes) else None)
    return tuple(found)


def realize(func: Func, target: Any) -> Any:
    """The values of `func`, by the interpreter: a Buffer, or a list of them for a tuple.

    `target` are sizes, or Buffers to be filled: one, or a list of them for a tuple; then there is no result.

    Raises:
        InputError: an input without data, Buffers that do not fit, or whatever `bounds_of` refuses.
    """
    given: list[Any] = [target] if isinstance(target, Buffer) else list(target)
    buffers = [buffer for buffer in given if isinstance(buffer, Buffer)]
    if buffers:
        return _fill(func, buffers)
    lows, results = _values(func, given, ())
    made = [Buffer(values, func.name) for values in results]
    for buffer in made:
        buffer.set_min(lows)
    return made[0] if len(made) == 1 else made


def _fill(func: Func, buffers: Sequence[Buffer]) -> None:
    kinds, first = func.types(), buffers[0]
    if [b.type for b in buffers] != list(kinds) or first.dims != func.dimensions():
        raise InputError(
            f"Func `{func.title}` has {func.dimensions()} dimensions and the type {', '.join(map(str, kinds))}; it is "
            f"realized to {first.dims} dimensions and {', '.join(str(b.type) for b in buffers)}",
            func.at,
        )
    regions = first.bounds()
    if any(b.bounds() != regions for b in buffers):
        raise InputError(f"the Buffers to which Func `{func.title}` is realized have different coordinates", func.at)
    _, results = _values(func, [n for _, n in regions], [low for low, _ in regions])
    for buffer, values in zip(buffers, results, strict=True):
        buffer.store(values)


def _values(func: Func, sizes: Sequence[int], lows: Sequence[int]) -> tuple[list[int], list[NDArray[Any]]]:
    """The least coordinates of the values of `func`, and the values, one array per value of a tuple."""
    bounds = bounds_of([func], sizes, lows)
    inputs: dict[int, NDArray[Any]] = {}
    for image in bounds.collected.images:
        if image.data is None:
            raise InputError(f"image `{image.title}` has no data; give it some with set(...)", image.at)
        inputs[id(image)] = image.data
    results = interpret(bounds, inputs)[id(func)]
    wanted, region = _wanted(func, sizes, lows), bounds.regions[id(func)]
    window = tuple(slice(start - low, start - low + n)
                   for (low, _), (start, n) in zip(reversed(region), reversed(wanted), strict=True))
    return [start for start, _ in wanted], [result[window] for result in results]
