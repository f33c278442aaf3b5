"""The picture of what was fused with what: that its facts are those of the plan, that nothing covers anything, that all
is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.graphs.pipeline import KernelNote, Notes, pipeline_picture
from experiments.pictures.canvas import Picture, Rect, Text, svg
from experiments.pictures.layers import Arrow, Item, Layout, layout
from experiments.pictures.stills import write_still
from experiments.report import kernels, pipeline
from experiments.report.facts import Facts, gather
from experiments.store import read_store
from experiments.suites.image_pipelines import pipeline as of_suite
from experiments.words import describe_ms
from generator.errors import IllegalPlan
from generator.lowering.analysis.stage_work import stage_work
from generator.lowering.heuristics.default import default_plan
from generator.pipeline_graph import PipelineGraph, pipeline_graph
from generator.plan import Plan
from generator.polyhedral.pipelines.stages import possible_stages
from generator.program import Program, Where, lines_of
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from metrics.outcome import Timed
from tests.support.browser import DRAWN, WIDER, Browser, browser
from tests.support.cli import antune_command
from tests.support.pages import made_run
from tests.support.slow import few, in_turn
from tests.support.suite import TARGET, small_problem

NEAR = 1e-6
SVG = "{http://www.w3.org/2000/svg}"
OUTSIDE = """[...document.querySelectorAll('#pipeline svg')].flatMap((svg) =>
  [...svg.querySelectorAll('g')].flatMap((group) => {
  const box = group.querySelector('rect.ag-node')?.getBoundingClientRect();
  return box ? [...group.querySelectorAll('text')].filter((text) => {
    const words = text.getBoundingClientRect();
    return words.left < box.left || words.right > box.right || words.top < box.top - 1 || words.bottom > box.bottom + 1;
  }).map((text) => text.textContent) : [];
}))"""
"""Words of stages that do not fit their boxes."""


def program(name: str) -> Program:
    return small_problem(of_suite(name))[0].program


def computed(graph: PipelineGraph) -> list[list[tuple[str, str]]]:
    return [[(one.array, one.place) for one in kernel.arrays] for kernel in graph.kernels]


def drawing(graph: PipelineGraph, notes: Notes, tips: bool = False) -> Picture:
    return pipeline_picture(graph, notes, "plan", tips)


# ---- where boxes and arrows go


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Item], list[Arrow]]:
    """Items of random sizes, arrows from earlier to later ones."""
    count = draw(st.integers(1, 14))
    arrows = draw(
        st.sets(
            st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda p: p[0] < p[1]), max_size=25
        )
    )
    sources = set(range(count)) - {end for _, end in arrows}
    sizes = draw(st.lists(st.tuples(st.floats(10, 300), st.floats(10, 200)), min_size=count, max_size=count))
    firsts = draw(st.booleans())
    items = [Item(str(n), *size, first=firsts and n in sources) for n, size in enumerate(sizes)]
    shift = draw(st.floats(-4, 4))
    return items, [Arrow(str(a), str(b), str(a), shift, -shift) for a, b in sorted(arrows)]


def check_layout(items: list[Item], arrows: list[Arrow], found: Layout, across: float) -> None:
    corners = {item.name: (found.places[item.name][0] - item.width / 2, found.places[item.name][1]) for item in items}
    assert all(x >= -NEAR and y >= 0 and x + item.width <= found.width + NEAR and y + item.height <= found.height + NEAR
               for item in items for x, y in [corners[item.name]])
    for a, b in combinations(items, 2):
        (ax, ay), (bx, by) = corners[a.name], corners[b.name]
        if ay == by:
            assert bx >= ax + a.width + across - NEAR or ax >= bx + b.width + across - NEAR, (
                "neighbours keep their distance"
            )
        else:
            assert ay + a.height < by or by + b.height < ay, "layers do not overlap"
    for arrow in arrows:
        way = found.ways[arrow]
        (x0, y0), (x1, y1) = found.places[arrow.start], found.places[arrow.end]
        high = next(item.height for item in items if item.name == arrow.start)
        assert way[0] == pytest.approx((x0 + arrow.leaves, y0 + high)) and way[-1] == pytest.approx(
            (x1 + arrow.arrives, y1)
        )
        assert all(above[1] <= below[1] for above, below in pairwise(way)), "down only"
        for item in items:
            x, y = corners[item.name]
            assert not any(x < px < x + item.width and y < py < y + item.height for px, py in dense(way)), (
                "through no box"
            )


def dense(way: tuple[tuple[float, float], ...]) -> Iterator[tuple[float, float]]:
    for (x0, y0), (x1, y1) in pairwise(way):
        yield from ((x0 + (x1 - x0) * k / 20, y0 + (y1 - y0) * k / 20) for k in range(21))


@settings(max_examples=60)
@given(graphs())
def test_boxes_keep_their_distance_and_arrows_pass_between_them(given_graph: tuple[list[Item], list[Arrow]]) -> None:
    items, arrows = given_graph
    found = layout(items, arrows, 12, 30)
    check_layout(items, arrows, found, 12)
    assert found == layout(items, arrows, 12, 30)
    assert all(found.places[item.name][1] == 0 for item in items if item.first)


def test_what_need_not_cross_does_not() -> None:
    """Two ladders whose rungs are given in the wrong order."""
    items = [Item(name, 40, 20) for name in ("a0", "b0", "b1", "a1", "a2", "b2")]
    arrows = [Arrow(f"{side}{n}", f"{side}{n + 1}", side) for side in "ab" for n in range(2)]
    found = layout(items, arrows, 10, 20)
    assert len({found.places[f"a{n}"][0] < found.places[f"b{n}"][0] for n in range(3)}) == 1
    assert all(found.places[f"{side}0"][0] == pytest.approx(found.places[f"{side}2"][0]) for side in "ab"), (
        "straight down"
    )


# ---- which kernel computes what


def test_places_and_readers_are_those_of_the_schedule() -> None:
    blur = program("blur")
    whole, fused = pipeline_graph(blur, Stages()), pipeline_graph(blur, Stages((("blur_x", "block"),)))
    assert computed(whole) == [[("blur_x", "root")], [("blur_y", "root")]]
    assert computed(fused) == [[("blur_x", "block"), ("blur_y", "root")]]
    assert (whole.inputs, fused.inputs) == (("image",), ("image",))
    assert [kernel.fetched for kernel in whole.kernels] == [("image",), ("blur_x",)]
    assert [kernel.fetched for kernel in fused.kernels] == [("image",)]
    assert [(one.output, one.reads, one.extents) for one in fused.kernels[0].arrays] == [
        (False, ("image",), (26, 40)), (True, ("blur_x",), (24, 40))]
    assert "blur_x(x, y + 1)" in fused.kernels[0].arrays[1].definitions[0]


def test_a_stage_stands_in_every_kernel_that_computes_it() -> None:
    harris = program("harris")
    kept = {"ixx", "iyy", "ixy"}
    schedule = Stages(tuple((array, "inline") for array in sorted(possible_stages(harris)) if array not in kept))
    graph = pipeline_graph(harris, schedule)
    assert [kernel.stored for kernel in graph.kernels] == [("ixx",), ("iyy",), ("ixy",), ("harris",)]
    assert [
        sum(("ix", "inline") in arrays for arrays in computed(graph)),
        sum(("gray", "inline") in a for a in computed(graph)),
    ] == [2, 3]


@in_turn
def test_an_array_that_several_kernels_write_is_read_from_the_last() -> None:
    graph = pipeline_graph(program("histogram_equalize"), Stages())
    writers = [kernel for kernel in graph.kernels if "rows" in kernel.stored]
    assert len(writers) == 2 and "rows" not in writers[0].fetched and "rows" in writers[1].fetched
    words = [piece.words for piece in drawing(graph, {}).pieces if isinstance(piece, Text)]
    assert words.count("updated") >= 1 and words.count("output") == 1


def random_stages(given_program: Program, seed: int) -> Stages:
    rng, where = np.random.default_rng(seed), get_args(Where)
    places = [(array, int(rng.integers(3)), steps) for array, steps in sorted(possible_stages(given_program).items())]
    return Stages(tuple((array, "block" if lines_of(steps) else where[place])
                        for array, place, steps in places if place < 2))


@pytest.mark.parametrize(
    "name",
    few(["blur", "harris", "histogram_equalize", "matmul", "camera_pipe", "local_laplacian", "bilateral_grid"], 4),
)
def test_every_array_is_there_when_it_is_read(name: str) -> None:
    """Whatever the schedule: an array is an input, or stored before, or computed in the same kernel before."""
    given_program = program(name)
    for schedule in (Stages(), random_stages(given_program, 1), random_stages(given_program, 2), ScheduleChoice()):
        graph = pipeline_graph(given_program, schedule)
        there = set(graph.inputs)
        assert not there & {array.name for array in given_program.arrays if array.role in ("out", "temp")}
        for kernel in graph.kernels:
            assert set(kernel.fetched) <= there
            there.update(kernel.stored)
        assert {array.name for array in given_program.outputs} <= there
        if isinstance(schedule, Stages):
            stored = {array for kernel in graph.kernels for array in kernel.stored}
            assert stored == {s.body.target.array for s in given_program.statements} - {
                array for array, _ in schedule.computed
            }


@pytest.mark.parametrize("name", few(["harris", "local_laplacian", "stencil_chain"], 1))
def test_kernels_have_the_names_that_plans_and_times_have(name: str) -> None:
    given_program = program(name)
    schedule = next(schedule for schedule in (random_stages(given_program, seed) for seed in range(20))
                    if legal(given_program, schedule))
    plan = default_plan(given_program, TARGET, choice=schedule)
    assert {kernel.statements for kernel in plan.kernels} == {
        k.statements for k in pipeline_graph(given_program, schedule).kernels
    }


def legal(given_program: Program, schedule: Stages) -> bool:
    try:
        default_plan(given_program, TARGET, choice=schedule)
    except IllegalPlan:
        return False
    return True


# ---- the picture


@pytest.mark.parametrize("name", few(["blur", "camera_pipe", "local_laplacian", "nl_means"], 1))
def test_nothing_covers_anything(name: str) -> None:
    given_program = program(name)
    for schedule in (Stages(), random_stages(given_program, 3), ScheduleChoice()):
        graph = pipeline_graph(given_program, schedule)
        picture = drawing(graph, {kernel.statements: KernelNote(0.25, "") for kernel in graph.kernels})
        rects = [piece for piece in picture.pieces if isinstance(piece, Rect)]
        nodes, boxes = ([rect for rect in rects if rect.style == style] for style in ("ag-node", "ag-box"))
        assert (len(nodes), len(boxes)) == (sum(map(len, computed(graph))) + len(graph.inputs), len(graph.kernels))
        for kind in (nodes, boxes):
            assert not any(a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height
                           for a, b in combinations(kind, 2))
        assert all(
            min(r.x, r.y) >= 0 and r.x + r.width <= picture.width and r.y + r.height <= picture.height for r in rects
        )
        ElementTree.fromstring(svg(picture))


def test_each_place_has_a_word_and_a_colour_and_each_kernel_its_share() -> None:
    harris = program("harris")
    graph = pipeline_graph(harris, Stages((("gray", "block"), ("ix", "inline"), ("iy", "inline"))))
    notes = {kernel.statements: KernelNote(0.001 * (n + 1), f"tiles {n}") for n, kernel in enumerate(graph.kernels)}
    picture = drawing(graph, notes, tips=True)
    text = svg(picture)
    assert [
        word in text for word in (">inline<", ">block<", ">own kernel<", ">output<", ">input<", "kernel 1: tiles 0")
    ] == [True] * 6
    assert {piece.style for piece in picture.pieces if isinstance(piece, Rect)} >= {"ag-root", "ag-block", "ag-inline"}
    assert "gray: block, 40 x 24 elements\ngray(x, y) = 0.299 * image(x, y, 0)" in text
    shares = [
        piece.width
        for piece in picture.pieces
        if isinstance(piece, Rect) and piece.style == "ag-root" and piece.height == 3
    ]
    assert len(shares) == len(graph.kernels) and shares[-1] > shares[0]
    assert f">{describe_ms(0.001)}<" in text


def test_a_kernel_of_many_statements_has_a_short_name_unless_two_would_have_it() -> None:
    many = tuple(f"S{n}" for n in range(30))
    assert kernels.named([("S0", "S1"), many]) == {
        ("S0", "S1"): "S0 S1", many: "S0 S1 S2 \N{HORIZONTAL ELLIPSIS} S29 (30 statements)"}
    other = (*many[:5], "S50", *many[6:])
    assert kernels.named([many, other]) == {many: " ".join(many), other: " ".join(other)}


# ---- the section


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run of a pipeline, with times that are computed."""
    folder = tmp_path_factory.mktemp("pipeline")
    words = ["tune", str(of_suite("harris").file), "--size", "36x20", "--device", "deterministic",
             "--evaluations", "24", "--explorer", "random", "--out", str(folder / "run")]
    with pytest.MonkeyPatch.context() as patch:
        antune = antune_command(patch)
        assert [antune(*command) for command in (words, ["report", str(folder / "run")])] == [0, 0]
    return folder


def facts_of(folder: Path) -> Facts:
    with read_store(folder / "run") as store:
        return gather(store)


@in_turn
@pytest.mark.parametrize(("width", "scheme"), few([(390, "dark"), (1280, "light")], 1))
def test_the_page_shows_both_plans(finished: Path, width: int, scheme: str) -> None:
    with browser() as page:
        page.look(width, 844 if width < 600 else 900, scheme, mobile=width < 600)
        page.open((finished / "run" / "report.html").as_uri())
        page.until(DRAWN)
        assert page.errors == [] and page.run(WIDER) <= 0
        labels = page.run(
            "[...document.querySelectorAll('#pipeline svg')].map((svg) => svg.getAttribute('aria-label'))"
        )
        assert [re.sub(r"\d+( kernels?)?", "n", label) for label in labels] == [
            "kernels of the default plan: n", *["kernels of the evaluation n: n"] * (len(labels) - 1)]
        check_slider(page, len(labels) - 1)
        assert page.run(OUTSIDE) == []
        height = page.run("document.querySelector('#pipeline svg text').getBoundingClientRect().height")
        assert 9 < height < 25, "letters that can be read"
        paper = page.run("getComputedStyle(document.querySelector('#pipeline .ag-node')).fill")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (scheme == "dark")
        assert "Point at a stage" in page.run("document.querySelector('#pipeline').innerText")


def check_slider(page: Browser, steps: int) -> None:
    """One improvement is visible, at first the best; the slider chooses it and says which it is."""
    titles = page.run("[...document.querySelectorAll('.slide')].map((one) => one.dataset.title)")
    assert len(titles) == steps >= 3 and all(re.match(r"evaluation \d+, [\d.]+ .?s", title) for title in titles)
    shown = "[...document.querySelectorAll('.slide')].findIndex((one) => one.getBoundingClientRect().height > 0)"
    assert page.run(shown) == steps - 1
    move = "(field) => { field.value = 1; field.dispatchEvent(new Event('input', {bubbles: true})); }"
    page.run(f"({move})(document.querySelector('.slider input'))")
    assert page.run(shown) == 1 and page.run("document.querySelector('.slider output').textContent") == titles[1]


def test_improvements_end_with_the_best_and_get_faster(finished: Path) -> None:
    facts = facts_of(finished)
    found = pipeline.improvements(facts)
    times = [one.outcome.median_ms for one in found if isinstance(one.outcome, Timed)]
    assert found[-1] is facts.best and len(times) == len(found) and times[:-1] == sorted(times[:-1], reverse=True)


def test_a_stage_says_its_box_and_how_often_it_is_computed() -> None:
    harris = program("harris")
    schedule = Stages((("gray", "block"), ("ix", "inline"), ("ixx", "inline"), ("sxx", "inline")))
    plan = default_plan(harris, TARGET, choice=schedule)
    works = stage_work(harris, plan, TARGET.language)
    notes = {kernel.statements: KernelNote(None, "", works[kernel.statements]) for kernel in plan.kernels}
    text = svg(drawing(pipeline_graph(harris, schedule), notes, tips=True))
    assert re.search(r">block \d+x\d+, [\d.]+x<", text) and ">inline<" in text and "each computed" in text


def test_both_plans_are_pictures_and_the_same_plan_is_one(finished: Path, tmp_path: Path) -> None:
    facts = facts_of(finished)
    names = {path.name for still in pipeline.stills(facts) for path in write_still(still, tmp_path)}
    assert names == {"pipeline-default.png", "pipeline-default.svg", "pipeline-best.png", "pipeline-best.svg"}
    assert [one.name for one in pipeline.drawn(replace(facts, best=facts.default), tips=False)] == ["default"]
    assert [one.name for one in pipeline.drawn(replace(facts, best=None), tips=False)] == ["default"]


def test_where_nothing_can_be_drawn_a_sentence_says_why(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = facts_of(finished)
    (empty,) = pipeline.section(replace(facts, best=None, default=None))
    assert "No plan is evaluated yet" in empty.body
    assert facts.default is not None
    plan = Plan(Stages((("nobody", "inline"),)), ())
    strange = replace(facts.default, evaluation=replace(facts.default.evaluation, plan=plan))
    (refused,) = pipeline.section(replace(facts, best=None, default=strange))
    assert "The default plan cannot be drawn: <code>nobody</code> cannot be computed where it is read" in refused.body
    monkeypatch.setattr(pipeline, "MOST", 5)
    (large,) = pipeline.section(replace(facts, best=None))
    assert "too many for a drawing" in large.body and pipeline.stills(replace(facts, best=None)) == []


def test_a_c_program_has_no_such_section(tmp_path: Path) -> None:
    with made_run(tmp_path / "run", 3) as store:
        facts = gather(store)
    assert pipeline.section(facts) == [] and pipeline.stills(facts) == ()
    (chosen,) = pipeline.section(
        replace(facts, info=replace(facts.info, options=replace(facts.info.options, space="pipeline")))
    )
    assert "svg" in chosen.body
