"""Levels of single stages of a kernel: those that the threads of a block (a sub-group) compute together for all of
their tiles.

    levels = {gray: block}, level = thread        gray_here in shared memory, for the tile of the block
                                                  barrier
                                                  gx_here in registers of each thread, for its tile, from gray_here
"""

from __future__ import annotations

from typing import get_args

from generator.errors import IllegalPlan
from generator.nest import Level, Levels
from generator.polyhedral.pipelines.whole import made_from
from generator.program import Program

MOST_CUTS = 3
"""The most sets of stages that a search is offered."""
_FROM_OUTSIDE = get_args(Level)
"""Levels, from the one with the most threads to the one with the fewest."""


def check_levels(program: Program, statements: tuple[str, ...], level: Level, levels: Levels) -> None:
    """Raise IllegalPlan unless the kernel computes all these stages in blocks, each of a level outside of `level`, from
    stages of levels that are not inside of its own.
    """
    known, called, own = made_from(program, statements), f"of the kernel of {', '.join(statements)}", dict(levels)
    for name, outer in levels:
        if name not in known:
            raise IllegalPlan(f"`{name}` with the level {outer} {called}: its blocks compute "
                              f"{', '.join(sorted(known)) or 'no stage'}")
        if _FROM_OUTSIDE.index(outer) >= _FROM_OUTSIDE.index(level):
            raise IllegalPlan(f"`{name}` with the level {outer} {called}: its tiles are shared by a {level} (`level`), "
                              "so only stages of levels with more threads have their own; leave it out, or change "
                              "`level`")
        for source in sorted(known[name]):
            if _FROM_OUTSIDE.index(own.get(source, level)) > _FROM_OUTSIDE.index(outer):
                raise IllegalPlan(f"`{name}` with the level {outer} {called} is computed with or from `{source}`, "
                                  f"which a {own.get(source, level)} keeps for itself: give `{source}` the level "
                                  f"{outer}, too")


def cuts_of(program: Program, statements: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return sets of block stages that can be computed before the others: those with chains of stages before them of at
    most a given length; sorted names. Of many such lengths, MOST_CUTS evenly spaced ones.
    """
    known, depth = made_from(program, statements), dict[str, int]()
    for name in sorted(known, key=lambda one: (len(known[one]), one)):
        before = [depth[other] for other in known[name] if other in depth and known[other] < known[name]]
        depth[name] = 1 + max(before, default=-1)
    last = max(depth.values(), default=0)
    lengths = range(last) if last <= MOST_CUTS else [(k + 1) * last // (MOST_CUTS + 1) for k in range(MOST_CUTS)]
    return tuple(tuple(sorted(name for name in depth if depth[name] <= length)) for length in lengths)
