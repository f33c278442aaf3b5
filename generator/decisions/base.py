"""What a decision about a kernel is."""

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
        """Of the parallel dimensions, outermost first."""

    @property
    def block(self) -> tuple[int, ...]:
        """Threads in each of them."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a decision: its name, and the options (never empty)."""

    name: str
    options: tuple[Option, ...]
    depends: Depends = ()


@dataclass(frozen=True, slots=True)
class Offer(Generic[T]):
    """The options, and the earlier choices that they depend on beside the kernel."""

    options: tuple[T, ...]
    depends: Depends = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of docs/decisions.md: the options in words, what they do, and where the decision comes up `only`."""

    options: str
    meaning: str
    only: str = ""


@dataclass(slots=True)
class Known:
    """What is known when a decision comes up: the kernel, its dimensions as decided, the device, earlier decisions.

    `wide`: all that may pay is on offer, otherwise what the paper (Coding Ants) has.
    """

    shape: Shape
    target: Target
    wide: bool
    _chosen: dict[KernelDecision[Any], Any] = field(default_factory=dict)

    def __getitem__(self, decision: KernelDecision[T]) -> T:
        """What was decided. Raises KeyError for a decision that comes later."""
        return cast(T, self._chosen[decision])

    def learn(self, decision: KernelDecision[T], value: T) -> None:
        """That is decided now."""
        self._chosen[decision] = value
        self.shape = decision.turned(self.shape, value)


@dataclass(frozen=True, eq=False)
class KernelDecision(Generic[T]):
    """A decision that is one question and one field of a KernelPlan. What is more overrides some of this.

    `key` is the field's name, in JSON too. `name` is the question's: graphs, stored walks and `Question`s have it;
    `title` is what people read, where that differs. `offer`, the options once the earlier decisions are known; the
    default alone where the decision does not come up. `says`: a value other than the default in words, after the title.
    `younger` than the digests of stored plans: JSON names it only where it is not the default.
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
        """What people read."""
        return self.title or self.name

    def ask(self, known: Known) -> Generator[Question, Option, T]:
        """Asks unless there is one option only, is told an option, and returns what that decides."""
        offer = self.offer(known)
        if len(offer.options) == 1:
            return offer.options[0]
        answer = yield Question(self.name, cast("tuple[Option, ...]", offer.options), offer.depends)
        return next(option for option in offer.options if option == answer)

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """The inverse: the answers that lead to `kernel`, by the names of the questions."""
        return {self.name: cast(Option, self.of(kernel))}

    def of(self, kernel: Decided) -> T:
        """What a KernelPlan says of this decision."""
        return cast(T, getattr(kernel, self.key))

    def members(self, value: T) -> dict[str, Any]:
        """The fields of a KernelPlan for which this decides."""
        return {self.key: value}

    def turned(self, shape: Shape, value: T) -> Shape:
        """The kernel as later decisions see it."""
        return shape

    def check(self, data: Mapping[str, Any], where: str) -> None:
        """Raise InputError where JSON holds what no KernelPlan may."""
        self.form.require(data, where, self.key)

    def rows(self) -> tuple[tuple[str, Row], ...]:
        """Its rows in docs/decisions.md, by title."""
        return ((self.shown, self.row),)

    def words(self, kernel: Decided) -> str:
        """`unroll factor 4`; empty for the default."""
        value = self.of(kernel)
        return "" if value == self.default else f"{self.shown} {self.says(value)}".rstrip()


def switch(offered: bool, depends: Depends = ()) -> Offer[bool]:
    """No or yes where that is on offer, else no."""
    return Offer((False, True) if offered else (False,), depends)


def flag(key: str, name: str, offer: Callable[[Known], Offer[bool]], row: Row, title: str = "") -> KernelDecision[bool]:
    """A decision between no (the default) and yes."""
    return KernelDecision(key, name, False, FLAG, offer, row, lambda _: "", title)
