"""selfcheck.c, sequential.c and data.bin: a program that compares the exported function with sequential code.

Each size has its own; those after the first are selfcheck_2.c and so on. data.bin contains the arrays as they were when
the tuned program reached its loops, one after the other. Elements that the loops write before reading contain garbage,
so that missing writes are detected. If some results depend on rounding errors, their tolerances follow as doubles; if
the sequential code is not available, the expected results follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.exports.chosen import Chosen
from experiments.exports.judged import Judged
from experiments.exports.signature import Parameter, Signature
from experiments.exports.templates import c_string, comment, fill
from experiments.exports.versions import Exported, Version
from generator.arithmetic import REAL, TO_FLOAT
from generator.emit.half import portable_halves
from generator.emit.names import macros
from generator.problem import as_declared
from generator.program import ELEMENT_BYTES
from generator.rounding import PEERS
from runners.data import initial_values

STORED, SEQUENTIAL = "the results that the tuning run stored", "the sequential code"


@dataclass
class _Data:
    """The contents of data.bin while it is built; every part begins at a multiple of 8 bytes."""

    parts: list[bytes]
    size: int = 0

    def add(self, values: NDArray[Any]) -> int:
        """Append an array; return its offset in bytes."""
        begin, raw = self.size, np.ascontiguousarray(values).tobytes()
        raw += b"\0" * (-len(raw) % 8)
        self.parts.append(raw)
        self.size += len(raw)
        return begin


def selfcheck_files(code: Exported) -> dict[str, str | bytes]:
    """Return the files of the self-checks, one set for each size, by name."""
    return {name: text for version, suffix in _checks(code) for name, text in _check(code, version, suffix).items()}


def build_values(code: Exported) -> dict[str, str]:
    """Return the template values of build files for the self-checks."""
    suffixes = [suffix for _, suffix in _checks(code)]
    return {"CHECKS": " ".join(f"selfcheck{suffix}" for suffix in suffixes),
            "SUFFIXES": " ".join(f'"{suffix}"' for suffix in suffixes)}


def _checks(code: Exported) -> list[tuple[Version, str]]:
    """Return the versions with the suffixes of their file names."""
    return [(version, f"_{number}" if number > 1 else "") for number, version in enumerate(code.versions, 1)]


def _check(code: Exported, version: Version, suffix: str) -> dict[str, str | bytes]:
    """Return the self-check of one size."""
    chosen, signature = version.chosen, version.signature
    assert chosen.problem is not None, "a self-check needs data"
    values, program, reference = initial_values(chosen.problem), chosen.program, chosen.problem.reference
    data, rows, judged = _Data([]), [], Judged.of(chosen)
    arrays = [program.array(parameter.name) for parameter in signature.of_role("array", "scalar")]
    for array in arrays:
        offset = data.add(as_declared(array, values[array.name]))
        result = array in program.outputs
        rounding, relative = judged.allowed(array) if result else None, judged.relative(array)
        allowed = -1 if rounding is None else data.add(as_declared(array, rounding.astype(np.float64)))
        rows.append(
            f"  {{{c_string(array.name)}, {_kind_name(array.type)}, {array.own_elements}, {array.own_bytes}, {offset}, "
            f"{allowed}, {int(result)}, {int(array.type not in REAL)}, {relative!r}, NULL, NULL}},"
        )
    numbers = {name: k for k, name in enumerate(array.name for array in arrays)}
    sequential = _call(f"{chosen.name}_sequential", signature, numbers, "expected")
    if signature.sequential is None:
        expected = {a.name: data.add(as_declared(a, reference.outputs[a.name])) for a in arrays if a in program.outputs}
        parts = [(f"selfcheck_arrays[{numbers[name]}]", offset) for name, offset in expected.items()]
        sequential = "\n".join(f"    {a}.expected = selfcheck_part(file, path, {o}, {a}.bytes);" for a, o in parts)
    text = fill("selfcheck.c.in", _fixed_values(code, version, suffix) | {
        "ARRAYS": "\n".join(rows), "SEQUENTIAL": sequential, "ARGUMENTS": _arguments(version, numbers)})
    return {f"selfcheck{suffix}.c": text, f"sequential{suffix}.c": _sequential_file(chosen, signature),
            f"data{suffix}.bin": b"".join(data.parts)}


def _fixed_values(code: Exported, version: Version, suffix: str) -> dict[str, str]:
    """Return the parts of a self-check that do not depend on its data."""
    chosen, stored = version.chosen, version.signature.sequential is None
    halves = any(array.type == "half" for array in chosen.program.arrays)
    names = {kind: _kind_name(kind) for kind in ELEMENT_BYTES if halves or kind != "half"}
    return {
        "F": chosen.name,
        "DATA": f"data{suffix}.bin",
        "KINDS": ", ".join(names.values()),
        "NUMBERS": "\n".join(f"    case {n}: return {_number(kind)};" for kind, n in names.items()),
        "STEPS": "\n".join(f"    case {n}: {_steps(kind)}" for kind, n in names.items() if kind not in REAL),
        "HALVES": portable_halves("static inline") if halves else "",
        "PEERS": f"{PEERS:g}",
        "PROTOTYPE": _prototype(chosen, version.signature),
        "TUNED": c_string(chosen.tuned),
        "AGAINST": (STORED if stored else SEQUENTIAL) + (f" for {version.label}" if len(code.versions) > 1 else ""),
    }


def _arguments(version: Version, numbers: dict[str, int]) -> str:
    """Return the arguments of the exported function after its context; sizes that the original lacks come last."""
    own = [_argument(parameter, numbers, "got") for parameter in version.signature.parameters]
    known = {parameter.name for parameter in version.signature.parameters}
    added = [str(size.value) for size in version.sizes if size.name not in known]
    return "".join(f", {argument}" for argument in (*own, *added))


def _kind_name(kind: str) -> str:
    return f"IS_{kind.upper().replace(' ', '_')}"


def _number(kind: str) -> str:
    """Return a C expression for element i of an array of that type, as a double."""
    if kind == "half":
        return f"{TO_FLOAT}(((const unsigned short *)data)[i])"
    return f"(double)((const {kind} *)data)[i]"


def _steps(kind: str) -> str:
    """Return C statements that return how far element i of an array of integers is from the expected value."""
    elements = ", ".join(f"{name} = (({kind} *)array->{data})[i]" for name, data in (("a", "expected"), ("b", "got")))
    one, two = (f"(unsigned long long){name}" for name in "ab")
    return f"{{ const {kind} {elements}; return a < b ? {two} - {one} : {one} - {two}; }}"


def _prototype(chosen: Chosen, signature: Signature) -> str:
    if signature.sequential is None:
        return ""
    return f"void {chosen.name}_sequential({signature.declarations});  /* sequential.c */\n"


def _call(function: str, signature: Signature, numbers: dict[str, int], which: str) -> str:
    """Return a call with the arrays of the data file; `which` selects one of their two copies."""
    arguments = ", ".join(_argument(parameter, numbers, which) for parameter in signature.parameters)
    return f"    {function}({arguments});"


def _argument(parameter: Parameter, numbers: dict[str, int], which: str) -> str:
    match parameter.role:
        case "size":
            return str(parameter.value)
        case "unused":
            return "0"
        case "array":
            return f"selfcheck_arrays[{numbers[parameter.name]}].{which}"
        case "scalar":
            kind = parameter.text.removesuffix(parameter.name).rstrip(" *")
            pointer = f"({kind} *)selfcheck_arrays[{numbers[parameter.name]}].{which}"
            return pointer if parameter.data.startswith("*") else f"*{pointer}"


def _sequential_file(chosen: Chosen, signature: Signature) -> str:
    origin = chosen.origin()[:1]
    if signature.sequential is None:
        head = comment(
            ["No loops in C to compare with: selfcheck.c compares with the results that the run stored.", *origin]
        )
        return f"{head}typedef int nothing;\n"
    head = comment(["The loops as they were tuned, to compare with.", *origin])
    unused = "".join(f"  (void){p.name};\n" for p in signature.of_role("unused", "size"))
    body = "".join(f"  {line}\n" for line in signature.sequential if line.strip())
    text = f"void {chosen.name}_sequential({signature.sequential_declarations})\n{{\n{unused}{body}}}\n"
    own = "".join(f"#undef {name}\n" for name in macros(text))  # the loops are preprocessed: these are variables
    return f"{head}#include <math.h>\n#include <stdlib.h>\n{own}\n{text}"
