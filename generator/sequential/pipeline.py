"""The Program of a pipeline as sequential C: every stage completely, one after the other, in its own loops.

It is the pipeline without any schedule, and its time is the baseline. The same program, run with all arithmetic rounded
up and rounded down, shows how far rounding errors dominate its results (`generator.rounding`). `jumps.py` adds runs
that find which truncations and comparisons they decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from generator.arithmetic import FLOATING, REAL, TO_FLOAT, TO_HALF
from generator.capture.baselines import no_native
from generator.capture.build import (
    PLAIN,
    UNTIMED,
    Compiler,
    ObjectFile,
    RunFailed,
    Unit,
    compile_at_once,
    link,
    native_flags,
    system_compiler,
)
from generator.capture.execute import execute
from generator.chains import longest_chain
from generator.emit.cstyle import Printer, plain_call
from generator.emit.half import half_functions
from generator.errors import InputError
from generator.expr import Expr
from generator.linear import substitute
from generator.nest import For, If, Instance, Node
from generator.polyhedral.dependences.sequence import original_loops
from generator.problem import Baseline
from generator.program import NUMPY_TYPES, Array, Program
from generator.rounding import Bounds, rounding_tolerance
from generator.scratch import scratch_folder
from generator.sequential.error_bounds import LOOP
from generator.sequential.jumps import APART, AROUND, BALANCED, ENDS, FEW, GROUPS, SAMPLED, Jumps, error_type
from generator.sequential.jumps import HEAD as JUMPS_HEAD

Statements: TypeAlias = Callable[[Instance], Iterator[str]]

HEAD_OF_ALL = Path(__file__).with_name("sequential.h")
_HALVES = "typedef unsigned short half;\n" + half_functions(
    "static inline", "defined(__FLT16_MAX__)",
    "_Float16 y; memcpy(&y, &x, sizeof y); return (float)y;",
    "const _Float16 y = (_Float16)x; unsigned short z; memcpy(&z, &y, sizeof z); return z;",
)
FLAGS = ("-fsigned-char", "-fwrapv")
_ROUNDED = ("up0", "down0", "up1", "down1")
_TIMES_ONLY = "ANTUNE_TIMES_ONLY"
_MANY_ELEMENTS = 2**22
_MANY_STATEMENTS = 30


@dataclass(frozen=True, slots=True)
class Sequential:
    """The results of the C program by array, what rounding errors explain, and times (ms) of its repeats.

    The times are those of a build for this machine by `compiler`; `baselines`: times of the build that made the
    results.
    """

    outputs: Mapping[str, NDArray[Any]]
    times_ms: tuple[float, ...]
    rounding: Mapping[str, NDArray[Any]]
    compiler: str
    baselines: tuple[Baseline, ...]
    warnings: tuple[str, ...]


def run_sequential(program: Program, inputs: Mapping[str, NDArray[Any]], limit_s: float = 600.0,
                   baselines: bool = True) -> Sequential:
    """Compile `program` with the system's C compiler, run and time it on `inputs`.

    Without `baselines` there is a single fast build, whose times are not used.

    Raises:
        InputError: there is no compiler, the program takes more than `limit_s` seconds, or files cannot be written.
    """
    compiler = system_compiler()
    builds = [(*(PLAIN if baselines else UNTIMED).level, *FLAGS)]
    native = native_flags(compiler) if baselines else ()
    builds += [(*builds[0], *native, f"-D{_TIMES_ONLY}")] if native else []
    with scratch_folder("antune-pipeline-") as folder:
        file = folder / "pipeline.c"
        file.write_text(c_program(program), encoding="utf-8")
        for array in _given(program):
            put_data(folder, f"in_{array.name}", inputs[array.name])
        objects = [ObjectFile(Unit(file), flags, folder / f"pipeline{number}.o") for number, flags in enumerate(builds)]
        made = [_Made(*one) for one in zip(objects, compile_at_once(compiler, objects, limit_s), strict=True)]
        times, failure = _results(compiler, made[0], limit_s, program)
        outputs = {a.name: _result_of(folder, "out", a, a.type) for a in program.outputs}
        rounding = {a.name: found for a in program.outputs if failure is None
                    if (found := _rounding(folder, a, outputs[a.name], longest_chain(program))) is not None}
        warnings = _unknown(folder, program, times, failure)
        plain = Sequential(outputs, times, rounding, _words(compiler, builds[0]), (), warnings)
        return _timed(compiler, made[1:], native, limit_s, plain) if baselines else plain


@dataclass(frozen=True, slots=True)
class _Made:
    """An object file, or its error."""

    own: ObjectFile
    failure: RunFailed | None


def _results(compiler: Compiler, made: _Made, limit_s: float,
             program: Program) -> tuple[tuple[float, ...], RunFailed | None]:
    """Run the program in its folder. Return its times, and why it did not end after it had written its results.

    Raises InputError if it has not written them.
    """
    folder = made.own.target.parent
    try:
        return _run(compiler, made, limit_s), None
    except RunFailed as error:
        if all(_complete(folder / f"out_{a.name}", a) for a in program.outputs):
            return _times(folder), error
        raise InputError(
            f"{program.file}: the pipeline as sequential C cannot be run: {error} (where it takes too long, "
            f"choose a smaller size)"
        ) from None


def _complete(file: Path, array: Array) -> bool:
    return file.exists() and file.stat().st_size == array.bytes


def put_data(folder: Path, name: str, values: NDArray[Any]) -> None:
    """Write the elements of an array to a file. Raises InputError if there is no room."""
    try:
        (folder / name).write_bytes(np.ascontiguousarray(values).tobytes())
    except OSError as error:
        raise InputError(f"{folder / name} cannot be written: {error.strerror}; free disk space, or set TMPDIR to a "
                         "folder on another disk") from None


def _run(compiler: Compiler, made: _Made, limit_s: float) -> tuple[float, ...]:
    """Link and run the program in its folder. Return its times. Raises RunFailed."""
    if made.failure is not None:
        raise made.failure
    folder = made.own.target.parent
    program = link(compiler, [made.own.target], made.own.flags, folder / "pipeline", limit_s)
    ended = execute(program, folder, folder, limit_s)
    if not ended.ok:
        raise RunFailed(f"{ended.reason} {ended.output}")
    return _times(folder)


def _times(folder: Path) -> tuple[float, ...]:
    return tuple(float(line) for line in (folder / "times").read_text().split())


def _timed(compiler: Compiler, others: Sequence[_Made], native: Sequence[str], limit_s: float,
           plain: Sequential) -> Sequential:
    """Return the result with the times of the build for this machine (the one in `others`), if the compiler supports
    it.
    """
    plain = replace(plain, baselines=(Baseline("o3", plain.compiler, 1, plain.times_ms),))
    if not others:
        return replace(plain, warnings=(*plain.warnings, no_native(compiler, plain.compiler)))
    try:
        times = _run(compiler, others[0], limit_s)
    except RunFailed as error:
        return replace(plain, warnings=(
            *plain.warnings, f"sequential C could not be timed with {' '.join(native)}: {error}"))
    return replace(plain, times_ms=times, compiler=_words(compiler, others[0].own.flags[:-1]))


def _words(compiler: Compiler, flags: Sequence[str]) -> str:
    return f"{compiler.version} {' '.join(flags)} (all stages in full, one after the other)"


def c_program(program: Program) -> str:
    """Return a C program that runs the pipeline on the files `in_NAME`, and writes `out_NAME`, `times`, rounded results
    and their ends (`jumps.py`).
    """
    arrays = [a for a in program.arrays if a.extents or a.role != "temp"]
    printer = printer_of(program)
    jumps, loops = Jumps(program, printer), original_loops(program, LOOP)
    plain = [f"{a.type} {a.name};" for a in program.arrays if a not in arrays]
    body = [*plain, *stages(loops, printer, partial(_statement, program, printer), False)]
    parameters = [f"{'const ' if a.role == 'in' else ''}{a.type} *restrict {a.name}" for a in arrays]
    text = [with_own_names(function("antune_pipeline", parameters, body), program)]
    halves = any(a.type == "half" for a in program.arrays) or TO_HALF in text[0] or TO_FLOAT in text[0]
    text = [HEAD_OF_ALL.read_text(encoding="utf-8") + (_HALVES if halves else ""), *text]
    if jumps.found:
        local = [f"{kind} {name};" for kind, name in jumps.scalars]
        bounded = [*plain, *local, *stages(loops, printer, jumps.statement, True)]
        more = [f"{kind} *restrict {name}" for kind, name in jumps.arrays]
        text += [f"#ifndef {_TIMES_ONLY}", "#pragma GCC push_options", f"#pragma GCC optimize ({_level(program)})",
                 "#define ANTUNE_WITH_PAIRS", JUMPS_HEAD.read_text(encoding="utf-8"),
                 with_own_names(function("antune_bounded", [*parameters, *more], bounded), program),
                 "#pragma GCC pop_options", "#endif"]
    main = function("main", [], [*_main(program, arrays, jumps), "return 0;"], "int")
    return "\n".join([*text, with_own_names(main, program)])


def with_own_names(text: str, program: Program) -> str:
    """Return C text in which the arrays of `program` have names that no macro or function of a header has: headers have
    more of these than anybody lists. What the text calls, and strings, stay as they are.
    """
    names = "|".join(sorted(array.name for array in program.arrays))
    return re.sub(rf'"[^"]*"|\b(?:{names})\b(?!\()',
                  lambda found: found[0] if found[0][0] == '"' else f"antune_own_{found[0]}", text)


def _level(program: Program) -> str:
    """Return how gcc optimizes runs with error bounds: "O2" takes up to half of their time, but twice that of
    compiling.
    """
    large = sum(a.elements for a in program.arrays if a.role != "in") >= _MANY_ELEMENTS
    level = "O2" if large and len(program.statements) <= _MANY_STATEMENTS else "O1"
    return f'"{level}", "no-trapping-math", "no-math-errno"'


def function(name: str, parameters: Sequence[str], lines: Sequence[str], kind: str = "void") -> str:
    """Return the definition of a function."""
    inside = "\n  ".join(lines)
    return f"{kind} {name}({', '.join(parameters) or 'void'}) {{\n  {inside}\n}}\n"


def _main(program: Program, arrays: Sequence[Array], jumps: Jumps) -> Iterator[str]:
    """Yield the lines of `main`. The inputs change last."""
    yield from (f"{a.type} *{a.name} = antune_new({a.elements}, sizeof({a.type}));" for a in arrays)
    yield from (f'antune_read("in_{a.name}", {a.name}, {a.elements}, sizeof({a.type}));' for a in _given(program))
    names = [a.name for a in arrays]
    call = f"antune_pipeline({', '.join(names)})"
    yield f"ANTUNE_TIMED({call});"
    yield from (f"#ifdef {_TIMES_ONLY}", "return 0;", "#else")
    yield from (_write("out", a) for a in program.outputs)
    if jumps.found:
        yield from jumps.memory()
        yield from jumps.runs(f"antune_bounded({', '.join([*names, *(name for _, name in jumps.arrays)])})")
    for number, kind in enumerate(_ROUNDED if _depends(program, jumps) else ()):
        if kind == "up1":
            yield from (f"antune_nudge_{a.type}({a.name}, {a.elements});"
                        for a in _given(program) if a.type in FLOATING)
        yield f"if (ANTUNE_ROUNDED({call}, {number % 2})) {{"
        yield from (f"  {_write(kind, a)}" for a in program.outputs)
        yield "}"
    yield "#endif"


def _depends(program: Program, jumps: Jumps) -> bool:
    """Return whether results can depend on rounding."""
    return jumps.found or any(a.type in REAL for a in program.outputs)


def _given(program: Program) -> Iterator[Array]:
    return (array for array in program.arrays if array.role == "in")


def _write(kind: str, array: Array) -> str:
    return f'antune_write("{kind}_{array.name}", {array.name}, {array.elements}, sizeof({array.type}));'


def printer_of(program: Program) -> Printer:
    """Return the printer of the program's C."""
    shapes = {a.name: a.extents for a in program.arrays if a.extents}
    scalars = {a.name: f"{a.name}[0]" for a in program.arrays if not a.extents and a.role != "temp"}
    return Printer(shapes, scalars, plain_call)


def stages(nodes: Sequence[Node], printer: Printer, statement: Statements, turn: bool, depth: int = 0) -> Iterator[str]:
    """Yield the stages. `statement`: the lines of one; `turn`: whether the outermost loops tell where they are."""
    pad = "  " * depth
    for nest, node in enumerate(nodes):
        match node:
            case For(iterator, start, condition, step, body):
                yield (f"{pad}for (int {iterator} = {printer.text(start)}; {printer.text(condition)}; "
                       f"{iterator} += {step}) {{")
                if turn and not depth:
                    yield f"  antune_turn({nest}, {iterator});"
                yield from stages(body, printer, statement, turn, depth + 1)
                yield f"{pad}}}"
            case If(condition, then, otherwise):
                yield f"{pad}if ({printer.text(condition)}) {{"
                yield from stages(then, printer, statement, turn, depth + 1)
                yield f"{pad}}} else {{"
                yield from stages(otherwise, printer, statement, turn, depth + 1)
                yield f"{pad}}}"
            case Instance():
                yield from (pad + line for line in statement(node))
            case _:
                raise AssertionError("these are loops and instances only")


def _statement(program: Program, printer: Printer, instance: Instance) -> Iterator[str]:
    statement = program.statement(instance.name)
    values = dict(zip(statement.iterators, instance.arguments, strict=True))
    body = statement.body

    def here(expr: Expr) -> str:
        return printer.text(substitute(expr, values))

    lets = [f"const {name.type} {name.name} = {here(value)};" for name, value in body.lets]
    text = f"{here(body.target)} {body.op}= {here(body.value)};"
    before, after = lets[: body.before_guard], lets[body.before_guard :]
    if lets:
        yield "{"
    yield from before
    if body.guard is not None:
        inside = " ".join(("{", *after, text, "}")) if after else text
        text = f"if ({here(body.guard)}) {inside}"
    else:
        yield from after
    yield text
    if lets:
        yield "}"


def _result_of(folder: Path, kind: str, array: Array, element: str) -> NDArray[Any]:
    """Return what a program wrote of an array; `element`: the C type."""
    return np.fromfile(folder / f"{kind}_{array.name}", NUMPY_TYPES[element], prod(array.extents)).reshape(
        array.extents
    )


def bounds_of(folder: Path, array: Array, result: NDArray[Any]) -> Bounds:
    """Return what runs with error bounds wrote of an array; `result`: that of the plain program."""
    def found(kind: str, element: str) -> NDArray[Any] | None:
        return _result_of(folder, kind, array, element) if (folder / f"{kind}_{array.name}").exists() else None

    ends = tuple(end for kind in ENDS if (end := found(kind, array.type)) is not None)
    if array.type in REAL and all(np.array_equal(end, result) for end in ends):
        ends = ()
    kind = error_type(array)
    return Bounds(ends, found(BALANCED, kind), found(GROUPS, "unsigned char"), found(APART, kind), found(AROUND, kind),
                  (folder / FEW).exists(), (folder / SAMPLED).exists())


def _unknown(folder: Path, program: Program, times_ms: Sequence[float], failure: RunFailed | None) -> tuple[str, ...]:
    """Return a warning if nothing is known about rounding errors that may matter."""
    known = all((folder / f"{_ROUNDED[0]}_{a.name}").exists() for a in program.outputs)
    if failure is None and (known or not _depends(program, Jumps(program, printer_of(program)))):
        return ()
    reason = f"one run takes {min(times_ms) / 1000:.3g} s" if failure is None else f"the runs for it fail: {failure}"
    unmeasured = f"how far rounding errors change the results was not measured, because {reason}"
    return (f"{unmeasured}: all results must meet the usual tolerance",)


def _rounding(folder: Path, array: Array, result: NDArray[Any], length: int) -> NDArray[Any] | None:
    """Return the differences that rounding errors explain; None if the usual tolerance suffices or nothing is known."""
    rounded = [_result_of(folder, kind, array, array.type) for kind in _ROUNDED
               if (folder / f"{kind}_{array.name}").exists()]
    if len(rounded) < len(_ROUNDED):
        return None
    pairs = [(rounded[0], rounded[1]), (rounded[2], rounded[3])]
    return rounding_tolerance(array.type, result, pairs, bounds_of(folder, array, result), length)
