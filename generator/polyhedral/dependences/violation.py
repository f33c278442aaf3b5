"""A broken dependence in words: its statements, element and order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import islpy as isl

from generator.polyhedral.dependences.model import maps, model
from generator.program import Program, Statement


def describe_dependence(program: Program, dependence: str) -> Iterator[str]:
    """Yield lines about one pair of instances (isl text): their places in the source, and why one must wait for the
    other.
    """
    pair = isl.Map(dependence)
    ends = (pair.domain(), pair.range())
    first, second = (program.statement(end.get_tuple_name()) for end in ends)
    for word, statement, end in (("first ", first, ends[0]), ("second", second, ends[1])):
        yield f"{word}  line {statement.line}: {statement.text}   at {_values(end)}"
    facts = model(program)
    kinds = [(facts.flow, "the second reads what the first has written"),
             (facts.false, "the second overwrites what the first reads or writes")]
    for relation, words in kinds:
        if any(not m.intersect(pair).is_empty() for m in maps(relation) if m.get_space().is_equal(pair.get_space())):
            yield f"reason  {words}"
    for array, element in _common(first, second, ends):
        yield f"about   {array}{element}"


def _common(first: Statement, second: Statement, ends: tuple[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield elements that both instances access, at least one of them writing."""
    seen = set()
    for one in first.accesses:
        for other in second.accesses:
            if one.array != other.array or (one.kind, other.kind) == ("read", "read"):
                continue
            touched = [isl.Map(access.relation).intersect_domain(end).range()
                       for access, end in ((one, ends[0]), (other, ends[1]))]
            both = touched[0].intersect(touched[1])
            if not both.is_empty():
                seen.add((one.array, _subscripts(both)))
    yield from sorted(seen)


def _subscripts(elements: Any) -> str:
    point = elements.sample_point()
    return "".join(f"[{point.get_coordinate_val(isl.dim_type.set, d)}]" for d in range(elements.dim(isl.dim_type.set)))


def _values(end: Any) -> str:
    point, kind = end.sample_point(), isl.dim_type.set
    values = [f"{end.get_dim_name(kind, d)} = {point.get_coordinate_val(kind, d)}" for d in range(end.dim(kind))]
    return ", ".join(values) or "its only instance"
