"""Subscripts of accesses that are plain sums of iterators, without isl: most accesses of stencils are.

isl prints an access of all instances with the condition of the statement's domain: `{ S0[y, x] : 0 <= y <= 9 }` and
`{ S0[y, x] -> A[1 + y, 2x] : 0 <= y <= 9 }`. Everything else is left to isl.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

Subscript: TypeAlias = tuple[int, tuple[int, ...]]
"""A constant, and the factor of each iterator."""

_DOMAIN = re.compile(r"\{ \w+\[([\w, ]*)\]( : [^;]* \})")
_INDEX = re.compile(r"\w+\[([^;:\]]*)\]")
_TERM = re.compile(r"(-?\d*)([A-Za-z_]\w*)?")


@lru_cache(maxsize=16384)
def plain_subscripts(relation: str, domain: str) -> tuple[Subscript, ...] | None:
    """Return the subscripts of an access (isl text) that all instances in `domain` make; None if isl has to find them.
    """
    whole = _whole(domain)
    if whole is None or not (relation.startswith(whole.before) and relation.endswith(whole.after)):
        return None
    index = _INDEX.fullmatch(relation, len(whole.before), len(relation) - len(whole.after))
    if index is None:
        return None
    found = [_sum(text, whole.iterators) for text in index[1].split(", ")]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else None


@dataclass(frozen=True, slots=True)
class _Whole:
    """The iterators of a statement, and what is before and after the subscripts of an access of all its instances."""

    iterators: tuple[str, ...]
    before: str
    after: str


@lru_cache(maxsize=1024)
def _whole(domain: str) -> _Whole | None:
    """Return what accesses of all instances in `domain` have in common."""
    read = _DOMAIN.fullmatch(domain)
    return read and _Whole(tuple(read[1].split(", ")), f"{domain[:read.start(2)]} -> ", read[2])


@lru_cache(maxsize=4096)
def _sum(text: str, iterators: tuple[str, ...]) -> Subscript | None:
    """Return the subscript `text`, such as `198 + y` or `2x - y`."""
    constant, factors = 0, [0] * len(iterators)
    for term in text.replace(" - ", " + -").split(" + "):
        read = _TERM.fullmatch(term)
        if read is None or term in ("", "-"):
            return None
        if read[2] is None:
            constant += int(read[1])
        elif read[2] in iterators:
            factors[iterators.index(read[2])] += int(f"{read[1]}1" if read[1] in ("", "-") else read[1])
        else:
            return None
    return constant, tuple(factors)
