"""More blocks than a device counts along y or z are launched in a row along x."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from generator.errors import IllegalPlan
from generator.expr import Int
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import LANGUAGES, Dialect
from generator.variant import Launch, Variant
from tests.support.programs import program_of, scop
from tests.support.targets import CPU, HOPPER


def copied(sizes: tuple[int, ...]) -> Program:
    """A copy of an array."""
    loops = "".join(f"for (int i{d} = 0; i{d} < {n}; i{d}++) " for d, n in enumerate(sizes))
    subscripts = "".join(f"[i{d}]" for d in range(len(sizes)))
    extents = "".join(f"[{n}]" for n in sizes)
    return program_of(scop(f"{loops}x{subscripts} = A{subscripts};", f"float x{extents}, A{extents};"))


def plan(tile: tuple[int, ...], columns: bool = False) -> Plan:
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), tile, (1,) * len(tile), columns=columns),))


def grid(variant: Variant) -> list[int]:
    """Of the only launch."""
    [operation] = variant.host
    assert isinstance(operation, Launch)
    return [size.value for size in operation.grid if isinstance(size, Int)]


def indices(variant: Variant) -> dict[str, str]:
    """How the kernel finds its block indices."""
    return dict(re.findall(r"const int (b\d) = (.*);", variant.source))


@pytest.mark.parametrize(("sizes", "tile", "columns"), [
    ((3, 150_000, 8), (1, 1, 4), False), ((70_000, 5, 8), (1, 1, 4), True), ((70_000, 5, 8), (1, 2, 4), False)])
def test_every_block_is_run_once(sizes: tuple[int, ...], tile: tuple[int, ...], columns: bool) -> None:
    variant = lower(copied(sizes), plan(tile, columns), HOPPER)
    blocks = [-(-size // side) for size, side in zip(sizes, tile, strict=True)]
    assert grid(variant) == [int(np.prod(blocks)), 1, 1]
    number = np.arange(grid(variant)[0])
    found = [np.zeros_like(number)] * 3
    for name, text in indices(variant).items():
        value, (_, *operations) = number, text.split(" ", 1)
        for operation, operand in re.findall(r"([/%]) (\d+)", "".join(operations)):
            value = value // int(operand) if operation == "/" else value % int(operand)
        found[int(name[1])] = value
    assert set(np.bincount(np.ravel_multi_index(found, blocks), minlength=len(number))) == {1}


def test_what_the_device_counts_stays_as_it_is() -> None:
    variant = lower(copied((3, 150_000, 8)), plan((1, 4, 4)), HOPPER)
    assert grid(variant) == [2, 37_500, 3]
    assert indices(variant) == {"b0": "blockIdx.z", "b1": "blockIdx.y", "b2": "blockIdx.x"}


def test_a_long_side_along_the_devices_x_needs_no_row() -> None:
    assert grid(lower(copied((150_000, 8)), plan((1, 4), columns=True), HOPPER)) == [150_000, 2]


@pytest.mark.parametrize("dialect", LANGUAGES)
def test_gpus_count_so_few_in_every_dialect(dialect: Dialect) -> None:
    assert grid(lower(copied((150_000, 8)), plan((1, 4)), replace(HOPPER, dialect=dialect))) == [300_000, 1]


def test_cpus_count_all() -> None:
    assert grid(lower(copied((150_000, 8)), plan((1, 4)), CPU)) == [2, 150_000]


def test_more_blocks_than_fit_in_a_row_are_refused() -> None:
    with pytest.raises(IllegalPlan, match="2800000000 blocks, of which the device counts 2147483647: larger tiles"):
        lower(copied((70_000, 40_000)), plan((1, 1)), HOPPER)
