"""Replace iterators that are used outside their loops by variables beside them, which get C's value after the loop.

    for (k = 0; k < n; k++) {        k = 0; for (int k_2 = 0; k_2 < n; k_2++) {
        if (x > 4) break;       ->       k = k_2 + 1; if (x > 4) { k = k_2; break; }
        x = x * x + c;                   x = x * x + c;
    }                                }
    steps[i] = k;                    steps[i] = k;

If the iterator is not read after the loop, the loop only gets a new iterator; if the loop always runs to its end, the
value is set after it: `k = 0 < n ? n : 0`. Trees are changed in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pycparser import c_ast

from generator.errors import InputError
from generator.frontend_c.elements import assigned, iterators_of, nodes, put_child
from generator.frontend_c.jumps import stops
from generator.frontend_c.layouts import innermost
from generator.frontend_c.loops import Header, read_header
from generator.program import ElementType

_LOOPS = (c_ast.For, c_ast.While, c_ast.DoWhile)
_PLAIN = (c_ast.ID, c_ast.Constant, c_ast.BinaryOp, c_ast.UnaryOp)
_BEHIND = {"<": 0, "<=": 1, ">": 0, ">=": -1}  # the distance of the iterator from the bound when its loop ends


def keep_iterators(items: Sequence[Any], scope: Mapping[str, Any], integers: Mapping[str, ElementType],
                   dead: Collection[str], taken: Collection[str]) -> tuple[Any, ...]:
    """Return a SCoP whose iterators are used in their loops only.

    `scope`: the declarations before the SCoP. `integers`: the types of integer variables there and in it. `dead`: the
    variables that are not read after it. `taken`: names in use.
    """
    inside = {node.name: node for item in items for node in nodes(item) if isinstance(node, c_ast.Decl) and node.name}
    block = c_ast.Compound(list(items))
    used = {*taken, *inside, *(node.name for node in nodes(block) if isinstance(node, c_ast.ID))}
    loops = [node for node in nodes(block) if isinstance(node, c_ast.For) and _iterator(node)]
    for name in dict.fromkeys(map(_iterator, loops)):
        own = [loop for loop in loops if _iterator(loop) == name]
        if name not in integers or not _mentioned(block, name) or any(_changed(loop, name) for loop in own):
            continue
        found = _Needed(name)
        found.before(block, name in scope and name not in inside and name not in dead, False, False)
        new = next(new for number in count(2) if (new := f"{name}_{number}") not in used)
        used.add(new)
        declaration = deepcopy(inside.get(name) or scope[name])
        work = _Separation(name, new, declaration, integers, found.loops)
        block = work.rewritten(block)
    return tuple(block.block_items)


def _iterator(loop: Any) -> str:
    """Return the iterator of a loop that does not declare it; "" for other loops."""
    try:
        return "" if isinstance(loop.init, c_ast.DeclList) else read_header(loop).iterator
    except InputError:  # reported where the loop is read
        return ""


def _declares(node: Any, name: str) -> bool:
    return isinstance(node, c_ast.For) and isinstance(node.init, c_ast.DeclList) and name in iterators_of(node)


def _outside(node: Any, name: str) -> Iterator[Any]:
    """Yield `node` and all nodes below it outside of loops over `name`."""
    if _declares(node, name):
        return
    if isinstance(node, c_ast.For) and _iterator(node) == name:
        yield from _outside(node.init.rvalue, name)
        return
    yield node
    for _, child in node.children():
        yield from _outside(child, name)


def _mentioned(node: Any, name: str) -> bool:
    """Return whether a variable is used in `node`, other than by loops over it."""
    return node is not None and any(isinstance(part, c_ast.ID) and part.name == name for part in _outside(node, name))


def _changed(loop: Any, name: str) -> bool:
    """Return whether the body of a loop changes its own iterator."""
    return any(name in (*assigned(node),
                        *(iterators_of(node) if isinstance(node, c_ast.For) else ())) for node in nodes(loop.stmt))


@dataclass
class _Needed:
    """The loops over `name` whose final value may be read later: `loops` (by id)."""

    name: str
    loops: set[int] = field(default_factory=set)

    def before(self, node: Any, after: bool, at_break: bool, at_continue: bool) -> bool:
        """Return whether the variable's value before `node` may be read.

        `after`, `at_break`, `at_continue`: whether it may be read after `node`, or where jumps lead.
        """
        match node:
            case c_ast.Compound():
                for item in reversed(node.block_items or []):
                    after = self.before(item, after, at_break, at_continue)
                return after
            case c_ast.If():
                parts = [self.before(part, after, at_break, at_continue) for part in (node.iftrue, node.iffalse)]
                return any(parts) or _mentioned(node.cond, self.name)
            case c_ast.For() if _iterator(node) == self.name:
                if after:
                    self.loops.add(id(node))
                return _mentioned(node.init.rvalue, self.name)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile() if not _declares(node, self.name):
                head = after or any(_mentioned(child, self.name) for label, child in node.children() if label != "stmt")
                for _ in range(2):  # the second iteration may read what the first one left
                    head = self.before(node.stmt, head, after, head) or head
                return head
            case c_ast.Break():
                return at_break
            case c_ast.Continue():
                return at_continue
            case c_ast.Decl(name=name) if name == self.name:
                return _mentioned(node.init, self.name)
            case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == self.name:
                return _mentioned(node.rvalue, self.name)
            case _:
                return after or _mentioned(node, self.name)


@dataclass(frozen=True, slots=True)
class _Separation:
    """Gives loops over `name` the iterator `new`; those in `needed` leave C's final value in `name`."""

    name: str
    new: str
    declaration: Any
    integers: Mapping[str, ElementType]
    needed: Collection[int]

    def rewritten(self, node: Any) -> Any:
        """Return `node` with its loops replaced (changed in place)."""
        if _declares(node, self.name):
            return node
        if isinstance(node, c_ast.For) and _iterator(node) == self.name:
            return self.loop(node)
        for label, child in node.children():
            put_child(node, label, self.rewritten(child))
        return node

    def loop(self, node: Any) -> Any:
        """Return a loop over the name, with the assignments to the variable."""
        header, place, needed = read_header(node), node.coord, id(node) in self.needed
        variable = c_ast.ID(self.name, place)
        again = any(isinstance(part, c_ast.ID) and part.name == self.name for part in nodes(header.start))
        start = variable if again else deepcopy(header.start)
        behind = self.behind(node, header) if needed and not again else None
        declaration = deepcopy(self.declaration)
        declaration.name, declaration.init, declaration.storage, declaration.coord = self.new, start, [], place
        innermost(declaration.type).declname = self.new
        node.init = c_ast.DeclList([declaration], place)
        for label in ("cond", "next", "stmt"):
            setattr(node, label, self.renamed(getattr(node, label)))
        if needed and behind is None:
            step = c_ast.BinaryOp("+" if header.sign > 0 else "-", c_ast.ID(self.new, place), deepcopy(header.step),
                                  place)
            body = self.at_breaks(node.stmt)
            items = body.block_items or [] if isinstance(body, c_ast.Compound) else [body]
            node.stmt = c_ast.Compound([c_ast.Assignment("=", variable, step, place), *items], place)
        first = c_ast.Assignment("=", variable, header.start, place)
        set_before = [first] if again or (needed and behind is None) else []
        whole = [*set_before, node, *([behind] if behind else [])]
        return c_ast.Compound(whole, place) if len(whole) > 1 else node

    def behind(self, node: Any, header: Header) -> Any | None:
        """Return the assignment after a loop that runs to its end, in steps of 1 to a constant bound; None for other
        loops.
        """
        test, changed = header.test, {name for part in nodes(node.stmt) for name in
                                      (*assigned(part), *(iterators_of(part) if isinstance(part, c_ast.For) else ()))}
        if self.integers[self.name] not in ("int", "long"):
            return None
        by_one = isinstance(header.step, c_ast.Constant) and header.step.value == "1"
        if not (by_one and isinstance(test, c_ast.BinaryOp) and test.op in _BEHIND and isinstance(test.left, c_ast.ID)
                and test.left.name == self.name and (header.sign > 0) == (test.op in ("<", "<="))
                and not stops(node.stmt)):
            return None
        for part in (*nodes(header.start), *nodes(test.right)):
            integer = part.name in self.integers if isinstance(part, c_ast.ID) else (
                not isinstance(part, c_ast.Constant) or "int" in part.type)
            changes = isinstance(part, c_ast.ID) and part.name in {*changed, self.name}
            if not isinstance(part, _PLAIN) or not integer or assigned(part) or changes:
                return None
        past = _BEHIND[test.op]
        end = deepcopy(test.right) if not past else c_ast.BinaryOp(
            "+" if past > 0 else "-", deepcopy(test.right), c_ast.Constant("int", "1"), node.coord)
        runs = c_ast.BinaryOp(test.op, deepcopy(header.start), deepcopy(test.right), node.coord)
        value = c_ast.TernaryOp(runs, end, deepcopy(header.start), node.coord)
        return c_ast.Assignment("=", c_ast.ID(self.name, node.coord), value, node.coord)

    def at_breaks(self, node: Any) -> Any:
        """Return the body of a loop with the variable set before each of its `break`s (changed in place)."""
        if isinstance(node, c_ast.Break):
            leave = c_ast.Assignment("=", c_ast.ID(self.name, node.coord), c_ast.ID(self.new, node.coord), node.coord)
            return c_ast.Compound([leave, node], node.coord)
        for label, child in node.children() if not isinstance(node, _LOOPS) else ():
            put_child(node, label, self.at_breaks(child))
        return node

    def renamed(self, node: Any) -> Any:
        """Return `node` with the new iterator (changed in place); loops that declare an iterator of that name keep it.
        """
        if _declares(node, self.name):
            return node
        if isinstance(node, c_ast.ID) and node.name == self.name:
            return c_ast.ID(self.new, node.coord)
        for label, child in node.children():
            put_child(node, label, self.renamed(child))
        return node
