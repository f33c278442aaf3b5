"""Walks as rows of numbers, for models that learn from them.

An attribute is a decision's name and subject, regardless of `depends`. Its value is the option itself if that is a
number, else the number of its category; NaN if the walk did not meet the decision. A decision that offers numbers in
one place and other options in another has two attributes.
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
    """A column: the decision, and its categories in order of their numbers (None: the options are numbers)."""

    key: Key
    categories: dict[Option, int] | None


@dataclass(slots=True)
class Attributes:
    """All attributes met so far; new ones are appended as columns on the right.

    `chosen`: the columns of decisions in which at least one walk had a choice.
    """

    columns: list[Attribute] = field(default_factory=list)
    chosen: set[int] = field(default_factory=set)
    _index: dict[tuple[Key, bool], int] = field(default_factory=dict)

    def row(self, walk: Walk) -> dict[int, float]:
        """Return the values of a walk by column, including its settled answers (graph.walk.Walk.settled)."""
        chosen = self.values(map(answer, walk.choices))
        self.chosen.update(chosen)
        return {**self.values(map(answer, walk.settled)), **chosen} if walk.settled else chosen

    def values(self, answers: Iterable[tuple[Key, Option]]) -> dict[int, float]:
        """Return the values of these options by column; the last one if an attribute occurs twice."""
        values: dict[int, float] = {}
        index, columns = self._index, self.columns
        for key, option in answers:  # a long search has millions of them
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
        """Return the table of these rows, shape (rows, columns); NaN if the walk did not meet the decision."""
        return self.table_of([row.items() for row in rows])

    def table_of(self, rows: Sequence[Collection[tuple[int, float]]]) -> Array:
        """Return the table of rows that are given as pairs (column, value)."""
        table = np.full((len(rows), len(self.columns)), np.nan)
        lines = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        numbers = chain.from_iterable(chain.from_iterable(rows))
        pairs = np.fromiter(numbers, dtype=np.float64, count=2 * lines.size).reshape(-1, 2)
        table[lines, pairs[:, 0].astype(np.intp)] = pairs[:, 1]
        return table


def answer(choice: Choice) -> tuple[Key, Option]:
    """Return the decision's name and subject, and the chosen option."""
    return (choice.decision.name, choice.decision.subject), choice.option
