"""The benchmark of launches: one row per plan, with the numbers of `antune explain`."""

from __future__ import annotations

from experiments.benchmarks.launches import TILES, seidel, sized

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


