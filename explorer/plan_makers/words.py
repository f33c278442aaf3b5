"""The reasons for a plan maker's choices, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from explorer.plan_makers.apart import set_apart
from explorer.plan_makers.choices import Choice, Grouping, Made, Unjudged

NAMED, TOLD, BRIEF = 3, 5, 2
"""The maximum numbers of stages that are named one by one, of kernels and reasons, and of kernels of further plans."""
_FIGURES: Mapping[str, str] = {
    "shared memory": "{:.1f} KB shared",
    "occupancy": "{:.0f} % occupancy",
    "computed again": "{:.0f} % recomputed",
}


def reasons(made: Made, host: bool) -> Iterator[str]:
    """Yield the properties of the best grouping, a line per kernel that computes other stages, too, then the stages
    that are left, and those of this grouping that the model cannot judge together with their readers, or only in tiles
    that do not pay.

    `host`: of a CPU, whose cores execute one block at a time, so that occupancy is omitted.
    """
    apart = set_apart(made.groupings[0], made.unjudged) if made.groupings else ()
    if made.groupings:
        yield from grouping_words(made.groupings[0], host)
    yield from unjudged_words(made.left, ", as the start plans have them")
    yield from unjudged_words(tuple(apart))


def unjudged_words(stages: Sequence[Unjudged], manner: str = "") -> Iterator[str]:
    """Yield `t, s by kernels of their own: ` and the reason, a line per reason; `manner` tells more of the kernels."""
    reasons = dict[str, list[str]]()
    for one in stages:
        reasons.setdefault(one.reason, []).append(one.array)
    for reason, arrays in [*reasons.items()][:TOLD]:
        yield f"{_listed(tuple(arrays))} by kernels of {'its' if len(arrays) == 1 else 'their'} own{manner}: {reason}"
    if more := sum(map(len, [*reasons.values()][TOLD:])):
        yield f"{more} more by kernels of their own, for such reasons"


def grouping_words(grouping: Grouping, host: bool) -> Iterator[str]:
    """Yield `gray, ix, iy and 6 more in one kernel: 15.2 KB shared, 100 % occupancy, 3 % recomputed`."""
    summing = [kernel for kernel in grouping.kernels if kernel.summed]
    yield from (f"{_left_words(kernel)}: a sum of products" for kernel in summing[:TOLD])
    if len(summing) > TOLD:
        yield f"{_kernels(len(summing) - TOLD)} more as the start plans have them: sums of products"
    fused = [kernel for kernel in grouping.kernels if kernel.group.members and not kernel.summed]
    largest = sorted(fused, key=lambda kernel: -kernel.cost.number)[:TOLD]
    for kernel in (kernel for kernel in fused if kernel in largest):
        yield f"{_listed(kernel.group.stages)} in one kernel: {_figures(kernel, host)}"
    if len(fused) > TOLD:
        yield f"{len(fused) - TOLD} more kernels with several stages"
    alone = len(grouping.kernels) - len(fused) - len(summing)
    inlined = sorted(set().union(*(kernel.group.inlined - {kernel.summed} for kernel in grouping.kernels)))
    others = f"{_kernels(alone)} with one stage each" if alone else ""
    within = f"{_listed(tuple(inlined))} inlined" if inlined else ""
    if others or within:
        yield "; ".join(filter(None, (others, within, grouping.note)))
    elif grouping.note:
        yield grouping.note


def brief_words(grouping: Grouping, best: Grouping, host: bool) -> str:
    """Return what a grouping has other than the best one: `costs 2.1 % more than plan 1: ix, iy in one kernel, tiles of
    16x128, 20.3 KB shared, 3 % recomputed; gray alone, tiles of 1x256; others as in plan 1`.
    """
    more = 100.0 * (grouping.cost / best.cost - 1.0) if best.cost else 0.0
    new = sorted((one for one in grouping.kernels if one not in best.kernels), key=lambda one: -one.cost.number)
    parts = [_brief(one, host) for one in new[:BRIEF]]
    if len(new) > BRIEF:
        parts.append(f"{_kernels(len(new) - BRIEF)} that plan 1 does not have")
    if len(new) < len(grouping.kernels):
        parts.append("others as in plan 1")
    if grouping.note != best.note:
        parts.append(grouping.note or "no stages in loops of threads")
    cost = f"costs {more:.1f} % more than plan 1" if more >= 0.05 else "costs as much as plan 1"
    return f"{cost}: {'; '.join(parts)}"


def _brief(kernel: Choice, host: bool) -> str:
    if kernel.summed:
        return _left_words(kernel)
    if kernel.group.members:
        return f"{_listed(kernel.group.stages)} in one kernel, {_figures(kernel, host)}"
    return f"{kernel.group.output} alone, {step_words(kernel)}"


def _left_words(kernel: Choice) -> str:
    """Return `filtered as the start plans have it`, or `conv (inlined), relu in one kernel as the start plans have it`.
    """
    stages = kernel.group.stages
    inlined = () if kernel.summed == kernel.group.output else (f"{kernel.summed} (inlined)",)
    together = " in one kernel" if len(stages) + len(inlined) > 1 else ""
    return f"{_listed((*inlined, *stages))}{together} as the start plans have it"


def _kernels(count: int) -> str:
    return f"{count} kernel{'s' * (count != 1)}"


def _figures(kernel: Choice, host: bool) -> str:
    terms = {term.name: term.value for term in kernel.cost.terms}
    terms["shared memory"] /= 1024
    tile = step_words(kernel)
    if kernel.level == "sub-group":
        tile += f" shared out to warps, {kernel.in_registers} tenths in registers"
    return ", ".join(
        [
            tile,
            *(
                words.format(terms[name])
                for name, words in _FIGURES.items()
                if name in terms and not (host and name == "occupancy")
            ),
        ]
    )


def step_words(kernel: Choice) -> str:
    """Return `tiles of 64x32 in steps of 2 rows, gray for the whole tile`."""
    tile = f"tiles of {_sizes(kernel.tile)}"
    if kernel.step is not None:
        tile += f" in steps of {kernel.step[1]} row{'s' * (kernel.step[1] > 1)}"
    return f"{tile}, {_listed(kernel.whole)} for the whole tile" if kernel.whole else tile


def _sizes(tile: tuple[int, ...]) -> str:
    return "x".join(map(str, tile))


def _listed(names: tuple[str, ...]) -> str:
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"
