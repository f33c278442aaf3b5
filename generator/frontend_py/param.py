"""Numbers that are given from outside."""

from __future__ import annotations

from generator.errors import InputError
from generator.frontend_py.called import Word
from generator.frontend_py.nodes import Expr, Given
from generator.frontend_py.types import Type
from generator.frontend_py.where import here


class Param(Expr):
    """A number from outside, set with the pipeline or by `set`."""

    def __init__(self, kind: Type, name: str | float = "", value: float | None = None) -> None:
        given = value if isinstance(name, str) else name
        self.kind, self.name, self.at = kind, Word(name if isinstance(name, str) else ""), here()
        self.value = given

    @property
    def type(self) -> Type:
        """The type of its value."""
        return self.kind

    def set(self, value: float) -> None:
        """Set its value."""
        self.value = value

    set_estimate = set

    def set_range(self, low: float, high: float) -> None:
        """Accept a range without effect: the value is known."""

    def set_min_value(self, low: float) -> None:
        """Accept a least value without effect."""

    def set_max_value(self, high: float) -> None:
        """Accept a greatest value without effect."""

    def as_expr(self) -> Expr:
        """Return its value in an expression."""
        return Given(self)

    def number(self) -> int | float:
        """Return its value. Raises InputError if it has none, or one outside of its type."""
        if self.value is None or not self.type.holds(self.value):
            known = (
                f"has the value {self.value}, which does not exist in"
                if self.value is not None
                else "has no value of type"
            )
            raise InputError(
                f"Param `{self.name or '(unnamed)'}` {known} {self.type}; give it one: Param(type, name, value)",
                self.at,
            )
        return float(self.value) if self.type.is_float() else int(self.value)
