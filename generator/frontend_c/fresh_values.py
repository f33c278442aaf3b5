"""Variables whose old value nobody reads, although each assignment runs only under a condition that depends on data.

    for (i ...) {                                for (i ...) {
      double f;                                    double f = 0;
      if (u[i] > 0) f = a[i];                      if (u[i] > 0) f = a[i];
      if (u[i] <= 0) f = b[i];            ->       if (u[i] <= 0) f = b[i];
      y[i] = f;                                    y[i] = f;
    }                                            }

The dataflow cannot see that one of the assignments runs. Without the zero, `f` could have its value from an earlier
iteration, and the iterations would have to run in order. `settled` finds the same for `if`s that assign in both parts,
wherever the variable is declared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from generator.frontend_c.elements import nodes
from generator.frontend_c.folds import names_in
from generator.frontend_c.source import Variable

_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Return, c_ast.Goto, c_ast.Label)


def zero_values(items: Sequence[Any]) -> Iterator[Any]:
    """Yield the statements of a block; declarations without a value get 0 if a condition decides the first assignment.

    The value of such a variable is indeterminate in C, so a program cannot depend on it.
    """
    for k, item in enumerate(items):
        if (isinstance(item, c_ast.Decl) and item.init is None and isinstance(item.type, c_ast.TypeDecl)
                and _undecided(items[k + 1:], item.name)):
            yield _with_zero(item)
        else:
            yield item


def settled(branch: Any, variables: Mapping[str, Variable]) -> list[Any]:
    """Return assignments of 0 to the scalars that an `if` assigns in both parts before it reads them."""
    names = sorted(name for name in set(_assigned(branch)) if _sets(branch, name))
    return [c_ast.Assignment("=", c_ast.ID(name, branch.coord), _zero(branch), branch.coord)
            for name in names if name in variables and not variables[name].extents]


def _zero(node: Any) -> Any:
    return c_ast.Constant("int", "0", node.coord)


def _with_zero(node: Any) -> Any:
    return c_ast.Decl(node.name, node.quals, node.align, node.storage, node.funcspec, node.type,
                      _zero(node), node.bitsize, node.coord)


def _undecided(items: Sequence[Any], name: str) -> bool:
    """Return whether a part of an `if` assigns `name` and no assignment before it is certain."""
    for item in items:
        if _sets(item, name):
            return False
        match item:
            case c_ast.If():
                if name in _assigned(item):
                    return True
            case c_ast.For():
                if _undecided((item.stmt,), name):
                    return True
            case c_ast.Compound():
                if _undecided(item.block_items or (), name):
                    return True
    return False


def _sets(node: Any, name: str) -> bool:
    """Return whether `node` certainly assigns the variable `name`, before it reads it."""
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=assigned)) if assigned == name:
            return name not in names_in(node.rvalue)
        case c_ast.Compound():
            for item in node.block_items or ():
                if _sets(item, name):
                    return True
                if name in names_in(item) or any(isinstance(part, _JUMPS) for part in nodes(item)):
                    return False
            return False
        case c_ast.If():
            return name not in names_in(node.cond) and _sets(node.iftrue, name) and _sets(node.iffalse, name)
        case _:
            return False


def _assigned(node: Any) -> list[str]:
    """Return the variables that assignments in `node` name."""
    return [part.lvalue.name for part in nodes(node)
            if isinstance(part, c_ast.Assignment) and isinstance(part.lvalue, c_ast.ID)]
