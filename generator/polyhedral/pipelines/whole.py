"""Stages that blocks compute for their whole tile, before their loops over steps and inner tiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from types import MappingProxyType

from generator.errors import IllegalPlan
from generator.polyhedral.pipelines.stages import reached
from generator.program import Program


@lru_cache(maxsize=1024)
def made_from(program: Program, statements: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
    """The stages that blocks compute in a kernel with these statements, each with those of them that it is computed
    from, itself and what is computed together with it included.
    """
    here = reached(program, statements)
    blocks = {stage.array for stage in program.stages if stage.where == "block" and stage.array in here}
    found = {}
    for stage in program.stages:
        if stage.array in blocks:
            names = tuple(dict.fromkeys(step.statement.name for step in stage.steps))
            found[stage.array] = frozenset((reached(program, names) | {*stage.arrays}) & blocks)
    return MappingProxyType(found)


def sets_of(program: Program, statements: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Each of these stages with those that it is computed from, without repetition; sorted names."""
    return tuple(dict.fromkeys(tuple(sorted(names)) for names in made_from(program, statements).values()))


def check_whole(program: Program, statements: tuple[str, ...], whole: Collection[str],
                before: Collection[str] = ()) -> None:
    """Raise IllegalPlan unless blocks of the kernel compute all of the stages `whole`, and nothing that these need for
    each step. Stages `before` have other levels, which are computed even earlier.
    """
    known, called = made_from(program, statements), f"of the whole tile of {', '.join(statements)}"
    for name in whole:
        if name not in known:
            raise IllegalPlan(f"`{name}` {called}: the blocks of this kernel compute "
                              f"{', '.join(sorted(known)) or 'no stage'}")
        if name in before:
            raise IllegalPlan(f"`{name}` {called} has a level of its own (`levels`), and is computed before all loops "
                              "anyway: leave it out of `whole`")
        if missing := sorted(known[name].difference(whole, before)):
            raise IllegalPlan(f"`{name}` {called} is computed with or from `{missing[0]}`, which would be computed for "
                              "each step or inner tile: name it in `whole`, too")
