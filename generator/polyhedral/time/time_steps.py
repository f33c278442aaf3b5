"""Programs that sweep repeatedly over the same arrays, and the margins of a tile that runs several steps on its own.

    for (t ..)
        for (i ..) B[i] = A[i - 1] + A[i] + A[i + 1];    a sweep: it writes every element once,
        for (i ..) A[i] = B[i - 1] + B[i] + B[i + 1];    and reads no element that another of its instances writes

A block that has the margins of its tile can run `steps` time steps independently of other blocks: each step computes
less of the margins than the previous one (overlapped tiling; Krishnamoorthy et al., "Effective automatic
parallelization of stencil computations", PLDI 2007). Neighbouring blocks both compute the margins. `time_relations.py`
describes the instances, and has them checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Expr, Int
from generator.polyhedral.dependences.flow import value_flow
from generator.polyhedral.dependences.model import model
from generator.polyhedral.kit.members import coordinate, value_range
from generator.polyhedral.kit.tree import Band, Leaf, Tree, from_isl, statements_of
from generator.polyhedral.kit.tree import Sequence as SequenceTree
from generator.polyhedral.pipelines.nests import iterator_and_constant
from generator.program import Program, Statement

MAX_DIMS = 3
Margin: TypeAlias = tuple[tuple[int, int], ...]
"""Per dimension, the number of elements before and behind a tile."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A statement that writes elements of `array`, each once per time step.

    Element `e` is written by the iteration whose iterator number `dims[d][0]` is `e[d] - dims[d][1]`; without an
    iterator (None) `e[d]` is `dims[d][1]`. `ranges[p]`: the first and last value of iterator p (0: time). `reads`:
    elements of arrays that sweeps write, relative to `e`.
    """

    statement: Statement
    array: str
    dims: tuple[tuple[int | None, int], ...]
    ranges: tuple[tuple[int, int], ...]
    reads: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """A program that is a loop over time around sweeps: `count` steps from `first` on.

    `arrays`: those that sweeps write, all with the same number of dimensions. `extents`: the largest of them. A step
    reads elements of `carried` arrays that an earlier one wrote, or that are never written; of the others only elements
    outside of `written`, the box (first and last index per dimension) that is written in every step.
    """

    first: int
    count: int
    sweeps: tuple[Sweep, ...]
    arrays: tuple[str, ...]
    extents: tuple[int, ...]
    carried: frozenset[str]
    written: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The elements that a block computes around its tile if `left` steps of its time tile follow.

    Sweep k: `sweeps[k]` plus `left` times `slope` elements on each side. `arrays`: the margin needed of each array
    before its first step.
    """

    sweeps: tuple[Margin, ...]
    slope: Margin
    arrays: tuple[tuple[str, Margin], ...]


@dataclass(frozen=True, slots=True)
class TimeTiling:
    """The steps in `chunks` launches, an even number: chunk c runs `least` steps, one more if `c >= shorter`.

    The last one always runs a step: it stores what every step writes anew.
    """

    chunks: int
    least: int
    shorter: int

    @property
    def most(self) -> int:
        """The steps of the longest launch."""
        return self.least + (self.shorter < self.chunks)


def time_tiling(loop: TimeLoop, steps: int) -> TimeTiling:
    """Return launches of at most `steps` steps. After an even number of them, the results are in the original arrays.
    """
    chunks = 2 * -(-loop.count // (2 * steps))
    return TimeTiling(chunks, loop.count // chunks, chunks - loop.count % chunks)


def required_time_loop(program: Program) -> TimeLoop:
    """Return `time_loop`. Raises IllegalPlan for any other program."""
    found = time_loop(program)
    if found is None:
        raise IllegalPlan(f"{program.name} is not a loop over time around sweeps that read constant distances away")
    return found


@lru_cache(maxsize=16)
def time_loop(program: Program) -> TimeLoop | None:
    """Return the program as a loop over time; None if it is something else."""
    schedule = isl.Schedule(program.schedule)
    names = _sweep_names(from_isl(schedule), schedule.get_domain())
    targets = {program.statement(name).body.target.array for name in names}
    sweeps = [_sweep(program, program.statement(name), targets) for name in names]
    known = tuple(sweep for sweep in sweeps if sweep is not None)
    times = {sweep.ranges[0] for sweep in known}
    ranks = {len(sweep.dims) for sweep in known}
    if not known or len(known) < len(names) or len(times) > 1 or len(ranks) > 1 or not 1 <= max(ranks) <= MAX_DIMS:
        return None
    if program.stages or not _independent(program, known):
        return None
    first, last = min(times)
    arrays = tuple(a.name for a in program.arrays if a.name in targets)
    extents = tuple(map(max, zip(*(program.array(name).extents for name in arrays), strict=True)))
    written = {name: box for name in arrays if (box := _written(known, name)) is not None}
    carried = frozenset(name for name in arrays if name not in written or _carries(program, name, written[name]))
    return TimeLoop(first, 1 + last - first, known, arrays, extents, carried,
                    tuple((name, written[name]) for name in arrays if name not in carried))


def _sweep_names(tree: Tree, domain: Any) -> tuple[str, ...]:
    """Return the statements of the nests inside a loop over their first iterators, in order; () for another tree."""
    if not isinstance(tree, Band) or len(tree.members) != 1:
        return ()
    for one in (domain.get_set_list().get_at(k) for k in range(domain.get_set_list().n_set())):
        plain = coordinate(one.get_tuple_name(), one.dim(isl.dim_type.set), 0) if one.dim(isl.dim_type.set) else None
        if plain is None or not _equal_on(tree.members[0], plain, isl.UnionSet.from_set(one)):
            return ()
    nests = tree.child.filters if isinstance(tree.child, SequenceTree) else (domain,)
    below = tree.child.children if isinstance(tree.child, SequenceTree) else (tree.child,)
    names = [statements_of(nest.intersect(domain)) for nest in nests]
    if any(len(found) != 1 for found in names) or not all(_only_loops(child) for child in below):
        return ()
    return tuple(found[0] for found in names)


def _equal_on(one: Any, other: Any, domain: Any) -> bool:
    first, second = (isl.UnionMap.from_union_pw_aff(member.intersect_domain(domain)) for member in (one, other))
    return bool(first.is_equal(second))


def _only_loops(tree: Tree) -> bool:
    while isinstance(tree, Band):
        tree = tree.child
    return isinstance(tree, Leaf)


def _sweep(program: Program, statement: Statement, targets: set[str]) -> Sweep | None:
    """Return the statement as a sweep; None if it is not one."""
    body, domain = statement.body, isl.Set(statement.domain)
    dims = [_place(index, statement.iterators) for index in body.target.index]
    always = body.guard is None and not any(a.kind == "may_write" for a in statement.accesses)
    if not always or body.lets or not domain.is_box():
        return None
    positions = sorted(d[0] for d in dims if d is not None and d[0] is not None)
    if None in dims or positions != list(
        range(1, len(statement.iterators))
    ):  # an element per iteration, none depends on time
        return None
    write = next(a for a in statement.accesses if a.kind == "write")
    reads = []
    for access in statement.accesses:
        if access.kind == "read" and access.array in targets:
            distance = _distance(write.relation, access.relation)
            if distance is None:
                return None
            reads.append((access.array, distance))
    ranges = tuple((int(domain.dim_min_val(d).to_python()), int(domain.dim_max_val(d).to_python()))
                   for d in range(len(statement.iterators)))
    return Sweep(
        statement, body.target.array, tuple(d for d in dims if d is not None), ranges, tuple(dict.fromkeys(reads))
    )


def _place(index: Expr, iterators: Sequence[str]) -> tuple[int | None, int] | None:
    """Return a subscript of a target as in Sweep.dims; None for others."""
    return (None, index.value) if isinstance(index, Int) else iterator_and_constant(index, iterators)


def _distance(write: str, read: str) -> tuple[int, ...] | None:
    """Return the distance from the written to the read element, if it is constant."""
    relation = isl.Map(write).reverse().apply_range(isl.Map(read))
    if relation.dim(isl.dim_type.in_) != relation.dim(isl.dim_type.out) or relation.is_empty():
        return None
    name = relation.get_tuple_name(isl.dim_type.in_)
    deltas = relation.set_tuple_name(isl.dim_type.out, name).deltas()
    ends = [(int(deltas.dim_min_val(d).to_python()), int(deltas.dim_max_val(d).to_python()))
            for d in range(deltas.dim(isl.dim_type.set))] if deltas.is_bounded() else [(0, 1)]
    return tuple(low for low, _ in ends) if all(low == high for low, high in ends) else None


def _independent(program: Program, sweeps: Sequence[Sweep]) -> bool:
    """Return whether no instance of a sweep depends on another one of the same sweep in the same time step."""
    dependences = model(program).dependences
    for sweep in sweeps:
        names = [f"v{k}" for k in range(len(sweep.statement.iterators))]
        others = ["v0", *(f"w{k}" for k in range(1, len(names)))]
        same = isl.UnionMap(
            f"{{ {sweep.statement.name}[{', '.join(names)}] -> {sweep.statement.name}[{', '.join(others)}] }}"
        )
        if not dependences.intersect(same).is_empty():
            return False
    return True


def _written(sweeps: Sequence[Sweep], array: str) -> tuple[tuple[int, int], ...] | None:
    """Return the box of the elements that a single sweep writes; None if several sweeps write the array."""
    own = [sweep for sweep in sweeps if sweep.array == array]
    if len(own) > 1:
        return None
    return tuple((c, c) if p is None else (own[0].ranges[p][0] + c, own[0].ranges[p][1] + c) for p, c in own[0].dims)


def _carries(program: Program, array: str, box: Sequence[tuple[int, int]]) -> bool:
    """Return whether a read of an element of `box` sees a value of an earlier time step, or from before the program."""
    inside = isl.UnionSet(f"{{ {array}[{', '.join(f'e{d}' for d in range(len(box)))}] : "
                          f"{' and '.join(f'{low} <= e{d} <= {high}' for d, (low, high) in enumerate(box))} }}")
    reads = isl.UnionMap("{ }")
    for statement in program.statements:
        for access in statement.accesses:
            if access.array == array and access.kind == "read":
                reads = reads.union(isl.UnionMap(access.relation).intersect_range(inside))
    if reads.is_empty():
        return False
    writes = model(program).writes.intersect_range(inside)
    flow = value_flow(reads, writes, writes, isl.Schedule(program.schedule))
    if not flow.unsourced.is_empty():
        return True
    listed = flow.dependences.get_map_list()
    pairs = (listed.get_at(k) for k in range(listed.n_map()))
    return any(
        value_range(_time_of(pair, isl.dim_type.out).sub(_time_of(pair, isl.dim_type.in_))) != (0, 0) for pair in pairs
    )


def _time_of(pair: Any, side: Any) -> Any:
    """Return the first iterator of one end of an isl Map, as an isl PwAff on the wrapped pairs."""
    wrapped = pair.wrap()
    position = 0 if side == isl.dim_type.in_ else pair.dim(isl.dim_type.in_)
    return (
        isl.Aff.var_on_domain(isl.LocalSpace.from_space(wrapped.get_space()), isl.dim_type.set, position)
        .to_pw_aff()
        .intersect_domain(wrapped)
    )


def overlap(loop: TimeLoop, steps: int) -> Overlap:
    """Return the least margins of this form with which a block can run launches of at most `steps` steps independently.
    """
    steps = time_tiling(loop, steps).most
    none: Margin = ((0, 0),) * len(loop.extents)
    need = dict.fromkeys(loop.arrays, none)
    margins: list[Margin] = []
    for sweep in reversed(loop.sweeps):
        own = need[sweep.array]
        margins.append(own)
        for array, distance in sweep.reads:
            reach = tuple((low - by, high + by) for (low, high), by in zip(own, distance, strict=True))
            need[array] = _wider(need[array], reach)
    margins.reverse()
    slope = none
    for sweep, own in zip(loop.sweeps, margins, strict=True):
        slope = _wider(slope, tuple((a - c, b - d) for (a, b), (c, d) in zip(need[sweep.array], own, strict=True)))
    arrays = tuple((name, grown(need[name], slope, steps - 1)) for name in loop.arrays)
    return Overlap(tuple(margins), slope, arrays)


def _wider(one: Margin, other: Margin) -> Margin:
    return tuple((max(a, c), max(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))


def grown(margin: Margin, slope: Margin, times: int) -> Margin:
    """Return `margin` plus `times` times `slope`."""
    return tuple((a + times * c, b + times * d) for (a, b), (c, d) in zip(margin, slope, strict=True))
