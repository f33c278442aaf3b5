"""Choose padding or swizzle of start plans' shared copies by the bank conflicts that the static model counts.

A search still tries all that is on offer; only the plans that it begins with come without a guess.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TypeAlias

from generator.decisions.deciding import nearest_to
from generator.errors import IllegalPlan
from generator.lowering.analysis.along_rows import distances_in
from generator.lowering.analysis.facts import shared_use
from generator.lowering.analysis.shapes import KernelShape, kernel_shapes
from generator.plan import KernelPlan, Plan
from generator.program import Program
from generator.target import Target
from metrics.device_model import DeviceModel, device_model, resident_blocks
from metrics.static_model import shared_efficiency

Statements: TypeAlias = tuple[str, ...]
"""The names of a kernel's statements."""
LEAST_GAIN = 0.02
"""The gain in the share of passes without conflicts for which a later choice is taken: padding takes shared memory, and
swizzled rows take instructions.
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """A kernel with one of the choices: its share of passes without conflicts, its blocks on a compute unit at once."""

    kernel: KernelPlan
    share: float
    blocks: int

    def is_better(self, other: Counted) -> bool:
        """Return whether it has fewer conflicts than an earlier choice, or about as few and more blocks at once."""
        return self.share > other.share + LEAST_GAIN or (
            self.share > other.share - LEAST_GAIN and self.blocks > other.blocks)


def with_fewest_conflicts(program: Program, plan: Plan, target: Target, wide: bool) -> Plan:
    """Return `plan` with the choice of each kernel that gives the fewest bank conflicts, of those on offer.

    The choices: no padding, padding, swizzled rows of all arrays. Of about equal ones, the one with most resident
    blocks, then the first. Instead of several arrays, only one is swizzled if that is about as good. Unchanged: kernels
    on CPUs, which have no banks; kernels on tensor cores, whose fragments the model does not follow; kernels without a
    choice. `wide`: as in `Known`. Only the first choice is counted if it has hardly any conflicts: no other can
    be better, as none takes less memory. A kernel that has that choice already is not even counted if its rows of
    threads are as long as warps and access elements of one row at a time: all choices have the same conflicts.
    """
    if not device_model(target).banks:
        return plan
    choices = dict(_choices(program, plan, target, wide, _doubtful(program, plan, target)))
    first = _counted(program, plan, target, {name: found[:1] for name, found in choices.items()})
    settled = {name for name, [one] in first.items() if one.share > 1 - LEAST_GAIN}
    rest = {name: found[1:] for name, found in choices.items() if name not in settled}
    others = _counted(program, plan, target, rest)
    best = {name: _best([*first.get(name, ()), *others.get(name, ())]) for name in {**first, **others}}
    if not best:
        return plan
    alone = {name: [replace(one.kernel, swizzled=(array,)) for array in one.kernel.swizzled]
             for name, one in best.items() if len(one.kernel.swizzled) > 1}
    for name, found in _counted(program, plan, target, alone).items():
        near = [one for one in found if one.share > best[name].share - LEAST_GAIN]
        best[name] = max(near, key=lambda one: one.share, default=best[name])
    return _with(plan, {name: one.kernel for name, one in best.items()})


def _doubtful(program: Program, plan: Plan, target: Target) -> set[Statements]:
    """Return the kernels whose conflicts may depend on the choice, and those that are padded or swizzled already.

    Longer rows, and swizzled ones, move all elements of a row to other banks alike.
    """
    warp = device_model(target).warp
    rows = {one.statements for one in plan.kernels
            if one.block and one.block[-1] % warp == 0 and not one.padding and not one.swizzled}
    near = distances_in(program, plan, target.language, rows)
    settled = {statements for statements, one in near.items() if one.in_shared < inf}
    return {one.statements for one in plan.kernels} - settled


def conflicts(program: Program, plan: Plan, target: Target, wide: bool) -> Mapping[Statements, list[Counted]]:
    """Return the kernels of `plan` that have a choice, with what was counted for each: without padding (or with the
    smallest) first, then with padding, then with swizzled rows. Left out: illegal choices, unknown accesses.
    """
    every = {one.statements for one in plan.kernels} if device_model(target).banks else set[Statements]()
    return _counted(program, plan, target, dict(_choices(program, plan, target, wide, every)))


def _best(found: list[Counted]) -> Counted:
    best, *others = found
    for one in others:
        if one.is_better(best):
            best = one
    return best


def _choices(program: Program, plan: Plan, target: Target, wide: bool,
             wanted: Collection[Statements]) -> Iterator[tuple[Statements, list[KernelPlan]]]:
    for shape in kernel_shapes(program, plan.scheduled, target.language):
        kernel = plan.kernel(shape.statements)
        found = _of(kernel, shape, target, wide) if kernel.products == "full" and shape.statements in wanted else []
        if len(found) > 1:
            yield kernel.statements, found


def _of(kernel: KernelPlan, shape: KernelShape, target: Target, wide: bool) -> list[KernelPlan]:
    """Return `kernel` with each choice; [] if one would change other decisions."""
    plain = replace(kernel, padding=0, swizzled=())
    less, turned = nearest_to(plain, shape, target, wide)
    arrays = turned.swizzlable(less.tile, less.inner_tile, less.vector, less.uncopied) if less.shared else ()
    others = replace(plain, padding=max(1, kernel.vector)), replace(plain, swizzled=arrays)
    found = list(dict.fromkeys([less, *(nearest_to(one, shape, target, wide)[0] for one in others)]))
    return found if all(replace(one, padding=0, swizzled=()) == plain for one in found) else []


def _counted(program: Program, plan: Plan, target: Target,
             choices: Mapping[Statements, list[KernelPlan]]) -> Mapping[Statements, list[Counted]]:
    """Return what is counted for each choice. Kernels do not depend on each other: each plan has one choice of all."""
    model, result = device_model(target), dict[Statements, list[Counted]]()
    for number in range(max(map(len, choices.values()), default=0)):
        here = {name: options[number] for name, options in choices.items() if number < len(options)}
        for name, one in _of_plan(program, plan, target, model, here).items():
            result.setdefault(name, []).append(one)
    return result


def _of_plan(program: Program, plan: Plan, target: Target, model: DeviceModel,
             chosen: Mapping[Statements, KernelPlan]) -> Mapping[Statements, Counted]:
    """Return what is counted for the `chosen` kernels of `plan`.

    Left out: kernels that make the plan illegal, kernels without known accesses to shared memory.
    """
    try:
        facts = shared_use(program, _with(plan, chosen), target, chosen)
    except IllegalPlan:  # as `plan` is, or a padding takes too much room
        alone = [{name: kernel} for name, kernel in chosen.items()] if len(chosen) > 1 else []
        return ChainMap(*(dict(_of_plan(program, plan, target, model, one)) for one in alone))
    found = dict[Statements, Counted]()
    for one in facts:
        share = shared_efficiency(one, model)
        if share is not None:
            blocks = resident_blocks(prod(one.block), one.local_bytes, None, model)
            found[one.statements] = Counted(chosen[one.statements], share, blocks)
    return found


def _with(plan: Plan, kernels: Mapping[Statements, KernelPlan]) -> Plan:
    """Return `plan` with these kernels in place of its own."""
    return replace(plan, kernels=tuple(kernels.get(one.statements, one) for one in plan.kernels))
