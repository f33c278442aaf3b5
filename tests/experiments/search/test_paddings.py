"""Start plans are padded where the static model counts fewer bank conflicts then."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.search.paddings import LEAST_GAIN, with_fewest_conflicts
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.facts import KernelFacts
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.lowering.heuristics.starts import start_plans
from generator.plan import Plan
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from metrics.device_model import device_model
from metrics.static_model import shared_efficiency
from tests.support.programs import program_of as program_in
from tests.support.programs import scop
from tests.support.suite import problem
from tests.support.targets import CPU, HOPPER

OPTIONS = RunOptions("syrk.c", Compilation(), Budget(evaluations=1))


def program_of(name: str) -> Program:
    return problem(name, ("SMALL_DATASET", "DATA_TYPE_IS_FLOAT")).program


def shares(program: Program, plan: Plan) -> list[float]:
    """Of passes without conflicts, per kernel."""
    return [shared_efficiency(facts, device_model(HOPPER)) or 0.0 for facts in kernel_facts(program, plan, HOPPER)]


def padded(plan: Plan, padding: int) -> Plan:
    return replace(plan, kernels=tuple(replace(one, padding=padding) if one.shared else one for one in plan.kernels))


@pytest.mark.parametrize("name", ["syrk", "gemm"])
def test_no_padding_on_offer_has_much_fewer_conflicts(name: str) -> None:
    program = program_of(name)
    shared = [plan for plan in start_plans(program, HOPPER) if plan.kernels[0].shared]
    assert shared
    for plan in shared:
        made = with_fewest_conflicts(program, plan, HOPPER, True)
        [found] = shares(program, made)
        others = {n: shares(program, padded(plan, n))[0] for n in (0, plan.kernels[0].vector)}
        assert made == padded(plan, made.kernels[0].padding) and found == others[made.kernels[0].padding]
        assert all(found > share - LEAST_GAIN for share in others.values()), (made, others)


@pytest.mark.parametrize("refused", [None, 0, 1, 2])
def test_kernels_are_counted_together_and_chosen_apart(refused: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three kernels, of which threads of two read down the columns of a copy. A `refused` one may not be padded."""
    sums = ("D[j][i] += A[k][i] * B[k][j];", "C[i][j] += A[i][k] * A[j][k];", "E[i][j] += B[i][k] * B[j][k];")
    loops = "for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) for (k = 0; k < 64; k++) "
    program = program_in(scop("".join(loops + one for one in sums),
                              f"float {', '.join(f'{name}[64][64]' for name in 'ABCDE')};"))
    [plan] = [padded(plan, 0) for plan in start_plans(program, HOPPER) if all(kernel.shared for kernel in plan.kernels)
              and {kernel.level for kernel in plan.kernels} == {"block"}][:1]
    calls = list[Plan]()

    def counted(program: Program, plan: Plan, target: Target) -> tuple[KernelFacts, ...]:
        calls.append(plan)
        if refused is not None and plan.kernels[refused].padding:
            raise IllegalPlan("too much room")
        return kernel_facts(program, plan, target)

    monkeypatch.setattr("experiments.search.paddings.kernel_facts", counted)
    made = with_fewest_conflicts(program, plan, HOPPER, True)
    assert [kernel.padding > 0 for kernel in made.kernels] == [n > 0 and n != refused for n in range(3)]
    assert len(calls) == (2 if refused is None else 5)


def test_a_search_begins_with_them() -> None:
    """Threads read down the columns of a copy in syrk, whose rows are as long as all banks without padding."""
    program = program_of("syrk")
    found = [walk.plan for walk in PARTS.starts(program, HOPPER, OPTIONS)]
    assert {kernel.padding > 0 for plan in found for kernel in plan.kernels if kernel.shared} == {True}
    for plan in found:
        lower(program, plan, HOPPER)


def test_cpus_have_no_banks() -> None:
    program = program_of("syrk")
    for plan in start_plans(program, CPU, ScheduleChoice()):
        assert with_fewest_conflicts(program, plan, CPU, True) is plan
