"""The corner of each copy in the text is the one that was checked: whatever differs is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import unwrap
from typing import Any

import pytest

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int
from generator.lowered_kernel import LoweredKernel
from generator.lowering.core import kernel
from generator.lowering.core.kernel import Frame, lower_exactly
from generator.lowering.memory.staging import CopiedBox
from generator.nest import For, If, Instance, Node
from generator.plan import KernelPlan
from generator.polyhedral.kit.ast import generate
from generator.polyhedral.memory import footprint
from generator.polyhedral.memory.footprint import FillPoint
from generator.polyhedral.schedules.kernels import dimension, schedule_kernels
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES
from tests.support.programs import program_of, scop

RANGES = program_of(scop(
    "for (i = 0; i < 7; i++) for (j = 0; j < 9; j++) for (int p = 0; p < 4; p++) { "
    "for (k = 0; k < 6; k++) Y[i][j] += W[p][k][j] * X[i][p][k]; "
    "for (int l = 2; l <= p; l++) Y[i][j] += U[l][j] * V[2 * i + p][l]; }",
    "int Y[7][9], W[4][6][9], X[7][4][6], U[5][9], V[16][5];"))
"""Two sums share a loop over p; the second one has terms only from p = 2 on."""

PLAN = KernelPlan(("S0", "S1"), (4, 8), (2, 4), shared=True, inner_tile=4, depth=1)


@pytest.fixture(autouse=True)
def nothing_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same loops are made again in each test, and no other test gets those with a fault."""
    monkeypatch.setattr(kernel, "loops_in_teams", unwrap(kernel.loops_in_teams))


def lowered(program: Program = RANGES, plan: KernelPlan = PLAN) -> LoweredKernel:
    """Nothing is cached, and copies are not left out."""
    [part] = schedule_kernels(program, ScheduleChoice()).kernels
    return lower_exactly(program, part, Frame((), (), True), plan, LANGUAGES["cuda"])


def test_nothing_is_refused_otherwise() -> None:
    assert {box.array for box in lowered().shared if isinstance(box, CopiedBox)} == {"U", "V", "W", "X"}


def test_values_of_a_loop_are_counted_from_where_its_tiles_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are filled for a value of p, the others' first one included; each sum would count its own from 0."""
    points = footprint.plan_points

    def own_ranges(*arguments: Any) -> tuple[FillPoint, ...]:
        return tuple(replace(one, tiled=tuple(dimension(d.member, one.domain) for d in one.tiled))
                     for one in points(*arguments))

    monkeypatch.setattr("generator.lowering.core.staged.plan_points", own_ranges)
    with pytest.raises(IllegalPlan, match="run an instance of S1 with the copies of another tile"):
        lowered()


@pytest.mark.parametrize(("depth", "number"), [(0, 0), (1, 0), (1, 1)])
def test_numbers_that_generated_code_passes(depth: int, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if isl had passed the next tile's number, to one of the places where copies are filled."""
    def shifted(node: Node) -> Node:
        match node:
            case For(body=body):
                return replace(node, body=tuple(map(shifted, body)))
            case If(condition, then, otherwise):
                return If(condition, tuple(map(shifted, then)), tuple(map(shifted, otherwise)))
            case Instance(name, arguments) if name == f"enter_{number}":
                return Instance(name, (*arguments[:-1], Binary("+", arguments[-1], Int(1))))
            case _:
                return node

    monkeypatch.setattr("generator.lowering.core.kernel.generate",
                        lambda *arguments: tuple(map(shifted, generate(*arguments))))
    plan = replace(PLAN, depth=depth, inner_tile=2)
    with pytest.raises(IllegalPlan, match=f"run an instance of S{number} with the copies of another tile"):
        lowered(plan=plan)


@pytest.mark.parametrize("depth", [0, 1])
def test_the_expression_that_is_printed_is_checked(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(monkeypatch, "_corner", lambda corner: Binary("+", corner, Int(1)))
    with pytest.raises(IllegalPlan, match=r"outside its shared copy: local subscript . goes from -1"):
        lowered(plan=replace(PLAN, depth=depth))


@pytest.mark.parametrize("depth", [0, 1])
def test_copies_do_not_leave_their_arrays(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of two tiles of four rows is partial: X has seven."""
    changed(monkeypatch, "_range", lambda ends: (0, 0))
    with pytest.raises(IllegalPlan, match=r"the shared copy of `.` leaves it: subscript . goes from 0 to "):
        lowered(plan=replace(PLAN, registers=True, points_inside=True, depth=depth))


def changed(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[Any], Expr | tuple[int, int]]) -> None:
    """Change the results of a function that makes the boxes of copies."""
    module = "generator.lowering.memory.staging"
    found = getattr(__import__(module, fromlist=[name]), name)
    monkeypatch.setattr(f"{module}.{name}", lambda *arguments: change(found(*arguments)))
