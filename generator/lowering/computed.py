"""Stages inside of kernels: boxes in shared memory that a block computes, elements that a thread computes for itself.

    // all threads compute blur_x_here (10 x 32 elements)
    for (e0 = t0; e0 < 10; e0 += 8) for (e1 = t1; ..) blur_x_here[e0][e1] = in[blur_x_at0 + e0][..] + ..;
    barrier
    out[y][x] = blur_x_here[y - blur_x_at0][x - blur_x_at1] + ..;
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from generator.expr import Binary, Expr, Int, Load, Name, map_children
from generator.linear import simplify, substitute
from generator.lowering.cooperative import share
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Barrier, Declare, For, Node
from generator.plan import KernelPlan
from generator.polyhedral.boxes import StageBox, stage_boxes, tile_names
from generator.polyhedral.footprint import StagePoint
from generator.polyhedral.kernels import KernelPart
from generator.program import ELEMENT_BYTES, Program, Stage, Step


@dataclass(frozen=True, slots=True)
class ComputedArray:
    """A shared array that holds the box of a stage at stage point `stage`.

    `variables[d]` holds the first index in dimension d; None where that is a sum that can stand in subscripts.
    """

    name: str
    type: str
    sizes: tuple[int, ...]
    box: StageBox
    variables: tuple[str | None, ...]
    stage: int

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return ELEMENT_BYTES[self.type] * prod(self.sizes)


def computed_arrays(program: Program, part: KernelPart, plan: KernelPlan, points: Sequence[StagePoint],
                    taken: set[str]) -> tuple[ComputedArray, ...]:
    """The boxes that a kernel computes, point by point, in the order of computation; new names go to `taken`.

    Raises:
        IllegalPlan: as `stage_boxes`.
    """
    result = []
    for number, point in enumerate(points):
        for box in stage_boxes(program, part, plan.tile, plan.inner_tile, number) if point.computed else ():
            name = fresh_name(f"{box.array}_here", taken)
            corner = tuple(None if _is_sum(first) else fresh_name(f"{box.array}_at{d}", taken)
                           for d, first in enumerate(box.corner))
            sizes = (*box.sizes[:-1], box.sizes[-1] + plan.padding)
            result.append(ComputedArray(name, program.array(box.array).type, sizes, box, corner, number))
    return tuple(result)


@dataclass
class Computing:
    """Turns reads of stages into what computes them. `fresh` gives names that nothing else has."""

    program: Program
    arrays: tuple[ComputedArray, ...]
    block: tuple[int, ...]
    fresh: Callable[[str], str]
    stages: Mapping[str, Stage] = field(init=False)
    corners: dict[str, tuple[Expr, ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.stages = {stage.array: stage for stage in self.program.stages}

    def enter(self, number: int, tiles: Sequence[Expr], point: StagePoint, filled: bool) -> list[Node]:
        """What fills the boxes of stage point `number`, up to the barrier; `filled`: copies before it await one, too."""
        nodes: list[Node] = []
        values = dict(zip(tile_names(point), tiles, strict=False))
        waiting: set[str] = set()
        for local in self.arrays:
            if local.stage != number:
                continue
            stage = self.stages[local.box.array]
            if waiting & self._reads(stage):
                nodes.append(Barrier())
                waiting.clear()
            corner = [simplify(substitute(first, values)) for first in local.box.corner]
            for name, first in zip(local.variables, corner, strict=True):
                nodes += [Declare(name, "int", ()), Assign(Load(name), "", first)] if name else []
            self.corners[local.name] = tuple(Load(name) if name else first
                                             for name, first in zip(local.variables, corner, strict=True))
            nodes.append(self._fill(local, stage))
            waiting.add(local.box.array)
        return [*nodes, Barrier()] if waiting or filled else nodes

    def _reads(self, stage: Stage) -> set[str]:
        """The arrays that computing a stage reads, those of stages in registers included."""
        read: set[str] = set()
        for step in stage.steps:
            for access in step.statement.accesses:
                other = self.stages.get(access.array)
                if access.array not in read | {stage.array}:
                    read |= {access.array} | (self._reads(other) if other is not None and other.where == "inline" else set())
        return read

    def _fill(self, local: ComputedArray, stage: Stage) -> Node:
        """The loops in which the threads of the block share out a box."""
        index = tuple(Name(f"e{d}") for d in range(len(local.box.sizes)))
        element = tuple(simplify(Binary("+", first, e)) for first, e in zip(self.corners[local.name], index, strict=True))
        nodes: list[Node] = []
        value = self._value(stage, element, nodes, {}, local.stage)
        body: tuple[Node, ...] = (*nodes, Assign(Load(local.name, index), "", value))
        sizes = " x ".join(map(str, local.box.sizes))
        for dim in reversed(range(len(index))):
            start, step = share(dim, len(index), self.block)
            note = f"all threads compute {local.name} ({sizes} elements)" if not dim else ""
            body = (For(index[dim].name, start, Binary("<", index[dim], Int(local.box.sizes[dim])), step, body, note),)
        return body[0]

    def placed(self, expr: Expr, before: list[Node], known: dict[Load, Load], number: int) -> Expr:
        """`expr` with stages read from where they are; what has to run before it goes to `before`.

        `known` maps elements to the variables that hold them already; `number` is the stage point above.
        """
        if not isinstance(expr, Load) or expr.array not in self.stages:
            return map_children(expr, lambda child: self.placed(child, before, known, number))
        index = tuple(simplify(self.placed(i, before, known, number)) for i in expr.index)
        stage = self.stages[expr.array]
        if stage.where == "block":
            local = next(a for a in self.arrays if a.box.array == expr.array and a.stage == number)
            corner = self.corners[local.name]
            return Load(local.name, tuple(simplify(Binary("-", i, first)) for i, first in zip(index, corner, strict=True)))
        element = Load(expr.array, index)
        if element not in known:
            value = self._value(stage, index, before, known, number)
            if not isinstance(value, Load) or value.index:  # one step: an expression
                name = self.fresh(expr.array)
                before += [Declare(name, self.program.array(expr.array).type, ()), Assign(Load(name), "", value)]
                value = Load(name)
            known[element] = value
        return known[element]

    def _value(self, stage: Stage, element: tuple[Expr, ...], before: list[Node], known: dict[Load, Load], number: int) -> Expr:
        """The value of one element: an expression, or the variable in which it is put together."""
        first, *updates = stage.steps
        value = self.placed(_at(first, element, {}), before, known, number)
        if not updates:
            return value
        held = Load(self.fresh(stage.array))
        before += [Declare(held.array, self.program.array(stage.array).type, ()), Assign(held, "", value)]
        for step in updates:
            before += self._updated(step, element, held, known, number)
        return held

    def _updated(self, step: Step, element: tuple[Expr, ...], held: Load, known: dict[Load, Load], number: int) -> list[Node]:
        """The loops of an update of the variable `held`."""
        names = {step.statement.iterators[d]: Name(self.fresh(step.statement.iterators[d])) for d, _, _ in step.loops}
        own = step.statement.body.target.array
        value = _replaced(_at(step, element, names), own, held)
        nodes: list[Node] = []
        value = self.placed(value, nodes, dict(known), number)  # what is declared inside of loops is unknown outside
        nodes.append(Assign(held, step.statement.body.op, value))
        for d, low, high in reversed(step.loops):
            name = names[step.statement.iterators[d]]
            nodes = [For(name.name, Int(low), Binary("<=", name, Int(high)), 1, tuple(nodes))]
        return nodes


def _is_sum(expr: Expr) -> bool:
    """Whether `expr` is a sum of products of names and numbers."""
    match expr:
        case Int() | Name():
            return True
        case Binary("+" | "-" | "*", left, right):
            return _is_sum(left) and _is_sum(right)
        case _:
            return False


def _at(step: Step, element: tuple[Expr, ...], names: Mapping[str, Expr]) -> Expr:
    """The value that a step computes for an element of its target; its other iterators are called `names`."""
    values = dict(names)
    for index, (position, constant) in zip(element, step.dims, strict=True):
        values[step.statement.iterators[position]] = simplify(Binary("-", index, Int(constant)))
    return substitute(step.statement.body.value, values)


def _replaced(expr: Expr, array: str, by: Load) -> Expr:
    """`expr` with all loads of `array` replaced."""
    if isinstance(expr, Load) and expr.array == array:
        return by
    return map_children(expr, lambda child: _replaced(child, array, by))
