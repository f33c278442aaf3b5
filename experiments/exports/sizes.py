"""`--size`: changes to the command line of a run that make its program work on another size."""

from __future__ import annotations

import re
import shlex
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from experiments.values.options import RunOptions
from generator.errors import InputError

_DEFINE = re.compile(r"([A-Za-z_]\w*)(?:=(.*))?", re.DOTALL)
_ARGUMENTS = "--args"
_DATASET = "_DATASET"


@dataclass(frozen=True, slots=True)
class Size:
    """A size as the user wrote it in `text`.

    `defines` are definitions as for -D; `arguments` are the program's arguments (None: as tuned).
    """

    text: str
    defines: tuple[str, ...]
    arguments: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that have a number."""
        return tuple(name for name, value in map(_parted, self.defines) if re.fullmatch(r"\d+", value))


def parse_size(text: str) -> Size:
    """Return the size in an option: words NAME=NUMBER or NAME, and --args=TEXT. Raises InputError for anything else."""
    try:
        words = shlex.split(text)
        given = [word for word in words if not word.startswith(f"{_ARGUMENTS}=")]
        told = [word.partition("=")[2] for word in words if word not in given]
        arguments = tuple(shlex.split(told[-1])) if told else None
    except ValueError as error:
        raise InputError(f"--size {text!r} cannot be read: {error}") from None
    if not words or any(not _DEFINE.fullmatch(word) for word in given):
        raise InputError(f"--size {text!r} is not a size; write it like the definitions of -D, as in "
                         "--size \"N=512 M=100\", "
                         f"or the program's arguments: --size \"{_ARGUMENTS}=512\"")
    return Size(text, tuple(given), arguments)


def sized(options: RunOptions, size: Size, parameters: AbstractSet[str]) -> RunOptions:
    """Return the options of a run for another size. `parameters` are the names that --param sets; all others are
    macros.

    A macro replaces one of the same name; a macro `..._DATASET` of PolyBench replaces another such macro.
    """
    values = dict(options.parameters)
    defines = list(options.compilation.defines)
    for define in size.defines:
        name, value = _parted(define)
        if name in parameters:
            if not re.fullmatch(r"\d+", value):
                raise InputError(f"--size {size.text!r}: {name} is a size of the function; give it a number, as in "
                                 f"{name}=512")
            values[name] = int(value)
        else:
            defines = [other for other in defines if not _replaced(other, name)] + [define]
    compilation = replace(options.compilation, defines=tuple(defines))
    if size.arguments is not None:
        compilation = replace(compilation, invocation=replace(compilation.invocation, arguments=size.arguments))
    return replace(options, compilation=compilation, parameters=tuple(values.items()))


def _parted(define: str) -> tuple[str, str]:
    name, _, value = define.partition("=")
    return name, value


def _replaced(define: str, name: str) -> bool:
    """Return whether the macro `name` replaces a definition."""
    other, _ = _parted(define)
    return other == name or (other.endswith(_DATASET) and name.endswith(_DATASET))
