"""Inputs of which the program itself has the data (`hl.Buffer`): small ones are part of the exported code.

A caller of C passes NULL for them, or other data; a caller in Python leaves them out.
"""

from __future__ import annotations

import textwrap
from typing import Any

from numpy.typing import NDArray

from experiments.exports.versions import Exported
from generator.problem import as_declared

LARGEST = 1 << 16
"""The most bytes of such an array."""


def own_data(code: Exported) -> dict[str, NDArray[Any]]:
    """Return the constants of the program that are small, and the same at all sizes."""
    found: dict[str, NDArray[Any]] = {}
    chosen = [version.chosen for version in code.versions]
    for name in code.chosen.program.constants:
        data = [as_declared(one.program.array(name), one.problem.reference.inputs[name]) for one in chosen
                if one.problem is not None]
        if data and data[0].nbytes <= LARGEST and len({one.tobytes() for one in data}) == 1:
            found[name] = data[0]
    return found


def own_text(code: Exported) -> str:
    """Return the definitions of their bytes in C."""
    return "".join(_definition(f"{code.name}_own_{name}", data.tobytes()) for name, data in own_data(code).items())


def _definition(name: str, data: bytes) -> str:
    rows = textwrap.wrap(", ".join(map(str, data)), 116)
    return f"static const unsigned char {name}[] = {{\n" + "".join(f"  {row}\n" for row in rows) + "};\n\n"
