"""Local variables that are dead after the SCoP: their final values need not be right.

    double w;                              w is dead after the SCoP: no other text of the function mentions it
    #pragma scop                           (nor can another function: it is not a parameter, not static, and its
    for (...) { w = ...; y[i] = w; }       address is not taken)
    #pragma endscop
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pycparser import c_ast

from generator.frontend_c.ctypes import declared


def dead_locals(function: Any, items: tuple[Any, ...], scope: Mapping[str, Any],
                typedefs: Mapping[str, Any]) -> frozenset[str]:
    """Return names in `scope` of local variables of `function` that cannot be read after the SCoP `items`.

    A scalar may be used before the SCoP if no loop and no jump leads back there. Reads of values from an earlier run of
    the SCoP itself are not considered: such a variable is live at the SCoP's entry.
    """
    outside = _Outside(items)
    outside.visit(function.body)
    if outside.assembly:
        return frozenset()
    late = outside.after | outside.addressed
    if outside.repeats or outside.jumps:
        late |= outside.before
    arguments = function.decl.type.args.params if function.decl.type.args else []
    own = Counter(node.name for node in (*arguments, *outside.declarations) if isinstance(node, c_ast.Decl))
    visible = {id(node) for node in scope.values()}
    return frozenset(node.name for node in outside.declarations
                     if id(node) in visible and own[node.name] == 1 and node.name not in late
                     and _is_private(node, typedefs, node.name in outside.before))


def _is_private(node: Any, typedefs: Mapping[str, Any], used_before: bool) -> bool:
    """Return whether only its name leads to the variable: an automatic scalar or array, not a pointer, not volatile."""
    if set(node.storage) - {"auto", "register"} or set(node.quals) & {"volatile", "_Atomic"}:
        return False
    kind = declared(node.type, typedefs)
    if kind is None or kind.pointer_to_array or None in kind.extents:
        return False
    return not (kind.extents and used_before)  # a pointer to the array may have been stored


class _Outside(c_ast.NodeVisitor):  # type: ignore[misc]  # pycparser has no types
    """The uses of names in a function outside of its SCoP: before and after it in the text, and declarations."""

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = {id(item) for item in items}
        self.before: set[str] = set()
        self.after: set[str] = set()
        self.addressed: set[str] = set()
        self.declarations: list[Any] = []  # of variables, as syntax trees
        self.loops = 0
        self.passed = self.repeats = self.jumps = self.assembly = False

    def visit(self, node: Any) -> None:
        """Visit as usual, but not the SCoP."""
        if id(node) in self.items:
            self.passed = True
            self.repeats = self.repeats or self.loops > 0
        else:
            super().visit(node)

    def mention(self, name: str) -> None:
        """Record a use of `name` here."""
        (self.after if self.passed else self.before).add(name)

    def visit_ID(self, node: Any) -> None:
        self.mention(node.name)

    def visit_Pragma(self, node: Any) -> None:
        self.after.update(re.findall(r"\w+", node.string or ""))  # the effect of a pragma on a name is unknown

    def visit_Decl(self, node: Any) -> None:
        self.declarations.append(node)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: Any) -> None:
        if node.op == "&":
            found = _Outside(())
            found.visit(node.expr)
            self.addressed |= found.before
        self.generic_visit(node)

    def visit_FuncCall(self, node: Any) -> None:
        self.assembly = self.assembly or (isinstance(node.name, c_ast.ID) and node.name.name == "asm")
        self.generic_visit(node)

    def loop(self, node: Any) -> None:
        """Visit a loop of any kind."""
        self.loops += 1
        self.generic_visit(node)
        self.loops -= 1

    visit_For = visit_While = visit_DoWhile = loop

    def jump(self, node: Any) -> None:
        """Visit a label or a jump to one."""
        self.jumps = True
        self.generic_visit(node)

    visit_Goto = visit_Label = jump
