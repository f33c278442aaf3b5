"""The picture of a run's optimization graph: what it shows, for which runs it can be made, and what it says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from antune.cli import app
from experiments.graphs.collapse import Key, Panel, collapse, in_order
from experiments.graphs.figure import MOST_PANELS, MOST_ROWS, graph_page, graph_picture, graph_svg
from experiments.graphs.history import explored, searched
from experiments.graphs.words import BEST, option_words, wrap
from experiments.pictures.canvas import Scale, Text
from experiments.run import tune
from experiments.search.parts import Parts
from experiments.search.summary import best_result, summarize
from experiments.store import read_store
from experiments.values.records import best_of
from explorer.random_walk import RandomWalk
from generator.errors import InputError
from generator.plan import Plan
from graph.knowledge import Measured
from graph.optimization_graph import OptimizationGraph
from graph.policies import first, prefer, uniform
from graph.space import Chooser, DeadEnd, Decision, Space
from graph.walk import Walk, choices_from_json
from metrics.outcome import Outcome, Timed
from runners.base import Sitting
from tests.support.runs import DEFAULT, Log, ToyRunner, toy_options, toy_outcome, toy_parts, toy_source
from tests.support.spaces import chosen, plan_of

SVG = "{http://www.w3.org/2000/svg}"


def run(folder: Path, evaluations: int = 25, **changes: object) -> Path:
    """A toy run."""
    tune(toy_options(toy_source(folder), evaluations, **changes), folder / "run", Log(), parts())
    return folder / "run"


def parts(**changes: object) -> Parts:
    return replace(toy_parts(ToyRunner()), **changes)  # type: ignore[arg-type]  # tests name real fields


def drawn(directory: Path, given: Parts, limit_s: float = 60.0) -> str:
    with read_store(directory) as store:
        return graph_svg(store, given, limit_s=limit_s)


def words(svg: str) -> str:
    return " ".join(text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text"))


@pytest.mark.parametrize("explorer", ["colony", "random"])
def test_a_run_is_drawn_with_its_decisions_options_and_failures(explorer: str, tmp_path: Path) -> None:
    svg = drawn(run(tmp_path, 60, explorer=explorer), parts())
    text = words(svg)
    for part in (
        "60 walks",
        f"explorer {explorer}",
        "kernel S0",
        "tile",
        "block",
        "unroll",
        "512",
        "★",
        "\N{MULTIPLICATION SIGN}",
    ):
        assert part in text
    assert ("pheromone, as the share" in text) == (explorer == "colony")
    assert "prefers-color-scheme: dark" in svg
    assert set(re.findall(r'(?:href|src)="|url\(|https?://[^"]*', svg)) == {"http://www.w3.org/2000/svg"}


def test_the_star_is_the_best_plan_s_after_a_final_that_found_another(tmp_path: Path) -> None:
    """What looked best in the search had luck: in the final it is slow."""
    def again(plan: Plan, _sitting: Sitting) -> Outcome:
        found = toy_outcome(plan)
        assert isinstance(found, Timed)
        return replace(found, samples_ms=tuple(100.0 if plan == DEFAULT else 10 / ms for ms in found.samples_ms))

    def starred() -> list[str]:
        """The options behind a star: what ends next to it in its row."""
        texts = [piece for piece in graph_picture(store, given).pieces if isinstance(piece, Text)]
        stars = [text for text in texts if text.words == BEST]
        return [min((text for text in texts if text.y == star.y and text.anchor == "end" and text.x > star.x),
                    key=lambda text: text.x).words for star in stars]

    given = toy_parts(ToyRunner(answer_again=again))
    tune(toy_options(toy_source(tmp_path), 60), tmp_path / "run", Log(), given)
    with read_store(tmp_path / "run") as store:
        results, summary = store.results(), summarize(store)
        best, fastest = best_result(results, summary), best_of(results)
        assert best and fastest and best.evaluation.number not in (0, fastest.evaluation.number)
        assert sorted(starred()) == sorted(
            str(choice.option) for choice in choices_from_json(store.walks()[best.evaluation.number])
        )


def test_an_unfinished_iteration_is_drawn_too(tmp_path: Path) -> None:
    def stop(job: object) -> None:
        if len(runner.evaluated) == 14:
            raise KeyboardInterrupt

    runner = ToyRunner(before=stop)
    tune(toy_options(toy_source(tmp_path)), tmp_path / "run", Log(), toy_parts(runner))
    with read_store(tmp_path / "run") as store:
        stored = len(searched(store))
    assert stored % 6, "the iteration is not finished"
    assert f"what {stored} walks of the explorer" in words(drawn(tmp_path / "run", parts()))


def test_the_pheromone_is_that_of_the_run(tmp_path: Path) -> None:
    """Replay gives the statistics of every result, and trails that have learned something."""
    directory = run(tmp_path, 60)
    with read_store(directory) as store:
        found = explored(store, parts())
        results = store.results()
    assert found.trails is not None
    [node] = [node for decision, node in found.graph.nodes.items() if decision.name == "tile"]
    assert sum(edge.visits for edge in node.edges.values()) == len(results) - 1
    level = found.trails.level(node)
    assert level.shape == (len(node.options),) and level.max() > 1.2 * level.min()


def test_a_run_that_cannot_be_replayed_is_drawn_without_pheromone(tmp_path: Path) -> None:
    directory = run(tmp_path)

    def other(name: str, space: Space, seed: int, starts: object) -> object:
        return RandomWalk(space, seed + 1)

    text = words(drawn(directory, parts(make_explorer=other)))
    assert "made this run: its pheromone cannot be rebuilt" in text
    assert "25 walks" in text
    text = words(drawn(directory, parts(), -1.0))
    assert "`antune graph" in text and "share of the walks" in text


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    def stop(job: object) -> None:
        raise KeyboardInterrupt

    tune(toy_options(toy_source(tmp_path)), tmp_path / "run", Log(), toy_parts(ToyRunner(before=stop)))
    with pytest.raises(InputError, match="no walk to draw: nothing but the default plan was evaluated"):
        drawn(tmp_path / "run", parts())


def test_the_page_has_tips_and_the_picture_has_none(tmp_path: Path) -> None:
    directory = run(tmp_path)
    with read_store(directory) as store:
        page = graph_page(store, parts())
    assert "<title>tile: 256\nshare " in page and "deviation" in page
    assert "<title>" not in drawn(directory, parts())


def test_the_command_writes_what_the_name_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = run(tmp_path)
    monkeypatch.setattr("experiments.search.parts.PARTS", parts())
    command = CliRunner()
    for arguments, file, start in (([], directory / "graph.svg", "<svg"),
                                   (["--format", "html"], directory / "graph.html", "<!DOCTYPE html>"),
                                   (["--out", str(tmp_path / "x.html")], tmp_path / "x.html", "<!DOCTYPE html>")):
        result = command.invoke(app, ["graph", str(directory), *arguments])
        assert result.exit_code == 0, result.output
        assert str(file) in result.output.replace("\n", "")
        assert file.read_text().startswith(start)
    for arguments, what in (([str(tmp_path)], "is not a run directory"),
                            ([str(directory), "--out", str(tmp_path / "no" / "x.svg")], "there is no directory")):
        error = command.invoke(app, ["graph", *arguments]).exception
        assert isinstance(error, InputError)
        assert what in str(error)


class Many:
    """Kernels that differ from walk to walk, a decision of many options, a dead end."""

    def __call__(self, chooser: Chooser) -> Plan:
        if chosen(chooser, Decision("dead"), range(3)) == 1:
            raise DeadEnd
        size = chosen(chooser, Decision("size"), range(200))
        kernel = (f"S{size % 30}",)
        steps = [chosen(chooser, Decision(f"step {k}", kernel), range(3)) for k in range(5)]
        return plan_of([size, *steps], kernel)


def test_a_large_graph_is_collapsed() -> None:
    graph, walks = OptimizationGraph(), []
    for seed in range(300):
        walk = graph.walk(Many(), uniform(np.random.default_rng(seed)))
        assert walk is not None
        walks.append(walk)
        kernels = {kernel.statements: Measured(1.0 + seed) for kernel in walk.plan.kernels}
        graph.record(walk, Measured(2.0 + seed), kernels)
    panels = collapse(graph, None, [walk.choices for walk in walks], walks[0].choices)
    assert len(panels) == 31 > MOST_PANELS
    assert [box.name for box in panels[0].boxes] == ["dead", "size"]
    dead, size = panels[0].boxes
    assert [row.dead for row in dead.rows] == [0, 1, 0]
    assert len(size.rows) == 200 > MOST_ROWS
    check(panels, walks)


def check(panels: list[Panel], walks: list[Walk]) -> None:
    """What must hold for every picture."""
    assert [panel.visits for panel in panels[1:]] == sorted((panel.visits for panel in panels[1:]), reverse=True)
    for panel in panels:
        assert panel.kernel == bool(panel.subject)
        for box in panel.boxes:
            assert sum(row.share for row in box.rows) == pytest.approx(1.0)
            assert sum(row.visits for row in box.rows) == box.visits
            assert sum(row.best for row in box.rows) <= 1
    assert sum(row.visits for row in panels[0].boxes[0].rows) == len(walks)


def test_what_a_decision_depends_on_does_not_split_its_box() -> None:
    def space(chooser: Chooser) -> Plan:
        a = chosen(chooser, Decision("a"), range(2))
        return plan_of([a, chosen(chooser, Decision("b", (), (("a", a),)), range(2 + a))])

    graph = OptimizationGraph()
    walks = [graph.walk(space, prefer({("a", ()): a, ("b", ()): b}, first)) for a, b in ((0, 1), (1, 1), (1, 2))]
    for ms, walk in enumerate(walks, 1):
        assert walk is not None
        graph.record(walk, Measured(float(ms)))
    [panel] = collapse(graph, None, [walk.choices for walk in walks if walk], ())
    a, b = panel.boxes
    assert (a.contexts, b.contexts) == (1, 2)
    assert [(row.option, row.visits, row.cost.mean, row.offered) for row in b.rows] == [
        (0, 0, 0.0, 2), (1, 2, 1.5, 2), (2, 1, 3.0, 1)]


@given(st.permutations(range(8)), st.lists(st.sets(st.integers(0, 7), min_size=1), min_size=1, max_size=30))
def test_the_order_of_boxes_is_that_of_the_walks(order: list[int], met: list[set[int]]) -> None:
    keys: list[Key] = [(str(number), ()) for number in range(8)]
    sequences = [[keys[number] for number in order if number in walk] for walk in [*met, set(range(8))]]
    assert in_order(keys, sequences) == [keys[number] for number in order]


def test_orders_that_contradict_each_other_are_drawn_somehow() -> None:
    a, b, c = keys = [(name, ()) for name in "abc"]
    found = in_order(keys, [[a, b], [b, c], [c, a]])
    assert sorted(found) == keys


@given(st.floats(1e-3, 1e3), st.floats(1, 1e3), st.floats(0, 1))
def test_colours_go_from_blue_to_orange(low: float, span: float, place: float) -> None:
    scale = Scale(low, low * span)
    assert re.fullmatch("#[0-9a-f]{6}", scale.color(low * span**place))
    assert scale.color(low) == "#2166ac"
    if span > 1.1:
        assert scale.color(low * span) == "#e08214"


def test_words() -> None:
    assert [option_words(option) for option in (True, 8, (8, 4), "pluto", 0.5)] == ["yes", "8", "8x4", "pluto", "0.5"]
    assert wrap("one two three four", 6.3 * 9, 2) == ["one two", "three fo…"]
    assert wrap("abcdefghijklmnop", 6.3 * 4, 2) == ["abcd", "efg…"]
