"""Which integer results of a C program depend on rounding: its Program is run with error bounds (`jumps.py`) on the
data and results of its own run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from generator.arithmetic import REAL
from generator.capture.build import UNTIMED, ObjectFile, RunFailed, Unit, compile_at_once, link, system_compiler
from generator.capture.execute import execute
from generator.errors import IllegalPlan
from generator.expr import Fold, parts
from generator.polyhedral.dependences.sequence import original_loops
from generator.problem import Reference
from generator.program import Array, Program
from generator.rounding import Bounds, from_other_answers
from generator.scratch import scratch_folder
from generator.sequential.error_bounds import LOOP
from generator.sequential.jumps import HEAD, Jumps
from generator.sequential.pipeline import FLAGS, HEAD_OF_ALL, bounds_of, function, printer_of, put_data, stages

LIMIT_S = 60.0
_IN_PART = ("there was no time for three runs with error bounds: integers that depend on rounding and that fewer runs "
            "do not change must be equal")


def with_bounds(program: Program, reference: Reference) -> Reference:
    """Return the reference with tolerances for the integer results that rounding decides.

    A warning says if they could not be found. Integers of a program that neither truncates nor compares real numbers
    have none; neither have those of programs with loops in statements, which are not analysed.
    """
    whole = [array for array in program.outputs if array.type not in REAL]
    jumps = Jumps(program, printer_of(program))
    if not whole or not jumps.found or _folds(program):
        return reference
    try:
        bounds = _bounds(program, jumps, whole, reference)
    except (RunFailed, IllegalPlan) as error:
        warning = (f"which integers depend on rounding was not found from error bounds, because {error}: those that "
                   "runs with another rounding do not change must be equal")
        return replace(reference, warnings=(*reference.warnings, warning))
    found = {name: from_other_answers(reference.outputs[name], one) for name, one in bounds.items()}
    known = {name: np.where(tolerance > 0, tolerance, reference.rounding.get(name, 0.0))
             for name, tolerance in found.items() if tolerance.any()}
    unknown = (_IN_PART,) if any(one.few for one in bounds.values()) else ()
    return replace(reference, rounding={**reference.rounding, **known}, warnings=(*reference.warnings, *unknown))


def _folds(program: Program) -> bool:
    return any(isinstance(part, Fold) for statement in program.statements for expr in statement.body.computed
               for part in parts(expr))


def _bounds(program: Program, jumps: Jumps, whole: list[Array], reference: Reference) -> dict[str, Bounds]:
    """Return what runs with error bounds find for the arrays of integers. Raises RunFailed."""
    compiler = system_compiler()
    with scratch_folder("antune-bounded-") as folder:
        file = folder / "bounded.c"
        file.write_text(_text(program, jumps, min(reference.sequential_ms, default=0.0)), encoding="utf-8")
        for kind, values in (("in", reference.inputs), ("out", reference.outputs)):
            for name, value in values.items():
                put_data(folder, f"{kind}_{name}", value)
        made = ObjectFile(Unit(file), (*UNTIMED.level, *FLAGS, "-ffp-contract=off"), folder / "bounded.o")
        if (failure := compile_at_once(compiler, [made], LIMIT_S)[0]) is not None:
            raise failure
        ended = execute(link(compiler, [made.target], made.flags, folder / "bounded", LIMIT_S), folder, folder, LIMIT_S)
        if not ended.ok:
            raise RunFailed(f"{ended.reason} {ended.output}")
        bounds = {array.name: bounds_of(folder, array) for array in whole}
        if not all(one.ends for one in bounds.values()):
            raise RunFailed(f"one run takes {min(reference.sequential_ms) / 1000:.3g} s")
        return bounds


def _text(program: Program, jumps: Jumps, run_ms: float) -> str:
    """Return the C program."""
    arrays = [a for a in program.arrays if a.extents or a.role != "temp"]
    local = [*((a.type, a.name) for a in program.arrays if a not in arrays), *jumps.scalars]
    parameters = [f"{kind} *restrict {name}" for kind, name in (*((a.type, a.name) for a in arrays), *jumps.arrays)]
    body = [f"{kind} {name};" for kind, name in local]
    body += stages(original_loops(program, LOOP), printer_of(program), jumps.statement, True)
    return "\n".join([HEAD_OF_ALL.read_text(encoding="utf-8"), HEAD.read_text(encoding="utf-8"),
                      function("antune_bounded", parameters, body),
                      function("main", [], [*_main(program, jumps, arrays, run_ms), "return 0;"], "int")])


def _main(program: Program, jumps: Jumps, arrays: list[Array], run_ms: float) -> Iterator[str]:
    written = [a for a in arrays if a.role != "in"]
    yield f"antune_fastest_ms = {run_ms!r};"
    for a in arrays:
        yield f"{a.type} *{a.name} = antune_new({a.elements}, sizeof({a.type}));"
        if a.role != "temp":
            kind = "out" if a in program.outputs else "in"
            yield f'antune_read("{kind}_{a.name}", {a.name}, {a.elements}, sizeof({a.type}));'
    yield from jumps.memory()
    for a in written:
        yield f"{a.type} *antune_first_{a.name} = antune_new({a.elements}, sizeof({a.type}));"
        if a.role != "temp":
            yield f'antune_read("in_{a.name}", antune_first_{a.name}, {a.elements}, sizeof({a.type}));'
    again = [f"memcpy({name}, antune_first_{a.name}, {a.elements} * sizeof({a.type}));"
             for a in written for name in (a.name, *jumps.ends_of(a))]
    again += [f"memset({name}, 0, {size});" for name, size in jumps.errors]
    names = [*(a.name for a in arrays), *(name for _, name in jumps.arrays)]
    yield from jumps.runs(f"{' '.join(again)} antune_bounded({', '.join(names)})")
