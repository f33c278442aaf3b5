"""The arrays that a kernel keeps in registers, and how statements update elements that they share with other threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from generator.arithmetic import FLOATING, c_type
from generator.decisions.size_lists import smallest_inner
from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Load, children, loads_of
from generator.lowering.core.fill import Updates
from generator.lowering.memory.lines import LineBox, line_boxes
from generator.lowering.memory.private import PrivateBox, private_arrays
from generator.lowering.memory.registers import Register, Variable
from generator.lowering.naming import fresh_name
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import update_of
from generator.polyhedral.kit.tree import Band, Tree
from generator.polyhedral.kit.tree import Mapping as TreeMapping
from generator.polyhedral.memory.accumulate import Kept, Sharing, keepable, sharing
from generator.polyhedral.memory.mapping import MappedKernel, Points, points_of
from generator.polyhedral.memory.placement import locate
from generator.polyhedral.memory.thread_values import thread_values
from generator.polyhedral.schedules.kernels import KernelPart
from generator.polyhedral.schedules.legality import indices
from generator.program import ELEMENT_BYTES, Assignment, Program

MAX_REGISTERS = 64
"""The most elements of one array that a thread keeps for the Plan's decision about registers."""
MAX_PARTIAL = 1024
"""The most elements of one array of which a thread keeps partial results: each one saves atomic updates."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptArrays:
    """The registers of a kernel, its statements that update shared elements, and its private copies per block.

    `variables`: arrays that are not in global memory at all. `lines`: by array, those that single threads own.
    """

    registers: tuple[Register, ...]
    shared_updates: Mapping[str, Updates]
    private: tuple[PrivateBox, ...] = ()
    variables: tuple[Variable, ...] = ()
    lines: Mapping[str, LineBox] = field(default_factory=dict)

    @property
    def by_array(self) -> dict[str, Register | Variable]:
        """The registers and variables by the array that they hold."""
        return {**{one.array: one for one in self.registers}, **{one.array: one for one in self.variables}}

    @property
    def few_parts(self) -> bool:
        """Whether partial results are so few that a GPU has registers for them, where they have constant subscripts.

        Compilers take long for loops over more of them that are unrolled completely.
        """
        sizes = (prod(points.count for points in one.points) for one in self.registers if one.sharing != "thread")
        return any(size <= MAX_REGISTERS for size in sizes)

    @property
    def elements(self) -> list[Kept]:
        """The elements that the registers and variables hold."""
        return [*(one.kept for one in self.registers), *(one.kept for one in self.variables if one.kept is not None)]


@dataclass(frozen=True, slots=True, eq=False)
class Threads:
    """A mapped kernel and its context.

    `prefix`: names of the host loops. `reductions`: relaxed statements. `loops`: names of the loops over a thread's
    points, by statement. `whole`: the kernel's program is the whole program.
    """

    part: KernelPart
    plan: KernelPlan
    mapped: MappedKernel
    prefix: Sequence[str]
    reductions: Sequence[str]
    loops: Mapping[str, Mapping[Points, str]]
    whole: bool


def keep(program: Program, threads: Threads, taken: set[str], allowed: bool) -> KeptArrays:
    """Return what a kernel keeps in registers (nothing unless `allowed`) and per block; new names are added to `taken`.
    """
    part, plan = threads.part, threads.plan
    where = [indices(threads.mapped.tree, level) for level in ("block", "thread")]
    relaxed = [name for name in part.statements if name in threads.reductions]
    shares = {name: sharing(program, name, part, *where) for name in relaxed}
    together = {name: how for name, how in shares.items() if how != "thread"}
    _check_atomics(program, together)
    variables = _variables(program, threads, taken, allowed)
    own = {variable.array for variable in variables}
    registers = []
    for kept in keepable(program, part) if allowed and (plan.registers or together) else ():
        if kept.array in own:
            continue
        wanted = _wanted(kept, plan, together)
        if wanted is not None:
            registers.append(_register(program, threads, kept, wanted, taken))
    by_array = {register.array: register for register in registers}
    private = private_arrays(program, part, plan, threads.prefix, shares, taken)
    updates = {}
    for name in (*together, *(name for name in private if name not in together)):
        statement = program.statement(name)
        update = update_of(program, statement)
        assert update is not None, "only reductions are relaxed"
        updates[name] = Updates(update, by_array.get(statement.body.target.array), private.get(name))
    lines = line_boxes(program, part, plan, tuple(threads.prefix), taken) if not relaxed else {}
    return KeptArrays(tuple(registers), updates, tuple(private.values()), variables, lines)


def _variables(program: Program, threads: Threads, taken: set[str], allowed: bool) -> tuple[Variable, ...]:
    """Return the arrays for which a thread needs only variables: one per point, or one if it runs its points one by
    one.

    Targets of relaxed reductions are left to `keepable`, which orders updates differently.
    """
    part, plan = threads.part, threads.plan
    points = points_of(plan) if not _one_by_one(threads.mapped.tree) else ()
    if not threads.whole or (points and not allowed) or prod(p.count for p in points) > MAX_REGISTERS:
        return ()
    relaxed = {program.statement(name).body.target.array for name in threads.reductions if name in part.statements}
    single = {kept.array: kept for kept in keepable(program, part)}
    found = []
    for array in thread_values(program, part):
        if array in relaxed or (
            smallest_inner(plan.inner_tile) > 1 and array not in single
        ):  # inner tiles change the order within a point
            continue
        users = [s for s in part.statements if any(a.array == array for a in program.statement(s).accesses)]
        loops = {s: tuple(threads.loops[s][p] for p in points) for s in users}
        name = fresh_name(f"{array}_here", taken)
        found.append(Variable(name, array, program.array(array).type, points, loops, single.get(array)))
    return tuple(found)


def _one_by_one(tree: Tree) -> bool:
    """Return whether a thread completes one of its points before it begins the next."""
    while isinstance(tree, TreeMapping):
        tree = tree.child
    return isinstance(tree, Band) and tree.notes[:1] in (("point",), ("neighbour",))


def _check_atomics(program: Program, together: Iterable[str]) -> None:
    """Raise IllegalPlan if one of these statements would have to update elements that are too small for atomics."""
    for name in together:
        array = program.array(program.statement(name).body.target.array)
        if ELEMENT_BYTES[array.type] < 4:
            raise IllegalPlan(f"{name} would update elements of `{array.name}` from several threads, but devices have "
                              f"no atomic updates of {array.type}")


def _wanted(kept: Kept, plan: KernelPlan, together: Mapping[str, Sharing]) -> Sharing | None:
    """Return how the elements of `kept` are shared; None if they stay in global memory."""
    cells = prod(plan.tile[d] // plan.block[d] for d in kept.owned)
    shared = [name for name in kept.statements if name in together]
    if shared:
        alone = kept.statements == (shared[0],)
        return together[shared[0]] if alone and cells <= MAX_PARTIAL else None
    return "thread" if plan.registers and cells <= MAX_REGISTERS else None


def _register(program: Program, threads: Threads, kept: Kept, shared: Sharing, taken: set[str]) -> Register:
    plan = threads.plan
    points = tuple(p for p in points_of(plan) if p.dim in kept.owned)
    name = fresh_name(f"{kept.array}_here", taken)
    names = tuple(fresh_name(f"{kept.array}_{p.dim}{'_next' if p.run else ''}", taken) for p in points)
    every_thread = shared == "thread" or plan.combine == "atomic"
    numbered = list(zip(points, names, strict=True))
    where = locate(kept, threads.part, plan, threads.prefix, numbered, every_thread)
    update = update_of(program, program.statement(kept.statements[0])) if shared != "thread" else None
    by_statement = {s: tuple(threads.loops[s][p] for p in points) for s in kept.statements}
    loaded = any(access.kind != "write" and access.array == kept.array  # a possible write may not happen
                 for s in kept.statements for access in program.statement(s).accesses)
    return Register(name, kept.array, program.array(kept.array).type, kept, points, by_statement, names, where.element,
                    where.exists, shared, update.operator if update else None, loaded)


def unseen_outside(program: Program, part: KernelPart, kept: KeptArrays) -> bool:
    """Return whether statements may run outside of their domains without a visible effect.

    All of them must update registers, and nothing that they evaluate may trap (an integer division by 0) or use a
    subscript that is loaded.
    """
    statements = [program.statement(name) for name in part.statements]
    return (bool(kept.registers) and all(variable.kept is not None for variable in kept.variables)
            and all(s.body.guard is None and s.body.target.array in kept.by_array for s in statements)
            and not any(_risky(value, {a.name: a.type for a in program.arrays})
                    for s in statements for value in _computed(s.body)))


def _computed(body: Assignment) -> Iterator[Expr]:
    """Yield the lets, and the whole right-hand side: `e` of `x = e`, `x / e` of `x /= e`."""
    yield from (value for _, value in body.lets)
    yield Binary(body.op, body.target, body.value) if body.op else body.value


def _risky(expr: Expr, types: Mapping[str, str]) -> bool:
    match expr:
        case Load(_, index) if any(any(loads_of(i)) for i in index):
            return True
        case Binary("/" | "%", _, _) if c_type(expr, types) not in FLOATING:
            return True
    return any(_risky(child, types) for child in children(expr))
