"""Check that subscripts stay inside their arrays."""

from __future__ import annotations

from collections.abc import Sequence

from generator.errors import InputError, Location
from generator.polyhedral.dependences.original import Usage, access_range
from generator.program import Statement


def check_range(array: str, shape: Sequence[int], usage: Usage, statements: Sequence[Statement], file: str) -> None:
    """Raise InputError at the first statement whose subscript leaves an array of this shape."""
    inside = all(low >= 0 for low in usage.low) and all(h < e for h, e in zip(usage.high, shape, strict=True))
    for statement in () if inside else statements:
        for access in statement.accesses:
            if access.array != array or (touched := access_range(access)) is None:
                continue
            for dim, (low, high, extent) in enumerate(zip(*touched, shape, strict=True)):
                if low < 0 or high >= extent:
                    raise InputError(f"subscript {dim + 1} of `{array}` in `{statement.text}` goes from {low} "
                                     f"to {high} but the array has {extent} elements in this dimension",
                                     Location(file, statement.line))
