"""What the syntactic stage of the C front end knows of a SCoP, before any polyhedral model exists."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generator.frontend_c.marks import Marks
from generator.program import ElementType

PROGRAM_LIMIT_S = 120.0
"""How long a run of the tuned program may take unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """How the user starts the program: its arguments, and the file that is its standard input, with that file's
    SHA-256.

    A run of it may take `limit_s` seconds. `random_inputs`: where it cannot be run, the function with the SCoP is
    called with random data.
    """

    arguments: tuple[str, ...] = ()
    stdin: str | None = None
    stdin_hash: str = ""
    limit_s: float = PROGRAM_LIMIT_S
    random_inputs: bool = False

    @property
    def given(self) -> bool:
        """Whether the user says anything."""
        return bool(self.arguments or self.stdin)


PLAIN_START = Invocation()
"""Without arguments, and with nothing to read."""


def file_hash(file: Path) -> str | None:
    """The SHA-256 of a file's bytes, by which it is recognised; None when it cannot be read."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class Compilation:
    """How the user compiles the file, like a C compiler's command line, and starts the program.

    `sources` are further translation units that the program needs to link.
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
    """Where an array or scalar lies that is a member of structures in the file: `path` (".pos.x") of each element of
    `base`.

    The last `inner` extents of the array are those of the member. `pointer`: the member points to the array, which lies
    elsewhere.
    """

    base: str
    path: str
    inner: int
    pointer: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that the SCoP mentions and that exists at its entry.

    `extents` are C expressions, valid in the scope of the SCoP (`"1000 + 0"`, `"n"`); () for a scalar; the
    first may be None: the size behind a pointer is unknown. `indirect`: a scalar's or an array's name is a
    pointer to the whole array (`double (*A)[N][M]`, used as `(*A)[i][j]`).
    `is_argument`: a parameter of the function that holds the SCoP. `written`: the SCoP may write to it.
    `unread_after`: a local variable of that function that nothing can read once the SCoP has run.
    `components`: in the file, what the last extent counts is a structure of so many numbers of this type (0: it is
    not). `field`: it is a member of structures.
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
    `parameters` are the integer scalars that the SCoP reads and never writes (loop bounds and the like).
    `argument_names` are all parameters of `function`, in order, with their C declarations in `argument_decls`.
    `includes` are the non-system files that were included, as absolute paths. `items` are the syntax trees
    (pycparser) between the pragmas, where no name means two things. `locals` are the variables declared there,
    `iterators` those of its loops. `warnings`: what the user should know of how the file was read.
    `marks`: where the pragmas would stand, for loops without them; lines are then those of the loops.
    `swapped`: pointers that point elsewhere after the original SCoP; in `items` they keep their values.
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

    def variable(self, name: str) -> Variable:
        """The variable called `name`. Raises KeyError when the SCoP does not mention it."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)
