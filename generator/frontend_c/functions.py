"""The functions of a file that a SCoP may call: their headers, and reasons against inlining them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.ctypes import Declared, declared, is_truth, resolve_casts
from generator.frontend_c.places import where
from generator.frontend_c.scopes import separate_names
from generator.frontend_c.truths import write_truths
from generator.program import ElementType


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. `kind.extents`: () for a number. `truth`: a `_Bool`, whose values are 0 and 1."""

    name: str
    kind: Declared
    truth: bool


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the file; the names in `body` (statements) are unique."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: ElementType
    truth: bool
    body: tuple[Any, ...]


def cannot_inline(function: str, reason: str, node: Any) -> InputError:
    """Return the error that says why a function cannot be inlined."""
    return InputError(f"`{function}`, which the SCoP calls, cannot be inlined: {reason}", where(node))


def read_function(node: Any, typedefs: Mapping[str, Any]) -> Function:
    """Return the function of a definition (a syntax tree, not changed). Raises InputError unless it computes numbers.
    """
    name, header = str(node.decl.name), node.decl.type
    returns = declared(header.type, typedefs)
    if returns is None or returns.extents:
        raise cannot_inline(name, "it does not return a number", node.decl)
    parameters = []
    for parameter in header.args.params if header.args else []:
        if isinstance(parameter, c_ast.Typename):  # (void)
            continue
        kind = declared(parameter.type, typedefs) if isinstance(parameter, c_ast.Decl) else None
        if kind is None:
            raise cannot_inline(name, "its parameters are not all numbers and arrays of numbers", node.decl)
        parameters.append(Parameter(parameter.name, kind, is_truth(parameter.type, typedefs)))
    body = copy.deepcopy(node.body)
    separate_names((body,), {}, typedefs)
    resolve_casts(body, typedefs)
    (body,) = write_truths((body,), {}, typedefs)
    return Function(name, tuple(parameters), returns.element, is_truth(header.type, typedefs),
                    tuple(body.block_items or []))


def returns_within(node: Any) -> bool:
    """Return whether `node` contains a `return`."""
    return isinstance(node, c_ast.Return) or any(returns_within(child) for _, child in node.children())


def used_names(nodes: Any) -> dict[str, int]:
    """Return how often each name is read in syntax trees."""
    found: dict[str, int] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, c_ast.ID):
            found[node.name] = found.get(node.name, 0) + 1
        target = node.lvalue if isinstance(node, c_ast.Assignment) and node.op == "=" else None
        waiting += [child for _, child in node.children() if child is not target or not isinstance(child, c_ast.ID)]
    return found
