"""The table of times of fusion."""

from __future__ import annotations

import re

from experiments.benchmarks.fusion_times import TARGETS, rows


def test_a_row_has_a_time_for_each_target_and_the_papers() -> None:
    [row] = rows(["unsharp"])
    assert re.fullmatch(rf"\| unsharp \| 7 (\| \d\.\d{{3}} ){{{len(TARGETS) + 1}}}\| 0\.05 \|", row)
