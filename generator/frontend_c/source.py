"""The syntactic stage's description of a SCoP, before any polyhedral model exists."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.frontend_c.marks import Marks
from generator.program import ElementType

PROGRAM_LIMIT_S = 120.0
"""The default time limit for a run of the tuned program."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """The start of the program: its arguments, and the file for its standard input, with that file's SHA-256.

    `limit_s`: the time limit of a run in seconds. `random_inputs`: if the program cannot be run, call the function with
    the SCoP with random data.
    """

    arguments: tuple[str, ...] = ()
    stdin: str | None = None
    stdin_hash: str = ""
    limit_s: float = PROGRAM_LIMIT_S
    random_inputs: bool = False

    @property
    def given(self) -> bool:
        """Whether the user specified anything."""
        return bool(self.arguments or self.stdin)


PLAIN_START = Invocation()
"""Without arguments and input."""


def file_hash(file: Path) -> str | None:
    """Return the SHA-256 of a file's bytes, which identifies it; None if it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Compilation:
    """The user's way to compile the file, like a C compiler's command line, and to start the program.

    `sources`: further translation units that the program needs to link.
    """

    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    invocation: Invocation = PLAIN_START

    @property
    def flags(self) -> tuple[str, ...]:
        """The user's own options for the compiler."""
        return (*(f"-I{d}" for d in self.include_dirs), *(f"-D{d}" for d in self.defines), *self.cflags)


@dataclass(frozen=True, slots=True)
class Field:
    """The location of an array or scalar that is a member of structures: `path` (".pos.x") of each element of `base`.

    The last `inner` extents of the array are those of the member. `pointer`: the member points to the array.
    """

    base: str
    path: str
    inner: int
    pointer: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that the SCoP mentions and that exists at its entry.

    `extents`: C expressions, valid in the scope of the SCoP (`"1000 + 0"`, `"n"`); () for a scalar; the first may be
    None: the size behind a pointer is unknown. `indirect`: a scalar's or an array's name is a pointer to the whole
    array (`double (*A)[N][M]`, used as `(*A)[i][j]`). `is_argument`: a parameter of the function that contains the
    SCoP. `written`: the SCoP may write to it. `unread_after`: a local variable of that function that cannot be read
    after the SCoP. `components`: in the file, the last extent is that of a structure of so many numbers of this type
    (0: it is not). `field`: it is a member of structures.
    """

    name: str
    type: ElementType
    extents: tuple[str | None, ...]
    written: bool
    is_argument: bool
    indirect: bool = False
    unread_after: bool = False
    components: int = 0
    field: Field | None = None


@dataclass(frozen=True, slots=True)
class ScopSource:
    """A SCoP found in a C file.

    Lines count from 1 in `file`: `first_line` is that of `#pragma scop`, `last_line` that of `#pragma endscop`.
    `parameters`: the integer scalars that the SCoP reads and never writes (loop bounds etc.). `argument_names`: all
    parameters of `function`, in order, with their C declarations in `argument_decls`. `includes`: the non-system files
    that were included, as absolute paths. `items`: the syntax trees (pycparser) between the pragmas, with unique names.
    `locals`: the variables declared there; `iterators`: those of its loops. `warnings`: for the user, about how the
    file was read. `marks`: the positions of the pragmas, for loops without them; lines are then those of the loops.
    `swapped`: pointers with other targets after the original SCoP; in `items` they keep their values. `declared`: the
    names of `variables` in the order of their declarations.
    """

    file: str
    function: str
    first_line: int
    last_line: int
    variables: tuple[Variable, ...]
    parameters: tuple[str, ...]
    argument_names: tuple[str, ...]
    argument_decls: tuple[str, ...]
    has_main: bool
    includes: tuple[str, ...]
    compilation: Compilation
    items: tuple[Any, ...] = field(repr=False, default=())
    locals: tuple[Variable, ...] = ()
    iterators: tuple[Variable, ...] = ()
    warnings: tuple[str, ...] = ()
    marks: Marks | None = None
    swapped: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()

    def variable(self, name: str) -> Variable:
        """Return the variable called `name`. Raises KeyError if the SCoP does not mention it."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)
