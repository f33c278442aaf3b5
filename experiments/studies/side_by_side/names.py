"""Names of programs, of groups of them, and of ways to search, as options list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generator.errors import InputError

AT = "@"
"""Between the name of an explorer and the level at which it searches, where that is not the one of the suite."""


def words_of(text: str) -> tuple[str, ...]:
    """The words between the commas, each once."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def chosen(text: str, names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The names in a list like `stencils,gemm`, each once. Raises InputError for a word that is no name and no
    group.
    """
    found: dict[str, None] = {}
    for word in words_of(text):
        if word not in groups and word not in names:
            raise InputError(
                f"--programs: {word!r} is no program and no group; there are the groups {', '.join(groups)} and the "
                f"programs {', '.join(names)}"
            )
        found |= dict.fromkeys(groups.get(word, (word,)))
    return tuple(found)
