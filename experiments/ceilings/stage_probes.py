"""A single stage in a loop over data in shared memory, in one thread: how long does an element take?

This is TimePerIter of PolyMage-GPU (Jangda & Guha 2020, section 5.3): one block of one thread computes ROW elements of
the stage repeatedly. Loads from arrays become loads from shared memory with the same distances along x as in the
program, and an iteration of a reduction loop reads the next element. Other subscripts cost nothing here. On CPUs, rows
may be vectorised, as in the kernels of plans. On GPUs, compilers must not unroll loops over rows: they took up to 255
registers for that, and spilled more, whereas the registers of a stage (`stage_registers`) are those of an element.

The data are ones, and the probe's output does not depend on what the stage computes, but compilers cannot know that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from generator.emit.kernel import printed
from generator.emit.preamble import preamble
from generator.expr import (
    Binary,
    Cast,
    Expr,
    Fold,
    Int,
    Load,
    Name,
    Real,
    Select,
    evaluate,
    map_children,
    names_of,
    parts,
)
from generator.linear import substitute
from generator.lowered_kernel import LoweredKernel
from generator.nest import Assign, Declare, For, If, Node
from generator.plan import KernelPlan, Plan
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.polyhedral.pipelines.nests import groups_of, steps_of
from generator.problem import Problem, Reference
from generator.program import ELEMENT_BYTES, Access, Array, Assignment, Box, Program, Statement, Step
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from generator.variant import Kernel, Launch, Variant

ROW = 256
"""The number of elements that the thread computes in sequence."""
WORK = 1 << 24
"""The approximate number of operations per launch, which take milliseconds."""
MOST_TRIPS, MOST_STRIDE = 4096, 8
"""Limits for measuring a stage: iterations of its reduction loops per element, distance of neighbouring loads."""
_X, _ROUND, _RESULT, _ONES, _OUT = Name("x"), Name("n"), "row", "A", "B"


@dataclass(frozen=True, slots=True)
class SharedRow:
    """An array of the probe in shared memory."""

    name: str
    type: str
    sizes: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """See LoweredKernel."""
        return prod(self.sizes) * ELEMENT_BYTES[self.type]


@dataclass(frozen=True, slots=True)
class Unmeasurable(Exception):
    """No probe can represent the stage, for the given reason."""

    reason: str


def steps_by_array(program: Program) -> dict[str, tuple[Step, ...]]:
    """Return the steps that compute each array, for arrays whose steps are known."""
    found = {}
    for group, steps in zip(groups_of(program), steps_of(program), strict=True):
        if steps and len(group.arrays) == 1:
            found[min(group.arrays)] = steps
    return found


@dataclass(slots=True)
class _Writer:
    """Makes the body of a probe; `rows` maps the arrays that it reads to the elements needed beyond ROW."""

    program: Program
    array: str
    rolled: bool
    _numbers: dict[str, dict[tuple[Expr, ...], int]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def step(self, step: Step) -> Node:
        """Return a loop over the row in which `step` computes its elements."""
        body, statement = step.statement.body, step.statement
        if any(isinstance(part, Fold) for value in (*body.computed, *self._guards(step)) for part in parts(value)):
            raise Unmeasurable("data may decide how often a loop of it runs")
        if prod(high - low + 1 for _, low, high in step.loops) > MOST_TRIPS:
            raise Unmeasurable(f"an element of it takes more than {MOST_TRIPS} rounds")
        inner = statement.iterators[step.dims[-1][0]] if step.dims else ""
        loops = {statement.iterators[place]: Name(f"l{k}") for k, (place, _, _) in enumerate(step.loops)}
        values: dict[str, Expr] = {**dict.fromkeys(statement.iterators, Int(1)), **loops, inner: _X}

        def here(expr: Expr) -> Expr:
            return substitute(self._placed(expr, step, inner), values)

        nodes: tuple[Node, ...] = (Assign(Load(_RESULT, (_X,)), body.op, here(body.value)),)
        for name, value in reversed(body.lets):
            nodes = (Declare(name.name, name.type, ()), Assign(Load(name.name), "", here(value)), *nodes)
        for guard in self._guards(step):
            nodes = (If(here(guard), nodes),)
        for k, (_, low, high) in reversed(list(enumerate(step.loops))):
            nodes = (For(f"l{k}", Int(low), Binary("<=", Name(f"l{k}"), Int(high)), 1, nodes),)
        return For(_X.name, Int(0), Binary("<", _X, Int(ROW)), 1, nodes, rolled=self.rolled)

    def _guards(self, step: Step) -> Iterator[Expr]:
        yield from (one for one in (step.statement.body.guard, step.condition) if one is not None)

    def _placed(self, expr: Expr, step: Step, inner: str) -> Expr:
        """Return `expr` with loads from the probe's rows."""
        if not isinstance(expr, Load):
            return map_children(expr, lambda part: self._placed(part, step, inner))
        kind = self.program.array(expr.array).type
        if not expr.index:
            return Cast(kind, Load(_ONES, (Int(1),)))
        if expr.array == self.array:
            return Load(_RESULT, (_X,))
        known = self._numbers.setdefault(expr.array, {})
        number = known.setdefault(expr.index, len(known))
        stride = _stride(expr.index[-1], step, inner, self.program.array(expr.array).extents[-1])
        along = [(k, high) for k, (place, _, high) in enumerate(step.loops)
                 if any(step.statement.iterators[place] in names_of(part) for part in expr.index)][-1:]
        place: Expr = Binary("+", Binary("*", Name(inner), Int(stride)) if stride and inner else Int(0), Int(number))
        for k, _ in along:
            place = Binary("+", place, Name(f"l{k}"))
        room = stride * ROW + number + 1 + sum(max(high, 0) for _, high in along)
        self.rows[expr.array] = max(room, self.rows.get(expr.array, 0))
        return Load(_row_name(list(self._numbers).index(expr.array)), (place,))


def _row_name(number: int) -> str:
    return f"s{number}"


def _stride(subscript: Expr, step: Step, inner: str, extent: int) -> int:
    """Return the distance between the reads of neighbours along x; 0 if it depends on data."""
    if inner not in names_of(subscript):
        return 0
    middle = dict.fromkeys(step.statement.iterators, extent // 2)
    try:
        ends = [evaluate(subscript, middle | {inner: middle[inner] + k}) for k in (0, 4)]
    except (TypeError, KeyError, ZeroDivisionError):
        return 0
    stride = abs(ends[1] - ends[0]) // 4
    if stride > MOST_STRIDE:
        raise Unmeasurable(f"neighbours read elements that are {stride} apart")
    return stride


def rounds(arithmetic: float) -> int:
    """Return how often a launch computes the row of a stage with `arithmetic` operations per element."""
    return max(1, int(WORK / (ROW * max(arithmetic, 1.0))))


def probe_kernel(program: Program, array: str, rolled: bool = False) -> LoweredKernel:
    """Return the probe of the stage `array` of `program`; `rolled`: loops over rows must not be unrolled. Raises
    Unmeasurable.
    """
    steps, node = steps_by_array(program).get(array), dataflow(program).node(array)
    if steps is None or node is None:
        raise Unmeasurable("it is not computed element by element")
    writer = _Writer(program, array, rolled)
    loops = tuple(writer.step(step) for step in steps)
    rows = [SharedRow(_row_name(k), program.array(name).type, (room,))
            for k, (name, room) in enumerate(writer.rows.items())]
    one = Load(_ONES, (Binary("%", _X, Int(ROW)),))
    fill = tuple(
        For(_X.name, Int(0), Binary("<", _X, Int(row.sizes[0])), 1, (Assign(Load(row.name, (_X,)), "", one),),
            rolled=rolled)
        for row in rows
    )
    changed = Binary("%", _ROUND, Int(ROW))
    again = tuple(Assign(Load(row.name, (Int(0),)), "", Load(_ONES, (changed,))) for row in rows)
    often = For(_ROUND.name, Int(0), Binary("<", _ROUND, Int(rounds(node.arithmetic))), 1, (*again, *loops))
    result = SharedRow(_RESULT, program.array(array).type, (ROW,))
    arrays = _arrays()
    return LoweredKernel(("S0",), (f"{array}, alone",), arrays, (), (), (1,), (1,),
                         (*fill, _cleared(rolled), often, _told(rolled)), (*rows, result))


def _cleared(rolled: bool) -> Node:
    """Return a loop that sets the results of an update to ones."""
    return For(_X.name, Int(0), Binary("<", _X, Int(ROW)), 1,
               (Assign(Load(_RESULT, (_X,)), "", Load(_ONES, (_X,))),), rolled=rolled)


def _told(rolled: bool) -> Node:
    """Return a loop that writes ones to the output; compilers must assume that it may write the results."""
    found = Select(Binary(">", Load(_ONES, (Int(0),)), Real("2.0f")), Load(_RESULT, (_X,)), Load(_ONES, (_X,)))
    return For(_X.name, Int(0), Binary("<", _X, Int(ROW)), 1, (Assign(Load(_OUT, (_X,)), "", found),), rolled=rolled)


def _arrays() -> tuple[Array, ...]:
    return Array(_ONES, "float", (ROW,), "in"), Array(_OUT, "float", (ROW,), "out")


def probe_problem() -> Problem:
    """Return the program that all probes implement, with its data: it copies ROW ones."""
    ones = np.ones(ROW, np.float32)
    domain = f"{{ S0[i] : 0 <= i < {ROW} }}"
    accesses = (Access(_ONES, "{ S0[i] -> A[i] }", "read"), Access(_OUT, "{ S0[i] -> B[i] }", "write"))
    body = Assignment(Load(_OUT, (Name("i"),), 1), "", Load(_ONES, (Name("i"),), 0))
    statement = Statement("S0", ("i",), domain, body, accesses, "B[i] = A[i]", 1)
    schedule = f'{{ domain: "{domain}", child: {{ schedule: "[{{ S0[i] -> [(i)] }}]" }} }}'
    program = Program("stages", "probe", _arrays(), (statement,), schedule, (), (Box(_OUT, (0,), (ROW - 1,)),))
    return Problem(program, Reference({_ONES: ones, _OUT: np.zeros_like(ones)}, {_OUT: ones}, (), "harness", "", ()))


def probe_plan(array: str) -> Plan:
    """Return a Plan that encodes the probe of a stage."""
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), (1,), (1,)),), parameters=(("stage", array),))


@dataclass(frozen=True, slots=True)
class LowerStage:
    """Makes the probes of the stages of `program`; replaces the lowering of real programs."""

    program: Program

    def __call__(self, program: Program, plan: Plan, target: Target) -> Variant:
        """Return the kernel for a Plan of `probe_plan`. Raises Unmeasurable."""
        array = str(dict(plan.parameters)["stage"])
        kernel = probe_kernel(self.program, array, rolled=not target.shares_host_cores)
        code = printed(kernel, (), target)
        types = {row.type for row in kernel.shared}
        header = preamble(self.program if "double" in types else program, code.needs, target.dialect)
        made = Kernel("probe", ("S0",), code.arguments, (), (), (1,), kernel.local_bytes, code.text, preamble=header)
        return Variant(plan, target.dialect, header, (made,), (Launch("probe", (Int(1),), ()),))
