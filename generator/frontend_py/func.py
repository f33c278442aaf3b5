"""Funcs: the stages of a pipeline, each with a pure definition and updates after it.

    f = Func("f")
    f[x, y] = image[x, y] + 1            the pure definition: for all coordinates
    f[x, 0] = f[x, 0] * 2                an update: for all x
    f[r.x, r.y] += 1                     an update: for all points of the RDom r, in order
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from generator.errors import InputError, Location
from generator.frontend_py.called import Word
from generator.frontend_py.declared import declared
from generator.frontend_py.definition import Accumulation, Definition, separate, values_of
from generator.frontend_py.domain import domains_of
from generator.frontend_py.func_facts import Described
from generator.frontend_py.images import Image
from generator.frontend_py.implicit import placed, used
from generator.frontend_py.nodes import Call, Const, Expr, Op, RVar, Var, arithmetic, as_expr, parts
from generator.frontend_py.outputs import OutputBuffer
from generator.frontend_py.prepared import MARKS, defined_values, nothing, prepared
from generator.frontend_py.trees import depth
from generator.frontend_py.types import Int, Type
from generator.frontend_py.where import here

_DEEPEST = 150


class FuncRef(Expr):
    """`f[x, y]`: an expression when read, a definition when assigned; `f[x, y][1]` is one value of a tuple."""

    def __init__(self, func: Func, args: tuple[Expr, ...]) -> None:
        self.func, self.args, self.at = func, args, here()

    @property
    def type(self) -> Type:
        """The type of the value. Raises InputError as `as_expr`."""
        return self.as_expr().type

    def as_expr(self) -> Call:
        """Return the value. Raises InputError if the Func has no definition yet, or several values."""
        values = self.func.types_at(self.at)
        if len(values) != 1:
            raise InputError(f"Func `{self.func.title}` has {len(values)} values; choose one: "
                             f"{self.func.title}[...][0]", self.at)
        return self[0]

    def __getitem__(self, index: int) -> Call:
        kinds = self.func.types_at(self.at)
        if not 0 <= index < len(kinds):
            raise InputError(
                f"Func `{self.func.title}` has {len(kinds)} value(s), number {index} is none of them", self.at
            )
        args = placed(self.args, len(self.func.definitions[0].args))
        self.func.check_arity(args, self.at)
        return Call(self.func, args, index, kinds[index], self.at)

    def __len__(self) -> int:
        return len(self.func.types_at(self.at))

    def __iter__(self) -> Iterator[Expr]:
        return (self[k] for k in range(len(self)))

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]  # a definition takes it, no expression
        return Accumulation(self, "+", separate(other))

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]  # defines an update, as in Halide
        return Accumulation(self, "-", separate(other))

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]  # defines an update, as in Halide
        return Accumulation(self, "*", separate(other))

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]  # defines an update, as in Halide
        return Accumulation(self, "/", separate(other))


class Func(Described):
    """A stage: a function from integer coordinates to a number, or a tuple of numbers.

    `Func(type, dimensions, name)` declares the type and dimensions of its definition; several types are those of a
    tuple.
    """

    def __init__(self, name: Any = "", dimensions: int | None = None, title: str = "") -> None:
        self.name, self.at = Word(name if isinstance(name, str) else title), here()
        self.declared = declared(name, dimensions)
        self.definitions: list[Definition] = []
        self.estimates: dict[str, tuple[int, int]] = {}
        self.bounds_: dict[str, tuple[Expr, Expr]] = {}
        self.user: tuple[str, Location] | None = None  # the first other Func that uses this one
        if isinstance(name, Expr):  # Func(e): the value of e at its free Vars
            free = list({v.key: v for v in parts(name) if isinstance(v, Var)}.values())
            self[tuple(free)] = name
        elif isinstance(name, Image):  # Func(image): its elements
            every = tuple(Var(f"d{d}") for d in range(name.dimensions()))
            self[every] = name[every]

    def __getitem__(self, index: Any) -> FuncRef:
        args = tuple(as_expr(i) for i in (index if isinstance(index, tuple) else (index,)))
        for arg in args:
            if arg.type.is_float():
                raise InputError(
                    f"Func `{self.title}` is used with a coordinate of type {arg.type}; cast it to int32", here()
                )
        return FuncRef(self, args)

    def __call__(self, *index: Any) -> FuncRef:
        """Return the same as `self[index]`."""
        return self[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        at = here()
        if self.user is not None:
            raise InputError(
                f"Func `{self.title}` is used by Func `{self.user[0]}` (line {self.user[1].line}) already: all its "
                "updates must come before that",
                at,
            )
        args = self[index].args
        if isinstance(value, Accumulation):
            if value.ref.func is not self:
                raise InputError(f"Func `{self.title}` is assigned the updated value of another Func", at)
            args, value = value.ref.args, self._accumulated(value, at)
        kinds = self.types_at(at) if self.definitions else () if self.declared is None else self.declared.types
        values = values_of(value, kinds)
        args = placed(args, len(self.definitions[0].args) if self.definitions else len(args) - 1 + used(values))
        if self.definitions:
            self._update(args, values, at)
        else:
            self._define(args, values, at)

    def _old(self, args: tuple[Expr, ...], at: Location) -> Callable[[int], Expr]:
        """Return the value of this element before an update, by its number."""
        kinds = self.types_at(at)
        return lambda k: Call(self, args, k, kinds[k], at)

    def _prepared(self, args: tuple[Expr, ...], values: tuple[Expr, ...], at: Location) -> Definition:
        """Return the definition with its values processed by `prepared`."""
        domains = domains_of((*args, *values))
        if len(domains) > 1 and self.definitions:
            raise InputError(
                f"the update of Func `{self.title}` uses {len(domains)} RDoms; use one with more dimensions", at
            )
        domain = domains[0] if domains else None
        free = [a for a in args if isinstance(a, Var)]
        places = [RVar(domain, d) for d in range(len(domain.ranges))] if domain is not None else []
        found, notes = prepared((*values, *args), [*free, *places], len(self.definitions))
        definition = Definition(found[len(values):], found[:len(values)], at, domain, notes)
        bad = next((n for n in parts(*definition.exprs) if isinstance(n, Op) and n.name in MARKS), None)
        if bad is not None:
            raise InputError(f"the definition of Func `{self.title}` has `{bad.name}` where it has no meaning: undef "
                             "is a whole value or a branch of a select that is one, and `where` of an RDom has no "
                             "random numbers, prints or requirements", at)
        return definition

    def _accumulated(self, update: Accumulation, at: Location) -> tuple[Expr, ...]:
        """Return the new values; a Func without definition begins with 0 (1 for a product)."""
        if not self.definitions:
            first = 1 if update.op in ("*", "/") else 0
            args = placed(update.ref.args, len(update.ref.args) - 1 + used([as_expr(v) for v in update.values]))
            free = [a if isinstance(a, Var) else Var() for a in args]
            self._define(tuple(free), tuple(as_expr(first, as_expr(v).type) for v in update.values), at)
        kinds = self.types_at(at)
        if len(kinds) != len(update.values):
            raise InputError(f"Func `{self.title}` has {len(kinds)} value(s), its update has {len(update.values)}", at)
        return tuple(arithmetic(update.op, update.ref[k], value) for k, value in enumerate(update.values))

    def _define(self, args: tuple[Expr, ...], values: tuple[Expr, ...], at: Location) -> None:
        seen: set[str] = set()
        for arg in args:
            if not isinstance(arg, Var) or arg.key in seen:
                raise InputError(
                    f"the first definition of Func `{self.title}` must be for all coordinates: use different Vars "
                    "on its left side; updates come after it",
                    at,
                )
            seen.add(arg.key)
        if self.declared is not None:
            self.declared.check(self.title, args, [v.type for v in values], at)
        definition = self._prepared(args, defined_values(values, nothing(values.__getitem__)), at)
        values = definition.values
        if any(isinstance(n, Call) and n.func is self for n in parts(*values)):
            raise InputError(
                f"the pure definition of Func `{self.title}` is recursive; give it a start value and make the "
                "recursion an update over an RDom",
                at,
            )
        if definition.domain is not None:
            raise InputError(f"the pure definition of Func `{self.title}` uses RDom `{definition.domain.name}`; use "
                             "sum(...), maximum(...) and the like, or an update", at)
        self._check_free(definition, at)
        self._add(definition)

    def _update(self, args: tuple[Expr, ...], values: tuple[Expr, ...], at: Location) -> None:
        self.check_arity(args, at)
        kinds = self.types_at(at)
        if [a.type for a in values] != list(kinds):
            raise InputError(
                f"the update of Func `{self.title}` has the type {', '.join(str(v.type) for v in values)} but its "
                f"first definition {', '.join(map(str, kinds))}; cast the value",
                at,
            )
        definition = self._prepared(args, defined_values(values, self._old(args, at)), at)
        self._check_free(definition, at)
        self._check_update(definition, at)
        self._add(definition)

    def _add(self, definition: Definition) -> None:
        """Add a definition; what it uses must not change afterwards."""
        self.definitions.append(definition)
        if definition.domain is not None:
            definition.domain.used = definition.at
        for node in parts(*definition.exprs):
            if isinstance(node, Call) and node.func is not self and node.func.user is None:
                node.func.user = (self.title, definition.at)

    def _check_update(self, update: Definition, at: Location) -> None:
        """Refuse a Var that an update moves: it must be alone at its own position wherever the Func uses itself."""
        pure = self.definitions[0].args
        own = [n.args for n in parts(*update.exprs) if isinstance(n, Call) and n.func is self]
        free = {a.key for a in update.args if isinstance(a, Var)}
        if (
            not domains_of(update.exprs)
            and not own
            and all(
                isinstance(a, Var) and isinstance(b, Var) and a.key == b.key
                for a, b in zip(update.args, pure, strict=True)
            )
        ):
            raise InputError(f"Func `{self.title}` is defined twice for all coordinates (first in line "
                             f"{self.definitions[0].at.line}); use another Func, or an update of a part", at)
        for key in sorted(free):
            place = next(d for d, a in enumerate(update.args) if isinstance(a, Var) and a.key == key)
            home = pure[place]
            if not isinstance(home, Var) or home.key != key or any(
                    not isinstance(a := args[place], Var) or a.key != key for args in own):
                raise InputError(
                    f"the update of Func `{self.title}` moves Var `{key}`: in an update a Var must stand alone, at "
                    "the place where the first definition has it, wherever the Func is used; use an RDom",
                    at,
                )

    def _check_free(self, definition: Definition, at: Location) -> None:
        """Refuse Vars that are missing on the left side, and expressions that are nested too deeply."""
        if (levels := depth(*definition.exprs)) > _DEEPEST:
            raise InputError(
                f"the definition of Func `{self.title}` has {levels} operations inside of one another, {_DEEPEST} are "
                "possible: give parts of it Funcs of their own, or use sum(...) over an RDom",
                at,
            )
        bound = {a.key for a in definition.args if isinstance(a, Var)}
        for node in parts(*definition.exprs):
            if isinstance(node, Var) and node.key not in bound:
                raise InputError(
                    f"Var `{node.name or '(unnamed)'}` is free in the definition of Func `{self.title}`: it does not "
                    "stand alone on the left side",
                    at,
                )
            if isinstance(node, RVar) and definition.domain is None:
                raise InputError(
                    f"the coordinate `{node.name}` of an RDom is free in the definition of Func `{self.title}`", at
                )

    def set_estimate(self, var: Var, low: int, extent: int) -> Func:
        """Set the wanted coordinates of an output. Raises InputError for a Var that it does not have."""
        self._check_var(var)
        self.estimates[var.key] = (int(low), int(extent))
        return self

    def set_estimates(self, bounds: Sequence[tuple[int, int]]) -> Func:
        """Set the wanted coordinates of an output, for all dimensions: (min, extent)."""
        if len(bounds) != len(self.args()):
            raise InputError(
                f"Func `{self.title}` has {len(self.args())} dimensions but {len(bounds)} estimates", here()
            )
        for var, (low, extent) in zip(self.args(), bounds, strict=True):
            self.set_estimate(var, low, extent)
        return self

    def bound(self, var: Var, low: Any, extent: Any) -> Func:
        """Promise that only these coordinates of an output are wanted: numbers, or expressions of sizes of inputs."""
        self._check_var(var)
        first, count = (as_expr(b if isinstance(b, Expr) else Const(Int(64), int(b))) for b in (low, extent))
        self.bounds_[var.key] = (first, count)
        return self

    def _check_var(self, var: Var) -> None:
        if var.key not in {v.key for v in self.args()}:
            raise InputError(f"Func `{self.title}` has no dimension `{var.name}`", here())

    def output_buffer(self) -> OutputBuffer:
        """Return its memory as an output: `dim(0).set_bounds(...)` is like `bound`, strides have no effect."""
        return OutputBuffer(self)

    def output_buffers(self) -> list[OutputBuffer]:
        """Return the memory of each of its values."""
        return [OutputBuffer(self) for _ in self.types()]

    def realize(self, sizes: Any = (), target: object = None) -> Any:
        """Compute it with the interpreter. Return a Buffer of these sizes, from coordinate 0 on; a list of them for a
        tuple.

        A Buffer (a list of them for a tuple) in place of sizes gives the coordinates and receives the values. Without
        sizes, a Func without coordinates is computed. `target` has no effect.
        """
        from generator.frontend_py.realize import realize

        return realize((self,), sizes)
