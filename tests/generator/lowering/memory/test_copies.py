"""Copies in shared memory: the threads of a block fill them, each element once, one by one or several at once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from generator.expr import Expr, Int, Name
from generator.lowered_kernel import LoweredKernel
from generator.lowering.memory.staging import CopiedBox
from generator.nest import Assign, walk
from generator.polyhedral.memory.footprint import StagedArray
from tests.support.machine import DeviceMemory, Machine
from tests.support.memory import Element
from tests.support.programs import program_of, scop


def copied(corner: tuple[Expr, ...], box: tuple[int, ...], extent: int) -> CopiedBox:
    """A box of an array `A` of floats, at whose ends elements may be missing."""
    rank = len(box)
    return CopiedBox("L", "A", "float", corner, box, box, (None,) * rank, "copy", "block", 0, StagedArray("A", (), ()),
                     (True,) * rank, (extent,) * rank, extent)


def filled(box: CopiedBox, extent: int, block: tuple[int, ...], width: int, origin: int) -> dict[Element, object]:
    """What is in the box when a block (x first) has filled it; in Python no two threads may write an element."""
    index = "".join(f"[{extent}]" for _ in box.box)
    program = program_of(scop(f"A{'[0]' * len(box.box)} = 1.0f;", f"float A{index};"))
    fill = box.fill(tuple(reversed(block)), width)
    assert any(isinstance(n, Assign) and n.wide and n.wide.lanes == width for n in walk((fill,))) == (width > 1)
    memory = DeviceMemory(program, np.random.default_rng(1))
    kernel = LoweredKernel((), (), program.arrays, (), ("origin",), block, (1,), (fill,), (box,))
    Machine(kernel, memory).launch({"origin": origin}, memory)
    right = {("L", at): memory.load("A", tuple(origin + i for i in at))
             for at in product(*map(range, box.box)) if all(0 <= origin + i < extent for i in at)}
    assert memory.shared["L"] == right
    return dict(right)


@pytest.mark.parametrize("block", [(32,), (8,), (16, 4), (8, 2, 3), (2,)])
@pytest.mark.parametrize("sizes", [(7,), (5, 33), (2, 6, 9), (3, 1, 2, 5)])
def test_each_element_is_filled_once(block: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    assert len(filled(copied((Int(2),) * len(sizes), sizes, 36), 36, block, 1, 2)) == np.prod(sizes)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("block", [(32,), (8,), (16, 4), (8, 2, 3), (3,)])
@pytest.mark.parametrize("sizes", [(8,), (5, 32), (2, 6, 12), (3, 1, 2, 4)])
def test_several_at_once(block: tuple[int, ...], sizes: tuple[int, ...], width: int) -> None:
    assert len(filled(copied((Int(4),) * len(sizes), sizes, 36), 36, block, width, 4)) == np.prod(sizes)


@pytest.mark.parametrize(("origin", "count"), [(-3, 5), (5, 5), (1, 8)])
def test_only_existing_elements_are_copied(origin: int, count: int) -> None:
    assert len(filled(copied((Name("origin"),), (8,), 10), 10, (4,), 1, origin)) == count


def test_of_vectors_all_elements_exist_or_none() -> None:
    """A box of 16 columns that begins at column 8 of 12."""
    assert len(filled(copied((Int(8), Int(8)), (4, 16), 12), 12, (4, 2), 4, 8)) == 4 * 4
