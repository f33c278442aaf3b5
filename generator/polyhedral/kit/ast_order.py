"""The exact check that isl's AST runs instances in the order of the schedule that it was made for.

islpy 2026.2.2 breaks this order for some statements that share loops: one that passes an array backwards, one under a
condition, and another. Two calls in a text run in its order for the same values of the loops around both. If an
instance of the later one has an earlier place in the schedule, the text is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import islpy as isl

from generator.errors import IllegalPlan


@dataclass(slots=True)
class Calls:
    """What is called in an AST: per number, isl's map from instances to the iterators around the call, and their names.

    `fault`: what isl raised in `add`. An exception must not leave a function that isl calls.
    """

    found: list[tuple[Any, tuple[str, ...]]] = field(default_factory=list)
    fault: Exception | None = None

    def add(self, node: Any, build: Any) -> Any:
        """Return `node`, a call, annotated with its number; for `isl.AstBuild.set_at_each_domain`."""
        try:
            space = build.get_schedule_space()
            names = tuple(space.get_dim_name(isl.dim_type.set, d) or "" for d in range(space.dim(isl.dim_type.set)))
            number = isl.Id.read_from_str(isl.DEFAULT_CONTEXT, f"call_{len(self.found)}")
            self.found.append((build.get_schedule(), names))
        except isl.Error as error:
            self.fault = error
            return node
        return node.set_annotation(number)


def check_order(root: Any, calls: Calls, places: Any, context: Any) -> None:
    """Raise IllegalPlan unless `root`, an isl AstNode with the numbers of `calls`, runs instances in the order of
    `places`, an isl UnionMap from instances to places of equal dimension. Other instances are not compared.
    """
    found = list(_calls(root, ()))
    own = {number: places.intersect_domain(calls.found[number][0].domain()) for number, _ in found}
    for (one, around), (other, within) in combinations(found, 2):
        wrong = own[other].lex_lt_union_map(own[one])
        for name in (name for name, same in zip(around, within, strict=False) if name == same):
            if wrong.is_empty():
                break
            wrong = wrong.intersect(_value(calls, other, name).apply_range(_value(calls, one, name).reverse()))
        if not wrong.intersect_params(context).is_empty():
            raise IllegalPlan(f"isl makes loops in another order than the schedule's: {wrong}")


def _calls(node: Any, loops: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number of each call, in the order of the text, and the iterators of the loops around it."""
    kind = node.get_type()
    if kind == isl.ast_node_type.block:
        children = node.block_get_children()
        for place in range(children.n_ast_node()):
            yield from _calls(children.get_at(place), loops)
    elif kind == isl.ast_node_type.for_:  # type: ignore[attr-defined]  # islpy's stub lacks it
        yield from _calls(node.for_get_body(), (*loops, node.for_get_iterator().get_id().name))
    elif kind == isl.ast_node_type.if_:  # type: ignore[attr-defined]  # islpy's stub lacks it
        yield from _calls(node.if_get_then_node(), loops)
        if node.if_has_else_node():
            yield from _calls(node.if_get_else_node(), loops)
    else:
        yield int(node.get_annotation().name.removeprefix("call_")), loops


def _value(calls: Calls, number: int, name: str) -> Any:
    """Return the isl UnionMap from instances of a call to the value of an iterator around it."""
    iterators, names = calls.found[number]
    of_call = isl.Map.from_union_map(iterators)
    count, place = len(names), names.index(name)
    return isl.UnionMap.from_map(of_call.project_out(isl.dim_type.out, place + 1, count - place - 1).project_out(
        isl.dim_type.out, 0, place))
