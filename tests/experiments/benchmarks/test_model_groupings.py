"""Kernels, fused stages and inlined stages in the words of the table."""

from __future__ import annotations

from experiments.benchmarks.model_groupings import CPU, beam, described_plan
from metrics.costs.base import PlannedKernel, Refused
from metrics.costs.groups import Group
from tests.support.costs import kwhz, kwhz_program


def test_kernels_members_and_inlined_stages_are_counted() -> None:
    flow = kwhz()
    groups = (Group(flow, "W", ("K",), frozenset(["H"])), Group(flow, "Z", (), frozenset(["H"])), Refused("no stage"))
    kernels = [PlannedKernel(("S",), group, (8, 8), (8, 8), "block", None, None) for group in groups]
    assert described_plan(kernels) == "3 (1), 1"


def test_the_plan_of_a_beam_is_described() -> None:
    kernels, _, inlined = beam(kwhz_program((64, 48)), CPU).replace("(", "").replace("),", "").split()
    assert 1 <= int(kernels) <= 4 and 0 <= int(inlined) <= 3
    assert int(kernels) + int(inlined) <= 4
