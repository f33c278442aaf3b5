"""C as people write it: matrices in one dimension, functions, structures, sparse rows, and no pragma where none is
needed.

Each NAME.c is a whole program with a `main`; `-D SMALL` makes it small enough for a test. Every file of this folder
belongs to `antune suite everyday`. May import `generator` only.
"""

from __future__ import annotations

from pathlib import Path

from generator.errors import InputError

_FOLDER = Path(__file__).parent


def programs() -> tuple[str, ...]:
    """Return the names of all programs, sorted."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.c")))


def program_file(name: str) -> Path:
    """Return the C file of the program called `name`. Raises InputError if there is none."""
    if name not in programs():
        raise InputError(f"no everyday program is called {name!r}; there are: {', '.join(programs())}")
    return _FOLDER / f"{name}.c"
