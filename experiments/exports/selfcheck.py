"""selfcheck.c, sequential.c and data.bin: a program that compares the exported function with sequential code.

data.bin holds what every array held when the tuned program reached its loops, one array after the other. Elements that
the loops write before they are read hold garbage, so that code which forgets to write them is found out. Where the
run found results that rounding errors decide, their tolerances follow as doubles, and where there is no sequential code
any more, the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.exports.chosen import Chosen
from experiments.exports.signature import Parameter, Signature
from experiments.exports.templates import c_string, comment, fill
from generator.problem import as_declared
from generator.program import ELEMENT_BYTES
from generator.rounding import PEERS, relative_tolerance
from runners.check import longest_chain
from runners.data import initial_values

STORED, SEQUENTIAL = "the results that the tuning run stored", "the sequential code"


@dataclass
class _Data:
    """The contents of data.bin, while it is put together; every part begins at a multiple of 8 bytes."""

    parts: list[bytes]
    size: int = 0

    def add(self, values: NDArray[Any]) -> int:
        """Append an array; where it begins."""
        begin, raw = self.size, np.ascontiguousarray(values).tobytes()
        raw += b"\0" * (-len(raw) % 8)
        self.parts.append(raw)
        self.size += len(raw)
        return begin


def selfcheck_files(chosen: Chosen, signature: Signature) -> dict[str, str | bytes]:
    """The files of the self-check, by name."""
    assert chosen.problem is not None, "a self-check needs data"
    values, program, reference = initial_values(chosen.problem), chosen.info.program, chosen.problem.reference
    data, rows, chain = _Data([]), [], longest_chain(program)
    arrays = [program.array(parameter.name) for parameter in signature.of_role("array", "scalar")]
    for array in arrays:
        offset = data.add(as_declared(array, values[array.name]))
        result = array in program.outputs
        rounding = reference.rounding.get(array.name) if result else None
        relative = relative_tolerance(array.type, chain)
        allowed = -1 if rounding is None else data.add(as_declared(array, rounding.astype(np.float64)))
        rows.append(
            f"  {{{c_string(array.name)}, {_kind_name(array.type)}, {array.own_elements}, {array.own_bytes}, {offset}, "
            f"{allowed}, {int(result)}, {relative!r}, NULL, NULL}},"
        )
    numbers = {name: k for k, name in enumerate(array.name for array in arrays)}
    sequential = _sequential_call(chosen, signature, numbers)
    if signature.sequential is None:
        expected = {a.name: data.add(as_declared(a, reference.outputs[a.name])) for a in arrays if a in program.outputs}
        parts = [(f"arrays[{numbers[name]}]", offset) for name, offset in expected.items()]
        sequential = "\n".join(f"    {a}.expected = part(file, path, {offset}, {a}.bytes);" for a, offset in parts)
    text = fill(
        "selfcheck.c.in",
        {
            "F": chosen.name,
            "KINDS": ", ".join(_kind_name(kind) for kind in ELEMENT_BYTES),
            "ARRAYS": "\n".join(rows),
            "NUMBERS": "\n".join(
                f"    case {_kind_name(kind)}: return (double)((const {kind} *)data)[i];" for kind in ELEMENT_BYTES
            ),
            "PEERS": f"{PEERS:g}",
            "PROTOTYPE": _prototype(chosen, signature),
            "SEQUENTIAL": sequential,
            "ARGUMENTS": "".join(f", {_argument(p, numbers, 'got')}" for p in signature.parameters),
            "TUNED": c_string(chosen.tuned),
            "AGAINST": STORED if signature.sequential is None else SEQUENTIAL,
        },
    )
    return {"selfcheck.c": text, "sequential.c": _sequential_file(chosen, signature), "data.bin": b"".join(data.parts)}


def _kind_name(kind: str) -> str:
    return f"IS_{kind.upper().replace(' ', '_')}"


def _prototype(chosen: Chosen, signature: Signature) -> str:
    if signature.sequential is None:
        return ""
    return f"void {chosen.name}_sequential({signature.declarations});  /* sequential.c */\n"


def _sequential_call(chosen: Chosen, signature: Signature, numbers: dict[str, int]) -> str:
    return _call(f"{chosen.name}_sequential", signature, numbers, "expected")


def _call(function: str, signature: Signature, numbers: dict[str, int], which: str) -> str:
    """A call with the arrays of the data file; `which` of their two copies."""
    arguments = ", ".join(_argument(parameter, numbers, which) for parameter in signature.parameters)
    return f"    {function}({arguments});"


def _argument(parameter: Parameter, numbers: dict[str, int], which: str) -> str:
    match parameter.role:
        case "size":
            return str(parameter.value)
        case "unused":
            return "0"
        case "array":
            return f"arrays[{numbers[parameter.name]}].{which}"
        case "scalar":
            kind = parameter.text.removesuffix(parameter.name).rstrip(" *")
            pointer = f"({kind} *)arrays[{numbers[parameter.name]}].{which}"
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
    prototype = f"void {chosen.name}_sequential({signature.sequential_declarations})"
    return f"{head}#include <math.h>\n#include <stdlib.h>\n\n{prototype}\n{{\n{unused}{body}}}\n"
