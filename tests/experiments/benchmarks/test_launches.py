"""The benchmark of launches: one row per plan, with the numbers of `antune explain`."""

from __future__ import annotations

import pytest

from experiments.benchmarks.launches import TILES, adi, cells, seidel, sized
from generator.lowering.analysis.parallelism import Parallelism

SMALL = {"tsteps": 10, "n": 100}


def test_rows_of_seidel() -> None:
    """A tile per thread, diagonals, inner tiles: as many launches, other blocks."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in seidel(sized("seidel-2d", SMALL))]
    assert len(rows) == len(TILES) + len({sizes for sizes, _, _ in TILES})
    by_tile: dict[str, set[str]] = {}
    for what, _, launches, least, middle, most, *_ in rows:
        assert int(least) <= float(middle) <= int(most)
        by_tile.setdefault(what.split(",")[1], set()).add(launches)
    assert all(len(launches) == 1 for launches in by_tile.values()), by_tile
    assert [row[6] == "-" for row in rows] == ["per thread" in row[0] for row in rows]


@pytest.mark.slow
def test_rows_of_adi() -> None:
    """The best of two random plans: every kernel in the time loop, with a cell for every column."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in adi(sized("adi", SMALL), 2)]
    assert rows and {len(row) for row in rows} == {10}
    assert all(row[0].startswith("adi, S") and int(row[2]) > 1 and float(row[7]) >= 1 for row in rows)


def test_blocks_that_are_too_many_to_count_are_left_open() -> None:
    row = cells("adi, S0", Parallelism(("S0",), 500, 12.0, 8.0, exact=False), 64)
    assert row == "| adi, S0 | 64 | 500 | - | - | - | - | 96 | - | - |"
