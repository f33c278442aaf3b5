"""Kernels whose main part is a sum of products, for tensor cores.

    for i, j: { C[i][j] *= beta; for k: C[i][j] += alpha * A[i][k] * B[k][j]; }

is one: the statement with the sum has a *left* factor without column indices (j), and a *right* factor without row
indices (i); or it adds several such products (`products`). Then a block can first add up `sums[i][j] = sum over k of
A[i][k] * B[k][j]` for its whole tile, in any order of k, from copies of both factors. What remains is a separate
kernel, the *rest*, in which the statement runs once per element: `C[i][j] += alpha * sums[i][j]`.

Everything is decided exactly:

- The statement is a reduction, so its own updates have no order (`dependences.reductions`).
- Its instances are all combinations of an element (i, j) of some set with all values of the reduced iterators: the sums
  have the terms that the program adds, and no others.
- The factors exist for all rows (columns) of the kernel and all values of the reduced iterators, whatever the other
  loops do: copies stay inside the array.
- No statement of the kernel writes what the factors read: they may be read before everything else.
- No launch of a host loop computes factors of a later launch: the errors of rounded factors would add up from launch to
  launch, and the tolerance counts kernels (`generator.precision`).
- The rest has the other dependences of all instances of the statement; it runs where the last of them did. This is
  checked here for a usual mapping, and again for that of each plan when it is lowered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import combinations
from typing import Any, TypeAlias, assert_never

import islpy as isl

from generator.arithmetic import c_type
from generator.errors import IllegalPlan
from generator.expr import Binary, Call, Expr, Load, Name, Unary, loads_of, parts
from generator.plan import KernelPlan
from generator.polyhedral.dependences.reductions import Update, reducible, sums, update_of
from generator.polyhedral.kit.members import ends
from generator.polyhedral.kit.parsed import map_of, set_of
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Tree
from generator.polyhedral.kit.tree import Mapping as Mapped
from generator.polyhedral.kit.tree import Sequence as InOrder
from generator.polyhedral.memory.footprint import fill_points
from generator.polyhedral.memory.mapped import check_mapped
from generator.polyhedral.memory.mapping import map_kernel
from generator.polyhedral.memory.products import Product, products_of, terms_of
from generator.polyhedral.schedules.kernels import Dimension, KernelPart, dimension
from generator.program import Access, Program, Statement

SUMS = "antune_sums"
"""A function of row and column iterators: the sums of a block."""
NO_SUM = "no sum of products with rows and columns: "
"""The beginning of refusals."""
_USUAL = (32, 8)
"""Rows (columns) of a tile and threads along them."""


@dataclass(frozen=True, slots=True)
class Index:
    """An iterator of the statement, with its least and greatest value there.

    `shift`: a member of the kernel (a host loop or a parallel dimension) is the iterator plus `shift`. `least`, `most`:
    the iterator's values at the ends of that member, which other statements of the kernel may extend; for an iterator
    without a member, those of the statement.
    """

    iterator: str
    low: int
    high: int
    shift: int
    least: int
    most: int

    @property
    def extent(self) -> int:
        """The number of values."""
        return self.high - self.low + 1


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """`sums[row, column] = sum over all values of `depth` of all products`, for the statement called `statement`.

    `outer`: the kernel's host loops. `parallel`: the parallel dimensions of `part`, outermost first, which is the
    kernel itself, or `with_columns` of it. Several iterators of one dimension count its values row by row. `rows`,
    `columns`: the numbers of two dimensions. `products`: their factors are expressions over iterators. `program`,
    `rest`: what remains to be done once the sums are known.
    """

    statement: str
    part: KernelPart
    outer: tuple[Index, ...]
    parallel: tuple[tuple[Index, ...], ...]
    rows: int
    columns: int
    depth: tuple[Index, ...]
    products: tuple[Product, ...]
    program: Program
    rest: KernelPart


@lru_cache(maxsize=1024)
def contraction_of(program: Program, part: KernelPart, reductions: tuple[str, ...] = ()) -> Contraction:
    """Return the sum of products in a kernel of `program`. `reductions`: those that its schedule runs in parallel.

    Raises:
        IllegalPlan: there is none; the message says why.
    """
    if part.coarse or len(part.parallel) < 2:
        raise IllegalPlan(f"{NO_SUM}it has no two parallel dimensions of iterations")
    if reductions:
        raise IllegalPlan(f"{NO_SUM}threads share the updates of "
                          f"{', '.join(reductions)}")
    if any(stage.where == "block" for stage in program.stages):
        raise IllegalPlan(f"{NO_SUM}its blocks compute other arrays besides")
    reasons = list[str]()
    for one, members in ((part, tuple((one,) for one in part.parallel)), *with_columns(part)):
        for name in part.statements:
            try:
                return _contraction(program, one, members, program.statement(name))
            except IllegalPlan as reason:
                reasons += [f"{name} {reason}"] if one is part else []
    raise IllegalPlan(f"{NO_SUM}{'; '.join(reasons)}")


Members: TypeAlias = tuple[tuple[Dimension, ...], ...]
"""The members behind each parallel dimension, with their values over the kernel."""


def with_columns(part: KernelPart) -> tuple[tuple[KernelPart, Members], ...]:
    """Return the kernel with one more parallel loop, if it has one more than device dimensions, and the members behind
    each.

    The first two loops are then counted by one dimension; () if there is no such loop.

        `parallel n, y, x: for c (parallel): ..` -> `parallel ny, x, c: ..`, ny = n * (number of y) + y.
    """
    if len(part.parallel) != 3 or not isinstance(part.tree, Band) or not part.tree.coincident[0]:
        return ()
    tree, (first, second, third) = part.tree, part.parallel
    low = isl.UnionPwAff.val_on_domain(second.member.domain(), isl.Val(second.low))
    both = first.member.scale_val(isl.Val(second.extent)).add(second.member.sub(low))
    below = tree.child if len(tree.members) == 1 else replace(
        tree, members=tree.members[1:], coincident=tree.coincident[1:], notes=tree.notes[1:])
    column = dimension(tree.members[0], part.domain)
    wider = replace(part, parallel=(dimension(both, part.domain), third, column), tree=below, order=())
    return ((wider, ((first, second), (third,), (column,))),)


def _contraction(program: Program, part: KernelPart, members: Members, statement: Statement) -> Contraction:
    update = _update(program, statement)
    outer, parallel, depth, instances = _indices(part, members, statement)
    terms = terms_of(update.contribution)
    factors = [factor for term in terms for factor in term.factors]
    types = {array.name: array.type for array in program.arrays}
    if kinds := {c_type(factor, types) for factor in factors} - {"float"}:
        raise IllegalPlan(f"has a factor of type {min(kinds)}: tensor cores take float")
    _check_launches(program, part, statement, factors)
    deep = {index.iterator for index in depth}
    if deep & statement.body.variables(statement.body.target):
        raise IllegalPlan("updates each element once")
    alone = [dim for dim, found in enumerate(parallel) if len(found) == 1]
    for rows, columns in reversed(list(combinations(alone, 2))):
        row, column = parallel[rows][0].iterator, parallel[columns][0].iterator
        found = products_of(terms, deep, row, column)
        if found is None:
            continue
        products, others = found
        _check_factors(program, part, [side for one in products for side in (one.left, one.right)])
        _check_instances(statement, instances, depth, row, column)
        scaled = reduce(lambda a, b: Binary("*", a, b), [*others, Call(SUMS, (Name(row), Name(column)))])
        value = Unary("-", scaled) if terms[0].negative else scaled
        changed, rest = _rest(program, part, statement, update, depth, value)
        _check_rest(changed, rest, (rows, columns))
        return Contraction(
            statement.name, part, outer, parallel, rows, columns, depth, products, changed, rest)
    raise IllegalPlan("has no factor that only rows, and another one that only columns matter to")


def _update(program: Program, statement: Statement) -> Update:
    """Return the statement as a sum whose terms may be reordered. Raises IllegalPlan if it is not one."""
    update = update_of(program, statement)
    if update is None or update.operator != "+" or update.guard is not None or statement.body.lets:
        raise IllegalPlan("adds nothing to its target in all its instances")
    if statement.name not in sums(program, reducible(program)):
        raise IllegalPlan("adds up numbers whose order matters")
    types = {array.name: array.type for array in program.arrays}
    kinds = {types[statement.body.target.array], c_type(update.contribution, types)}
    if kinds != {"float"}:
        raise IllegalPlan(f"computes with {' and '.join(sorted(kinds))}: tensor cores take float")
    return update


def _check_factors(program: Program, part: KernelPart, sides: Sequence[Expr]) -> None:
    """Raise IllegalPlan if a factor cannot be read before everything else."""
    written = {program.statement(name).body.target.array for name in part.statements}
    computed = {stage.array for stage in program.stages}
    for side in sides:
        for load in loads_of(side):
            if load.array in written:
                raise IllegalPlan(f"reads {load.array}, which the same kernel writes")
            if load.array in computed:
                raise IllegalPlan(f"reads {load.array}, which is computed where it is read")
            if any(isinstance(one, Load | Call) for index in load.index for one in parts(index)):
                raise IllegalPlan(f"reads elements of {load.array} that data decide")


def _check_launches(program: Program, part: KernelPart, statement: Statement, factors: Sequence[Expr]) -> None:
    """Raise IllegalPlan if a host loop computes factors from sums of an earlier launch."""
    if not part.prefix:
        return
    steps = (step.statement for stage in program.stages for step in stage.steps)
    reads = [(one.body.target.array, {a.array for a in one.accesses if a.kind == "read"})
             for one in (*program.statements, *steps)]
    reached = {statement.body.target.array}
    while more := {target for target, arrays in reads if arrays & reached} - reached:
        reached |= more
    if own := {load.array for factor in factors for load in loads_of(factor)} & reached:
        raise IllegalPlan(f"reads {min(own)}, which depends on its own sums of earlier launches: errors of rounded "
                          "factors would add up")


def _check_rest(program: Program, part: KernelPart, sides: tuple[int, int]) -> None:
    """Raise IllegalPlan if the rest cannot run after all terms are added."""
    tile, block = (tuple(size if d in sides else 1 for d in range(len(part.parallel))) for size in _USUAL)
    try:
        check_mapped(part, map_kernel(part, KernelPlan(part.statements, tile, block), fill_points(program, part)).tree)
    except IllegalPlan as reason:
        raise IllegalPlan(f"cannot have all its terms at once: {reason}") from None


_Found = tuple[tuple[Index, ...], tuple[tuple[Index, ...], ...], tuple[Index, ...], Any]


def _indices(part: KernelPart, members: Members, statement: Statement) -> _Found:
    """Return the iterators of host loops, of parallel dimensions, and the others; then the instances. Raises
    IllegalPlan.
    """
    instances = part.domain.extract_set(set_of(statement.domain).get_space())
    limits = ends(instances)
    found = list[Index]()

    def index(one: Dimension) -> Index:
        position, shift = _iterator(one.member, instances)
        name = statement.iterators[position]
        found.append(Index(name, *limits[position], shift, one.low - shift, one.high - shift))
        return found[-1]

    outer = tuple(index(dimension(member, part.domain)) for member in part.prefix)
    parallel = tuple(tuple(map(index, behind)) for behind in members)
    if len({index.iterator for index in found}) < len(found):
        raise IllegalPlan("has an iterator that several loops follow")
    taken = {index.iterator for index in found}
    left = [k for k, name in enumerate(statement.iterators) if name not in taken]
    if not left:
        raise IllegalPlan("updates each element once")
    depth = tuple(Index(statement.iterators[k], *limits[k], 0, *limits[k]) for k in left)
    return outer, parallel, depth, instances


def _iterator(member: Any, instances: Any) -> tuple[int, int]:
    """Return which iterator a member follows, and its offset. Raises IllegalPlan if it is not an iterator plus a
    number.
    """
    own = member.intersect_domain(isl.UnionSet.from_set(instances)).get_pw_aff_list()
    assert own.n_pw_aff() == 1, "the instances are those of one statement"
    row = own.get_at(0).gist(instances)
    if row.isa_aff():
        affine = row.as_aff()
        count = affine.dim(isl.dim_type.in_)
        steps = [int(affine.get_coefficient_val(isl.dim_type.in_, k).to_python()) for k in range(count)]
        whole = affine.dim(isl.dim_type.div) == 0 and affine.get_denominator_val().is_one()
        if whole and sorted(steps) == [0] * (count - 1) + [1]:
            return steps.index(1), int(affine.get_constant_val().to_python())
    raise IllegalPlan("has parallel loops that are not its iterators")


def _check_instances(statement: Statement, instances: Any, depth: tuple[Index, ...], row: str, column: str) -> None:
    """Raise IllegalPlan unless all elements have all terms, and factors exist for all rows and columns."""
    position = {name: k for k, name in enumerate(statement.iterators)}
    deep = [position[index.iterator] for index in depth]
    if not _along(instances, deep).is_equal(instances):
        raise IllegalPlan("has sums that differ in their terms")
    box = _along(instances, range(len(position)))
    for without in (column, row):
        if not _along(instances, [*deep, position[without]]).is_equal(box):
            raise IllegalPlan(f"does not run for all combinations of its iterators but {without}")


def _along(instances: Any, dims: Sequence[int] | range) -> Any:
    """Return the isl Set of all points, within limits, that differ from one of `instances` in the dimensions `dims`
    only.
    """
    result, limits = instances, ends(instances)
    for dim in dims:
        result = result.eliminate(isl.dim_type.set, dim, 1)
        result = result.lower_bound_val(isl.dim_type.set, dim, isl.Val(limits[dim][0]))
        result = result.upper_bound_val(isl.dim_type.set, dim, isl.Val(limits[dim][1]))
    return result


def _rest(program: Program, part: KernelPart, statement: Statement, update: Update, depth: tuple[Index, ...],
          value: Expr) -> tuple[Program, KernelPart]:
    """Return the program and the kernel in which the statement adds `value` to its target once per element."""
    last = {index.iterator: index.high for index in depth}
    kept = tuple(name for name in statement.iterators if name not in last)
    space = set_of(statement.domain).get_space()
    whole = part.domain.extract_set(space)
    once = isl.Map(_text(statement, kept, last)).intersect_range(whole)  # an element -> the last instance for it
    every = isl.Map(_text(statement, kept, {})).intersect_range(whole).reverse()  # an instance -> its element
    others = part.domain.subtract(isl.UnionSet.from_set(whole))
    same = others.identity()
    into = isl.UnionPwMultiAff.from_union_map(same.union(isl.UnionMap.from_map(once)))
    forget = same.union(isl.UnionMap.from_map(every))
    domain = part.domain.preimage_union_pw_multi_aff(into)
    own = isl.UnionMap.from_map(isl.Map.identity(once.domain().get_space().map_from_set()))
    ordered = part.dependences.apply_domain(forget).apply_range(forget).subtract(own)
    rest = replace(
        part, domain=domain, prefix=tuple(_put(member, into) for member in part.prefix),
        parallel=tuple(dimension(_put(one.member, into), domain) for one in part.parallel),
        tree=_tree(part.tree, into), dependences=ordered)  # fmt: skip
    accesses = tuple(Access(a.array, str(map_of(a.relation).apply_domain(every)), a.kind) for a in statement.accesses)
    target = statement.body.target
    body = replace(statement.body, op="", value=Binary("+", replace(target, access=update.read), value))
    changed = Statement(
        statement.name, kept, str(once.domain()), body, accesses, statement.text, statement.line)
    return replace(program, statements=tuple(changed if s is statement else s for s in program.statements)), rest


def _text(statement: Statement, kept: Sequence[str], last: Mapping[str, int]) -> str:
    """Return `{ S[v0, v2] -> S[v0, 9, v2] }`: from `kept` iterators to all; the others have their `last` values."""
    names = {name: f"v{k}" for k, name in enumerate(statement.iterators)}
    source = ", ".join(names[name] for name in kept)
    target = ", ".join(str(last[name]) if name in last else names[name] for name in statement.iterators)
    return f"{{ {statement.name}[{source}] -> {statement.name}[{target}] }}"


def _put(member: Any, into: Any) -> Any:
    return member.pullback_union_pw_multi_aff(into)


def _tree(tree: Tree, into: Any) -> Tree:
    """Return `tree` for what is mapped `into` its instances."""
    match tree:
        case Leaf():
            return tree
        case Band(members=members, child=child):
            return replace(tree, members=tuple(_put(member, into) for member in members), child=_tree(child, into))
        case InOrder(filters, children):
            return InOrder(tuple(part.preimage_union_pw_multi_aff(into) for part in filters),
                           tuple(_tree(child, into) for child in children))
        case Launch() | Mapped() | Fill():
            raise AssertionError("a part has neither threads nor launches yet")
        case _:
            assert_never(tree)
