"""How much of others an element needs: regions against what isl says, loads and arithmetic by hand."""

from __future__ import annotations

import math

import islpy as isl
import pytest

from generator.dataflow import Dataflow, Reach
from generator.polyhedral.dependences.expansion import expand
from generator.polyhedral.kit.members import ends
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.nests import groups_of, steps_of
from generator.polyhedral.pipelines.stages import reads_by_element
from generator.program import Program
from tests.support.programs import program_of, scop
from tests.support.slow import few
from tests.support.suite import pipeline_program

PROGRAMS = few(
    [
        "camera_pipe",
        "unsharp",
        "interpolate",
        "harris",
        "bilateral_grid",
        "pyramid_blend",
        "max_filter",
        "conv_layer",
        "lens_blur",
    ],
    3,
)


def flow(body: str, declarations: str = "int in[24], out[24], B[8][8];") -> Dataflow:
    return dataflow(expand(program_of(scop(body, declarations))))


def box_of(program: Program, reader: str, source: str, element: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The least box with what `reader` reads of `source` to compute one element."""
    [steps] = [steps for group, steps in zip(groups_of(program), steps_of(program), strict=True)
               if reader in group.arrays]
    found = None
    for step in steps:
        for number, access in enumerate(step.statement.accesses):
            if access.array == source:
                one = reads_by_element(step, number)
                for d, x in enumerate(element):
                    one = one.fix_val(isl.dim_type.in_, d, isl.Val(x))
                found = one.range() if found is None else found.union(one.range())
    assert found is not None
    return ends(found)


def interval(reach: Reach, element: tuple[int, ...]) -> tuple[int, int]:
    at = sum(slope * x for slope, x in zip(reach.slopes, element, strict=True))
    return math.ceil(at + reach.low - 1e-9), math.floor(at + reach.high + 1e-9)


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_element_in_the_middle_reads_what_isl_says(name: str) -> None:
    program = pipeline_program(name, "small")
    found = dataflow(program)
    looked_at = 0
    for node in found.nodes:
        middle = tuple(extent // 2 for extent in node.extents)
        for source in () if node.refusal else node.sources:
            reads = [read for read in node.reads if read.array == source]
            predicted = [[interval(reach, middle) for reach in read.reach] for read in reads]
            for d, (low, high) in enumerate(box_of(program, node.array, source, middle)):
                ours = min(one[d][0] for one in predicted), max(one[d][1] for one in predicted)
                extent = found.array(source).extents[d]
                assert max(ours[0], 0) <= low and high <= min(ours[1], extent - 1), (node.array, source, d)
                loose = any(read.by_data for read in reads)
                assert loose or ours[1] - ours[0] <= high - low + 1, "at most one more, where halves are cut off"
                looked_at += 1
    assert looked_at > 5


def test_clamped_coordinates_count_as_if_there_were_no_border() -> None:
    node = dataflow(pipeline_program("unsharp")).node("repeat_edge")
    assert node is not None
    assert node.reads[0].reach == (
        Reach((1.0, 0.0, 0.0), 0.0, 0.0),
        Reach((0.0, 1.0, 0.0), -3.0, -3.0),
        Reach((0.0, 0.0, 1.0), -3.0, -3.0),
    )


def test_halves_and_doubles_are_slopes() -> None:
    found = flow(
        "int t[24], s[12]; for (i = 0; i < 24; i++) t[i] = in[i]; for (i = 0; i < 12; i++) s[i] = t[2 * i + 1];"
        "for (i = 0; i < 24; i++) out[i] = s[i / 2];"
    )
    node, half = found.node("s"), found.node("out")
    assert node is not None and half is not None
    assert node.reads[0].reach == (Reach((2.0,), 1.0, 1.0),)
    assert half.reads[0].reach == (Reach((0.5,), -0.5, 0.0),)


def test_rounds_of_reductions_count_as_loads_and_widen_what_is_read() -> None:
    found = flow(
        "int t[8]; for (i = 0; i < 8; i++) t[i] = 0; for (i = 0; i < 8; i++) for (j = 0; j < 8; j++) "
        "t[i] += B[i][j] * B[i][j]; for (i = 0; i < 8; i++) out[i] = t[i];"
    )
    node = found.node("t")
    assert node is not None and node.reduces and node.stage
    [read] = node.reads
    assert (read.elements, read.different, read.loads) == (1, 8.0, 16.0)
    assert read.reach == (Reach((1.0,), 0.0, 0.0), Reach((0.0,), 0.0, 7.0))
    assert node.arithmetic == 1 + 8 * (1 + 2 + 2 + 1), "a store; eight times two loads, *, +, load, store"


def test_arrays_that_no_model_can_judge_say_why() -> None:
    found = flow("for (i = 0; i < 24; i++) out[i] = in[i]; for (i = 0; i < 24; i++) out[in[i] % 24] += 1;")
    node = found.node("out")
    assert node is not None and "element by element" in node.refusal and not node.stage
    again = flow(
        "int t[24]; for (i = 0; i < 24; i++) t[i] = in[i]; for (i = 0; i < 24; i++) out[i] = t[i];"
        "for (i = 0; i < 24; i++) t[i] = out[i]; for (i = 0; i < 8; i++) B[i][i] = t[i];"
    ).node("t")
    assert again is not None and "written again" in again.refusal


INSIDE = "for (i = 1; i < 7; i++) for (j = 2; j < 8; j++) t[i][j] = B[i][j];"
BORDER = "for (j = 0; j < 8; j++) t[0][j] = 0;"


@pytest.mark.parametrize(("loops", "words"), [
    (INSIDE.replace("t[i]", "t[i - 1]"), "write only `t[0..5][2..7]` of `t[0..7][0..7]`; let them write all of"),
    (INSIDE.replace("i < 7", "i < 6"),
     "write only `t[1..5][2..7]` of `t[0..7][0..7]`; let them write all of them, or declare it as `t[5][6]`"),
    (INSIDE + BORDER, "write only `t[1..6][2..7]` of `t[0..7][0..7]`; let them write all of them, even if others over"),
    (INSIDE.replace("j = 2", "j = i"), "write only some elements of `t`; let them write all of them"),
    (INSIDE.replace("= B", "+= B"), ""),
    (INSIDE.replace("[j] =", "[2 * j - 2] =").replace("j < 8", "j < 5"), "")])
def test_loops_that_write_a_part_of_an_array_are_named_with_what_to_do(loops: str, words: str) -> None:
    program = expand(program_of(scop(
        "int t[8][8];" + loops + "for (i = 1; i < 7; i++) for (j = 2; j < 7; j++) B[i][j] = t[i][j] + t[i][j + 1];",
        "int B[8][8];")))
    node = dataflow(program).node("t")
    assert node is not None and not node.stage
    if not words:
        assert node.refusal.startswith("`t` is not computed element by element")
        return
    line = min(statement.line for statement in program.statements if statement.body.target.array == "t")
    assert f"loops in {program.file}:{line} {words}" in node.refusal
    assert node.refusal.startswith("the first loops") == (BORDER in loops)


def test_a_remedy_for_an_array_that_is_written_in_part_makes_it_a_stage() -> None:
    found = flow("int t[6][6]; for (i = 1; i < 7; i++) for (j = 2; j < 8; j++) t[i - 1][j - 2] = B[i][j];"
                 "for (i = 0; i < 6; i++) for (j = 0; j < 5; j++) A[i][j] = t[i][j] + t[i][j + 1];",
                 "int A[6][5], B[8][8];").node("t")
    assert found is not None and found.stage and not found.refusal


def test_values_that_stay_in_an_iteration_belong_to_the_array_that_it_stores() -> None:
    """`int t` becomes an array of one value per iteration; the loop leaves out a border."""
    found = flow("for (i = 1; i < 23; i++) { int t = in[i - 1] + in[i + 1]; out[i] = t * t; }")
    assert [node.array for node in found.nodes] == ["out"]
    [node] = found.nodes
    assert not node.refusal and node.extents == (22,) and not node.reduces
    [read] = node.reads
    assert (read.array, read.elements, read.reach) == ("in", 2, (Reach((1.0,), 0.0, 2.0),))
    alone = flow("for (i = 1; i < 23; i++) out[i] = (in[i - 1] + in[i + 1]) * 3;").node("out")
    assert alone is not None and alone.reads == node.reads and alone.operations == node.operations
    assert node.registers == alone.registers + 1, "t"


def test_values_that_other_loops_read_are_arrays_of_their_own() -> None:
    found = flow("int t[24]; for (i = 0; i < 24; i++) { t[i] = in[i]; out[i] = t[i]; }"
                 "for (i = 0; i < 8; i++) B[i][i] = t[i];")
    for name in ("t", "out"):
        node = found.node(name)
        assert node is not None and node.refusal == f"`{name}` is computed in loops with other arrays"


def test_who_reads_whom() -> None:
    found = dataflow(pipeline_program("harris"))
    assert found.readers("gray") == ("ix", "iy") and found.readers("image") == ("gray",)
    assert found.node("image") is None and found.array("image").element == 4
    assert [node.array for node in found.nodes if node.seen] == ["harris"]
