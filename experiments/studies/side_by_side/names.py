"""Names in options: of programs, of groups of programs, and of ways to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generator.errors import InputError

AT = "@"
"""Separates the name of an explorer from the level at which it searches, if that differs from the suite's."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words between the commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def chosen(text: str, names: Sequence[str], groups: Mapping[str, Sequence[str]],
           option: str = "--programs") -> tuple[str, ...]:
    """Return the names in a list like `stencils,gemm`, the value of `option`, each once.

    Raises InputError for a word that is neither a name nor a group.
    """
    found: dict[str, None] = {}
    for word in words_of(text):
        if word not in groups and word not in names:
            raise InputError(
                f"{option}: {word!r} is neither a program nor a group; there are the groups {', '.join(groups)} "
                f"and the programs {', '.join(names)}"
            )
        found |= dict.fromkeys(groups.get(word, (word,)))
    return tuple(found)
