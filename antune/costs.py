"""The costs of a plan by a cost model, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.search.costs import JudgedKernel, judge, total
from metrics.costs.base import CostModel, Refused

if TYPE_CHECKING:
    from generator.plan import Plan
    from generator.program import Program
    from generator.target import Target


def cost_lines(program: Program, plan: Plan, target: Target, model: CostModel) -> Iterator[str]:
    """Yield the terms of every kernel, and the sum. Raises IllegalPlan if the plan violates a dependence."""
    judged = judge(program, plan, target, model)
    yield f"== Cost by the model {model.name} on {target.name} (lower is better; formulas: docs/model_formulas.md)"
    for one in judged:
        yield from _kernel(one)
    whole = total(judged)
    yield f"the plan: {whole.reason}" if isinstance(whole, Refused) else f"the plan: {whole.number:.6g}"


def _kernel(one: JudgedKernel) -> Iterator[str]:
    group = one.kernel.group
    what = ", ".join(one.kernel.statements)
    if not isinstance(group, Refused):
        besides = f", computes {', '.join(group.members)} in its blocks" if group.members else ""
        inlined = f", {', '.join(sorted(group.inlined))} in its threads" if group.inlined else ""
        what = f"stores {group.output}{besides}{inlined}"
        yield f"{one.name}: {what}; tiles of {_by(one.kernel.tile)}, {_by(one.kernel.block)} threads"
    else:
        yield f"{one.name}: {what}"
    if isinstance(one.judgement, Refused):
        yield f"    not judged: {one.judgement.reason}"
        return
    for term in one.judgement.terms:
        unit = "" if not term.unit else term.unit if term.unit == "%" else f" {term.unit}"
        yield f"    {term.name + ':':<26}{term.value:.6g}{unit}"
    yield f"    {'cost:':<26}{one.judgement.number:.6g}"


def _by(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes)) or "one"
