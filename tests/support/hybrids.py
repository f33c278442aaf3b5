"""Pipelines of the suite with kernels whose tiles are those of warps, partly in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from experiments.suites.image_pipelines import pipeline
from generator.lowering.heuristics.starts import start_plans
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from tests.support.suite import small_problem

IN_BLOCKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "unsharp": ("gray", "blur_y"),
        "harris": ("gray", "ix", "iy"),
        "bilateral_grid": ("interpolated",),
        "camera_pipe": ("curved", "blur_y"),
        "interpolate": ("down_1_x", "down_2_x", "up_0_x", "up_1_x"),
        "pyramid_blend": ("left_1_x", "mask_1_x", "up_0_x", "up_left_0_x"),
        "stencil_chain": ("stage_1", "stage_2", "stage_3"),
    }
)
"""The stages that warps compute, of the six pipelines of Jangda & Guha 2020 and a chain of stencils."""
INLINE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "unsharp": ("repeat_edge", "blur_x", "sharpen", "ratio"),
        "harris": ("ixx", "iyy", "ixy", "sxx", "syy", "sxy", "det", "trace"),
        "camera_pipe": ("blur",),
        "stencil_chain": ("repeat_edge",),
    }
)


WIDER: Mapping[str, str] = MappingProxyType({"camera_pipe": "80x16", "stencil_chain": "80x12"})
"""Sizes at which a warp has several points along x, of those that have not at their small size."""


def hybrid_problem(name: str) -> Problem:
    """The pipeline at a small size."""
    found = pipeline(name)
    return small_problem(replace(found, small=WIDER.get(name, found.small)))[0]


def hybrid_plan(name: str, program: Program, target: Target) -> Plan:
    """The start plan with half of the tiles in registers."""
    places = dict.fromkeys(INLINE.get(name, ()), "inline") | dict.fromkeys(IN_BLOCKS[name], "block")
    schedule = Stages(tuple(sorted(places.items())))  # type: ignore[arg-type]  # dict.fromkeys forgets the literals
    return start_plans(program, target, schedule)[-1]
