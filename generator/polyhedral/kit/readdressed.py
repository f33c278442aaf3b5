"""Statements with other accesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from generator.expr import Expr, Load, map_children
from generator.program import Access, Assignment, Statement


def readdressed(statement: Statement, load: Callable[[Load], Load],
                access: Callable[[int, Access], Access]) -> Statement:
    """Return a statement with `load` of each load (its subscripts are done), and `access` of each access and its
    number.
    """
    def moved(expr: Expr) -> Expr:
        inner = map_children(expr, moved)
        return load(inner) if isinstance(inner, Load) else inner

    body = statement.body
    changed: dict[str, Any] = {one.name: moved(part) for one in fields(Assignment)
                               if isinstance(part := getattr(body, one.name), Expr)}
    lets = tuple((name, moved(value)) for name, value in body.lets)
    accesses = tuple(access(number, one) for number, one in enumerate(statement.accesses))
    return replace(statement, body=replace(body, lets=lets, **changed), accesses=accesses)
