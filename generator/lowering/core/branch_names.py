"""Names of loops in one branch of a kernel, where loops of another branch at the same depth are of another kind.

Loops are generated with one name per depth. One branch may have a loop over tiles of k, or around its copies
(generator.decisions.depth), where another one, which sets the sums, has a loop over the points of a thread.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import replace

from generator.expr import Expr, Name
from generator.linear import substitute
from generator.lowering.core.wanted_unrolls import Keys, Named
from generator.lowering.naming import POINTS, LoopKey, fresh_name, loop_keys
from generator.nest import For, If, Instance, Node, map_expressions, walk
from generator.polyhedral.kit.ast import LoopName
from generator.polyhedral.kit.tree import Band, Fill, Launch, Leaf, Mapping, Sequence, Tree


def has_branches(tree: Tree) -> bool:
    """Return whether loops of several branches share depths."""
    match tree:
        case Sequence():
            return True
        case Band(child=child) | Mapping(child=child) | Fill(child=child):
            return has_branches(child)
        case Leaf() | Launch():
            return False


def with_branch_names(nodes: tuple[Node, ...], names: SequenceOf[LoopName], kernel: Named,
                      taken: set[str], every: bool) -> tuple[Node, ...]:
    """Return generated loops with their own notes, and all but those over points (or `every` one) with their own names.

    `names`: those of loops by depth. New names are added to `taken`.
    """
    keys = loop_keys(kernel.tree, kernel.part.domain, kernel.program)
    return _Renamer({loop.name: depth for depth, loop in enumerate(names)}, keys, taken, every).nodes(nodes)


class _Renamer:
    """Renames loops. `depths`: by name; `taken`: names in use; `every`: loops of all kinds."""

    def __init__(self, depths: dict[str, int], keys: Keys, taken: set[str], every: bool) -> None:
        self.depths, self.keys, self.taken, self.every = depths, keys, taken, every

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return the nodes with all their loops renamed."""
        return tuple(self.node(node) for node in nodes)

    def node(self, node: Node) -> Node:
        """Return the node with its loops renamed."""
        match node:
            case For(iterator, body=body):
                key = self.key(node)
                if key is None or self.is_named(node, key):
                    return replace(node, note=key.note if key else node.note, body=self.nodes(body))
                name = fresh_name(key.name, self.taken)

                def renamed(expr: Expr) -> Expr:
                    return substitute(expr, {iterator: Name(name)})

                return replace(node, iterator=name, condition=renamed(node.condition), note=key.note,
                               body=self.nodes(map_expressions(body, renamed)))
            case If(condition, then, otherwise):
                return If(condition, self.nodes(then), self.nodes(otherwise))
            case _:
                return node

    def is_named(self, loop: For, key: LoopKey) -> bool:
        """Return whether a loop keeps its name."""
        alike = loop.iterator == key.name or loop.iterator.startswith(f"{key.name}_")
        return (key.kind in POINTS and not self.every) or (key.note == loop.note and alike)

    def key(self, loop: For) -> LoopKey | None:
        """Return the name of a loop in plans."""
        depth = self.depths.get(loop.iterator, -1)
        inside = (self.keys.get((one.name, depth)) for one in walk(loop.body) if isinstance(one, Instance))
        return next(filter(None, inside), None)
