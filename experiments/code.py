"""best.cl: the code of the best plan, generated again from what the store holds."""

from __future__ import annotations

from pathlib import Path

from experiments.files import write_atomically
from experiments.records import RunInfo, best_of
from experiments.store import Store
from experiments.summary import reproduce_command
from experiments.words import describe_ms, describe_plan
from generator.errors import IllegalPlan
from generator.plan import Plan
from metrics.outcome import cost_ms

BEST_CODE = "best.cl"


def code_of(info: RunInfo, plan: Plan) -> str:
    """The kernels of `plan` as text, or a comment that says why there are none.

    Only a run on the deterministic device, which never generates code, can hold an illegal plan as timed.
    """
    from generator.lowering import lower

    try:
        return lower(info.program, plan, info.device.target).source
    except IllegalPlan as error:
        return f"/* This plan is illegal and has no code: {error} */\n"


def write_best_code(store: Store, directory: Path) -> None:
    """Write the best plan's kernels with a comment on where they come from; nothing when none is valid."""
    info, best = store.info(), best_of(store.results())
    if best is None:
        return
    lines = [f"{info.program.name}: {describe_ms(cost_ms(best.outcome))} on {info.device.name}",
             f"plan {best.evaluation.plan.digest}, evaluation {best.evaluation.number}",
             *describe_plan(best.evaluation.plan), f"made by: {reproduce_command(info)}"]
    header = "/*\n" + "".join(f" * {line.replace('*/', '* /')}\n" for line in lines) + " */\n"
    write_atomically(directory / BEST_CODE, header + code_of(info, best.evaluation.plan))
