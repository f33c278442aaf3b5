"""Count the expressions of inline stages in the text of a kernel, before it is generated.

Each thread computes every element that it reads once, so its text has an expression for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from generator.errors import IllegalPlan
from generator.expr import Expr, Load, loads_of, parts
from generator.linear import plain_form, substitute
from generator.lowering.memory.computed import iterators_at
from generator.program import Program, Stage

MOST = 20_000
"""The most different elements of stages that are counted for one value."""
MOST_PARTS = 20_000
"""The most operators, numbers and names of inline stages in one place; each takes about 10 characters."""


def inlined_elements(stages: Mapping[str, Stage], exprs: Sequence[Expr]) -> Counter[str]:
    """Return how many different elements of inline stages are needed to compute `exprs` once, by array."""
    found: Counter[str] = Counter()
    seen: set[Load] = set()
    todo = [load for expr in exprs for load in loads_of(expr)]
    while todo and len(seen) < MOST:
        load = todo.pop()
        stage = stages.get(load.array)
        if stage is None or stage.where != "inline":
            continue
        index = tuple(plain_form(i) or i for i in load.index)
        element = Load(next(array for array in stage.arrays if array in stages), index)  # the steps stand there once
        if element in seen:
            continue
        seen.add(element)
        found[element.array] += 1
        for step in stage.steps:
            body, names = step.statement.body, iterators_at(step, index)
            names |= {name.name: Load(f"{load.array}.{name.name}", index) for name, _ in body.lets}  # one per element
            for value in body.computed:
                todo += [other for other in loads_of(substitute(value, names)) if other.array not in stage.arrays]
    return found


def check_length(program: Program, names: Collection[str], computed: Collection[str]) -> None:
    """Raise IllegalPlan if the text of an element that a kernel stores or its blocks compute would be too long.

    `names`: the statements of the kernel. `computed`: the stages that it computes.
    """
    stages = {stage.array: stage for stage in program.stages if stage.array in computed}
    if not any(stage.where == "inline" for stage in stages.values()):
        return
    sizes = {array: sum(1 for step in stage.steps for value in step.statement.body.computed for _ in parts(value))
             for array, stage in stages.items()}
    for place, exprs in _places(program, names, stages):
        counts = inlined_elements(stages, exprs)
        total = sum(counts[array] * sizes[array] for array in counts)
        if total > MOST_PARTS:
            most = max(counts, key=lambda array: counts[array] * sizes[array])
            raise IllegalPlan(f"the text that computes {place} would have {total} operators, numbers and names of "
                              f"inline stages, {counts[most]} times those of `{most}`; at most {MOST_PARTS} are "
                              f"allowed: compute `{most}` in blocks or by a kernel of its own")


def _places(program: Program, names: Collection[str], stages: Mapping[str, Stage]) -> Iterator[tuple[str,
                                                                                                    Sequence[Expr]]]:
    """Yield what is computed element by element, with the expressions for one element."""
    for statement in program.statements:
        if statement.name in names:
            yield statement.name, (*statement.body.computed, *statement.body.target.index)
    for stage in stages.values():
        if stage.where == "block":
            yield f"`{stage.array}`", [value for step in stage.steps for value in
                                       (*step.statement.body.computed, *step.statement.body.target.index)]
