"""What a Func says about itself: its coordinates, types and definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generator.errors import InputError, Location
from generator.frontend_py.called import Word
from generator.frontend_py.declared import Declared
from generator.frontend_py.definition import Definition
from generator.frontend_py.ignored import Scheduled
from generator.frontend_py.nodes import Expr, RVar, Var
from generator.frontend_py.prepared import Note
from generator.frontend_py.types import Type
from generator.frontend_py.where import here


class Described(Scheduled):
    """A Func's facts."""

    name: Word
    at: Location
    declared: Declared | None
    definitions: list[Definition]

    @property
    def title(self) -> str:
        """Its name, or its location in the source."""
        return self.name or f"(unnamed, line {self.at.line})"

    def defined(self) -> bool:
        """Return whether it has a pure definition."""
        return bool(self.definitions)

    def args(self) -> tuple[Var, ...]:
        """Return the Vars of the pure definition. Raises InputError if there is none."""
        self.types_at(here())
        return tuple(a for a in self.definitions[0].args if isinstance(a, Var))

    def dimensions(self) -> int:
        """Return the number of coordinates. Raises InputError if there is neither a definition nor a declaration."""
        if not self.definitions and self.declared is not None and self.declared.dimensions is not None:
            return self.declared.dimensions
        return len(self.args())

    def type(self) -> Type:
        """Return the type of its value. Raises InputError if there is no definition, or several values."""
        kinds = self.types()
        if len(kinds) != 1:
            raise InputError(f"Func `{self.title}` has {len(kinds)} values; their types are types()", here())
        return kinds[0]

    def types(self) -> tuple[Type, ...]:
        """Return the types of the values. Raises InputError if there is neither a definition nor a declaration."""
        return self.declared.types if not self.definitions and self.declared is not None else self.types_at(here())

    def outputs(self) -> int:
        """Return the number of values. Raises InputError as `types`."""
        return len(self.types())

    def types_at(self, at: Location) -> tuple[Type, ...]:
        """Return the types of the values, for a use at `at`. Raises InputError if there is no definition."""
        if not self.definitions:
            raise InputError(
                f"Func `{self.title}` is used before it has a definition: define it first (a pure definition "
                "cannot use its own Func; recursion is an update over an RDom)",
                at,
            )
        return tuple(v.type for v in self.definitions[0].values)

    def check_arity(self, args: Sequence[Expr], at: Location) -> None:
        """Raise InputError for a use with another number of coordinates than in the definition."""
        wanted = len(self.definitions[0].args)
        if len(args) != wanted:
            raise InputError(f"Func `{self.title}` has {wanted} coordinate(s) but is used with {len(args)}", at)

    def values(self) -> tuple[Expr, ...]:
        """Return the values of the pure definition. Raises InputError if there is none."""
        self.types_at(here())
        return self.definitions[0].values

    def value(self) -> Expr:
        """Return the value of the pure definition. Raises InputError if there is none, or several."""
        self.type()
        return self.values()[0]

    def num_update_definitions(self) -> int:
        """Return the number of updates."""
        return max(0, len(self.definitions) - 1)

    def has_update_definition(self) -> bool:
        """Return whether there is an update."""
        return self.num_update_definitions() > 0

    def update_args(self, number: int = 0) -> tuple[Expr, ...]:
        """Return the coordinates of an update. Raises InputError if it does not exist."""
        return self._update_at(number).args

    def update_values(self, number: int = 0) -> tuple[Expr, ...]:
        """Return the values of an update. Raises InputError if it does not exist."""
        return self._update_at(number).values

    def update_value(self, number: int = 0) -> Expr:
        """Return the value of an update. Raises InputError if it does not exist, or for several values."""
        self.type()
        return self.update_values(number)[0]

    def rvars(self, number: int = 0) -> tuple[RVar, ...]:
        """Return the coordinates of the RDom of an update. Raises InputError if the update does not exist."""
        domain = self._update_at(number).domain
        return () if domain is None else tuple(domain[dim] for dim in range(len(domain)))

    def require(self, note: Note) -> None:
        """Check a requirement whenever the Func is computed. Raises InputError if there is no definition."""
        self.types_at(note.at)
        self.definitions[0] = replace(self.definitions[0], notes=(*self.definitions[0].notes, note))

    def _update_at(self, number: int) -> Definition:
        if not 0 <= number < self.num_update_definitions():
            raise InputError(f"Func `{self.title}` has {self.num_update_definitions()} update(s), number {number} is "
                             "none of them", here())
        return self.definitions[number + 1]
