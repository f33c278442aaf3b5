"""Loop names that a reader of the source recognises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from generator.polyhedral.ast import LoopName
from generator.polyhedral.members import iterator_of
from generator.polyhedral.tree import Band, Launch, Leaf, Mapping, Sequence, Stage, Tree
from generator.program import Program

_RESERVED = frozenset(
    ["auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "half", "kernel", "global", "local", "constant", "private", "image2d_t", "sampler_t", "event_t", "uint", "ulong", "uchar", "ushort", "bool", "complex", "min", "max", "abs", "true", "false", "select", "step", "mix", "sign"])


def loop_names(tree: Tree, program: Program, taken: Iterable[str]) -> tuple[LoopName, ...]:
    """A name and a note per schedule dimension of `tree`, outermost first; none is in `taken`."""
    used = set(taken) | {array.name for array in program.arrays} | _RESERVED
    names: list[LoopName] = []
    for depth, member, kind in _members(tree, 0):
        if depth < len(names):
            continue  # another branch of a sequence: one name serves both
        base = iterator_of(member, program) or "c"
        words = {"tile": f"tile of {base}", "point": f"points of this thread along {base}"}
        name = _fresh(f"{base}_{kind}" if kind else base, used)
        names.append(LoopName(name, words.get(kind, "")))
        used.add(name)
    return tuple(names)


def _fresh(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name


def _members(tree: Tree, depth: int) -> Iterator[tuple[int, Any, str]]:
    """(schedule depth, member, kind of loop) of every band member, top down."""
    match tree:
        case Band(members=members, child=child, notes=notes):
            for offset, member in enumerate(members):
                yield depth + offset, member, notes[offset] if notes else ""
            yield from _members(child, depth + len(members))
        case Sequence(children=children):
            for child in children:
                yield from _members(child, depth)
        case Mapping(child=child) | Stage(child=child):
            yield from _members(child, depth)
        case Leaf() | Launch():
            return
