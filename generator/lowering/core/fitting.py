"""Decisions of a kernel that do not go together, refused before it is lowered."""

from __future__ import annotations

from generator.errors import IllegalPlan
from generator.lowering.memory.teams import Team
from generator.plan import KernelPlan
from generator.polyhedral.pipelines.levels import check_levels
from generator.polyhedral.pipelines.whole import check_whole
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Program


def check_lanes(plan: KernelPlan, team: Team) -> None:
    """Raise IllegalPlan if there are no lanes to hold the part of the tile that should be in registers."""
    if plan.in_registers and team.level != "sub-group":
        raise IllegalPlan(f"{plan.in_registers} tenths of the tile of {', '.join(plan.statements)} in registers: only "
                          "tiles of sub-groups have lanes that hold them; use the level sub-group")


def check_walk(plan: KernelPlan, reductions: tuple[str, ...]) -> None:
    """Raise IllegalPlan if the threads of a block that walks, or runs diagonals, would combine values over a whole
    tile.
    """
    if plan.diagonals and reductions:
        raise IllegalPlan(f"diagonals of {', '.join(plan.statements)}: its updates in any order "
                          f"({', '.join(reductions)}) are for one thread per tile")
    if plan.walk and reductions:
        raise IllegalPlan(f"{plan.walk} rows per step of {', '.join(plan.statements)}: its updates in any order "
                          f"({', '.join(reductions)}) are for a whole tile at once")


def check_places(program: Program, part: KernelPart, plan: KernelPlan) -> None:
    """Raise IllegalPlan for stages of the whole tile or of other levels that cannot be, or where a tile has a lowering
    of its own.
    """
    for field, stages in (("whole", "stages of the whole tile"), ("levels", "stages of other levels")):
        if getattr(plan, field) and (plan.in_registers or plan.diagonals or plan.products != "full"):
            raise IllegalPlan(f"{stages} of {', '.join(plan.statements)}: not with tiles partly in registers, with "
                              f"diagonals or on tensor cores; leave out `{field}`")
    check_levels(program, part.statements, plan.level, plan.levels)
    check_whole(program, part.statements, plan.whole, plan.stages_around)
