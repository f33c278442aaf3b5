"""The numbers behind the report's plots, against what a reader would compute by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.report import convergence, failures, kernels, roofline
from experiments.report.convergence import Point, thinned
from experiments.report.effects import explained
from experiments.report.facts import gather
from experiments.report.html import Section, note, table
from experiments.report.live import LiveReport
from experiments.report.plotly import Figure, View
from experiments.report.tree import FEWEST, TreeNode, fitted
from experiments.run import tune
from experiments.search.summary import summarize
from experiments.store import read_store
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Evaluation
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from graph.space import Decision
from graph.walk import Choice, Walk, choices_from_json, walk_to_json, walks_from_json
from metrics.outcome import CompileFailed, Durations, TimedOut
from metrics.roofline import Bandwidth, Ceilings
from tests.support.pages import made_run, result, timed, walks
from tests.support.runs import DEFAULT, Log
from tests.support.slow import in_turn

PROGRAM = """
#define N 40
static double A[N][N], x[N], y[N];
int main(void) {
  for (int i = 0; i < N; i++) { x[i] = i % 7; for (int j = 0; j < N; j++) A[i][j] = (i * j) % 5; }
#pragma scop
  for (int i = 0; i < N; i++) { y[i] = 0; for (int j = 0; j < N; j++) y[i] += A[i][j] * x[j]; }
#pragma endscop
  return (int)y[3];
}
"""


def test_the_line_of_the_best_has_its_interval_on_both_axes(tmp_path: Path) -> None:
    with made_run(tmp_path / "run", 30) as store:
        summary = summarize(store)
    results = [result(0, timed(5.0), 1.0), result(1, timed(3.0), 9.0), result(2, CompileFailed("x", Durations()), 4.0),
               result(3, timed(2.0), 6.0)]
    by_number = convergence.convergence(results, summary)
    assert [(s.at, s.ms, s.number) for s in by_number.steps] == [(0, 5.0, 0), (1, 3.0, 1), (3, 2.0, 3)]
    assert [(s.low_ms, s.high_ms) for s in by_number.steps] == [
        pytest.approx((0.9 * ms, 1.1 * ms)) for ms in (5.0, 3.0, 2.0)
    ]
    by_time = convergence.convergence(results, summary, "time")
    assert [(s.at, s.number) for s in by_time.steps] == [(1.0, 0), (6.0, 3)], "evaluation 1 came when 2 ms was known"
    assert (by_time.end, by_time.failures) == (9.0, ((4.0, "compile failed: x"),))


def test_time_is_in_fitting_units(tmp_path: Path) -> None:
    with made_run(tmp_path / "run", 3) as store:
        summary = summarize(store)
    for elapsed_s, unit in ((100.0, "[s]"), (1000.0, "[min]"), (20_000.0, "[h]")):
        assert convergence.convergence([result(0, timed(1.0), elapsed_s)], summary, "time").title.endswith(unit)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=400), st.integers(3, 60))
def test_thinning_keeps_the_extremes_and_the_order(times: list[float], most: int) -> None:
    points = [Point(number, float(number), ms) for number, ms in enumerate(times)]
    kept = thinned(points, most)
    assert len(kept) <= max(most, 3)
    assert set(kept) <= set(points) and len(set(kept)) == len(kept)
    assert min(p.ms for p in kept) == min(times) and max(p.ms for p in kept) == max(times)
    if len(points) <= most:
        assert kept == points


def test_messages_that_differ_in_numbers_count_together() -> None:
    results = [
        result(n, CompileFailed(f"kernel{n} needs {n}.5e3 registers at 0x{n:x}f", Durations())) for n in range(4)
    ]
    results += [result(4, CompileFailed("other", Durations())), result(5, TimedOut("compile", 5.0, Durations())),
                result(6, timed(1.0))]
    assert failures.counts(results) == [("timed", 1), ("compile failed", 5), ("timed out", 1)]
    assert [(m.kind, m.times, m.first) for m in failures.messages(results)] == [
        ("compile failed", 4, 0), ("compile failed", 1, 4), ("timed out", 1, 5)]
    assert failures.messages(results)[0].text == "kernel0 needs 0.5e3 registers at 0x0f"


def test_an_option_that_decides_all_explains_all_and_chance_nothing() -> None:
    assert explained([[1.0, 1.0], [8.0, 8.0]]) == 1.0
    assert explained([[1.0, 2.0]]) == explained([[], [1.0]]) == explained([[3.0], [3.0]]) == 0.0
    rng = np.random.default_rng(0)
    by_chance = [explained([list(rng.lognormal(size=20)) for _ in range(5)]) for _ in range(200)]
    assert float(np.mean(by_chance)) < 0.05
    assert all(0 <= share <= 1 for share in by_chance)


def leaves(node: TreeNode) -> list[TreeNode]:
    return [leaf for _, part in node.branches for leaf in leaves(part)] if node.branches else [node]


def test_the_tree_asks_the_question_that_matters() -> None:
    rng = np.random.default_rng(1)
    results = [
        result(
            n,
            timed(float((1.0 if tile >= 64 else 6.0) * (3.0 if kind == "b" else 1.0) * rng.uniform(0.98, 1.02))),
            tile=tile,
            kind=kind,
        )
        for n, (tile, kind) in enumerate((t, k) for t in (16, 32, 64, 128) for k in "abc" * 2)
    ]
    root = fitted(results, walks(results))
    assert isinstance(root, TreeNode)
    assert root.question == "tile of S0 \u2264 32"
    assert root.yes is not None and root.no is not None
    assert root.no.median_ms < root.yes.median_ms and root.branches[0] == ("no", root.no)
    assert root.no.question == "kind of S0 = b"
    assert sum(leaf.walks for leaf in leaves(root)) == len(results)
    assert [leaf.best for leaf in leaves(root)].count(True) == 1
    best = next(leaf for leaf in leaves(root) if leaf.best)
    assert best.low_ms <= best.median_ms <= best.high_ms < 1.1


def test_the_best_leaf_is_that_of_the_run_s_best_plan() -> None:
    """After a final that need not be the walk with the lowest time of the search."""
    results = [result(n, timed(1.0 if n % 2 else 6.0), tile=8 if n % 2 else 64) for n in range(12)]
    root = fitted(results, walks(results), results[4])
    assert isinstance(root, TreeNode)
    (best,) = (leaf for leaf in leaves(root) if leaf.best)
    assert best.median_ms == 6.0


def test_the_tree_says_where_walks_go_that_were_never_asked() -> None:
    results = [result(n, timed(1.0 + n % 2 / 10), unroll=1) for n in range(8)]
    results += [result(n, timed(1.0 + n % 2 / 10)) for n in range(8, 12)]
    results = [
        result(n.evaluation.number, n.outcome, 0.0, kernel="x", **({"unroll": 1} if n.evaluation.number < 8 else {}))
        for n in results
    ] + [result(n, timed(9.0), kernel="x", unroll=8) for n in range(12, 16)]
    root = fitted(results, walks(results))
    assert isinstance(root, TreeNode)
    assert root.question == "unroll of S0 \u2264 1 or not asked"
    assert root.yes is not None and root.yes.walks == 12


def test_no_tree_is_a_sentence() -> None:
    few = [result(n, timed(1.0 + n), tile=n) for n in range(FEWEST - 1)]
    assert fitted(few, walks(few)) == "A tree needs 8 timed walks; there are 7."
    same = [result(n, timed(1.0), tile=1) for n in range(20)]
    assert fitted(same, walks(same)) == "No decision splits the fast walks from the slow ones."


CHOICES = st.builds(
    Choice,
    st.builds(
        Decision,
        st.text('ab},{"\\[]: ', max_size=8),
        st.tuples(st.text("S}{", max_size=3)),
        st.just(()) | st.tuples(st.tuples(st.text('x"},{', max_size=6), st.integers())),
    ),
    st.text('},{"', max_size=6)
    | st.integers()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.tuples(st.integers(), st.integers()),
)


@given(st.lists(st.lists(CHOICES, max_size=5), max_size=5))
def test_walks_are_read_together_as_one_by_one(given_walks: list[list[Choice]]) -> None:
    texts = [walk_to_json(Walk(tuple(choices), DEFAULT)) for choices in given_walks]
    together = walks_from_json(texts)
    assert [repr(walk) for walk in together] == [repr(choices_from_json(text)) for text in texts]


@pytest.mark.parametrize("text", ["", "[", "{}x", "[{]", '[{"name":1}]', "[{}]", "[1]"])
def test_a_damaged_walk_is_refused_either_way(text: str) -> None:
    with pytest.raises(InputError, match="not a JSON list of choices"):
        walks_from_json([text])


def test_text_is_escaped_and_commands_are_code() -> None:
    assert note("`a <b>` & c") == '<p class="note"><code>a &lt;b&gt;</code> &amp; c</p>'
    assert "<td>&lt;i&gt;</td><td class=n>1</td>" in table([("<i>", "1")], numbers=(1,))
    figure = Figure("f", "a \"b\"", (View("", ({"name": "</script><script>"},), {}),), 100).html()
    assert figure.count("</script>") == 1
    assert json.loads(figure.split("json\">")[1].split("</script>")[0])[0]["data"][0]["name"] == "</script><script>"


def test_only_what_changed_has_another_version() -> None:
    first, second = (Section("a", "A", "A", body).html() for body in ("x", "y"))
    assert first != second and Section("a", "A", "A", "x").html() == first


def test_kernels_of_both_plans_stand_beside_each_other(tmp_path: Path) -> None:
    with made_run(tmp_path / "run", 40) as store:
        facts = gather(store)
    rows = kernels.compared(facts)
    assert [row.name for row in rows] == ["S0", kernels.WHOLE]
    assert rows[0].default == facts.summary.default_ms and rows[0].best == facts.summary.best_ms


@in_turn
def test_the_roofline_needs_ceilings_and_then_shows_the_plans(tmp_path: Path) -> None:
    (tmp_path / "mv.c").write_text(PROGRAM)
    options = RunOptions(str(tmp_path / "mv.c"), Compilation(), Budget(evaluations=6), device="deterministic")
    tune(options, tmp_path / "run", Log())
    with read_store(tmp_path / "run") as store:
        facts = gather(store)
    assert roofline.roofline(facts) == "The deterministic device has no speed, so there is no roofline."
    info = replace(facts.info, device=replace(facts.info.device, key="gpu", name="GPU"))
    missing = roofline.roofline(replace(facts, info=info))
    assert isinstance(missing, str) and "`antune suite roofline --device gpu` measures them" in missing
    ceilings = Ceilings("gpu", "1", "", (("double", 1e9),), (Bandwidth(1024, 1e8), Bandwidth(1 << 30, 1e7)))
    found = roofline.roofline(replace(facts, info=info, ceilings=ceilings))
    assert isinstance(found, roofline.Roofline)
    default, best = (spot for spot in found.spots if not spot.kernel)
    assert default.intensity == best.intensity == pytest.approx(2 * 40 * 40 / (8 * (40 * 40 + 40 + 40)))
    assert best.rate == pytest.approx(2 * 40 * 40 / facts.summary.best_ms * 1e3 if facts.summary.best_ms else 0)
    assert {spot.plan for spot in found.spots if spot.kernel} == {"default", "best"}
    assert found.at(1e8) == 10.0
    words = roofline.section(replace(facts, info=info, ceilings=ceilings)).body
    assert 'id="plot-roofline"' in words and "No plan can take less than" in words


def test_a_live_page_is_made_only_when_something_changed(tmp_path: Path) -> None:
    report = LiveReport(tmp_path / "run")
    assert report._make() == 0 and not report.made.main, "there is no run yet"
    with made_run(tmp_path / "run", 5) as store:
        assert report._make() > 0 and 'id="overview"' in report.made.main
        assert report._make() == 0
        store.add_batch(9, 1, [Evaluation(6, 9, 0, DEFAULT, "[]")])
        store.add_result(6, timed(0.5), 9.0)
        assert report._make() > 0
    with read_store(tmp_path / "run") as store:
        assert store.results()[-1].evaluation.number == 6, "the reader left no lock behind"
    (tmp_path / "run" / "run.sqlite").write_bytes(b"nonsense")
    report._make()
    assert report.made.message.startswith("the page cannot be made: ")
