"""The interpreter's `print` and `require`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from generator.errors import InputError
from generator.frontend_py.nodes import Expr
from generator.frontend_py.operators import Values
from generator.frontend_py.prepared import Note


def taken(note: Note, title: str, at: Mapping[str, Values], of: Callable[[Expr], Values], mask: Values | None,
          say: Callable[[str], None] | None) -> None:
    """Print the message of `note` in Func `title` at the points `at`, one line per point, or check its requirement.

    `at`: arrays that broadcast together. `of`: returns values. Where `mask` does not hold, there is no point.

    Raises:
        InputError: the requirement does not hold somewhere; the message has the first such point.
    """
    condition = of(note.condition)
    shape = np.broadcast_shapes(condition.shape, *(line.shape for line in at.values()),
                                *(() if mask is None else (mask.shape,)))
    chosen = np.broadcast_to(condition != note.required, shape)
    if mask is not None:
        chosen = chosen & np.broadcast_to(mask, shape)
    places = np.flatnonzero(chosen)
    if not places.size:
        return
    words = [word if isinstance(word, str) else np.broadcast_to(of(word), shape).ravel() for word in note.words]
    if note.required:
        spot = ", ".join(f"{name} = {np.broadcast_to(line, shape).ravel()[places[0]]}" for name, line in at.items())
        raise InputError(f"what Func `{title}` requires does not hold{f' at {spot}' if spot else ''}: "
                         f"{_line(words, int(places[0])) or 'no message'}", note.at)
    assert say is not None, "nobody evaluates a print that nobody reads"
    for place in places:
        say(_line(words, int(place)))


def _line(words: list[Any], place: int) -> str:
    """Return the words at one point, in Halide's format: real numbers with six digits after the point."""
    return " ".join(w if isinstance(w, str) else f"{w[place]:f}" if w.dtype.kind == "f" else str(int(w[place]))
                    for w in words)
