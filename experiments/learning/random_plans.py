"""Random plans of a pipeline: the places of its stages and the sizes of kernels are drawn; the rest follows.

The learned model's inputs vary: places, tiles, blocks, the level of tiles, rows per step. All other decisions are those
of a start plan (`stripped`), here and in the plans of a beam, so that they add no noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from generator.decisions.base import Known
from generator.decisions.deciding import nearest
from generator.errors import IllegalPlan
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.nest import Level
from generator.pipeline_graph import StagePlace
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.stage_facts import stage_facts
from generator.program import Program
from generator.schedules.stages import Stages
from generator.target import Target
from graph.pipeline import Chosen

PLACES: tuple[StagePlace, ...] = ("root", "inline", "block")
LEVELS: tuple[Level, ...] = ("block", "sub-group", "thread")
_STEPS = (0, 0, 1, 2, 4)
_OWN_STYLE = 0.35
"""The share of kernels that keep the sizes of a start plan: these are fast, and worth knowing."""

_SUMS_IN_REGISTERS = 0.7
"""The share of kernels that keep sums in registers if they can: beams always do."""


def random_plan(program: Program, target: Target, rng: np.random.Generator) -> Plan | None:
    """Return a plan of the space `pipeline`; None if the drawn one is illegal."""
    schedule = random_places(program, target, rng)
    try:
        shapes = kernel_shapes(program, schedule, target.language)
        bases = start_plans(program, target, schedule)
    except IllegalPlan:  # blocks cannot wait in the loops of some kernel
        return None
    kernels = tuple(_kernel(shape, bases, target, rng) for shape in shapes)
    return replace(bases[0], kernels=kernels)


def random_places(program: Program, target: Target, rng: np.random.Generator) -> Stages:
    """Return places of all stages, from the outputs on; a plan prefers some of them, so that all kinds of plans occur.
    """
    chosen, weights = Chosen(target.local_bytes), rng.dirichlet((0.8, 0.9, 0.8))
    flow = dataflow(program)
    for stage in reversed(stage_facts(program)):
        node = flow.node(stage.array)
        known = node is not None and node.stage  # cost models do not support tuples and lines in blocks
        offered = chosen.options(stage) if known else PLACES[:1]
        chances = np.array([weights[PLACES.index(place)] for place in offered]) + 1e-3
        chosen.take(stage, offered[int(rng.choice(len(offered), p=chances / chances.sum()))])
    return chosen.schedule()


def _kernel(shape: KernelShape, bases: Sequence[Plan], target: Target, rng: np.random.Generator) -> KernelPlan:
    base = bases[int(rng.integers(len(bases)))].kernel(shape.statements)
    if rng.random() >= _OWN_STYLE:
        base = _drawn(base, shape, target, rng)
    base = replace(stripped(base, shape, target), level=LEVELS[int(rng.choice(3, p=(0.6, 0.2, 0.2)))],
                   registers=base.registers or bool(rng.random() < _SUMS_IN_REGISTERS))
    return nearest(base, Known(shape, target, True))


def _drawn(base: KernelPlan, shape: KernelShape, target: Target, rng: np.random.Generator) -> KernelPlan:
    """Return the kernel with other sizes of tile and block, and other rows per step."""
    extents = shape.ordered(()).extents
    tile = tuple(1 << int(rng.integers(0, max(1, n - 1).bit_length() + 1)) for n in extents)
    alone = target.shares_host_cores and rng.random() < 0.5
    block = tuple(1 if alone else 1 << int(rng.integers(0, n.bit_length())) for n in tile)
    return replace(base, tile=tile, block=block, walk=_STEPS[int(rng.integers(len(_STEPS)))])


def stripped(kernel: KernelPlan, shape: KernelShape, target: Target) -> KernelPlan:
    """Return the kernel without the decisions that cost models do not use."""
    inside = shape.steps_on(target) and prod(kernel.tile) > prod(kernel.block)
    return replace(without_unknown(kernel), points_inside=inside)


def without_unknown(kernel: KernelPlan) -> KernelPlan:
    """Return the kernel with the decisions that the learned model knows; all others have their defaults."""
    return KernelPlan(kernel.statements, kernel.tile, kernel.block, order=kernel.order, registers=kernel.registers,
                      points_inside=kernel.points_inside, walk=kernel.walk, level=kernel.level)
