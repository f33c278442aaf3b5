"""Blocks in which a statement runs: the condition against all instances, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generator.emit.cstyle import c_text
from generator.plan import KernelPlan
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.memory.used_blocks import used_blocks
from generator.polyhedral.pipelines.sections import kernels_of
from generator.schedules.choice import ScheduleChoice
from tests.support.programs import program_of, scop

SIZE = 40


def blocks_by_condition(guard: str, tile: tuple[int, int]) -> set[tuple[int, int]] | None:
    """Those for which the condition of S1 holds; S0 runs everywhere. None: there is no condition."""
    loops = f"for (i = 0; i < {SIZE}; i++) for (j = 0; j < {SIZE}; j++)"
    program = program_of(scop(f"{loops} {{ A[i][j] = 1; if ({guard}) A[i][j] += B[i][j]; }}",
                              f"float A[{SIZE}][{SIZE}], B[{SIZE}][{SIZE}];"))
    [kernel] = kernels_of(program, ScheduleChoice())
    mapped = map_kernel(kernel.part, KernelPlan(("S0", "S1"), tile, tile), ())
    condition = used_blocks(kernel.part, mapped.tree, mapped.blocks, "S1", ())
    if condition is None:
        return None
    text = c_text(condition).replace("&&", "and").replace("||", "or")
    return {(b0, b1) for b0 in range(mapped.blocks[0]) for b1 in range(mapped.blocks[1])
            if eval(text, {"b0": b0, "b1": b1})}


@settings(max_examples=12, deadline=None)
@given(st.integers(-2, 2), st.integers(-2, 2), st.integers(-30, 60), st.sampled_from(((4, 4), (8, 4), (16, 32))))
def test_blocks_with_instances_are_never_left_out(i: int, j: int, constant: int, tile: tuple[int, int]) -> None:
    points = [(x, y) for x in range(SIZE) for y in range(SIZE) if i * x + j * y <= constant]
    if not points:
        return
    found = blocks_by_condition(f"{i} * i + {j} * j <= {constant}", tile)
    needed = {(x // tile[0], y // tile[1]) for x, y in points}
    if found is None:
        assert len(needed) == -(-SIZE // tile[0]) * -(-SIZE // tile[1])
    else:
        assert needed <= found and (needed == found or 2 in (abs(i), abs(j)))


@pytest.mark.parametrize(("guard", "tile", "expected"), [
    ("j <= i", (8, 8), {(a, b) for a in range(5) for b in range(a + 1)}),
    ("i >= 33 && j < 8", (8, 8), {(4, 0)}),
    ("j < 41", (8, 8), None),
    ("(i + j) % 2 == 0", (4, 4), None)])
def test_conditions(guard: str, tile: tuple[int, int], expected: set[tuple[int, int]] | None) -> None:
    assert blocks_by_condition(guard, tile) == expected
