"""Stages inside of kernels: boxes in shared memory that a block computes, and elements that a thread computes for
itself.

    // all threads compute blur_x_here (10 x 32 elements)
    for (e0 = t0; e0 < 10; e0 += 8) for (e1 = t1; ..) blur_x_here[e0][e1] = in[blur_x_at0 + e0][..] + ..;
    barrier
    out[y][x] = blur_x_here[y - blur_x_at0][x - blur_x_at1] + ..;
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Load, Name, Select, loads_of, map_children
from generator.linear import plain_form, simplify, substitute
from generator.lowering.memory.barriers import in_turn
from generator.lowering.memory.box import LocalBox, Ring, corner_variables, padded_rows
from generator.lowering.memory.cooperative import all_fill, all_lines
from generator.lowering.naming import fresh_name
from generator.nest import Assign, Barrier, Declare, For, If, Node
from generator.plan import KernelPlan
from generator.polyhedral.memory.boxes import Around, ring_rows, stage_boxes
from generator.polyhedral.memory.entries import STEP, host_numbers, tile_names
from generator.polyhedral.memory.footprint import FillPoint
from generator.polyhedral.memory.tile_boxes import TileBox
from generator.polyhedral.schedules.kernels import KernelPart
from generator.program import Lets, Program, Stage, Step

NOTHING: Mapping[str, Expr] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ComputedBox(LocalBox):
    """The box of a stage at fill point `point`; `whole`: of the whole tile, for all of its steps and inner tiles;
    `around`: of several tiles, before all of them.
    """

    point: int
    whole: bool = False
    around: bool = False


def computed_boxes(program: Program, part: KernelPart, plan: KernelPlan, points: Sequence[FillPoint],
                   taken: set[str], prefix: Sequence[str], around: tuple[Around, ...] = ()) -> tuple[ComputedBox, ...]:
    """Return the boxes that a kernel computes, point by point, in order of computation; then those `around` its tile,
    with the numbers of more points. `prefix`: names of the host loops. New names are added to `taken`.

    Raises:
        IllegalPlan: as `stage_boxes`.
    """
    result = []
    numbers = [number for number, point in enumerate(points) if point.computed]
    hosts = dict(zip(host_numbers(len(prefix)), map(Name, prefix), strict=True))
    for number in (*numbers, *range(len(points), len(points) + len(around))):
        outside = number >= len(points)
        for box in stage_boxes(program, part, plan.tile, plan.inner_tile, number, plan.walk, plan.whole, around):
            name = fresh_name(f"{box.array}_here", taken)
            box = replace(box, corner=tuple(substitute(first, hosts) for first in box.corner))
            variables = corner_variables(box.array, box.corner, "at", taken)
            ring = None if box.slides is None else _ring(box, box.slides)
            sizes = box.sizes if ring is None else tuple(
                ring.rows if d == ring.dim else n for d, n in enumerate(box.sizes))
            result.append(ComputedBox(name, box.array, program.array(box.array).type, box.corner, box.sizes,
                                      padded_rows(sizes, plan.padding), variables, "compute", "block", number,
                                      whole=not outside and points[number].whole, around=outside, ring=ring))
    return tuple(result)


def _ring(box: TileBox, dim: int) -> Ring:
    """Return the rows of a box that slides along `dim`: those of the previous step are kept."""
    corner, step = box.corner[dim], Name(STEP)
    before = substitute(corner, {STEP: Binary("-", step, Int(1))})
    end, moved = simplify(Binary("+", before, Int(box.sizes[dim]))), simplify(Binary("-", corner, before))
    new = Binary("max", corner, end) if not isinstance(moved, Int) else end if moved.value < box.sizes[dim] else corner
    return Ring(dim, ring_rows(box.sizes[dim]), Select(Binary("==", step, Int(0)), corner, new))


@dataclass(frozen=True, slots=True)
class Entered:
    """A fill point inside its loops: its number, and the numbers of the tiles around it by name."""

    number: int
    tiles: Mapping[str, Expr]


def entered(number: int, point: FillPoint, tiles: Sequence[Expr], walk: int = 0) -> Entered:
    """Return fill point `number` if the numbers of the steps (with `walk`) or tiles around it are `tiles`."""
    return Entered(number, dict(zip(tile_names(point, walk), tiles, strict=False)))


@dataclass
class Computing:
    """Replaces reads of stages by their computation. `taken`: names in use; new ones are added."""

    program: Program
    arrays: tuple[ComputedBox, ...]
    block: tuple[int, ...]
    taken: set[str]
    stages: Mapping[str, Stage] = field(init=False)
    variables: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.stages = {stage.array: stage for stage in self.program.stages}

    def enter(self, at: Entered, filled: bool) -> list[Node]:
        """Return the nodes that fill the boxes of a fill point, up to the barrier; `filled`: preceding copies also need
        one.
        """
        here = [box.at(at.tiles) for box in self.arrays if box.point == at.number]
        together: dict[tuple[str, ...], list[ComputedBox]] = {}
        for box in here:
            together.setdefault(self.stages[box.array].arrays, []).append(box)
        parts = [(*(node for box in boxes for node in box.declared), self._fill(boxes, at))
                 for boxes in together.values()]
        nodes = in_turn(parts, [box.name for box in here])
        return [*nodes, Barrier()] if here or filled else nodes

    def _fill(self, boxes: Sequence[ComputedBox], at: Entered) -> Node:
        """Return the loops that distribute boxes of one place, which the same steps compute, over the threads of the
        block.
        """
        nodes: list[Node] = []
        local, stage = boxes[0], self.stages[boxes[0].array]
        verb = " ".join(["compute" if local.ring is None else "compute what is new of",
                         *(f"{box.name} and" for box in boxes[1:])])
        if stage.lines:
            own = {box.array: box for box in boxes}
            nodes += [node for nest in stage.nests for node in self._nest(nest, local.outside, own, {}, at)]
            return all_lines(local, self.block, tuple(nodes), verb, stage.lines)
        values = self._values(stage, local.outside, nodes, {}, at)
        nodes += [Assign(box.here, "", values[box.array]) for box in boxes]
        return all_fill(local, self.block, tuple(nodes), verb)

    def placed(self, expr: Expr, before: list[Node], known: dict[Load, Load], at: Entered | None,
               names: Mapping[str, Expr] = NOTHING) -> Expr:
        """Return `expr` with stages read from where they are; nodes that must run first are appended to `before`.

        `known` maps elements to the variables that already hold them. `at`: the enclosing fill point. `names`:
        expressions that replace names.

        Raises:
            IllegalPlan: there is no fill point, but a block computes a stage.
        """
        if isinstance(expr, Name):
            return names.get(expr.name, expr)
        if not isinstance(expr, Load):
            return map_children(expr, lambda child: self.placed(child, before, known, at, names))
        index = tuple(plain_form(substitute(i, names)) or self.placed(i, before, known, at, names) for i in expr.index)
        if expr.array not in self.stages:
            return Load(expr.array, index, expr.access)
        stage = self.stages[expr.array]
        if stage.where == "block":
            return self.kept(expr.array, index, at)
        element = Load(expr.array, index)
        if element not in known:
            held = self._held(stage, index, before, known, at)
            known |= {Load(array, index): variable for array, variable in held.items()}
        return known[element]

    def kept(self, array: str, index: tuple[Expr, ...], at: Entered | None) -> Load:
        """Return the element `index` of a stage that threads compute together, from its box. Raises IllegalPlan."""
        found = [a for a in self.arrays if a.array == array]
        if found[0].around:
            return found[0].element(index)
        if at is None:  # isl put the filling of the box under a separate condition
            raise IllegalPlan("a barrier would stand under a condition")
        local = next(a for a in found if a.whole or a.point == at.number)
        return local.at(at.tiles).element(index)

    def value(self, stage: Stage, element: tuple[Expr, ...], before: list[Node], known: dict[Load, Load],
               at: Entered | None) -> Expr:
        """Return the value of one element, in the stage's type: an expression, or the variable that holds it."""
        return self._values(stage, element, before, known, at)[stage.array]

    def _values(self, stage: Stage, element: tuple[Expr, ...], before: list[Node], known: dict[Load, Load],
                at: Entered | None) -> Mapping[str, Expr]:
        """Return the same for all arrays that the stage's steps compute."""
        if len(stage.steps) > 1:
            return self._held(stage, element, before, known, at)
        return {stage.array: self._first(stage.steps[0], element, before, known, at)}

    def _first(self, step: Step, element: tuple[Expr, ...], before: list[Node], known: dict[Load, Load],
               at: Entered | None) -> Expr:
        """Return the value that a step without loops assigns to an element."""
        names = iterators_at(step, element)
        for name, value in step.statement.body.lets:
            names[name.name] = self.named(name, self.placed(value, before, known, at, names), before)
        return self.placed(step.statement.body.value, before, known, at, names)

    def named(self, name: Name, value: Expr, before: list[Node]) -> Load:
        """Return a variable of the kernel for the let `name` of a statement; its `value` is assigned in `before`."""
        held = Load(self._variable(name.name.partition("_")[0]))
        before += [Declare(held.array, name.type, ()), Assign(held, "", value)]
        return held

    def _held(self, stage: Stage, element: tuple[Expr, ...], before: list[Node], known: dict[Load, Load],
              at: Entered | None) -> Mapping[str, Load]:
        """Return variables with the values of one element of each array that the stage's steps compute."""
        if stage.steps[0].nest is not None:
            held = {array: self._declared(array, before) for array in stage.arrays}
            before += [node for nest in stage.nests for node in self._nest(nest, element, held, known, at)]
            return held
        first, *updates = stage.steps
        value = self._first(first, element, before, known, at)
        held = {stage.array: self._declared(stage.array, before)}
        before.append(Assign(held[stage.array], "", value))
        for step in updates:
            before += self._nest((step,), element, held, known, at)
        return held

    def _declared(self, array: str, before: list[Node]) -> Load:
        """Return a new variable for an element of an array, declared in `before`."""
        held = Load(self._variable(array))
        before.append(Declare(held.array, self.program.array(array).type, ()))
        return held

    def _variable(self, base: str) -> str:
        """Return a name for a variable that holds an element of the stage `base`, or for an iterator."""
        self.variables[base] = self.variables.get(base, -1) + 1
        return fresh_name(f"{base}_{self.variables[base]}", self.taken)

    def apart(self) -> Computing:
        """Return the same with separate names, for nodes in another branch than those made by this one."""
        return Computing(self.program, self.arrays, self.block, set(self.taken))

    def _nest(self, steps: Sequence[Step], element: tuple[Expr, ...], own: Mapping[str, Load | LocalBox],
              known: dict[Load, Load], at: Entered | None) -> list[Node]:
        """Return the loops of steps that share them. `own`: the variables or boxes of the computed arrays."""
        iterators, nodes = steps[0].statement.iterators, list[Node]()
        names = {iterators[d]: Name(self._variable(iterators[d])) for d, _, _ in steps[0].loops}
        values: dict[str, Expr] = {**names, **iterators_at(steps[0], element)}
        local = dict.fromkeys(step.statement.body.target.array for step in steps if step.local)
        held = {**own, **{array: self._declared(array, nodes) for array in local}}
        inside = dict(known)  # variables declared inside of loops are unknown outside
        for step in steps:
            there = inside if step.statement.body.guard is None else dict(inside)
            nodes += self._statement(step, dict(values), held, there, at)
            _forget(inside, held[step.statement.body.target.array])
        if steps[0].condition is not None:
            nodes = [If(simplify(substitute(steps[0].condition, values)), tuple(nodes))]
        for d, low, high in reversed(steps[0].loops):
            name = names[iterators[d]]
            nodes = [For(name.name, Int(low), Binary("<=", name, Int(high)), 1, tuple(nodes))]
        return nodes

    def _statement(self, step: Step, values: dict[str, Expr], own: Mapping[str, Load | LocalBox],
                   known: dict[Load, Load], at: Entered | None) -> list[Node]:
        """Return one instance of a step, for iterators with these values.

        Values that are conditional are computed only where the condition holds.
        """
        body, outer = step.statement.body, list[Node]()

        def placed(expr: Expr, nodes: list[Node]) -> Expr:
            return self.placed(_replaced(substitute(expr, values), own), nodes, known, at)

        def let(lets: Lets, nodes: list[Node]) -> None:
            for variable, value in lets:
                values[variable.name] = self.named(variable, placed(value, nodes), nodes)

        let(body.lets[:body.before_guard], outer)
        guard = placed(body.guard, outer) if body.guard is not None else None
        nodes = outer if guard is None else []
        let(body.lets[body.before_guard:], nodes)
        value, target = placed(body.value, nodes), placed(body.target, nodes)
        assert isinstance(target, Load)
        nodes.append(Assign(target, body.op, value))
        return nodes if guard is None else [*outer, If(guard, tuple(nodes))]


def iterators_at(step: Step, element: tuple[Expr, ...]) -> dict[str, Expr]:
    """Return the iterators of a step that computes an element of its target, as far as the element determines them."""
    return {step.statement.iterators[position]: simplify(Binary("-", index, Int(constant)))
            for index, (position, constant) in zip(element, step.dims, strict=True) if position >= 0}


def _forget(known: dict[Load, Load], written: Load | LocalBox) -> None:
    """Remove elements from `known` whose subscripts depend on what is `written` now."""
    name = written.array if isinstance(written, Load) else written.name
    for element in [element for element in known if any(load.array == name for load in loads_of(element))]:
        del known[element]


def _replaced(expr: Expr, own: Mapping[str, Load | LocalBox]) -> Expr:
    """Return `expr` with loads of the arrays in `own` taken from there."""
    if not isinstance(expr, Load):
        return map_children(expr, lambda child: _replaced(child, own))
    index = tuple(_replaced(i, own) for i in expr.index)
    match own.get(expr.array):
        case None:
            return Load(expr.array, index, expr.access)
        case Load() as variable:
            return variable
        case LocalBox() as box:
            return box.element(index)
