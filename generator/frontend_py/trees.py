"""Operations on whole trees of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generator.frontend_py.nodes import Call, Const, Edge, Expr, Given, Op, Pixel, RVar, Var, operands, parts


def with_coordinates(root: Expr, new: Mapping[tuple[int, int], Expr]) -> Expr:
    """Return `root` with other expressions for coordinates of RDoms (by `id` of the RDom and dimension)."""
    done: dict[int, Expr] = {}
    for node in parts(root) if new else ():
        args = tuple(done.get(id(child), child) for child in operands(node))
        if isinstance(node, RVar):
            done[id(node)] = new.get((id(node.domain), node.dim), node)
        elif isinstance(node, Call | Pixel | Op) and any(a is not b for a, b in zip(args, node.args, strict=True)):
            done[id(node)] = replace(node, args=args)
    return done.get(id(root), root)


def depth(*roots: Expr) -> int:
    """Return the nesting depth of operations."""
    found: dict[int, int] = {}
    for node in parts(*roots):
        found[id(node)] = 1 + max((found[id(child)] for child in operands(node)), default=0)
    return max(found.values(), default=0)


def merged(*roots: Expr) -> tuple[Expr, ...]:
    """Return `roots` with one object for all equal expressions."""
    by_content: dict[object, Expr] = {}
    done: dict[int, Expr] = {}
    for node in parts(*roots):
        args = tuple(done[id(child)] for child in operands(node))
        key = (_content(node), *map(id, args))
        if key not in by_content:
            changed = any(a is not b for a, b in zip(args, operands(node), strict=True))
            by_content[key] = replace(node, args=args) if changed and isinstance(node, Call | Pixel | Op) else node
        done[id(node)] = by_content[key]
    return tuple(done[id(root)] for root in roots)


def same(one: Expr, other: Expr) -> bool:
    """Return whether two expressions are equal, node by node."""
    first, second = merged(one, other)
    return first is second


def _content(node: Expr) -> object:
    """Return what distinguishes a node from others with the same operands."""
    match node:
        case Const(kind, value):
            return Const, kind, repr(value)  # 0.0 and -0.0 are equal
        case Var():
            return Var, node.key
        case RVar(domain, dim):
            return RVar, id(domain), dim
        case Edge(image, dim, what):
            return Edge, id(image), dim, what
        case Given(param):
            return Given, id(param)
        case Call(func, args, index):
            return Call, id(func), index, len(args)
        case Pixel(image, args):
            return Pixel, id(image), len(args)
        case Op(name, kind, args):
            return Op, name, kind, len(args)
        case _:
            return id(node)
