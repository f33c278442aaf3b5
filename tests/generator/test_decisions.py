"""The decisions about a kernel: each is one file, and everything else goes over their table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields

import pytest

from experiments.words import describe_kernel
from generator.plan import KERNEL_DECISIONS, KernelPlan
from graph import o1, o2, o3_rows, pipeline, placement, time_steps
from graph.space import PageRow
from tests.support.paths import DOCS, ROOT

PAGE = DOCS / "decisions.md"
TABLE = re.compile(r"(<!-- made by .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def test_every_field_of_a_kernel_is_decided_once() -> None:
    kernel = KernelPlan(("S0",), (8, 8), (4, 4))
    decided = [name for decision in KERNEL_DECISIONS for name in decision.members(decision.of(kernel))]
    assert sorted(["statements", *decided]) == sorted(field.name for field in fields(KernelPlan))
    assert kernel == KernelPlan(
        ("S0",), (8, 8), (4, 4), **{d.key: d.default for d in KERNEL_DECISIONS if d.key != "tile"}
    )


def test_the_file_of_a_decision_is_short() -> None:
    files = sorted((ROOT / "generator" / "decisions").glob("*.py"))
    assert len(files) > len(KERNEL_DECISIONS) and all(len(path.read_text().splitlines()) <= 150 for path in files)


def test_only_what_is_not_the_default_is_told() -> None:
    assert describe_kernel(KernelPlan(("S0",), (8,), (8,))) == "kernel S0: outer tile size 8, thread block size 8"
    told = describe_kernel(
        KernelPlan(("S0",), (8, 8), (4, 4), order=(1, 0), unroll=4, registers=True, columns=True, cache="l1")
    )
    assert told == (
        "kernel S0: x dimension 0, outer tile size 8x8, thread block size 4x4 (2x2 points each), unroll factor 4, "
        "registers, cache configuration l1, block rasterization order by columns"
    )


def test_the_page_shows_the_table(request: pytest.FixtureRequest) -> None:
    tables = iter([schedule_table(), kernel_table()])
    page = PAGE.read_text(encoding="utf-8")
    wanted = TABLE.sub(lambda found: f"{found[1]}{next(tables)}{found[2]}", page)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, (
        f"{PAGE} is stale; make it with: pytest --update-golden {request.node.nodeid}"
    )
    assert next(tables, None) is None, "both tables are on the page"


def schedule_table() -> str:
    rows: list[PageRow] = [*time_steps.ROWS, *o1.ROWS, *o3_rows.ROWS, *o2.ROWS, *pipeline.ROWS, *placement.ROWS]
    return table(
        ["decision", "about", "options", ""], ((row.title, row.about, row.options, row.meaning) for row in rows)
    )


def kernel_table() -> str:
    rows = [(title, row) for decision in KERNEL_DECISIONS for title, row in decision.rows()]
    return table(["decision", "options", ""],
                 ((f"{title} ({row.only})" if row.only else title, row.options, row.meaning) for title, row in rows))


def table(head: list[str], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    lines.insert(1, "|---" * len(head) + "|")
    return "\n".join(lines).replace("|  |", "| |") + "\n"
