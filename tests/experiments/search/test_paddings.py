"""Start plans are padded or swizzled where the static model counts fewer bank conflicts then."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from experiments.search.paddings import LEAST_GAIN, Counted, Statements, conflicts, with_fewest_conflicts
from experiments.search.parts import PARTS
from experiments.values.options import Budget, RunOptions
from generator.errors import IllegalPlan
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.facts import SharedUse, kernel_facts, shared_use
from generator.lowering.analysis.shapes import kernel_shapes
from generator.lowering.heuristics.starts import start_plans
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from generator.target import LANGUAGES, Target
from metrics.device_model import device_model
from metrics.static_model import shared_efficiency
from tests.support.programs import program_of as program_in
from tests.support.programs import scop
from tests.support.slow import in_turn
from tests.support.suite import polybench_program
from tests.support.targets import CPU, HOPPER

OPTIONS = RunOptions("syrk.c", Compilation(), Budget(evaluations=1))


def program_of(name: str) -> Program:
    return polybench_program(name, ("SMALL_DATASET", "DATA_TYPE_IS_FLOAT"))


def shares(program: Program, plan: Plan) -> list[float]:
    """Of passes without conflicts, per kernel."""
    return [shared_efficiency(facts, device_model(HOPPER)) or 0.0 for facts in kernel_facts(program, plan, HOPPER)]


def padded(plan: Plan, padding: int) -> Plan:
    return replace(plan, kernels=tuple(replace(one, padding=padding) if one.shared else one for one in plan.kernels))


def swizzled(plan: Plan, arrays: tuple[str, ...]) -> Plan:
    return replace(plan, kernels=tuple(replace(one, padding=0, swizzled=arrays) for one in plan.kernels))


@in_turn
@pytest.mark.parametrize(("name", "arrays"), [("syrk", ("A",)), ("gemm", ("A", "B"))])
def test_no_choice_on_offer_has_much_fewer_conflicts(name: str, arrays: tuple[str, ...]) -> None:
    program = program_of(name)
    shared = [plan for plan in start_plans(program, HOPPER) if plan.kernels[0].shared]
    assert shared
    for plan in shared:
        made = with_fewest_conflicts(program, plan, HOPPER, True)
        [found] = shares(program, made)
        plans = [padded(plan, 0), padded(plan, plan.kernels[0].vector), swizzled(plan, arrays)]
        others = {plan: shares(program, plan)[0] for plan in plans}
        assert found == others[made]
        assert all(found > share - LEAST_GAIN for share in others.values()), (made, others)
        assert made == plans[2 if name == "syrk" else 0], "neighbours read rows of a copy in syrk"


def test_of_about_equal_choices_the_one_with_more_blocks_wins() -> None:
    kernel = KernelPlan(("S0",), (8,), (8,))
    plain, longer, other = Counted(kernel, 0.5, 8), Counted(kernel, 1.0, 7), Counted(kernel, 0.99, 8)
    assert longer.is_better(plain) and other.is_better(plain) and other.is_better(longer)
    assert not plain.is_better(longer) and not replace(longer, blocks=8).is_better(other)


def test_what_is_counted_is_listed() -> None:
    """Without, with padding, swizzled; the swizzled one takes no more memory than none, so as many blocks fit."""
    program = program_of("syrk")
    [plan, *_] = [plan for plan in start_plans(program, HOPPER) if plan.kernels[0].shared]
    [found] = conflicts(program, plan, HOPPER, True).values()
    assert [(one.kernel.padding, one.kernel.swizzled) for one in found] == [(0, ()), (4, ()), (0, ("A",))]
    assert found[0].share < found[1].share < found[2].share and found[2].blocks == found[0].blocks


@pytest.mark.parametrize("name", ["syrk", "gemm"])
def test_only_accesses_to_shared_memory_are_counted(name: str) -> None:
    """With the same result as all facts; the loops of syrk are a triangle."""
    program, model = program_of(name), device_model(HOPPER)
    plan = next(plan for plan in start_plans(program, HOPPER) if plan.kernels[0].shared)
    for one in (padded(plan, 0), padded(plan, 4), swizzled(plan, ("A",))):
        [use] = shared_use(program, one, HOPPER, {plan.kernels[0].statements})
        assert shared_efficiency(use, model) == pytest.approx(shares(program, one)[0])
        assert {access.space for access in use.accesses} == {"shared"}


@pytest.mark.parametrize("refused", [None, 0, 1, 2])
def test_kernels_are_counted_together_and_chosen_apart(refused: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three kernels, of which threads of two read down the columns of a copy. A `refused` one has to stay."""
    sums = ("D[j][i] += A[k][i] * B[k][j];", "C[i][j] += A[i][k] * A[j][k];", "E[i][j] += B[i][k] * B[j][k];")
    loops = "for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) for (k = 0; k < 64; k++) "
    program = program_in(scop("".join(loops + one for one in sums),
                              f"float {', '.join(f'{name}[64][64]' for name in 'ABCDE')};"))
    [plan] = [padded(plan, 0) for plan in start_plans(program, HOPPER) if all(kernel.shared for kernel in plan.kernels)
              and {kernel.level for kernel in plan.kernels} == {"block"}][:1]
    calls = list[Plan]()

    def counted(program: Program, plan: Plan, target: Target, wanted: Collection[Statements]) -> tuple[SharedUse, ...]:
        calls.append(plan)
        if refused is not None and (plan.kernels[refused].padding or plan.kernels[refused].swizzled):
            raise IllegalPlan("too much room")
        return shared_use(program, plan, target, wanted)

    monkeypatch.setattr("experiments.search.paddings.shared_use", counted)
    made = with_fewest_conflicts(program, plan, HOPPER, True)
    changed = [bool(kernel.padding or kernel.swizzled) for kernel in made.kernels]
    assert changed == [n > 0 and n != refused for n in range(3)]
    assert len(calls) == (3 if refused in (None, 0) else 7), "the first kernel has no conflicts: it is counted once"


def halved() -> tuple[Program, Plan]:
    """A kernel that reads every other element of a stage, in blocks; rows of 32 threads are warps."""
    text = ("float t[64][128]; for (i = 0; i < 64; i++) for (j = 0; j < 128; j++) t[i][j] = a[i][j];"
            "for (i = 0; i < 32; i++) for (j = 0; j < 64; j++) b[i][j] = t[2 * i][2 * j];")
    program, schedule = expand(program_in(scop(text, "float a[64][128], b[32][64];"))), Stages((("t", "block"),))
    [shape] = kernel_shapes(program, schedule, LANGUAGES["cuda"])
    return program, Plan(schedule, (KernelPlan(shape.statements, (8, 32), (8, 32)),))


def test_rows_of_warps_have_the_same_conflicts_with_every_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing has to be counted. Threads read every other element of a row, in two passes."""
    program, plan = halved()
    [found] = conflicts(program, plan, HOPPER, True).values()
    assert len(found) > 1 and len({one.share for one in found}) == 1 and found[0].share < 1
    monkeypatch.setattr("experiments.search.paddings.shared_use", None)
    assert with_fewest_conflicts(program, plan, HOPPER, True) == plan


def test_a_search_begins_with_them() -> None:
    """Threads read down the columns of a copy in syrk, whose rows are as long as all banks without padding."""
    program = program_of("syrk")
    found = [walk.plan for walk in PARTS.starts(program, HOPPER, OPTIONS)]
    assert {kernel.swizzled for plan in found for kernel in plan.kernels if kernel.shared} == {("A",)}
    for plan in found:
        lower(program, plan, HOPPER)


def test_cpus_have_no_banks() -> None:
    program = program_of("syrk")
    for plan in start_plans(program, CPU, ScheduleChoice()):
        assert with_fewest_conflicts(program, plan, CPU, True) is plan
