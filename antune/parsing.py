"""Options of the command line, as typed values."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from generator.errors import InputError
from generator.frontend_c.source import PROGRAM_LIMIT_S, Compilation, Invocation, file_hash

if TYPE_CHECKING:
    from experiments.values.options import Budget, SpaceName


@dataclass(frozen=True, slots=True)
class Scoped:
    """The loops to tune: their file, how it is compiled, and their place in it."""

    file: Path
    compilation: Compilation
    function: str | None
    scop: int | None
    parameters: tuple[tuple[str, int | float], ...]


def parse_scoped(file: Path, include: list[Path] | None, define: list[str] | None, source: list[Path] | None,
                 cflags: str, function: str | None, scop: int | None, param: list[str] | None,
                 size: str | None = None, args: str = "", stdin: Path | None = None,
                 program_limit: float = PROGRAM_LIMIT_S, random_inputs: bool = False) -> Scoped:
    """Check the options that `tune` and `explain` share; paths become absolute.

    Raises:
        InputError: a file or directory does not exist, or a definition makes no sense.
    """
    file, function = pipeline_function(file, function)
    if not file.is_file():
        raise InputError(f"{file} is not a file; give a C file, a pipeline PIPELINE.py:FUNCTION, or a kernel template "
                         "(KERNEL.py:FUNCTION, or a T1 file KERNEL.json)")
    pipeline, t1 = file.suffix == ".py", file.suffix == ".json"
    if t1 and (include or define or source or cflags or function or scop or param or size or args or stdin):
        raise InputError(f"{file} is a T1 file, which says all of its kernel: -I, -D, --source, --cflags, --function, "
                         "--scop, --param, --size, --args and --stdin are for C files")
    if pipeline and (include or define or source or cflags or scop or args or stdin):
        raise InputError(
            f"{file} is a pipeline: -I, -D, --source, --cflags, --scop, --args and --stdin are for C files; its sizes "
            "are --size and --param"
        )
    if size is not None and not pipeline:
        raise InputError(
            f"--size is for pipelines (PIPELINE.py:FUNCTION); set the sizes of {file.name} with -D or --param"
        )
    for directory in include or []:
        if not directory.is_dir():
            raise InputError(f"-I {directory} is not a directory; give one that holds headers")
    for other in source or []:
        if not other.is_file():
            raise InputError(f"--source {other} is not a file; give a C file to link")
    compilation = Compilation(tuple(str(d.absolute()) for d in include or []),
                              tuple(parse_define(text) for text in define or []), parse_words("--cflags", cflags),
                              tuple(str(s.absolute()) for s in source or []),
                              replace(parse_invocation(args, stdin, program_limit), random_inputs=random_inputs))
    return Scoped(file.absolute(), compilation, function, scop, parse_parameters([*parse_size(size), *(param or [])]))


def usual_space(file: Path) -> SpaceName:
    """Return the default space of a file."""
    return {".py": "pipeline", ".json": "template"}.get(file.suffix, "wide")  # type: ignore[return-value]  # all are names


def pipeline_function(file: Path, function: str | None) -> tuple[Path, str | None]:
    """Split `pipeline.py:build` into file and function. Raises InputError if --function names another one."""
    match = re.fullmatch(r"(.+\.py):(\w+)", str(file), re.DOTALL)
    if not match or file.is_file():
        return file, function
    if function not in (None, match[2]):
        raise InputError(f"--function {function}, but {file} names another one; leave one of them away")
    return Path(match[1]), match[2]


def parse_size(text: str | None) -> list[str]:
    """Convert `640x480` to sizes for --param: width=640, height=480. Raises InputError for anything else."""
    from generator.frontend_py.named_sizes import SIZES

    if text is None:
        return []
    parts = text.lower().split("x")
    if len(parts) > len(SIZES) or not all(re.fullmatch(r"\s*[1-9]\d*\s*", part) for part in parts):
        raise InputError(f"--size {text!r} is not a size; write --size WIDTHxHEIGHT, e.g. --size 2048x2048")
    return [f"{name}={part.strip()}" for name, part in zip(SIZES, parts, strict=False)]


def parse_budget(evaluations: int | None, iterations: int | None, minutes: float | None, stop_at: str | None,
                 stagnation: int | None) -> Budget:
    """Return the budget of a new run. Raises InputError for a limit or goal that makes no sense."""
    from experiments.values.options import make_budget
    from experiments.values.stopping import parse_goal

    return make_budget(
        evaluations, iterations, minutes, parse_goal(stop_at) if stop_at is not None else None, stagnation
    )


def parse_define(text: str) -> str:
    """Return a macro definition for a C compiler's -D. Raises InputError if it is malformed."""
    if not re.fullmatch(r"[A-Za-z_]\w*(\([^)]*\))?(=.*)?", text, re.DOTALL):
        raise InputError(f"-D {text!r} is not a definition; write -D NAME or -D NAME=VALUE")
    return text


def parse_words(option: str, text: str) -> tuple[str, ...]:
    """Split the text of --cflags or --args into words, as a shell does. Raises InputError for an unbalanced quote."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"{option} {text!r} cannot be split into words: {error}; balance the quotes") from None


def parse_invocation(args: str, stdin: Path | None, limit_s: float) -> Invocation:
    """Return how to start the program. Paths become absolute, as it runs in another folder.

    Raises:
        InputError: a file cannot be read.
    """
    arguments = tuple(_completed(word) for word in parse_words("--args", args))
    if stdin is None:
        return Invocation(arguments, limit_s=limit_s)
    found = file_hash(stdin)
    if found is None:
        raise InputError(
            f"--stdin {stdin} is not a file that can be read; give one that the program reads as its input"
        )
    return Invocation(arguments, str(stdin.absolute()), found, limit_s)


def _completed(word: str) -> str:
    """Make the path of an existing file in an argument absolute: `data.txt`, `--input=data.txt`, `some/folder`."""
    option, equals, value = word.rpartition("=") if word.startswith("-") else ("", "", word)
    path = Path(value)
    named = path.is_file() or ("/" in value and path.exists())
    return f"{option}{equals}{path.absolute()}" if named else word


def parse_parameters(texts: list[str]) -> tuple[tuple[str, int | float], ...]:
    """Parse NAME=VALUE pairs of numbers. Raises InputError for any other form, or a name given twice."""
    pairs: dict[str, int | float] = {}
    for text in texts:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*", text)
        if not match:
            raise InputError(f"--param {text!r} is not a number; write --param NAME=NUMBER, e.g. --param n=256")
        if match[1] in pairs:
            raise InputError(f"--param {match[1]} is given twice; keep one of them")
        pairs[match[1]] = int(match[2]) if re.fullmatch(r"[+-]?\d+", match[2]) else float(match[2])
    return tuple(pairs.items())


def parse_models(text: str) -> tuple[str, ...]:
    """Return the plan makers that --models names, without any for `none`."""
    from experiments.values.options import NO_MODELS

    names = tuple(filter(None, map(str.strip, text.split(","))))
    return () if names == (NO_MODELS,) else names
