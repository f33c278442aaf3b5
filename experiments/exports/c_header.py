"""A single C header with kernels, OpenCL host code and the function. It is included; nothing else is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.exports.chosen import Chosen
from experiments.exports.interface import header
from experiments.exports.opencl import CHOICE, host_code, how_timed, kernels_text
from experiments.exports.templates import c_string
from experiments.exports.versions import exported

USE = (
    "Everything here is `static inline`; compile with a C99 or C++11 compiler and link with -ldl. OpenCL is loaded "
    "when the "
    "first context is opened: its headers are not needed. ANTUNE_OPENCL_LIBRARY names another loader than the system's."
)


def header_files(chosen: Sequence[Chosen]) -> dict[str, str | bytes]:
    """Return the header, by its file name."""
    code = exported(chosen, "opencl")
    kernels = "\n".join(f"  {c_string(line + chr(10))}," for line in kernels_text(code).splitlines())
    body = host_code(code, kernels, "static inline ")
    notes = CHOICE, USE, *how_timed(code.chosen, "opencl")
    return {f"{code.name}.h": header(code, notes, "static inline ", "", body)}
