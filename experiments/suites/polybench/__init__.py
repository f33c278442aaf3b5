"""C programs in the manner of PolyBench/C 4.2.1: the text is ours, the computations and sizes are the standard ones.

Each NAME.c has a NAME.h (dataset sizes, element type) and shares polybench.h and polybench.c (arrays, printing,
timer). `-D MINI_DATASET` ... `-D EXTRALARGE_DATASET` choose a size class, `-D N=37` any size, `-D DATA_TYPE_IS_FLOAT`
the element type. May import `generator` only.
"""

from __future__ import annotations

from pathlib import Path

from generator.errors import InputError

_FOLDER = Path(__file__).parent


def programs() -> tuple[str, ...]:
    """Return the names of all programs, sorted."""
    return tuple(sorted(f.stem for f in _FOLDER.glob("*.c") if f.stem != "polybench"))


def program_file(name: str) -> Path:
    """Return the C file of the program called `name`. Raises InputError if there is none."""
    if name not in programs():
        raise InputError(f"no PolyBench program is called {name!r}; there are: {', '.join(programs())}")
    return _FOLDER / f"{name}.c"
