"""Subscripts of accesses that are plain sums of iterators, without isl: most accesses of stencils are.

isl prints an access of all instances with the condition of the statement's domain: `{ S0[y, x] : 0 <= y <= 9 }` and
`{ S0[y, x] -> A[1 + y, 2x] : 0 <= y <= 9 }`. Everything else is left to isl.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Subscript: TypeAlias = tuple[int, tuple[int, ...]]
"""A constant, and the factor of each iterator."""

_DOMAIN = re.compile(r"\{ (\w+)\[([\w, ]*)\] : ([^;]*) \}")
_ACCESS = re.compile(r"\{ (\w+)\[([\w, ]*)\] -> \w+\[([^;:\]]*)\] : ([^;]*) \}")
_TERM = re.compile(r"(-?\d*)([A-Za-z_]\w*)?")


@lru_cache(maxsize=16384)
def plain_subscripts(relation: str, domain: str) -> tuple[Subscript, ...] | None:
    """Return the subscripts of an access (isl text) that all instances in `domain` make; None if isl has to find them.
    """
    whole, access = _DOMAIN.fullmatch(domain), _ACCESS.fullmatch(relation)
    if whole is None or access is None or (whole[1], whole[2], whole[3]) != (access[1], access[2], access[4]):
        return None
    iterators = access[2].split(", ")
    found = [_sum(text, iterators) for text in access[3].split(", ")]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else None


def _sum(text: str, iterators: list[str]) -> Subscript | None:
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
