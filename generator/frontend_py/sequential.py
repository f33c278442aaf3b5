"""The Program of a pipeline as sequential C: every stage completely, one after the other, in its own loops.

It is the pipeline without any schedule, and its time is the baseline. The same program, run with all arithmetic rounded
up and rounded down, shows how far rounding errors dominate its results (`generator.rounding`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.arithmetic import FLOATING, REAL, c_type
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
from generator.emit.cstyle import Printer, plain_call
from generator.emit.half import half_functions
from generator.errors import InputError
from generator.expr import Binary, Call, Cast, Expr, map_children
from generator.linear import substitute
from generator.nest import For, If, Instance, Node
from generator.polyhedral.dependences.sequence import original_loops
from generator.problem import Baseline
from generator.program import NUMPY_TYPES, Array, Program
from generator.rounding import rounding_tolerance
from generator.scratch import scratch_folder

_HEAD = Path(__file__).with_name("sequential.h")
_HALVES = "typedef unsigned short half;\n" + half_functions(
    "static inline", "defined(__FLT16_MAX__)",
    "_Float16 y; memcpy(&y, &x, sizeof y); return (float)y;",
    "const _Float16 y = (_Float16)x; unsigned short z; memcpy(&z, &y, sizeof z); return z;",
)
_FLAGS = ("-fsigned-char", "-fwrapv")
_ROUNDED = ("up0", "down0", "up1", "down1")
_MIXED = ("least", "most")
_STEPS = ("floor", "ceil", "rint", "round", "trunc")
_COMPARED = ("<", "<=", ">", ">=", "==", "!=")
_PREFIX = "loop_"
_TIMES_ONLY = "ANTUNE_TIMES_ONLY"


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
        InputError: there is no compiler, or the program takes more than `limit_s` seconds.
    """
    compiler = system_compiler()
    builds = [(*(PLAIN if baselines else UNTIMED).level, *_FLAGS)]
    native = native_flags(compiler) if baselines else ()
    builds += [(*builds[0], *native, f"-D{_TIMES_ONLY}")] if native else []
    with scratch_folder("antune-pipeline-") as folder:
        file = folder / "pipeline.c"
        file.write_text(c_program(program), encoding="utf-8")
        for array in _given(program):
            np.ascontiguousarray(inputs[array.name]).tofile(folder / f"in_{array.name}")
        objects = [ObjectFile(Unit(file), flags, folder / f"pipeline{number}.o") for number, flags in enumerate(builds)]
        made = [_Made(*one) for one in zip(objects, compile_at_once(compiler, objects, limit_s), strict=True)]
        try:
            times = _run(compiler, made[0], limit_s)
        except RunFailed as error:
            raise InputError(
                f"{program.file}: the pipeline as sequential C cannot be run: {error} (where it takes too long, "
                f"choose a smaller size)"
            ) from None
        outputs = {a.name: _result(folder, "out", a) for a in program.outputs}
        rounding = {a.name: found for a in program.outputs
                    if (found := _rounding(folder, a, outputs[a.name])) is not None}
        plain = Sequential(outputs, times, rounding, _words(compiler, builds[0]), (), ())
        return _timed(compiler, made[1:], native, limit_s, plain) if baselines else plain


@dataclass(frozen=True, slots=True)
class _Made:
    """An object file, or its error."""

    own: ObjectFile
    failure: RunFailed | None


def _run(compiler: Compiler, made: _Made, limit_s: float) -> tuple[float, ...]:
    """Link and run the program in its folder. Return its times. Raises RunFailed."""
    if made.failure is not None:
        raise made.failure
    folder = made.own.target.parent
    program = link(compiler, [made.own.target], made.own.flags, folder / "pipeline", limit_s)
    ended = execute(program, folder, folder, limit_s)
    if not ended.ok:
        raise RunFailed(f"{ended.reason} {ended.output}")
    return tuple(float(line) for line in (folder / "times").read_text().split())


def _timed(compiler: Compiler, others: Sequence[_Made], native: Sequence[str], limit_s: float,
           plain: Sequential) -> Sequential:
    """Return the result with the times of the build for this machine (the one in `others`), if the compiler supports
    it.
    """
    plain = replace(plain, baselines=(Baseline("o3", plain.compiler, 1, plain.times_ms),))
    if not others:
        return replace(plain, warnings=(no_native(compiler, plain.compiler),))
    try:
        times = _run(compiler, others[0], limit_s)
    except RunFailed as error:
        return replace(plain, warnings=(f"sequential C could not be timed with {' '.join(native)}: {error}",))
    return replace(plain, times_ms=times, compiler=_words(compiler, others[0].own.flags[:-1]))


def _words(compiler: Compiler, flags: Sequence[str]) -> str:
    return f"{compiler.version} {' '.join(flags)} (all stages in full, one after the other)"


def c_program(program: Program) -> str:
    """Return a C program that runs the pipeline on the files `in_NAME`, and writes `out_NAME`, `times` and rounded
    results.
    """
    arrays = [a for a in program.arrays if a.extents or a.role != "temp"]
    scalars = [a for a in program.arrays if not a.extents and a.role == "temp"]
    body = [f"{a.type} {a.name};" for a in scalars] + list(_lines(program))
    parameters = ", ".join(f"{'const ' if a.role == 'in' else ''}{a.type} *restrict {a.name}" for a in arrays)
    main = [f"{a.type} *{a.name} = antune_new({a.elements}, sizeof({a.type}));" for a in arrays]
    main += [f'antune_read("in_{a.name}", {a.name}, {a.elements}, sizeof({a.type}));' for a in _given(program)]
    call = f"antune_pipeline({', '.join(a.name for a in arrays)})"
    main += [f"ANTUNE_TIMED({call});"]
    main += [f"#ifdef {_TIMES_ONLY}", "return 0;", "#endif"]
    main += [_write("out", a) for a in program.outputs]
    steps = [a for a in program.outputs if a.type not in REAL]
    main += _mixed_runs(steps, call.replace("(", "_mixed(", 1)) if steps else []
    for number, kind in enumerate(_ROUNDED):
        if kind == "up1":
            main += [
                f"antune_nudge_{a.type}({a.name}, {a.elements});"
                for a in _given(program)
                if a.type in ("float", "double")
            ]
        main += [
            f"if (ANTUNE_ROUNDED({call}, {number % 2})) {{",
            *(f"  {_write(kind, a)}" for a in program.outputs),
            "}",
        ]
    text = "\n  ".join
    functions = [
        ("antune_pipeline", body),
        *([("antune_pipeline_mixed", [*body[: len(scalars)], *_lines(program, True)])] if steps else []),
    ]
    head = _HEAD.read_text(encoding="utf-8") + (_HALVES if any(a.type == "half" for a in program.arrays) else "")
    return (f"{head}\n"
            + "".join(f"void {name}({parameters or 'void'}) {{\n  {text(lines)}\n}}\n\n" for name, lines in functions) +
            f"int main(void) {{\n  {text([*main, 'return 0;'])}\n}}\n")


def _mixed_runs(steps: Sequence[Array], call: str) -> Iterator[str]:
    """Yield the runs whose rounding errors differ from place to place. `steps`: the outputs that are integers."""
    for array in steps:
        for kind in _MIXED:
            yield f"{array.type} *{kind}_{array.name} = antune_new({array.elements}, sizeof({array.type}));"
            yield f"memcpy({kind}_{array.name}, {array.name}, {array.elements} * sizeof({array.type}));"
    yield "int antune_mixed = 0;"
    yield f"while (antune_mixed < ANTUNE_WAYS && ANTUNE_MIXED({call}, antune_mixed)) {{"
    yield from (f"  ANTUNE_WIDEN({a.name}, least_{a.name}, most_{a.name}, {a.elements});" for a in steps)
    yield "  antune_mixed++;"
    yield "}"
    yield "if (antune_mixed) {"
    yield from (
        f'  antune_write("{kind}_{a.name}", {kind}_{a.name}, {a.elements}, sizeof({a.type}));'
        for a in steps
        for kind in _MIXED
    )
    yield "}"


def _given(program: Program) -> Iterator[Array]:
    return (array for array in program.arrays if array.role == "in")


def _write(kind: str, array: Array) -> str:
    return f'antune_write("{kind}_{array.name}", {array.name}, {array.elements}, sizeof({array.type}));'


def _lines(program: Program, mixed: bool = False) -> Iterator[str]:
    """Yield the stages; `mixed`: with rounding errors that differ from place to place."""
    shapes = {a.name: a.extents for a in program.arrays if a.extents}
    scalars = {a.name: f"{a.name}[0]" for a in program.arrays if not a.extents and a.role != "temp"}
    printer = Printer(shapes, scalars, plain_call)
    yield from _nodes(program, original_loops(program, _PREFIX), printer, 0, mixed)


def _nodes(program: Program, nodes: Sequence[Node], printer: Printer, depth: int, mixed: bool) -> Iterator[str]:
    pad = "  " * depth
    for node in nodes:
        match node:
            case For(iterator, start, condition, step, body):
                yield (f"{pad}for (int {iterator} = {printer.text(start)}; {printer.text(condition)}; "
                       f"{iterator} += {step}) {{")
                if mixed and not depth:
                    yield f"  antune_turn({iterator});"
                yield from _nodes(program, body, printer, depth + 1, mixed)
                yield f"{pad}}}"
            case If(condition, then, otherwise):
                yield f"{pad}if ({printer.text(condition)}) {{"
                yield from _nodes(program, then, printer, depth + 1, mixed)
                yield f"{pad}}} else {{"
                yield from _nodes(program, otherwise, printer, depth + 1, mixed)
                yield f"{pad}}}"
            case Instance():
                yield from (pad + line for line in _statement(program, node, printer, mixed))
            case _:
                raise AssertionError("these are loops and instances only")


def _statement(program: Program, instance: Instance, printer: Printer, mixed: bool) -> Iterator[str]:
    statement = program.statement(instance.name)
    values = dict(zip(statement.iterators, instance.arguments, strict=True))
    body = statement.body
    types = {a.name: a.type for a in program.arrays}

    def here(expr: Expr) -> Expr:
        return _shaken(substitute(expr, values), types) if mixed else substitute(expr, values)

    lets = [f"const {name.type} {name.name} = {printer.text(here(value))};" for name, value in body.lets]
    value = body.value
    if mixed:
        array = program.array(body.target.array)
        if array.type not in REAL:  # the stored value is truncated
            value = _shake(
                value.operand if isinstance(value, Cast) else value, types, "result" if array.role == "out" else "shake"
            )
    text = f"{printer.text(here(body.target))} {body.op}= {printer.text(here(value))};"
    before, after = lets[: body.before_guard], lets[body.before_guard :]
    if lets:
        yield "{"
    yield from before
    if body.guard is not None:
        inside = " ".join(("{", *after, text, "}")) if after else text
        text = f"if ({printer.text(here(body.guard))}) {inside}"
    else:
        yield from after
    yield text
    if lets:
        yield "}"


def _shaken(expr: Expr, types: Mapping[str, str]) -> Expr:
    """Return `expr` with rounding errors wherever a number is truncated or compared."""
    expr = map_children(expr, lambda child: _shaken(child, types))
    match expr:
        case Cast(kind, operand) if kind not in FLOATING:
            return Cast(kind, _shake(operand, types))
        case Binary(op, left, right) if op in _COMPARED:
            return Binary(op, _shake(left, types), right)
        case Call(function, (argument,)) if function.rstrip("f") in _STEPS:
            return Call(function, (_shake(argument, types),))
        case _:
            return expr


def _shake(expr: Expr, types: Mapping[str, str], how: str = "shake") -> Expr:
    kind = c_type(expr, types)
    return Call(f"antune_{how}_{kind}", (expr,)) if kind in FLOATING else expr


def _result(folder: Path, kind: str, array: Array) -> NDArray[Any]:
    return np.fromfile(folder / f"{kind}_{array.name}", NUMPY_TYPES[array.type], prod(array.extents)).reshape(
        array.extents
    )


def _rounding(folder: Path, array: Array, result: NDArray[Any]) -> NDArray[Any] | None:
    """Return the differences that rounding errors explain; None if the usual tolerance suffices or nothing is known."""
    kinds = _ROUNDED if array.type in REAL else (*_ROUNDED, *_MIXED)
    if not all((folder / f"{kind}_{array.name}").exists() for kind in kinds):
        return None
    runs = [_result(folder, kind, array) for kind in kinds]
    return rounding_tolerance(array.type, result, [(runs[0], runs[1]), (runs[2], runs[3])], runs[4:])

