"""What is done with whole trees of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from generator.frontend_py.nodes import Call, Expr, Op, Pixel, RVar, operands, parts


def with_coordinates(root: Expr, new: Mapping[tuple[int, int], Expr]) -> Expr:
    """`root` with other expressions for coordinates of RDoms (by `id` of the RDom and dimension)."""
    done: dict[int, Expr] = {}
    for node in parts(root) if new else ():
        args = tuple(done.get(id(child), child) for child in operands(node))
        if isinstance(node, RVar):
            done[id(node)] = new.get((id(node.domain), node.dim), node)
        elif isinstance(node, Call | Pixel | Op) and any(a is not b for a, b in zip(args, node.args, strict=True)):
            done[id(node)] = replace(node, args=args)
    return done.get(id(root), root)


def depth(*roots: Expr) -> int:
    """How many operations are inside of one another, at most."""
    found: dict[int, int] = {}
    for node in parts(*roots):
        found[id(node)] = 1 + max((found[id(child)] for child in operands(node)), default=0)
    return max(found.values(), default=0)
