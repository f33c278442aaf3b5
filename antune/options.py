"""The options of the command line, as types for typer, and their conversion to typed values."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from generator.errors import InputError
from generator.frontend_c.source import PROGRAM_LIMIT_S, Compilation, Invocation, file_hash

if TYPE_CHECKING:
    from experiments.values.options import Budget, SpaceName


class CacheChoice(StrEnum):
    """The state of the caches before a timed run."""

    warm = "warm"
    cold = "cold"


SourceFile: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="C file with the loops to tune between `#pragma scop` and `#pragma endscop` (without pragmas: the loops "
             "that take the most time); or PIPELINE.py:FUNCTION, where FUNCTION (default: build) returns the output "
             "of an image pipeline (docs/pipelines.md), or a kernel of your own with parameters (docs/templates.md); "
             "or a T1 file KERNEL.json.",
        show_default=False,
    ),
]
RunDirectory: TypeAlias = Annotated[Path, typer.Argument(
    metavar="DIR", help="Directory of a run, as `antune list` shows it.", show_default=False)]
IncludeDirs: TypeAlias = Annotated[list[Path] | None, typer.Option(
    "-I", "--include", metavar="DIR", help="Search this directory for included files, as for a C compiler. Repeatable.",
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
Args: TypeAlias = Annotated[
    str,
    typer.Option(
        "--args",
        metavar="WORDS",
        help="Arguments for the program's main, e.g. --args \"512 --seed 3\". The program runs in a separate folder; "
             "paths of existing files become absolute.",
        show_default=False,
    ),
]
Stdin: TypeAlias = Annotated[Path | None, typer.Option(
    "--stdin", metavar="FILE", help="Standard input of the program.", show_default=False)]
ProgramLimit: TypeAlias = Annotated[float, typer.Option(
    "--program-limit", metavar="SECONDS", min=0.1, help="Time limit for a run of the program itself.")]
RandomInputs: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--random-inputs",
        help="If the program cannot be run, call the function that contains the SCoP with random data.",
        show_default=False,
    ),
]
Function: TypeAlias = Annotated[str | None, typer.Option(
    "--function", metavar="NAME", help="The function that contains the SCoP (or the loops), if the file has several.",
    show_default=False)]
Scop: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--scop",
        metavar="N",
        min=1,
        help="Number of the SCoP, from 1, if the file has several; in a file without pragmas, number of the loop nest"
             " in `antune explain FILE --find`.",
        show_default=False,
    ),
]
Parameters: TypeAlias = Annotated[list[str] | None, typer.Option(
    "--param", metavar="NAME=VALUE", help="A size, for a file without a main. Repeatable.",
    show_default=False)]
Size: TypeAlias = Annotated[str | None, typer.Option(
    "--size", metavar="WxH[xC]", help="The extents of a pipeline's output, e.g. 2048x2048; the same as --param width=W "
    "--param height=H --param channels=C.", show_default=False)]
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
    "--cluster", metavar="ADDRESS", help="Continue on another cluster, see `antune tune`; `none`: on this machine.",
    show_default=False)]
Seed: TypeAlias = Annotated[int, typer.Option(
    "--seed", metavar="N", help="Seed of all random choices and random inputs: same seed, same walks.")]
Json: TypeAlias = Annotated[Path | None, typer.Option(
    "--json", metavar="FILE", help="Also write the table to FILE as JSON.", show_default=False)]
Evaluations: TypeAlias = Annotated[int | None, typer.Option(
    "--evaluations", metavar="N", help="End after N plans.", show_default=False)]
Iterations: TypeAlias = Annotated[int | None, typer.Option(
    "--iterations", metavar="N", help="End after N iterations of --ants plans each (default: 5).",
    show_default=False)]
CompileLimit: TypeAlias = Annotated[float, typer.Option(
    "--compile-limit", metavar="SECONDS", help="Upper limit for generating and compiling a plan. The actual limit is "
                                               "usually lower: a multiple of the time of other plans.")]
RunLimit: TypeAlias = Annotated[float, typer.Option(
    "--run-limit", metavar="SECONDS", help="Upper limit for checking and timing a plan. The actual limit is usually "
                                           "lower: a multiple of the time of the best plan.")]
MemoryLimit: TypeAlias = Annotated[float | None, typer.Option(
    "--memory-limit", metavar="GB", help="Memory limit of a process that compiles or runs plans, in addition to the "
                                         "program's data. Default: a share of the machine's memory.",
    show_default=False)]
Minutes: TypeAlias = Annotated[float | None, typer.Option(
    "--minutes", metavar="M", help="End after M minutes of work.", show_default=False)]
StopAt: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--stop-at",
        metavar="GOAL",
        help="End when a plan is fast enough: `8x` as fast as the default plan, `2x-sequential` as "
        "the C program, `90%` of the speed that the device's ceilings allow (`antune suite roofline`).",
        show_default=False,
    ),
]
Stagnation: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--stagnation",
        metavar="N",
        help="End after N plans in a row without a clear improvement (an interval below that of the best plan).",
        show_default=False,
    ),
]
Precision: TypeAlias = Annotated[float, typer.Option(
    "--precision", metavar="PERCENT", help="Repeat a plan until the 95 % interval of its median time is within this "
                                           "percentage on either side; for plans that are clearly slower than the "
                                           "best, 2.5 times this width is enough.")]
MaxRepeats: TypeAlias = Annotated[int, typer.Option(
    "--max-repeats", metavar="N", help="Maximum number of repeats of a plan.")]
Cache: TypeAlias = Annotated[CacheChoice, typer.Option(
    "--cache", help="State of the device's caches for a timed run: they contain its own data (`warm`), or none of it "
                    "(`cold`: they are overwritten before each run).")]
Realtime: TypeAlias = Annotated[bool, typer.Option(
    "--realtime", help="Measure at real-time priority, so that other work on this machine's cores does not lengthen "
                       "times (Linux; needs the right to do so, as root has it).")]
Reuse: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--reuse",
        metavar="DIR",
        help="Reuse the measurements of another run of the same program, device and toolchain. Repeatable.",
        show_default=False,
    ),
]
FromWisdom: TypeAlias = Annotated[bool, typer.Option(
    "--wisdom", help="Start with the best known plans for the same program at similar sizes, or on similar devices "
                     "(`antune wisdom list`).")]
Anyway: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--anyway",
        help="Continue although the driver or antune has changed: times may not be comparable. If antune would now "
             "request other plans, it continues from the measurements.",
    ),
]
Trust: TypeAlias = Annotated[bool, typer.Option(
    "--trust", help="Trust the author of this run: also use parts of it that could run arbitrary code "
                    "(docs/security.md).")]
Finalists: TypeAlias = Annotated[
    int,
    typer.Option(
        "--finalists",
        envvar="ANTUNE_FINALISTS",
        metavar="N",
        help="At the end, measure up to N of the best plans again, in turns; the fastest of these is the best plan "
             "(0: none).",
    ),
]
Models: TypeAlias = Annotated[
    str,
    typer.Option(
        "--models",
        metavar="A,B",
        help="Start with the best plans according to cost models: `sioutas`, `polymage-dp`, `beam` (docs/models.md).",
        show_default=False,
    ),
]
ForetellBy: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--foretell",
        metavar="MODEL",
        help="Let colony, genetic and portfolio use the costs predicted by a model to choose plans, weighted by how "
             "well they match measurements: `sioutas`, `polymage` or `learned` (docs/models.md).",
        show_default=False,
    ),
]
ForeseeBy: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--foresee",
        metavar="MODEL",
        help="Let the colony's ants prefer options with low costs according to a model: `sioutas`, `polymage` or "
             "`learned` (docs/models.md).",
        show_default=False,
    ),
]
CalibrationFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Constants of cost models for the device, from `antune suite calibrate` (docs/models.md).",
        show_default=False,
    ),
]
Profile: TypeAlias = Annotated[
    int,
    typer.Option(
        "--profile",
        metavar="N",
        help="Also run the N fastest plans of every iteration under a profiler (perf events on CPUs, Nsight Compute "
             "on NVIDIA); the search uses its counters.",
    ),
]
Live: TypeAlias = Annotated[bool, typer.Option(
    "--live", help="Serve the report on 127.0.0.1 during the run; the page is updated continuously.")]
LivePort: TypeAlias = Annotated[int | None, typer.Option(
    "--live-port", metavar="N", min=0, max=65535, help="The same, on port N (0: a free one, as with --live).",
    show_default=False)]

Picture: TypeAlias = Annotated[bool, typer.Option(
    "--picture/--no-picture", envvar="ANTUNE_PICTURE",
    help="Draw convergence.png at the end (takes about a second).")]


@dataclass(frozen=True, slots=True)
class Scoped:
    """The loops to tune: their file, how it is compiled, and their place in it."""

    file: Path
    compilation: Compilation
    function: str | None
    scop: int | None
    parameters: tuple[tuple[str, int], ...]


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
    from generator.frontend_py.load import SIZES

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


def parse_parameters(texts: list[str]) -> tuple[tuple[str, int], ...]:
    """Parse NAME=VALUE pairs with integer values. Raises InputError for any other form, or a name given twice."""
    pairs: dict[str, int] = {}
    for text in texts:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*([+-]?\d+)\s*", text)
        if not match:
            raise InputError(f"--param {text!r} is not a size; write --param NAME=INTEGER, e.g. --param n=256")
        if match[1] in pairs:
            raise InputError(f"--param {match[1]} is given twice; keep one of them")
        pairs[match[1]] = int(match[2])
    return tuple(pairs.items())
