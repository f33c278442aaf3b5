"""Kernels with full tiles only: partial tiles are padded with instances whose results are dropped.

A statement that updates only registers may run for points outside of its domain, as long as the elements that it reads
exist: its result is never stored. Then the loops over a thread's points have constant bounds and no conditions, so they
can be unrolled completely and their registers stay registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from generator.expr import loads_of
from generator.plan import KernelPlan
from generator.polyhedral.kit.affine import Iteration, NotAffine, relation
from generator.polyhedral.kit.members import union_of, value_range
from generator.polyhedral.kit.tree import Band, Leaf, Sequence, Tree
from generator.polyhedral.memory.accumulate import Kept
from generator.polyhedral.memory.coverage import values_at
from generator.polyhedral.schedules.kernels import Dimension, KernelPart
from generator.program import Program, Statement


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """A program and one of its kernels with padded domains.

    `outside`: per statement and access, the subscripts in which the new instances leave the array (below 0, beyond the
    end). `full_tiles`: per dimension with partial tiles, the number of full ones: instances of a tile that is full in
    all of them leave no array. (Empty: instances of any tile may.)
    """

    program: Program
    part: KernelPart
    full_tiles: Mapping[int, int]
    outside: Mapping[tuple[str, int], tuple[tuple[bool, bool], ...]]


class _Irregular(Exception):
    """The kernel cannot be padded along these loops."""


def padded(program: Program, part: KernelPart, plan: KernelPlan, kept: SequenceOf[Kept]) -> Padded | None:
    """Return `part` with full tiles along the dimensions that all of `kept` depend on; None if that changes nothing.

    If the kernel is a product of its parallel loops and the rest, partial tiles are padded; if not (a triangle), all
    tiles with some of its points. Every statement of the kernel must update one of the arrays `kept` and nothing else.
    That the added instances update no existing element is checked exactly.
    """
    owned = [d for d in range(len(part.parallel)) if all(d in one.owned for one in kept)]
    partial = [d for d in owned if part.parallel[d].extent % plan.tile[d]]
    try:
        regular = all(_is_product(s, part, owned) for s in _sets(part.domain))
    except _Irregular:
        return None
    dims = partial if regular else owned
    return _with_full_tiles(program, part, plan, kept, dims) if dims else None


def _with_full_tiles(program: Program, part: KernelPart, plan: KernelPlan, kept: SequenceOf[Kept],
                     dims: SequenceOf[int]) -> Padded | None:
    """Return the part padded along `dims`."""
    try:
        domains = {s.get_tuple_name(): _filled(s, part, plan, dims) for s in _sets(part.domain)}
        domain = union_of(list(domains.values()))
        parallel = tuple(Dimension(_extended(dim.member, domains), dim.low,
                                   _last(dim, plan.tile[d]) if d in dims else dim.high)
                         for d, dim in enumerate(part.parallel))
        whole = replace(part, domain=domain, parallel=parallel, tree=_tree(part.tree, part.domain, domains),
                        prefix=tuple(_extended(m.intersect_domain(part.domain), domains) for m in part.prefix))
        statements = tuple(_statement(s, domains[s.name]) if s.name in domains else s for s in program.statements)
    except _Irregular:
        return None
    if not all(_unseen(one, part, whole) for one in kept):
        return None
    larger = replace(program, statements=statements)
    filled = [s for s in statements if s.name in domains]
    reals = [part.domain.extract_set(domains[s.name].get_space()) for s in filled]
    outside = {(s.name, n): found for s in filled for n, found in enumerate(_outside(larger, s))}
    within = [_statement(s, _boxed(domains[s.name], real, part, dims)) for s, real in zip(filled, reals, strict=True)]
    safe = not any(any(leaves) for s in within for found in _outside(larger, s) for leaves in found)
    full = (
        {d: part.parallel[d].extent // plan.tile[d] for d in dims if part.parallel[d].extent % plan.tile[d]}
        if safe
        else {}
    )
    return Padded(larger, whole, full, outside)


def _sets(union: Any) -> Iterator[Any]:
    listed = union.get_set_list()
    yield from (listed.get_at(i) for i in range(listed.n_set()))


def _last(dim: Dimension, tile: int) -> int:
    """Return the greatest value in the last tile of `dim`."""
    return dim.low - (-dim.extent // tile) * tile - 1


def _unseen(kept: Kept, part: KernelPart, whole: KernelPart) -> bool:
    """Return whether no instance of `whole` outside of `part` updates an element of `kept` that `part` updates."""
    real = isl.UnionSet("{ }")
    added = isl.UnionSet("{ }")
    for one in _sets(part.domain):
        if one.get_tuple_name() in kept.statements:
            larger = whole.domain.extract_set(one.get_space())
            real = real.union(isl.UnionSet.from_set(one))
            added = added.union(isl.UnionSet.from_set(larger.subtract(one)))
    members = [*whole.prefix, *(whole.parallel[d].member for d in kept.owned)]
    cells = [values_at([m.intersect_domain(d) for m in members], d).range() for d in (real, added)]
    return bool(cells[0].intersect(cells[1]).is_empty())


def _is_product(domain: Any, part: KernelPart, dims: SequenceOf[int]) -> bool:
    """Return whether `domain` is a box along the parallel loops `dims`, for all values of its other iterators.

    Raises _Irregular.
    """
    free = domain
    for d in dims:
        free = free.drop_constraints_involving_dims(isl.dim_type.set, _moves(part.parallel[d], domain)[1], 1)
    return bool(_boxed(free, domain, part, dims).is_equal(domain))


def _boxed(larger: Any, domain: Any, part: KernelPart, dims: SequenceOf[int]) -> Any:
    """Return the points of `larger` at which the parallel loops `dims`, known on `domain`, have values of the kernel.
    """
    for d in dims:
        value, _ = _moves(part.parallel[d], domain)
        larger = larger.intersect(_between(value, part.parallel[d].low, part.parallel[d].high))
    return larger


def _filled(domain: Any, part: KernelPart, plan: KernelPlan, dims: SequenceOf[int]) -> Any:
    """Return all points of the tiles along `dims` that contain points of `domain`, for each value of its other
    iterators.

    Raises:
        _Irregular: a parallel loop has several iterators.
    """
    same = isl.Map.universe(domain.get_space().map_from_set())
    others = set(range(domain.dim(isl.dim_type.set)))
    for d in dims:
        value, moved = _moves(part.parallel[d], domain)
        others.discard(moved)
        number = value.add_constant_val(isl.Val(-part.parallel[d].low)).scale_down_val(isl.Val(plan.tile[d])).floor()
        same = same.intersect(number.eq_map(number))
    for k in others:
        same = same.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return domain.apply(same).coalesce()


def _moves(dim: Dimension, domain: Any) -> tuple[Any, int]:
    """Return a parallel loop on the instances of one statement, and its only iterator. Raises _Irregular."""
    value = _affine(dim.member, domain)
    moved = [k for k in range(value.dim(isl.dim_type.in_)) if value.involves_dims(isl.dim_type.in_, k, 1)]
    if len(moved) != 1:
        raise _Irregular
    return value, moved[0]


def _between(value: Any, low: int, high: int) -> Any:
    space = isl.LocalSpace.from_space(value.domain().get_space())
    limits = [isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).set_constant_val(isl.Val(n))) for n in (low, high)]
    return value.ge_set(limits[0]).intersect(value.le_set(limits[1]))


def _affine(member: Any, domain: Any) -> Any:
    """Return a member on the instances of one statement, as an isl PwAff defined everywhere. Raises _Irregular."""
    target = domain.get_space().from_domain().add_dims(isl.dim_type.out, 1)
    value = member.extract_pw_aff(target).gist(domain)
    if not value.isa_aff():
        raise _Irregular
    return isl.PwAff.from_aff(value.as_aff())


def _extended(member: Any, domains: Mapping[str, Any]) -> Any:
    """Return `member` on the padded domains of its statements. Raises _Irregular."""
    result = None
    pieces = member.domain()
    for one in _sets(pieces):
        larger = domains[one.get_tuple_name()]
        value = isl.UnionPwAff.from_pw_aff(_affine(member, one).intersect_domain(larger))
        result = value if result is None else result.union_add(value)
    if result is None:
        raise _Irregular
    return result


def _tree(tree: Tree, domain: Any, domains: Mapping[str, Any]) -> Tree:
    match tree:
        case Band():
            return replace(tree, members=tuple(_extended(m, domains) for m in tree.members),
                           child=_tree(tree.child, domain, domains))
        case Sequence(filters, children):
            for one in (s for f in filters for s in _sets(f.intersect(domain))):
                if not one.is_equal(domain.extract_set(one.get_space())):
                    raise _Irregular  # a part of a statement's instances
            larger = [union_of([domains[s.get_tuple_name()] for s in _sets(f.intersect(domain))]) for f in filters]
            return Sequence(tuple(larger), tuple(_tree(c, domain, domains) for c in children))
        case Leaf():
            return tree
        case _:
            raise AssertionError("only unmapped trees are filled up")


def _statement(statement: Statement, domain: Any) -> Statement:
    """Return `statement` on a larger domain, with relations recomputed from its subscripts, which cover new instances.

    Raises:
        _Irregular: a subscript is not affine.
    """
    body, at = statement.body, Iteration(statement.iterators, domain.reset_tuple_id())
    subscripts = {load.access: load.index for expr in (body.target, *body.computed) for load in loads_of(expr)}
    if body.op:
        subscripts[body.target.access - 1] = body.target.index
    accesses = []
    for number, access in enumerate(statement.accesses):
        index = subscripts[number]
        try:
            accesses.append(replace(access, relation=relation(at, statement.name, access.array, index,
                                                              (None,) * len(index)).text))
        except NotAffine:
            raise _Irregular from None
    return replace(statement, domain=str(domain), accesses=tuple(accesses))


def _outside(program: Program, statement: Statement) -> Iterator[tuple[tuple[bool, bool], ...]]:
    for access in statement.accesses:
        index = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(isl.Map(access.relation)))
        ranges = [value_range(index.get_pw_aff(d)) for d in range(len(program.array(access.array).extents))]
        yield tuple((low < 0, high >= extent)
                    for (low, high), extent in zip(ranges, program.array(access.array).extents, strict=True))
