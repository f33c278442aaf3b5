"""Names of programs and of groups of them, as an option lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from generator.errors import InputError


def chosen(text: str, names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The names in a list like `stencils,gemm`, each once. Raises InputError for a word that is no name and no group."""
    found: dict[str, None] = {}
    for word in (word.strip() for word in text.split(",") if word.strip()):
        if word not in groups and word not in names:
            raise InputError(f"--programs: {word!r} is no program and no group; there are the groups {', '.join(groups)} and the "
                             f"programs {', '.join(names)}")
        found |= dict.fromkeys(groups.get(word, (word,)))
    return tuple(found)
