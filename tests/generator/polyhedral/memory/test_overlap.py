"""The exact check of overlapped tiles refuses boxes that are too small, tiles that miss something and tiles that store
twice.
"""

from __future__ import annotations

from typing import Any

import islpy as isl
import pytest

from generator.errors import IllegalPlan
from generator.polyhedral.memory.boxes import stage_boxes
from generator.polyhedral.memory.overlap import OverlappedTiles, check_overlap
from generator.polyhedral.memory.tile_boxes import tile_box
from generator.polyhedral.pipelines.sections import kernels_of
from generator.schedules.stages import Stages
from tests.support.teams import chain

# `S1: B[i] = A[i - 1] + A[i + 1]` in tiles of four; `S0` computes what each reads of A
OWN = "{ [b] -> S1[i] : 4 b <= i < 4 b + 4 and 1 <= i < 31 and 0 <= b < 8 }"
WIDER = "{ [b] -> S0[i] : 4 b - 1 <= i < 4 b + 5 and 0 <= i < 32 and 0 <= b < 8 }"
HELD = "{ [b] -> A[i] : 4 b - 1 <= i < 4 b + 5 and 0 <= b < 8 }"
SOURCES = "{ S1[i] -> S0[i - 1]; S1[i] -> S0[i + 1] }"
TOUCHED = "{ S1[i] -> A[i - 1]; S1[i] -> A[i + 1]; S0[i] -> A[i] }"
DOMAIN = "{ S1[i] : 1 <= i < 31 }"


def check(own: str = OWN, wider: str = WIDER, held: str = HELD) -> None:
    stores = isl.UnionMap(own)
    launch = isl.UnionMap("{ [b] -> S0[i] : 0 <= b < 8 and 0 <= i < 32 }")
    tiles = OverlappedTiles(stores.union(isl.UnionMap(wider)), stores, launch, isl.UnionMap(held))
    check_overlap(tiles, isl.UnionSet(DOMAIN), isl.UnionMap(SOURCES), isl.UnionMap(TOUCHED))


def test_right_tiles() -> None:
    check()


@pytest.mark.parametrize(("change", "words"), [
    ({"own": OWN.replace("i < 4 b + 4", "i < 4 b + 3")}, "would not compute all of its tile"),
    ({"own": OWN.replace("4 b <= i", "4 b - 1 <= i")}, "two tiles would store"),
    ({"wider": WIDER.replace("4 b - 1 <=", "4 b <=")}, "would need what it does not compute"),
    ({"wider": WIDER.replace("4 b + 5", "4 b + 4")}, "would need what it does not compute"),
    ({"held": HELD.replace("4 b - 1 <=", "4 b <=")}, "would leave what it holds of A"),
    ({"held": HELD.replace("4 b + 5", "4 b + 4")}, "would leave what it holds of A")])
def test_what_is_wrong_with_others(change: dict[str, str], words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        check(**change)


@pytest.mark.parametrize("end", ["lexmin", "lexmax"])
@pytest.mark.parametrize("array", ["one", "two"])
def test_boxes_of_stages_are_checked(array: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A box without its first or last element, which somebody reads."""
    program = chain()
    (kernel,) = kernels_of(program, Stages((("one", "block"), ("two", "block"))))
    assert stage_boxes(kernel.section.program, kernel.part, (8, 16), 1, 0)

    def smaller(name: str, *details: Any, **more: Any) -> Any:
        box, elements = tile_box(name, *details, **more)
        return box, elements.subtract(getattr(elements, end)()) if name == array else elements

    monkeypatch.setattr("generator.polyhedral.memory.boxes.tile_box", smaller)
    with pytest.raises(IllegalPlan, match="a block would"):
        stage_boxes.__wrapped__(kernel.section.program, kernel.part, (8, 16), 1, 0)
