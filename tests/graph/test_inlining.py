"""What the space `pipeline` counts of inlined stages is what kernels print, or more where it cannot tell."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from antune import halide as hl
from experiments.suites.image_pipelines import PIPELINES, pipeline
from generator.errors import IllegalPlan
from generator.frontend_py.problem import program_of as pipeline_program
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.program import Program
from generator.schedules.stages import Stages
from graph.inlining import MAX_SIZE, Inlining
from tests.support.slow import few
from tests.support.space_plans import FORESEEN
from tests.support.stages import case, offered_plans
from tests.support.suite import TARGET, small_problem

x, y = hl.Var("x"), hl.Var("y")


def counted(program: Program, schedule: Stages) -> dict[str, int]:
    """By inline stage, how many of its expressions stand in all kernels."""
    places, inlining = dict(schedule.computed), Inlining()
    for stage in reversed(stage_facts(program)):
        if places.get(stage.array) == "inline":
            inlining.take(stage)
    return {array: sum(one.copies for one in contexts.values()) for array, contexts in inlining.needed.items()}


def printed(program: Program, schedule: Stages) -> Counter[str]:
    """The same, counted in the text: each is a variable."""
    text = lower(program, default_plan(program, TARGET, choice=schedule), TARGET).source
    found = re.findall(r"^ *\w+(?: \w+)? (\w+)_\d+;$", text, re.MULTILINE)
    return Counter(name for name in found if dict(schedule.computed).get(name) == "inline")


def chain(stages: int) -> Program:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    read: list[hl.ImageParam | hl.Func] = [image]
    for number in range(stages):
        func, before = hl.Func(f"s{number}z"), read[-1]
        func[x, y] = before[x - 1, y] + before[x, y] + before[x + 1, y]
        read.append(func)
    return pipeline_program([func], [40, 9])


def test_readers_of_the_same_element_share_it() -> None:
    program = chain(5)
    schedule = Stages(tuple((f"s{number}z", "inline") for number in range(4)))
    assert counted(program, schedule) == {"s3z": 3, "s2z": 5, "s1z": 7, "s0z": 9}
    assert printed(program, schedule) == {"s3z": 3, "s2z": 5, "s1z": 7, "s0z": 9}


def test_blocks_begin_anew() -> None:
    program = chain(5)
    schedule = Stages((("s0z", "inline"), ("s1z", "block"), ("s2z", "inline"), ("s3z", "inline")))
    assert counted(program, schedule) == {"s3z": 3, "s2z": 5, "s0z": 3}
    assert printed(program, schedule) == {"s3z": 3, "s2z": 5, "s0z": 3}


def test_elements_that_data_choose_are_multiplied() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    one, two, out = hl.Func("one"), hl.Func("two"), hl.Func("out")
    one[x] = hl.u16(x) * 3
    two[x, y] = one[hl.i32(image[x, y])] + one[hl.i32(image[x + 1, y])]
    out[x, y] = two[x, y] + two[x + 1, y]
    program = pipeline_program([out], [16, 9])
    schedule = Stages((("one", "inline"), ("two", "inline")))
    assert counted(program, schedule) == {"one": 4, "two": 2}
    assert printed(program, schedule) == {"one": 4, "two": 2}


def check(program: Program, schedule: Stages) -> None:
    """No more stands in the text than is counted, but for statements of one array that read the same."""
    try:
        found = printed(program, schedule)
    except IllegalPlan as illegal:
        assert any(words in str(illegal) for words in ("cannot wait", *FORESEEN)), illegal
        return
    statements = max(Counter(s.body.target.array for s in program.statements).values())
    often = {array: statements * number for array, number in counted(program, schedule).items()}
    assert all(number <= often[array] for array, number in found.items()), (found, often, schedule)


@pytest.mark.parametrize("seed", few(range(12), 2))
def test_no_more_is_printed_than_counted(seed: int) -> None:
    program = case(seed).program
    for plan in offered_plans(program, TARGET, 4, seed):
        assert isinstance(plan.schedule, Stages)
        check(program, plan.schedule)


@pytest.mark.parametrize("name", few([p.name for p in PIPELINES], 2))
def test_no_kernel_of_the_suite_is_longer_than_counted(name: str) -> None:
    program = small_problem(pipeline(name))[0].program
    for plan in offered_plans(program, TARGET, 3, 1):
        assert isinstance(plan.schedule, Stages)
        check(program, plan.schedule)


def test_what_would_be_too_long_is_not_offered() -> None:
    """A few copies of a stage that is long by itself."""
    (first, *_), inlining = stage_facts(chain(2)), Inlining()
    assert inlining.fits(replace(first, size=MAX_SIZE // 3))
    assert not inlining.fits(replace(first, size=MAX_SIZE // 2)), "there are three"


def test_plans_that_would_be_too_long_are_refused_with_the_number() -> None:
    """As no space offers them: every stage reads 9 elements, none of them the same as another one's."""
    image = hl.ImageParam(hl.Float(32), 2, "image")
    read: list[hl.ImageParam | hl.Func] = [image]
    for number in range(5):
        func, before, step = hl.Func(f"s{number}z"), read[-1], 3**number
        func[x, y] = sum((before[x + step * dx, y + step * dy] for dx in range(3) for dy in range(3)), hl.f32(0))
        read.append(func)
    program = pipeline_program([func], [40, 9])
    schedule = Stages(tuple((f"s{number}z", "inline") for number in range(4)))
    words = r"the text that computes S4 would have \d{6} operators, .*, 6561 times those of `s0z`; at most 20000"
    with pytest.raises(IllegalPlan, match=words):
        lower(program, default_plan(program, TARGET, choice=schedule), TARGET)
    shorter = Stages(schedule.computed[2:])
    assert lower(program, default_plan(program, TARGET, choice=shorter), TARGET).source
