"""Stages whose updates hold under conditions, on loops and on data: right on real devices, and as CUDA text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from antune import halide as hl
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.polyhedral.pipelines.stages import possible_stages
from generator.problem import Problem
from generator.program import Program, Where
from generator.schedules.stages import Stages
from generator.target import Target
from runners.cuda.compiler import Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.devices import check_plans
from tests.support.reading import problem_of
from tests.support.runners import needed_device
from tests.support.targets import HOPPER


def disc() -> Problem:
    """A sum over a disc, and one over what is brighter than the middle, with neighbours of both."""
    x, y, r, s = hl.Var("x"), hl.Var("y"), hl.RDom([(-2, 5), (-2, 5)], "r"), hl.RDom([(-1, 3)], "s")
    pixels = np.random.default_rng(3).integers(0, 250, (30, 44), np.uint8)
    image, disc, bright, out = hl.Buffer(pixels, "image"), hl.Func("disc"), hl.Func("bright"), hl.Func("out")
    r.where(r.x * r.x + r.y * r.y < 6)
    disc[x, y] = hl.u16(0)
    disc[x, y] += hl.u16(image[x + 2 + r.x, y + 2 + r.y])
    s.where(s.x != 0)
    bright[x, y] = hl.u16(disc[x, y])
    bright[x, y] += hl.select(disc[x, y] > 99, hl.u16(image[x + 1 + s.x, y]), hl.u16(1))
    out[x, y] = bright[x, y] + bright[x + 1, y + 1] + disc[x, y]
    return problem_of([out], [39, 25], "disc")


def plans(program: Program, target: Target) -> Iterator[Plan]:
    assert list(possible_stages(program)) == ["disc", "bright"]
    places: tuple[Where, ...] = ("inline", "block")
    for one, two in product(places, places):
        yield default_plan(program, target, choice=Stages((("bright", two), ("disc", one))))


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_conditional_stages_are_right(platform: str) -> None:
    problem, device = disc(), needed_device(platform)
    check_plans(device, problem, list(plans(problem.program, device.target)))


def test_cuda_text_of_conditional_stages_becomes_device_code() -> None:
    program = disc().program
    for plan in plans(program, HOPPER):
        source = lower(program, plan, HOPPER).source
        assert source.count("if (") >= 2
        assert translator(Nvrtc).translate(source, (9, 0))[0].startswith(ELF)
