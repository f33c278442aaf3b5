"""The words of a command line, as types for typer; here they become typed values, once."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from generator.errors import InputError
from generator.frontend_c.source import Compilation


class CacheChoice(StrEnum):
    """What a timed run finds in the caches."""

    warm = "warm"
    cold = "cold"


SourceFile: TypeAlias = Annotated[Path, typer.Argument(
    metavar="FILE.c", help="C file with the loops to tune between `#pragma scop` and `#pragma endscop`.",
    show_default=False)]
RunDirectory: TypeAlias = Annotated[Path, typer.Argument(
    metavar="DIR", help="Directory of a run, as `antune list` shows it.", show_default=False)]
IncludeDirs: TypeAlias = Annotated[list[Path] | None, typer.Option(
    "-I", "--include", metavar="DIR", help="Where to look for included files, as for a C compiler. Repeatable.",
    show_default=False)]
Defines: TypeAlias = Annotated[list[str] | None, typer.Option(
    "-D", "--define", metavar="NAME[=VALUE]", help="Define a macro, e.g. -D N=1024. Repeatable.",
    show_default=False)]
Sources: TypeAlias = Annotated[list[Path] | None, typer.Option(
    "--source", metavar="OTHER.c", help="Another C file that the program needs to link. Repeatable.",
    show_default=False)]
Cflags: TypeAlias = Annotated[str, typer.Option(
    "--cflags", metavar="FLAGS", help='Further flags for the C compiler, e.g. --cflags "-std=c11 -fopenmp".',
    show_default=False)]
Function: TypeAlias = Annotated[str | None, typer.Option(
    "--function", metavar="NAME", help="The function that holds the SCoP, when the file has several.",
    show_default=False)]
Scop: TypeAlias = Annotated[int | None, typer.Option(
    "--scop", metavar="N", min=1, help="Which SCoP of the file, counted from 1, when there are several.",
    show_default=False)]
Parameters: TypeAlias = Annotated[list[str] | None, typer.Option(
    "--param", metavar="NAME=VALUE", help="A size, for a file without a main that would set it. Repeatable.",
    show_default=False)]
Device: TypeAlias = Annotated[str | None, typer.Option(
    "--device", metavar="DEVICE", help="Number or part of a name from `antune devices`; `deterministic` computes "
    "times instead of measuring. Default: the best device found.", show_default=False)]
Devices: TypeAlias = Annotated[list[str] | None, typer.Option(
    "--device", metavar="DEVICE", help="Number or part of a name from `antune devices`; repeatable for devices of one "
    "model, `all` takes every device of the best one's platform. `deterministic` computes times instead of measuring. "
    "Default: the best device found.", show_default=False)]
Cluster: TypeAlias = Annotated[str | None, typer.Option(
    "--cluster", metavar="ADDRESS", help="Measure on a Dask cluster: tcp://HOST:PORT or tls://HOST:PORT of its "
    "scheduler, its scheduler file, or `local:N` to start N workers here (docs/cluster.md).", show_default=False)]
Elsewhere: TypeAlias = Annotated[str | None, typer.Option(
    "--cluster", metavar="ADDRESS", help="Go on on another cluster, see `antune tune`; `none`: on this machine.",
    show_default=False)]
Seed: TypeAlias = Annotated[int, typer.Option(
    "--seed", metavar="N", help="Seed of all random choices and random inputs: same seed, same walks.")]
Json: TypeAlias = Annotated[Path | None, typer.Option(
    "--json", metavar="FILE", help="Write the table to FILE as JSON too.", show_default=False)]
Evaluations: TypeAlias = Annotated[int | None, typer.Option(
    "--evaluations", metavar="N", help="End after N plans.", show_default=False)]
Iterations: TypeAlias = Annotated[int | None, typer.Option(
    "--iterations", metavar="N", help="End after N iterations of --ants plans each (default: 5).",
    show_default=False)]
CompileLimit: TypeAlias = Annotated[float, typer.Option(
    "--compile-limit", metavar="SECONDS", help="The most that generating and compiling a plan may take. Usually less "
    "is allowed: a multiple of what other plans took.")]
RunLimit: TypeAlias = Annotated[float, typer.Option(
    "--run-limit", metavar="SECONDS", help="The most that checking and timing a plan may take; usually a multiple of "
    "what the best one took.")]
MemoryLimit: TypeAlias = Annotated[float | None, typer.Option(
    "--memory-limit", metavar="GB", help="The most memory that a process which compiles or runs plans may take beside "
    "the program's data. Default: a share of the machine's.", show_default=False)]
Minutes: TypeAlias = Annotated[float | None, typer.Option(
    "--minutes", metavar="M", help="End after M minutes of work.", show_default=False)]
Precision: TypeAlias = Annotated[float, typer.Option(
    "--precision", metavar="PERCENT", help="Repeat a plan until the 95 % interval of its median time is that narrow to "
    "either side.")]
MaxRepeats: TypeAlias = Annotated[int, typer.Option(
    "--max-repeats", metavar="N", help="The most repeats of a plan.")]
Cache: TypeAlias = Annotated[CacheChoice, typer.Option(
    "--cache", help="What a timed run finds in the device's caches: its own data (`warm`), or none of it (`cold`: more "
    "than they hold is written before each run).")]
Finalists: TypeAlias = Annotated[int, typer.Option(
    "--finalists", metavar="N", help="At the end, measure up to N of the best plans again, in turns; the fastest of that "
    "is the best plan (0: none).")]
Profile: TypeAlias = Annotated[int, typer.Option(
    "--profile", metavar="N", help="Run the N fastest plans of every iteration under a profiler, too (perf events on CPUs, "
    "Nsight Compute on NVIDIA); the search learns from what it counts.")]


@dataclass(frozen=True, slots=True)
class Scoped:
    """Which loops of which file, and how the file is compiled."""

    file: Path
    compilation: Compilation
    function: str | None
    scop: int | None
    parameters: tuple[tuple[str, int], ...]


def parse_scoped(file: Path, include: list[Path] | None, define: list[str] | None, source: list[Path] | None,
                 cflags: str, function: str | None, scop: int | None, param: list[str] | None) -> Scoped:
    """The options that `tune` and `explain` share, checked; paths become absolute.

    Raises:
        InputError: a file or directory that does not exist, or a definition that makes no sense.
    """
    if not file.is_file():
        raise InputError(f"{file} is not a file; give a C file with `#pragma scop`")
    for directory in include or []:
        if not directory.is_dir():
            raise InputError(f"-I {directory} is not a directory; give one that holds headers")
    for other in source or []:
        if not other.is_file():
            raise InputError(f"--source {other} is not a file; give a C file to link")
    compilation = Compilation(tuple(str(d.absolute()) for d in include or []),
                              tuple(parse_define(text) for text in define or []), parse_flags(cflags),
                              tuple(str(s.absolute()) for s in source or []))
    return Scoped(file.absolute(), compilation, function, scop, parse_parameters(param or []))


def parse_define(text: str) -> str:
    """A macro definition as a C compiler's -D takes it. Raises InputError when it is none."""
    if not re.fullmatch(r"[A-Za-z_]\w*(\([^)]*\))?(=.*)?", text, re.DOTALL):
        raise InputError(f"-D {text!r} is no definition; write -D NAME or -D NAME=VALUE")
    return text


def parse_flags(text: str) -> tuple[str, ...]:
    """The words of --cflags. Raises InputError for an unbalanced quote."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise InputError(f"--cflags {text!r} cannot be split into words: {error}; balance the quotes") from None


def parse_parameters(texts: list[str]) -> tuple[tuple[str, int], ...]:
    """NAME=VALUE pairs with integer values. Raises InputError for any other shape, or a name given twice."""
    pairs: dict[str, int] = {}
    for text in texts:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*([+-]?\d+)\s*", text)
        if not match:
            raise InputError(f"--param {text!r} is no size; write --param NAME=INTEGER, e.g. --param n=256")
        if match[1] in pairs:
            raise InputError(f"--param {match[1]} is given twice; keep one of them")
        pairs[match[1]] = int(match[2])
    return tuple(pairs.items())
