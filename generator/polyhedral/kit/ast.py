"""Loops and expressions from isl: its AST as our nodes, after a check of its order."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan
from generator.expr import Binary, Expr, Int, Name, Select, Unary
from generator.linear import simplify
from generator.nest import For, If, Instance, Node
from generator.polyhedral.kit.ast_order import Calls, check_order
from generator.polyhedral.kit.context import isl_options
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Mapping, Sequence, Tree, multi

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pdiv_q": "/", "pdiv_r": "%", "zdiv_r": "%", "eq": "==",
           "le": "<=", "lt": "<", "ge": ">=", "gt": ">", "and_": "&&", "and_then": "&&", "or_": "||",
           "or_else": "||", "min": "min", "max": "max"}
_OPERATIONS = {getattr(isl.ast_expr_op_type, name): op for name, op in _BINARY.items()}
MOST_OPERATIONS = 100_000  # isl operations, about 0.15 s; a count, so that all machines make the same text


@dataclass(frozen=True, slots=True)
class LoopName:
    """The name of the loop over a schedule dimension, and its note in the text."""

    name: str
    note: str


def enter(number: int) -> str:
    """Return the pseudo statement at which fill point `number` fills its copies."""
    return f"enter_{number}"


def leave(number: int) -> str:
    """Return the pseudo statement after which fill point `number` may be filled again."""
    return f"leave_{number}"


def generate(tree: Tree, domain: Any, context: Any, names: SequenceOf[LoopName],
             quickly: bool = False) -> tuple[Node, ...]:
    """Return loop nests that run `domain` in the order of `tree`. `context`: constraints on the parameters.

    `names[d]` belongs to schedule dimension d. isl makes a loop for each part of a range in which the same conditions
    hold. `quickly`: if that takes isl too long, every loop appears once in the text, with conditions inside.

    Raises:
        IllegalPlan: isl fails (on some conditions with several divisions).
    """
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(names))
    for loop in names:
        ids = ids.add(isl.Id.read_from_str(isl.DEFAULT_CONTEXT, loop.name))
    notes = {loop.name: loop.note for loop in names}
    with isl_options(ast_build_detect_min_max=1, ast_build_atomic_upper_bound=1, ast_build_scale_strides=0):
        build = isl.AstBuild.from_context(context).set_iterators(ids)
        try:
            found = _within_limit(tree, domain, build) if quickly else None
            root, calls = found or _made(build, to_schedule(tree, domain, atomic=quickly))
        except isl.Error as error:
            raise IllegalPlan(f"isl fails to make loops for this schedule: {error}") from None
        check_order(root, calls, to_schedule(_without_fills(tree), domain).get_map(), context)
        return _nodes(root, notes)


def _made(build: Any, schedule: Any) -> tuple[Any, Calls]:
    """Return isl's AST of a schedule, and its calls."""
    calls = Calls()
    annotating, handle = build.set_at_each_domain(calls.add)
    root = annotating.node_from_schedule(schedule)
    del handle  # isl calls `add` while it exists
    if calls.fault is not None:
        raise calls.fault
    return root, calls


def _without_fills(tree: Tree) -> Tree:
    match tree:
        case Leaf() | Launch():
            return tree
        case Band(child=child) | Mapping(child=child):
            return replace(tree, child=_without_fills(child))
        case Sequence(children=children):
            return replace(tree, children=tuple(map(_without_fills, children)))
        case Fill(child=child):
            return _without_fills(child)


def _within_limit(tree: Tree, domain: Any, build: Any) -> tuple[Any, Calls] | None:
    """Return isl's AST, and its calls; None if it takes too long."""
    schedule = to_schedule(tree, domain)
    isl.DEFAULT_CONTEXT.reset_operations()
    try:
        with isl_options(max_operations=MOST_OPERATIONS):
            return _made(build, schedule)
    except isl.Error as error:
        if "maximal number of operations" in str(error):
            return None
        raise


def to_schedule(tree: Tree, domain: Any, atomic: bool = False) -> Any:
    """Return the isl Schedule of `tree` on `domain`; `atomic`: its AST has every loop once."""
    root = isl.Schedule.from_domain(domain).get_root()
    return _insert(tree, root.child(0), atomic).get_schedule()


def _insert(tree: Tree, leaf: Any, atomic: bool) -> Any:
    """Insert `tree` at the isl node `leaf`. Return the node at its top."""
    match tree:
        case Leaf() | Launch():
            return leaf
        case Band(members=members, child=child):
            band = leaf.insert_partial_schedule(multi(members))
            for loop in range(len(members) if atomic else 0):
                band = band.band_member_set_ast_loop_type(loop, isl.ast_loop_type.atomic)
            return _below(band, child, atomic)
        case Mapping(names=names, members=members, child=child):
            return _below(leaf.insert_filter(index_filter(members, names)), child, atomic)
        case Sequence(filters, children):
            listed = isl.UnionSetList.alloc(isl.DEFAULT_CONTEXT, len(filters))
            for part in filters:
                listed = listed.add(part)
            node = leaf.insert_sequence(listed)
            for index, child in enumerate(children):
                depth = node.get_tree_depth()
                inner = _insert(child, node.child(index).child(0), atomic)
                node = inner.ancestor(inner.get_tree_depth() - depth)
            return node
        case Fill(number, child):
            prefix = leaf.get_prefix_schedule_union_map().intersect_domain(leaf.get_domain())
            points = isl.Set.from_union_set(prefix.range()).coalesce()
            node = _insert(child, leaf, atomic)
            node = node.graft_before(_pseudo(points, enter(number)))
            return node.graft_after(_pseudo(points, leave(number)))


def _below(node: Any, child: Tree, atomic: bool) -> Any:
    depth = node.get_tree_depth()
    inner = _insert(child, node.child(0), atomic)
    return inner.ancestor(inner.get_tree_depth() - depth)


def _pseudo(points: Any, name: str) -> Any:
    extension = points.identity().set_tuple_name(isl.dim_type.out, name)
    return isl.ScheduleNode.from_extension(isl.UnionMap.from_map(extension))


def index_filter(members: SequenceOf[Any], names: SequenceOf[str]) -> Any:
    """Return the instances x with `members[k](x) == names[k]` for all k, where the names are parameters."""
    result = None
    for member, name in zip(members, names, strict=True):
        ident = isl.Id.read_from_str(isl.DEFAULT_CONTEXT, name)  # isl.Id(name) would be a different identifier
        value = isl.UnionPwAff.param_on_domain_id(member.domain(), ident)
        same = member.sub(value).zero_union_set()
        result = same if result is None else result.intersect(same)
    assert result is not None
    return result


def box_context(bounds: SequenceOf[tuple[str, int, int]]) -> Any:
    """Return the isl parameter Set `low <= name <= high` for all bounds."""
    if not bounds:
        return isl.Set("{ : }")
    names = ", ".join(name for name, _, _ in bounds)
    limits = " and ".join(f"{low} <= {name} <= {high}" for name, low, high in bounds)
    return isl.Set(f"[{names}] -> {{ : {limits} }}")


def _nodes(node: Any, notes: dict[str, str]) -> tuple[Node, ...]:
    kind = node.get_type()
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        return tuple(n for i in range(children.n_ast_node()) for n in _nodes(children.get_at(i), notes))
    if kind == isl.ast_node_type.for_:  # type: ignore[attr-defined]  # islpy's stub lacks it
        return _loop(node, notes)
    if kind == isl.ast_node_type.if_:  # type: ignore[attr-defined]  # islpy's stub lacks it
        otherwise = _nodes(node.if_get_else_node(), notes) if node.if_has_else_node() else ()
        return (If(expression(node.if_get_cond()), _nodes(node.if_get_then_node(), notes), otherwise),)
    if kind == isl.ast_node_type.user:
        call = node.user_get_expr()
        arguments = tuple(expression(call.get_op_arg(i)) for i in range(1, call.get_op_n_arg()))
        return (Instance(call.get_op_arg(0).get_id().name, arguments),)
    raise AssertionError(f"isl made an AST node of type {kind}")


def _loop(node: Any, notes: dict[str, str]) -> tuple[Node, ...]:
    name = node.for_get_iterator().get_id().name
    start = expression(node.for_get_init())
    body = _nodes(node.for_get_body(), notes)
    if node.for_is_degenerate():
        return (For(name, start, Binary("<=", Name(name), start), 1, body, notes.get(name, "")),)
    condition = expression(node.for_get_cond())
    step = expression(node.for_get_inc())
    assert isinstance(step, Int)
    return (For(name, start, condition, step.value, body, notes.get(name, "")),)


def condition_of(parameters: Any, context: Any) -> Expr:
    """Return the condition for parameters to be in an isl parameter Set, if they are known to be in `context`."""
    return expression(isl.AstBuild.from_context(context).expr_from_set(parameters.gist(context)))


def expression(expr: Any) -> Expr:
    """Return an isl AstExpr as our expression, simplified."""
    return simplify(_expression(expr))


def _expression(expr: Any) -> Expr:
    kind = expr.get_type()
    if kind == isl.ast_expr_type.int:
        return Int(int(expr.get_val().to_python()))
    if kind == isl.ast_expr_type.id:
        return Name(expr.get_id().name)
    operation = expr.get_op_type()
    arguments = [_expression(expr.get_op_arg(i)) for i in range(expr.get_op_n_arg())]
    if operation == isl.ast_expr_op_type.minus:
        return Unary("-", arguments[0])
    if operation in (isl.ast_expr_op_type.cond, isl.ast_expr_op_type.select):
        return Select(arguments[0], arguments[1], arguments[2])
    if operation == isl.ast_expr_op_type.fdiv_q:
        return _floor_division(arguments[0], arguments[1])
    result = arguments[0]
    for argument in arguments[1:]:
        result = Binary(_OPERATIONS[operation], result, argument)
    return result


def _floor_division(dividend: Expr, divisor: Expr) -> Expr:
    """Return a floor division: C's `/` truncates, isl's divisors are positive."""
    rounded = Binary("-", Binary("+", Unary("-", dividend), divisor), Int(1))
    return Select(Binary("<", dividend, Int(0)), Unary("-", Binary("/", rounded, divisor)),
                  Binary("/", dividend, divisor))
