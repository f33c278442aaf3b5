"""Compile and link with the system's C compiler."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pycparser import c_ast

from generator.frontend_c.elements import nodes
from generator.frontend_c.preprocess import find_compiler
from generator.frontend_c.source import Compilation, ScopSource

_MACHINE = ("-march=", "-mcpu=")
_NO_OPENMP = re.compile(
    r"undefined (?:reference to|symbol:) [`'\"]?(?:omp_|GOMP_|__kmpc_)|\bomp\.h\b.*(?:No such file|not found)"
)
_UNDEFINED = re.compile(r"undefined reference to `(\w+)'")
_NATIVE = ("-march=native", "-mcpu=native")
_MANY_LOOPS = 60
_FEWER_ALIAS_QUERIES = "--param=sccvn-max-alias-queries-per-access=30"


class RunFailed(Exception):
    """The program could not be compiled, linked or run; the message contains the tool's first lines."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler and the first line of its `--version`."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit to compile; `flags` are added to the user's."""

    file: Path
    flags: tuple[str, ...] = ()


def system_compiler() -> Compiler:
    """Return the compiler to use. Raises InputError if there is none."""
    path = find_compiler()
    shown = _asked(path, "--version").stdout.splitlines()
    return Compiler(path, shown[0].strip() if shown else Path(path).name)


@dataclass(frozen=True, slots=True)
class Build:
    """A way to compile the program: `flags` in addition to `level` and the user's options.

    `threads`: the number of OpenMP threads; None leaves it to the program.
    """

    flags: tuple[str, ...] = ()
    threads: int | None = 1
    level: tuple[str, ...] = ("-O3",)


PLAIN = Build()
"""The build that computes the reference: no native instructions, and the user's options unchanged."""

UNTIMED = Build(level=("-O1", "-ftree-vectorize"))
"""The same without times: gcc takes 6 s at -O3 for hundreds of loops in one function, and 0.4 s with these."""


def for_many_loops(source: ScopSource, compiler: Compiler) -> ScopSource:
    """Return `source` with an option for gcc if the SCoP has many loops; the user's options still take precedence.

    For each access, gcc looks for earlier stores to the same memory: through up to 1000 statements, so that its time
    grows with the square of the number of loops. With 30, 150 stencils take 2.2 s instead of 4.7 s
    (gcc 12), and the code is the same; of other programs it may be a little slower.
    """
    if sum(isinstance(node, c_ast.For) for item in source.items for node in nodes(item)) < _MANY_LOOPS:
        return source
    if not _accepts(compiler, _FEWER_ALIAS_QUERIES):
        return source
    given = source.compilation
    return replace(source, compilation=replace(given, cflags=(_FEWER_ALIAS_QUERIES, *given.cflags)))


def user_flags(compilation: Compilation, build: Build = PLAIN) -> tuple[str, ...]:
    """Return the level of the build, its flags, and the user's own options, which come last and so take precedence."""
    return (*build.level, *build.flags, *compilation.flags)


def native_flags(compiler: Compiler, cflags: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the option of `compiler` for all instructions of this machine; () if it has none, or `cflags` name a
    machine.
    """
    if names_machine(cflags):
        return ()
    return next(((flag,) for flag in _NATIVE if _accepts(compiler, flag)), ())


def names_machine(cflags: Sequence[str]) -> bool:
    """Return whether a user's options name the machine to compile for."""
    return any(flag.startswith(_MACHINE) for flag in cflags)


def _accepts(compiler: Compiler, flag: str) -> bool:
    try:
        return _asked(compiler.path, "-Werror", flag, "-x", "c", "-fsyntax-only", os.devnull).returncode == 0
    except RunFailed:
        return False


def _asked(path: str, *question: str) -> subprocess.CompletedProcess[str]:
    """Return the answer of the compiler at `path` to these options; it is asked again if its file has changed.

    Raises RunFailed if there is no answer within a minute.
    """
    return _answered(path, Path(path).stat().st_mtime_ns, question)


@lru_cache(64)
def _answered(path: str, _changed_ns: int, question: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    return _run([path, *question], 60)


def named_units(source: ScopSource) -> list[Path]:
    """Return the files that the user names beside the tuned one."""
    own = Path(source.file).resolve()
    return [f for f in dict.fromkeys(Path(s).resolve() for s in source.compilation.sources) if f != own]


def siblings(source: ScopSource) -> list[Path]:
    """Return NAME.c for each included NAME.h: they may define functions that the tuned file needs.

    Files that are themselves included as text are left out.
    """
    own = Path(source.file).resolve()
    included = {Path(i).resolve() for i in source.includes}
    beside = [i.with_suffix(".c") for i in sorted(included) if i.suffix == ".h"]
    named = {own, *named_units(source)}
    return [f for f in dict.fromkeys(beside) if f.is_file() and f not in included and f not in named]


def linked_beside(
    compiler: Compiler, source: ScopSource, flags: Sequence[str], target: Path, limit_s: float, renamed: bool = False
) -> list[Path]:
    """Return the files to link with the tuned one: the user's other files, and a library of the siblings.

    The linker takes from the library what is missing. `target` is the prefix of the files to make; `renamed`: every
    `main` in them is renamed.

    Raises:
        RunFailed: a file that the user names cannot be compiled. Siblings that cannot be compiled are left out.
    """
    found, own = [], named_units(source)
    for number, file in enumerate([*own, *siblings(source)]):
        rename = (f"-Dmain=antune_other_main_{number}",) if renamed else ()
        made = target.with_name(f"{target.name}_{number}.o")
        with nullcontext() if number < len(own) else suppress(RunFailed):
            found.append(compile_unit(compiler, Unit(file), (*flags, *rename), made, limit_s))
    beside = found[len(own):]
    if not beside:
        return found
    library = target.with_name(f"lib{target.name}.a")
    _must(["ar", "rcs", str(library), *map(str, beside)], limit_s, library.parent)
    return [*found[:len(own)], library]


def compile_unit(compiler: Compiler, unit: Unit, flags: Sequence[str], target: Path, limit_s: float) -> Path:
    """Compile one translation unit to the object file `target`. Raises RunFailed."""
    _must(_compiling(compiler, unit, flags, target), limit_s, target.parent)
    return target


def _compiling(compiler: Compiler, unit: Unit, flags: Sequence[str], target: Path) -> list[str]:
    return [compiler.path, "-w", *unit.flags, *flags, "-c", str(unit.file), "-o", str(target)]


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """An object file to make: `target` from `unit`."""

    unit: Unit
    flags: tuple[str, ...]
    target: Path


def compile_at_once(compiler: Compiler, wanted: Sequence[ObjectFile], limit_s: float) -> list[RunFailed | None]:
    """Make object files in parallel, each within `limit_s`. Return, for each, its error or None.

    gcc may take seconds for one file at -O3.
    """
    with ExitStack() as stack:
        processes = []
        for one in wanted:
            command = _compiling(compiler, one.unit, one.flags, one.target)
            process = stack.enter_context(_started(command, {"TMPDIR": str(one.target.parent)}))
            stack.callback(process.kill)  # where this is interrupted
            processes.append(process)
        return [_failure(process, compiler.path, limit_s) for process in processes]


def _failure(process: subprocess.Popen[str], tool: str, limit_s: float) -> RunFailed | None:
    try:
        _checked(_ended(process, tool, limit_s))
    except RunFailed as error:
        return error
    return None


def link(compiler: Compiler, objects: Sequence[Path], flags: Sequence[str], target: Path, limit_s: float) -> Path:
    """Link `objects` into the executable `target`; libraries among `flags` come after them. Raises RunFailed."""
    _must([compiler.path, *map(str, objects), *flags, "-lm", "-o", str(target)], limit_s, target.parent)
    return target


def diagnostics(compiler: Compiler, unit: Unit, flags: Sequence[str], limit_s: float) -> str:
    """Return the compiler's messages about a unit, without making anything."""
    return _run([compiler.path, "-w", *unit.flags, *flags, "-fsyntax-only", str(unit.file)], limit_s).stderr


def first_errors(text: str) -> str:
    """Return the first lines of a tool's output that name an error, joined in one line."""
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.startswith("collect2: error: ld returned")
    ]
    errors = [
        line
        for line in lines
        if any(word in line for word in ("error:", "undefined reference", "multiple definition", "duplicate"))
    ]
    return " | ".join((errors or lines)[:3])[:600]


def _must(command: Sequence[str], limit_s: float, scratch: Path) -> None:
    _checked(_run(command, limit_s, {"TMPDIR": str(scratch)}))  # which is deleted, also if it is killed


def _checked(result: subprocess.CompletedProcess[str]) -> None:
    if result.returncode:
        said = first_errors(result.stderr) or f"{result.args[0]} ended with status {result.returncode}"
        raise RunFailed(_with_remedy(said, result.stderr))


def _with_remedy(said: str, all_said: str) -> str:
    """Return a message of compiler or linker, with a remedy if one is known."""
    if _NO_OPENMP.search(all_said):
        return f"it uses OpenMP, so add --cflags -fopenmp; {said.partition(' | ')[0]}"
    missing = [name for name in _UNDEFINED.findall(all_said) if name != "main"]
    return said + (
        f"; name the C file that defines {missing[0]} with --source, or its library with --cflags -lNAME"
        if missing
        else ""
    )


def _run(command: Sequence[str], limit_s: float,
         more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    with _started(command, more or {}) as process:
        try:
            return _ended(process, command[0], limit_s)
        finally:
            process.kill()


def _started(command: Sequence[str], more: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, errors="replace", env={**os.environ, "LC_ALL": "C", **more})


def _ended(process: subprocess.Popen[str], tool: str, limit_s: float) -> subprocess.CompletedProcess[str]:
    """Return the output of the process of `tool`. Raises RunFailed if it does not end within `limit_s`."""
    try:
        out, said = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise RunFailed(f"{tool} took more than {limit_s:g} s") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, said)
