"""How far rounding decides the results of a C program that truncates or compares real numbers: its Program is run with
error bounds (`jumps.py`) on the data and results of its own run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from generator.arithmetic import REAL
from generator.capture.build import UNTIMED, ObjectFile, RunFailed, Unit, compile_at_once, link, system_compiler
from generator.capture.execute import execute
from generator.chains import longest_chain
from generator.errors import IllegalPlan
from generator.expr import Fold, parts
from generator.polyhedral.dependences.sequence import original_loops
from generator.problem import Reference, Values
from generator.program import Array, Program
from generator.rounding import Bounds, Pair, from_other_answers, rounding_tolerance
from generator.scratch import scratch_folder
from generator.sequential.error_bounds import LOOP
from generator.sequential.jumps import HEAD, Jumps
from generator.sequential.pipeline import (
    FLAGS,
    HEAD_OF_ALL,
    bounds_of,
    function,
    printer_of,
    put_data,
    stages,
    with_own_names,
)

LIMIT_S = 60.0
_IN_PART = ("there was no time for three runs with error bounds: integers that depend on rounding and that fewer runs "
            "do not change must be equal")


def with_bounds(program: Program, reference: Reference, rounded: Sequence[tuple[Values, Values]] = ()) -> Reference:
    """Return the reference with tolerances as those of a pipeline: jumps count at the results that they change.

    `rounded`: the outputs of each pair of runs with another rounding (up, down), which the tolerances of the given
    reference come from. These remain if the program does not jump, or has loops in statements, which are not analysed,
    or if there are no error bounds; then a warning says so if there are integer results.
    """
    whole = any(array.type not in REAL for array in program.outputs)
    jumps = Jumps(program, printer_of(program))
    if not jumps.found or _folds(program):
        return reference
    try:
        bounds = _bounds(program, jumps, reference)
    except (RunFailed, IllegalPlan) as error:
        warning = (f"which integers depend on rounding was not found from error bounds, because {error}: those that "
                   "runs with another rounding do not change must be equal")
        return replace(reference, warnings=(*reference.warnings, warning)) if whole else reference
    length = longest_chain(program)
    found: dict[str, NDArray[Any]] = {}
    for array in program.outputs:
        pairs = [(up[array.name], down[array.name]) for up, down in rounded]
        tolerance = _tolerance(array.type, reference.outputs[array.name], pairs, bounds[array.name], length)
        if tolerance is not None:
            found[array.name] = tolerance
    unknown = (_IN_PART,) if whole and any(one.few for one in bounds.values()) else ()
    return replace(reference, rounding=found, warnings=(*reference.warnings, *unknown))


def _tolerance(kind: str, result: NDArray[Any], pairs: Sequence[Pair], bounds: Bounds,
               length: int) -> NDArray[Any] | None:
    if pairs:
        return rounding_tolerance(kind, result, pairs, bounds, length)
    tolerance = from_other_answers(result, bounds)
    return tolerance if tolerance.any() else None


def _folds(program: Program) -> bool:
    return any(isinstance(part, Fold) for statement in program.statements for expr in statement.body.computed
               for part in parts(expr))


def _bounds(program: Program, jumps: Jumps, reference: Reference) -> dict[str, Bounds]:
    """Return what runs with error bounds find for the outputs. Raises RunFailed."""
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
        bounds = {array.name: bounds_of(folder, array, reference.outputs[array.name]) for array in program.outputs}
        if not all(one.found for one in bounds.values()):
            raise RunFailed(f"one run takes {min(reference.sequential_ms) / 1000:.3g} s")
        return bounds


def _text(program: Program, jumps: Jumps, run_ms: float) -> str:
    """Return the C program."""
    arrays = [a for a in program.arrays if a.extents or a.role != "temp"]
    local = [*((a.type, a.name) for a in program.arrays if a not in arrays), *jumps.scalars]
    parameters = [f"{kind} *restrict {name}" for kind, name in (*((a.type, a.name) for a in arrays), *jumps.arrays)]
    body = [f"{kind} {name};" for kind, name in local]
    body += stages(original_loops(program, LOOP), printer_of(program), jumps.statement, True)
    text = [function("antune_bounded", parameters, body),
            function("main", [], [*_main(program, jumps, arrays, run_ms), "return 0;"], "int")]
    return "\n".join([HEAD_OF_ALL.read_text(encoding="utf-8"), HEAD.read_text(encoding="utf-8"),
                      *(with_own_names(one, program) for one in text)])


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
    again = [f"__builtin_memcpy({name}, antune_first_{a.name}, {a.elements} * sizeof({a.type}));"
             for a in written for name in (a.name, *jumps.ends_of(a))]
    again += [f"__builtin_memset({name}, 0, {size});" for name, size in jumps.errors]
    names = [*(a.name for a in arrays), *(name for _, name in jumps.arrays)]
    yield from jumps.runs(f"{' '.join(again)} antune_bounded({', '.join(names)})")
