"""The classes of a decision about a kernel."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from generator.decisions.shape import Shape
from generator.forms import FLAG, Form
from generator.target import Target

T = TypeVar("T")
Option: TypeAlias = str | int | float | bool | tuple[int, ...]
Depends: TypeAlias = tuple[tuple[str, Option], ...]
"""The earlier choices (name, option) that a list of options depends on."""


class Decided(Protocol):
    """A kernel's plan (generator.plan.KernelPlan)."""

    @property
    def tile(self) -> tuple[int, ...]:
        """The tile sizes of the parallel dimensions, outermost first."""

    @property
    def block(self) -> tuple[int, ...]:
        """The threads in each parallel dimension."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a decision: its name, and the options (never empty)."""

    name: str
    options: tuple[Option, ...]
    depends: Depends = ()


@dataclass(frozen=True, slots=True)
class Offer(Generic[T]):
    """The options, and the earlier choices that they depend on besides the kernel."""

    options: tuple[T, ...]
    depends: Depends = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of docs/decisions.md: the options in words, their meaning, and `only`: when the decision is made."""

    options: str
    meaning: str
    only: str = ""


@dataclass(slots=True)
class Known:
    """The known facts at a decision: the kernel with its dimensions as decided, the device, earlier decisions.

    `wide`: offer everything that may pay, otherwise the options of the paper (Coding Ants).
    """

    shape: Shape
    target: Target
    wide: bool
    _chosen: dict[KernelDecision[Any], Any] = field(default_factory=dict)

    def __getitem__(self, decision: KernelDecision[T]) -> T:
        """Return an earlier decision. Raises KeyError for a later one."""
        return cast(T, self._chosen[decision])

    def learn(self, decision: KernelDecision[T], value: T) -> None:
        """Add a decision."""
        self._chosen[decision] = value
        self.shape = decision.turned(self.shape, value)


@dataclass(frozen=True, eq=False)
class KernelDecision(Generic[T]):
    """A decision that is one question and one field of a KernelPlan. Other kinds override methods.

    `key`: the field's name, also in JSON. `name`: the question's, in graphs, stored walks and `Question`s. `title`: the
    name for users, if different. `offer`: returns the options, given the earlier decisions; only the default if there
    is nothing to decide. `says`: describes a value other than the default, after the title. `younger`: younger than
    stored plans' digests, so JSON contains it only if it is not the default.
    """

    key: str
    name: str
    default: T
    form: Form
    offer: Callable[[Known], Offer[T]]
    row: Row
    says: Callable[[T], str] = str
    title: str = ""
    younger: bool = False

    @property
    def shown(self) -> str:
        """The name for users."""
        return self.title or self.name

    def ask(self, known: Known) -> Generator[Question, Option, T]:
        """Ask unless there is only one option, receive the answer, and return the decided value."""
        offer = self.offer(known)
        if len(offer.options) == 1:
            return offer.options[0]
        answer = yield Question(self.name, cast("tuple[Option, ...]", offer.options), offer.depends)
        return next(option for option in offer.options if option == answer)

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """Return the answers that lead to `kernel`, by names of questions (the inverse of `ask`)."""
        return {self.name: cast(Option, self.of(kernel))}

    def of(self, kernel: Decided) -> T:
        """Return the value of this decision in a KernelPlan."""
        return cast(T, getattr(kernel, self.key))

    def members(self, value: T) -> dict[str, Any]:
        """Return the fields of a KernelPlan that `value` determines."""
        return {self.key: value}

    def turned(self, shape: Shape, value: T) -> Shape:
        """Return the kernel as later decisions see it."""
        return shape

    def check(self, data: Mapping[str, Any], where: str) -> None:
        """Raise InputError if JSON holds a value that no KernelPlan may have."""
        self.form.require(data, where, self.key)

    def rows(self) -> tuple[tuple[str, Row], ...]:
        """Return its rows in docs/decisions.md, by title."""
        return ((self.shown, self.row),)

    def words(self, kernel: Decided) -> str:
        """Return `unroll factor 4`; empty for the default."""
        value = self.of(kernel)
        return "" if value == self.default else f"{self.shown} {self.says(value)}".rstrip()


def switch(offered: bool, depends: Depends = ()) -> Offer[bool]:
    """Return the options no and yes if `offered`, else no."""
    return Offer((False, True) if offered else (False,), depends)


def flag(key: str, name: str, offer: Callable[[Known], Offer[bool]], row: Row, title: str = "",
         younger: bool = False) -> KernelDecision[bool]:
    """Return a decision between no (the default) and yes."""
    return KernelDecision(key, name, False, FLAG, offer, row, lambda _: "", title, younger)
