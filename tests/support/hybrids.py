"""Pipelines of the suite with kernels whose tiles are those of warps, partly in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from experiments.benchmarks.warps import tiled_stages
from experiments.suites.image_pipelines import pipeline
from generator.lowering.heuristics.starts import start_plans
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from tests.support.suite import small_problem

WIDER: Mapping[str, str] = MappingProxyType({"camera_pipe": "80x16", "stencil_chain": "80x12"})
"""Sizes at which a warp has several points along x, for pipelines without them at their small size."""


def hybrid_problem(name: str) -> Problem:
    """Return the pipeline at a small size."""
    found = pipeline(name)
    return small_problem(replace(found, small=WIDER.get(name, found.small)))[0]


def hybrid_plan(name: str, program: Program, target: Target) -> Plan:
    """Return the start plan with half of the tiles in registers."""
    return start_plans(program, target, tiled_stages(name))[-1]
