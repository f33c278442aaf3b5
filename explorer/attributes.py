"""Walks as rows of numbers, for the models that learn from them.

An attribute is a decision about a subject, whatever its options depended on. Its value is the option where that is a
number, else the number of a category; NaN where a walk never met the decision. A decision that offers numbers at
one place and something else at another has two attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph.space import Option
from graph.walk import Choice, Walk

Key: TypeAlias = tuple[str, tuple[str, ...]]
"""A decision's name and subject."""

Array: TypeAlias = NDArray[np.float64]

NUMBERS = frozenset((int, float))
"""Types of options that are ordered by size."""


@dataclass(slots=True)
class Attribute:
    """A column: which decision, and the categories in order of their numbers (None: the options are numbers)."""

    key: Key
    categories: dict[Option, int] | None


@dataclass(slots=True)
class Attributes:
    """All attributes met so far; the columns of later ones are added on the right.

    `chosen` are the columns of decisions that some walk had a choice in.
    """

    columns: list[Attribute] = field(default_factory=list)
    chosen: set[int] = field(default_factory=set)
    _index: dict[tuple[Key, bool], int] = field(default_factory=dict)

    def row(self, walk: Walk) -> dict[int, float]:
        """The values of a walk by column, those that a sample has settled among them."""
        chosen = self.values(map(answer, walk.choices))
        self.chosen.update(chosen)
        return {**self.values(map(answer, walk.settled)), **chosen} if walk.settled else chosen

    def values(self, answers: Iterable[tuple[Key, Option]]) -> dict[int, float]:
        """The values of these options by column; of an attribute that comes twice the last one."""
        values: dict[int, float] = {}
        index, columns = self._index, self.columns
        for key, option in answers:  # millions in a long search
            number = type(option) in NUMBERS
            column = index.get((key, number))
            if column is None:
                column = index[key, number] = len(columns)
                columns.append(Attribute(key, None if number else {}))
            categories = columns[column].categories
            values[column] = (
                float(option)  # type: ignore[arg-type]  # a number, as the column says
                if categories is None
                else float(categories.setdefault(option, len(categories)))
            )
        return values

    def table(self, rows: list[dict[int, float]]) -> Array:
        """One line per row; NaN where a walk never met the decision. Shape (rows, columns)."""
        return self.table_of([row.items() for row in rows])

    def table_of(self, rows: Sequence[Collection[tuple[int, float]]]) -> Array:
        """The same, of rows that are pairs of column and value."""
        table = np.full((len(rows), len(self.columns)), np.nan)
        lines = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        numbers = chain.from_iterable(chain.from_iterable(rows))
        pairs = np.fromiter(numbers, dtype=np.float64, count=2 * lines.size).reshape(-1, 2)
        table[lines, pairs[:, 0].astype(np.intp)] = pairs[:, 1]
        return table


def answer(choice: Choice) -> tuple[Key, Option]:
    """The attribute that `choice` is about, and its option."""
    return (choice.decision.name, choice.decision.subject), choice.option
