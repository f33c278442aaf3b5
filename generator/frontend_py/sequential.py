"""The Program of a pipeline as sequential C: every stage in full, one after the other, in its own loops.

It is what the pipeline does without any schedule, and the time to beat. The same program, run with all arithmetic rounded up
and rounded down, tells how far rounding errors decide its results (`generator.rounding`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from generator.capture.build import RunFailed, Unit, compile_unit, link, system_compiler
from generator.capture.execute import execute
from generator.emit.cstyle import Printer
from generator.errors import InputError
from generator.linear import substitute
from generator.nest import For, If, Instance, Node
from generator.polyhedral.sequence import original_loops
from generator.program import NUMPY_TYPES, Array, Program
from generator.rounding import rounding_tolerance

_HEAD = Path(__file__).with_name("sequential.h")
_FLAGS = ("-O3", "-fsigned-char", "-fwrapv")
_ROUNDED = ("up0", "down0", "up1", "down1")
_PREFIX = "loop_"


@dataclass(frozen=True, slots=True)
class Sequential:
    """What the C program did: results by array, times (ms) of its repeats, what rounding errors explain."""

    outputs: Mapping[str, NDArray[Any]]
    times_ms: tuple[float, ...]
    rounding: Mapping[str, NDArray[Any]]
    compiler: str


def run_sequential(program: Program, inputs: Mapping[str, NDArray[Any]], limit_s: float = 600.0) -> Sequential:
    """Compile `program` with the system's C compiler, run and time it on `inputs`.

    Raises:
        InputError: there is no compiler, or the program takes more than `limit_s` seconds.
    """
    compiler = system_compiler()
    with tempfile.TemporaryDirectory(prefix="antune-pipeline-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "pipeline.c").write_text(c_program(program), encoding="utf-8")
        for array in _given(program):
            np.ascontiguousarray(inputs[array.name]).tofile(folder / f"in_{array.name}")
        try:
            unit = compile_unit(compiler, Unit(folder / "pipeline.c"), _FLAGS, folder / "pipeline.o", limit_s)
            binary = link(compiler, [unit], _FLAGS, folder / "pipeline", limit_s)
            ended = execute(binary, folder, limit_s)
            if not ended.ok:
                raise RunFailed(f"{ended.reason} {ended.output}")
        except RunFailed as error:
            raise InputError(f"{program.file}: the pipeline as sequential C cannot be run: {error} (where it takes too long, choose a smaller size)") from None
        times = tuple(float(line) for line in (folder / "times").read_text().split())
        outputs = {a.name: _result(folder, "out", a) for a in program.outputs}
        rounding = {a.name: found for a in program.outputs
                    if (found := _rounding(folder, a, outputs[a.name])) is not None}
    return Sequential(outputs, times, rounding, f"{compiler.version} {' '.join(_FLAGS)} (all stages in full, one after the other)")


def c_program(program: Program) -> str:
    """A C program that runs the pipeline on the files `in_NAME`, and writes `out_NAME`, `times` and rounded results."""
    arrays = [a for a in program.arrays if a.extents or a.role != "temp"]
    scalars = [a for a in program.arrays if not a.extents and a.role == "temp"]
    body = [f"{a.type} {a.name};" for a in scalars] + list(_lines(program))
    parameters = ", ".join(f"{'const ' if a.role == 'in' else ''}{a.type} *restrict {a.name}" for a in arrays)
    main = [f"{a.type} *{a.name} = antune_new({a.elements}, sizeof({a.type}));" for a in arrays]
    main += [f'antune_read("in_{a.name}", {a.name}, {a.elements}, sizeof({a.type}));' for a in _given(program)]
    call = f"antune_pipeline({', '.join(a.name for a in arrays)})"
    main += [f"ANTUNE_TIMED({call});"]
    main += [_write("out", a) for a in program.outputs]
    for number, kind in enumerate(_ROUNDED):
        if kind == "up1":
            main += [f"antune_nudge_{a.type}({a.name}, {a.elements});" for a in _given(program) if a.type in ("float", "double")]
        main += [f"if (ANTUNE_ROUNDED({call}, {number % 2})) {{", *(f"  {_write(kind, a)}" for a in program.outputs), "}"]
    text = "\n  ".join
    return (f"{_HEAD.read_text(encoding='utf-8')}\nvoid antune_pipeline({parameters or 'void'}) {{\n  {text(body)}\n}}\n\n"
            f"int main(void) {{\n  {text([*main, 'return 0;'])}\n}}\n")


def _given(program: Program) -> Iterator[Array]:
    return (array for array in program.arrays if array.role == "in")


def _write(kind: str, array: Array) -> str:
    return f'antune_write("{kind}_{array.name}", {array.name}, {array.elements}, sizeof({array.type}));'


def _lines(program: Program) -> Iterator[str]:
    shapes = {a.name: a.extents for a in program.arrays if a.extents}
    scalars = {a.name: f"{a.name}[0]" for a in program.arrays if not a.extents and a.role != "temp"}
    printer = Printer(shapes, scalars, lambda name, arguments: f"{name}({', '.join(arguments)})")
    yield from _nodes(program, original_loops(program, _PREFIX), printer, 0)


def _nodes(program: Program, nodes: Sequence[Node], printer: Printer, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for node in nodes:
        match node:
            case For(iterator, start, condition, step, body):
                yield (f"{pad}for (int {iterator} = {printer.text(start)}; {printer.text(condition)}; "
                       f"{iterator} += {step}) {{")
                yield from _nodes(program, body, printer, depth + 1)
                yield f"{pad}}}"
            case If(condition, then, otherwise):
                yield f"{pad}if ({printer.text(condition)}) {{"
                yield from _nodes(program, then, printer, depth + 1)
                yield f"{pad}}} else {{"
                yield from _nodes(program, otherwise, printer, depth + 1)
                yield f"{pad}}}"
            case Instance():
                yield pad + _statement(program, node, printer)
            case _:
                raise AssertionError("these are loops and instances only")


def _statement(program: Program, instance: Instance, printer: Printer) -> str:
    statement = program.statement(instance.name)
    values = dict(zip(statement.iterators, instance.arguments, strict=True))
    body = statement.body
    target, value = (substitute(e, values) for e in (body.target, body.value))
    text = f"{printer.text(target)} {body.op}= {printer.text(value)};"
    return text if body.guard is None else f"if ({printer.text(substitute(body.guard, values))}) {text}"


def _result(folder: Path, kind: str, array: Array) -> NDArray[Any]:
    return np.fromfile(folder / f"{kind}_{array.name}", NUMPY_TYPES[array.type], prod(array.extents)).reshape(array.extents)


def _rounding(folder: Path, array: Array, result: NDArray[Any]) -> NDArray[Any] | None:
    """What rounding errors explain of an output; None when the usual tolerance is enough or nothing is known."""
    if not all((folder / f"{kind}_{array.name}").exists() for kind in _ROUNDED):
        return None
    runs = [_result(folder, kind, array) for kind in _ROUNDED]
    return rounding_tolerance(array.type, result, [(runs[0], runs[1]), (runs[2], runs[3])])

