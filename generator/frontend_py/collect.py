"""The parts of a pipeline: all Funcs below its outputs, producers first, its inputs, and a name for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from generator.emit.names import free_name
from generator.errors import InputError
from generator.frontend_py.definition import Definition
from generator.frontend_py.func import Func
from generator.frontend_py.images import Image
from generator.frontend_py.nodes import Call, Edge, Expr, Given, Pixel, Var, parts
from generator.frontend_py.random import Unseeded


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """The Funcs in order of execution, and the inputs. `names`: by `id`; unique C identifiers."""

    outputs: tuple[Func, ...]
    funcs: tuple[Func, ...]
    images: tuple[Image, ...]
    names: Mapping[int, str]

    def declared(self) -> tuple[Image, ...]:
        """Return the inputs as users pass them: in the order in which they were made, Buffers after all others."""
        return tuple(sorted(self.images, key=lambda image: (image.fixed, image.made_at)))

    def name(self, thing: Func | Image) -> str:
        """Return the name of a Func or an input."""
        return self.names[id(thing)]

    def arrays(self, func: Func) -> tuple[str, ...]:
        """Return the names of the arrays of a Func's values: one, or one per value of its tuples."""
        name, count = self.name(func), len(func.types())
        return (name,) if count == 1 else tuple(f"{name}_{k}" for k in range(count))


def collect(outputs: Sequence[Func]) -> Collected:
    """Return everything below `outputs`. Raises InputError for an output without a definition."""
    funcs = _ordered(outputs)
    images: dict[int, Image] = {}
    for func in funcs:
        for node in nodes_of(func):
            if isinstance(node, Pixel | Edge):
                images.setdefault(id(node.image), node.image)
    names = _named([*images.values(), *funcs])
    for func in funcs:
        for node in nodes_of(func):
            if isinstance(node, Given) and isinstance(node.param, Unseeded):
                node.param.belong(names[id(func)])
    return Collected(tuple(outputs), tuple(funcs), tuple(images.values()), names)


def computed(collected: Collected) -> tuple[Func, ...]:
    """Return the Funcs that results depend on, in order: without those that are only printed or required."""
    needed = {id(func) for func in collected.outputs}
    for func in reversed(collected.funcs):  # consumers first
        if id(func) in needed:
            needed |= {id(node.func) for definition in func.definitions
                       for node in parts(*definition.computed, *_limits(definition)) if isinstance(node, Call)}
    return tuple(func for func in collected.funcs if id(func) in needed)


def roots(definition: Definition) -> tuple[Expr, ...]:
    """Return all expressions of a definition, including the bounds of its domain."""
    return (*definition.exprs, *_limits(definition))


def _limits(definition: Definition) -> tuple[Expr, ...]:
    """Return the bounds of its domain."""
    ranges = definition.domain.ranges if definition.domain is not None else ()
    return tuple(bound for pair in ranges for bound in pair)


def nodes_of(func: Func) -> Iterable[Expr]:
    """Yield all nodes of all definitions."""
    for definition in func.definitions:
        yield from parts(*roots(definition))


def _ordered(outputs: Sequence[Func]) -> list[Func]:
    """Return all Funcs, each after those that it uses."""
    done: dict[int, Func] = {}
    stack: list[tuple[Func, bool]] = [(func, False) for func in reversed(outputs)]
    while stack:
        func, ready = stack.pop()
        if ready:
            done.setdefault(id(func), func)
        elif id(func) not in done:
            if not func.definitions:
                raise InputError(f"Func `{func.title}` has no definition", func.at)
            stack.append((func, True))
            used = {id(n.func): n.func for n in nodes_of(func) if isinstance(n, Call)}
            used.pop(id(func), None)
            stack += [(f, False) for f in reversed(used.values()) if id(f) not in done]
    return list(done.values())


def _named(things: Sequence[Func | Image]) -> dict[int, str]:
    """Return names by `id`: the user's if valid, with a number if several are equal."""
    found: dict[int, str] = {}
    taken = {arg.name for thing in things if isinstance(thing, Func) for d in thing.definitions
             for arg in d.args if isinstance(arg, Var)} | {f"r{d}" for d in range(4)}
    for thing in things:
        base = re.sub(r"\W", "_", str(thing.name)) or ("input" if isinstance(thing, Image) else "f")
        base = f"f{base}" if base[0].isdigit() else base.lstrip("_") or "f"
        wanted, number = base, 1
        while wanted in taken:
            number += 1
            wanted = f"{base}_{number}"
        name = free_name(wanted, taken)
        taken |= {name, *([f"{name}_{k}" for k in range(len(thing.types()))] if isinstance(thing, Func) else ())}
        found[id(thing)] = name
    return found
