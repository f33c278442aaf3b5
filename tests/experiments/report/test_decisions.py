"""What the report says of decisions and evaluations: importance, parallel coordinates, the table, the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from experiments.report import coordinates, evaluations, overview, permutation, source
from experiments.report.facts import gather
from experiments.store import Store
from experiments.values.records import Result
from experiments.words import describe_bytes
from generator.program import Program
from metrics.outcome import CompileFailed, Durations
from tests.support.browser import Browser, browser
from tests.support.pages import made_run, result, timed, walks
from tests.support.runs import toy_info
from tests.support.slow import in_turn


def measured(count: int) -> list[Result]:
    """Walks whose time a tile decides, and beside it whether two switches are the same: neither switch alone tells
    it.
    """
    rng = np.random.default_rng(5)
    found = []
    for number in range(count):
        tile, one, other, idle = (
            int(rng.choice((8, 16, 32))),
            bool(rng.integers(2)),
            bool(rng.integers(2)),
            int(rng.integers(4)),
        )
        ms = tile * (3.0 if one == other else 1.0) * float(rng.lognormal(0, 0.05))
        found.append(result(number, timed(ms), tile=tile, one=one, other=other, idle=idle))
    return found


def test_what_decides_together_is_important_and_chance_is_not() -> None:
    found = permutation.importances(results := measured(300), walks(results))
    assert isinstance(found, permutation.Importances)
    assert found.explained > 0.9 and found.walks == 300
    means = {one.title.split()[0]: one.mean for one in found.decisions}
    assert min(means["one"], means["other"]) > 0.3, "effects of single decisions do not see these"
    assert means["tile"] > 0.3
    assert means.get("idle", 0.0) < 0.02


def test_a_forest_scores_as_scikit_learn_has_it() -> None:
    from sklearn.metrics import get_scorer

    rng = np.random.default_rng(3)
    for count in (8, 300):
        table, logs = rng.integers(0, 5, (count, 12)) / 3, rng.random(count)
        forest = permutation._forest(table, logs)
        assert permutation._score(forest, table, logs) == get_scorer("neg_mean_squared_error")(forest, table, logs)


def test_importance_needs_walks_that_differ() -> None:
    few = measured(permutation.FEWEST - 1)
    assert permutation.importances(few, walks(few)) == "A forest needs 24 timed walks; there are 23."
    same = [replace(one, outcome=timed(2.0)) for one in measured(40)]
    assert permutation.importances(same, walks(same)) == "All walks took the same time: no decision matters."
    rng = np.random.default_rng(1)
    noise = [
        result(n, timed(float(rng.lognormal(0, 1))), tile=int(rng.integers(9)), unroll=int(rng.integers(9)))
        for n in range(30)
    ]
    answer = permutation.importances(noise, walks(noise))
    assert isinstance(answer, str) and "cannot predict" in answer


def test_lines_cross_the_axes_at_their_options() -> None:
    results = [*measured(100), result(100, CompileFailed("x", Durations()), tile=8, one=True, other=True, idle=0),
               result(101, timed(0.5), tile=8)]
    found = coordinates.coordinates(results, walks(results), results[101])
    assert found is not None and found.best is not None
    assert found.axes[0].startswith("tile") and found.axes[-1] == "time"
    assert [word for _, word in found.labels[0]] == ["8", "16", "32"]
    words: list[dict[str, float]] = [dict(map(reversed, labels)) for labels in found.labels[1:-1]]  # type: ignore[arg-type]  # labels are pairs
    assert all("not asked" in labels for labels in words), "one walk met the tile alone"
    lines = [line for _, members in found.classes for line in members]
    assert len(lines) == 101 and found.left_out == 0
    assert (found.best.number, found.best.places[-1]) == (101, 0.0)
    heights = dict(found.labels[0])
    for line in lines:
        walk = walks(results)[line.number]
        nearest = min(heights, key=lambda at, place=line.places[0]: abs(at - place))  # type: ignore[misc]  # labels are pairs
        assert heights[nearest] == str(next(c.option for c in walk if c.decision.name == "tile"))
    speeds = [[line.ms for line in members] for _, members in found.classes]
    assert all(max(fast) <= min(slow) for fast, slow in pairwise(speeds))


def test_many_walks_are_thinned_and_none_make_no_figure() -> None:
    results = measured(2000)
    found = coordinates.coordinates(results, walks(results), None)
    assert found is not None
    kept = sum(len(members) for _, members in found.classes)
    assert kept <= coordinates.MOST_LINES and kept + found.left_out == 2000
    assert coordinates.coordinates(results[:1], walks(results[:1]), None) is None


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return made_run(tmp_path_factory.mktemp("run") / "run", 40)


def test_the_overview_says_what_won_and_how_large_the_problem_is(run: Store) -> None:
    facts = gather(run)
    body = overview.section(facts).body
    assert facts.best is not None
    assert f"The winning decisions (evaluation {facts.best.evaluation.number})" in body
    assert "outer tile size" in body and "Problem size" in body
    assert [describe_bytes(n) for n in (0, 812, 1100, 2_000_000, 3 << 30)] == [
        "0 B",
        "812 B",
        "1.07 KiB",
        "1.91 MiB",
        "3 GiB",
    ]


SOURCE = """int a[8], b[8];
void f(void) {
#pragma scop
  for (int i = 0; i < 8; i++) {
    a[i] = b[i] < 3; b[i] = 2;
    a[i] += 1;
  }
#pragma endscop
}
"""


def test_the_source_has_the_names_of_its_statements(tmp_path: Path, run: Store) -> None:
    facts = gather(run)
    old = toy_info().program.statements[0]
    named = tuple(
        replace(old, name=name, text=text, line=line)
        for name, text, line in (("S0", "a[i] = b[i] < 3;", 5), ("S1", "b[i] = 2;", 5), ("S2", "a[i] += 1;", 6))
    )
    program: Program = replace(facts.info.program, statements=named)
    options = replace(facts.info.options, file=str(tmp_path / "f.c"))
    body = source.section(
        replace(facts, info=replace(facts.info, subject=program, options=options, source_text=SOURCE))
    ).body
    lines = body.split("<pre")[1].split("</pre>")[0].splitlines()
    assert len(lines) == 6 and "#pragma scop" in lines[0] and "#pragma endscop" in lines[-1]
    assert ">S0 S1<" in lines[2] and "b[i] &lt; 3" in lines[2] and "   S2<" in lines[3]


@pytest.fixture(scope="module")
def page() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


ROWS = (
    "[...document.querySelectorAll('#evaluations tbody tr')].filter((row) => !row.hidden).map((row) => "
    "row.cells[{}].textContent)"
)


@in_turn
def test_evaluations_can_be_sorted_and_filtered(page: Browser, run: Store, tmp_path: Path) -> None:
    from experiments.report.page import write_report

    page.look(1280, 900, "light", mobile=False)
    page.open(write_report(run, tmp_path).as_uri())
    page.until("document.documentElement?.hasAttribute('data-drawn')")
    numbers = [int(text) for text in page.run(ROWS.format(0))]
    by_time = sorted(run.results(), key=lambda one: evaluations._order(one))
    assert numbers == [one.evaluation.number for one in by_time]
    head = "document.querySelectorAll('#evaluations th .sort')[{}].click()"
    page.run(head.format(0))
    assert [int(text) for text in page.run(ROWS.format(0))] == sorted(numbers)
    page.run(head.format(0))
    assert [int(text) for text in page.run(ROWS.format(0))] == sorted(numbers, reverse=True)
    page.run(head.format(3))
    assert page.run(ROWS.format(2))[-1].startswith(("compile failed", "timed out")), "what has no time comes last"
    page.run("(field => { field.value = 'compile failed'; field.dispatchEvent(new Event('input', {bubbles: true})); })"
             "(document.querySelector('#evaluations .filter'))")
    kinds = page.run(ROWS.format(2))
    assert kinds and set(kinds) == {"compile failed"}
    assert page.errors == []
