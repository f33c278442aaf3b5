"""docs/warps.md shows what is generated."""

from __future__ import annotations

import re
from dataclasses import replace

from generator.lowering import lower
from generator.schedules.time_tiles import TimeTiles
from tests.support.lanes import split_plan, three_stages, with_tenths
from tests.support.paths import ROOT
from tests.support.suite import polybench_program
from tests.support.targets import HOPPER
from tests.support.teams import time_problem


def test_the_page_shows_what_is_generated() -> None:
    """Each piece of C stands in the kernel of three stages, or in that of jacobi-1d, line by line."""
    chain, stencil = three_stages(4096, 64).program, polybench_program("jacobi-1d", ("TSTEPS=5", "N=300"))
    _, plan = time_problem("jacobi-1d", "sub-group", (128,), (32,))
    texts = [
        lower(chain, split_plan(chain, (2, 32), (1, 4), 5), HOPPER).source,
        lower(stencil, replace(with_tenths(plan, 5), schedule=TimeTiles(2)), HOPPER).source,
    ]
    pieces = re.findall(r"```c\n(.*?)```", (ROOT / "docs" / "warps.md").read_text(), re.DOTALL)
    assert len(pieces) == 7
    for piece in pieces:
        assert any(set(piece.splitlines()) <= set(text.splitlines()) for text in texts), piece
