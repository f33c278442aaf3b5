"""What several time steps per launch cost and save, by the model of tiles of warps: against figures made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from experiments.search.costs import judge, planned, total
from generator.decisions.fractions import in_registers
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import time_plan
from generator.nest import Level
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.schedules.time_tiles import TimeTiles
from generator.target import LANGUAGES
from metrics.costs.base import Cost, PlannedKernel, Refused
from metrics.costs.device import cost_device
from metrics.costs.learned.layout import layout_of
from metrics.costs.polymage import LAUNCH_S, PolyMage
from metrics.costs.sioutas import Sioutas
from tests.support.suite import polybench_program
from tests.support.targets import CPU, HOPPER

DEVICE = cost_device(HOPPER)
SIZES: Mapping[str, tuple[str, ...]] = {"jacobi-1d": ("TSTEPS=20", "N=2000"), "jacobi-2d": ("TSTEPS=20", "N=300"),
                                        "fdtd-2d": ("TMAX=20", "NX=200", "NY=300")}


def program_of(name: str) -> Program:
    return polybench_program(name, SIZES[name])


def plan_of(program: Program, steps: int, tile: tuple[int, ...], block: tuple[int, ...], tenths: int = 0,
            level: Level = "sub-group") -> Plan:
    names = tuple(sorted(statement.name for statement in program.statements))
    return Plan(TimeTiles(steps), (KernelPlan(names, tile, block, level=level, in_registers=tenths),))


def kernel_of(program: Program, plan: Plan) -> PlannedKernel:
    (kernel,) = planned(program, plan)
    return kernel


def terms_of(program: Program, plan: Plan) -> Mapping[str, float]:
    """The terms and figures by name, and `cost`."""
    found = PolyMage().judge(kernel_of(program, plan), DEVICE)
    assert isinstance(found, Cost), found
    return {term.name: term.value for term in found.terms} | {"cost": found.number}


def test_one_step_of_jacobi_1d() -> None:
    """A warp's tile of 256 doubles, 8 per lane: A with 2 elements more on each side, B with 1. 8 blocks cover 2000."""
    found = terms_of(program_of("jacobi-1d"), plan_of(program_of("jacobi-1d"), 1, (256,), (32,)))
    assert found["shared memory"] == 8 * 260 + 8 * 258
    assert found["computed again"] == pytest.approx(100 * 2 / 256)
    assert found["overlap"] == pytest.approx(100 * 2 / 256)
    assert found["transactions"] == pytest.approx(50 * (260 / 4 + 256 / 4) / 8), "32 bytes at a time, loads and stores"
    assert found["occupancy"] == 50, "32 of 64 warps: a unit has 32 blocks"
    assert found["launches"] == 20
    assert found["launch"] == pytest.approx(50 * LAUNCH_S * DEVICE.bandwidth / 32 / 8 / 8)


def test_two_steps_of_jacobi_1d_save_half_the_launches_and_compute_more_again() -> None:
    program = program_of("jacobi-1d")
    one, two = (terms_of(program, plan_of(program, steps, (256,), (32,))) for steps in (1, 2))
    assert two["shared memory"] == 8 * 264 + 8 * 262, "each array has one box, whatever the steps"
    assert two["computed again"] == pytest.approx(100 * (6 + 4 + 2) / 256)
    assert (one["launches"], two["launches"]) == (20, 10)
    assert two["transactions"] == pytest.approx(50 * (264 / 4 + 256 / 4) / 8)
    assert two["cost"] < 0.51 * one["cost"], "2000 elements: launches are nearly all of it"
    names = ("transactions", "lost occupancy", "memory / computing time", "idle shared memory", "idle registers",
             "overlap", "blocks of the last wave", "launch")
    assert two["cost"] == pytest.approx(10 * sum(two[name] for name in names))


def test_half_of_the_tile_of_jacobi_1d_in_registers() -> None:
    """4 of 8 sub-tiles of A before a step, of B and of A after it: three versions of two words at once."""
    program = program_of("jacobi-1d")
    whole, half = (terms_of(program, plan_of(program, 2, (256,), (32,), tenths)) for tenths in (0, 5))
    assert half["shared memory"] == 8 * (264 - 128) + 8 * (262 - 128)
    assert half["registers"] - whole["registers"] == 3 * 4 * 2


def test_one_step_of_jacobi_2d() -> None:
    """Two warps per block, each with 2 x 128 doubles: A with 2 more on all sides, B with 1."""
    program = program_of("jacobi-2d")
    found = terms_of(program, plan_of(program, 1, (4, 128), (2, 32)))
    assert found["shared memory"] == 2 * 8 * (6 * 132 + 4 * 130)
    assert found["computed again"] == pytest.approx(100 * (4 * 130 - 2 * 128) / 256)
    assert found["launches"] == 20


def test_many_steps_of_large_arrays_do_not_pay() -> None:
    """Of rows of 128 elements two below each other nearly all is overlap, and a launch is short."""
    program = polybench_program("jacobi-2d", ("TSTEPS=20", "N=800"))
    costs = [terms_of(program, plan_of(program, steps, (4, 128), (2, 32)))["cost"] for steps in (1, 2, 4)]
    assert costs[2] > costs[1] > 0 and costs[0] > 0
    small = program_of("jacobi-2d")
    few = [terms_of(small, plan_of(small, steps, (4, 128), (2, 32)))["cost"] for steps in (1, 2, 4)]
    assert few == sorted(few, reverse=True), "of small ones launches are"


@pytest.mark.parametrize("name", ["jacobi-1d", "jacobi-2d", "fdtd-2d"])
@pytest.mark.parametrize("tenths", [0, 3, 5, 10])
def test_tiles_take_what_their_kernel_takes(name: str, tenths: int) -> None:
    """To the byte and the register, as the generator counts them for its offers."""
    program = program_of(name)
    tile, block = ((256,), (64,)) if name == "jacobi-1d" else ((4, 128), (2, 32))
    plan = plan_of(program, 2, tile, block, tenths)
    kernel = kernel_of(program, plan)
    (shape,) = kernel_shapes(program, plan.scheduled, LANGUAGES["cuda"])
    points = kernel.shared_tile[-1] // kernel.team[-1]
    room = shape.lane_room(kernel.shared_tile, kernel.team, in_registers(points, tenths), 0)
    if room is None:  # more text than a kernel may have
        assert (name, tenths) == ("fdtd-2d", 10)
        return
    found, plain = terms_of(program, plan), terms_of(program, plan_of(program, 2, tile, block))
    assert found["shared memory"] == 2 * room.bytes
    assert found["registers"] - plain["registers"] == room.words


def test_blocks_overlap_less_than_warps() -> None:
    program = program_of("jacobi-1d")
    block, warp = (terms_of(program, plan_of(program, 2, (256,), (128,), level=level))
                   for level in ("block", "sub-group"))
    assert block["computed again"] == pytest.approx(100 * 12 / 256)
    assert warp["computed again"] == pytest.approx(100 * 12 / 64)


def test_whole_plans_are_judged_and_models_that_know_no_steps_refuse_them() -> None:
    program = program_of("jacobi-1d")
    plan = plan_of(program, 2, (256,), (32,), 5)
    judged = judge(program, plan, HOPPER, PolyMage())
    assert isinstance(total(judged), Cost) and judged[0].kernel.launches == 10
    refused = Sioutas().judge(judged[0].kernel, DEVICE)
    assert isinstance(refused, Refused) and "several time steps" in refused.reason
    assert isinstance(layout_of(judged[0].kernel, DEVICE), Refused)
    assert isinstance(Sioutas().judge(replace(judged[0].kernel, launches=None), DEVICE), Cost)


def test_on_a_cpu() -> None:
    program = program_of("jacobi-2d")
    found = judge(program, time_plan(program, CPU, 2), CPU, PolyMage())
    assert isinstance(total(found), Cost)
