"""One C header with kernels, OpenCL host code and the function: to be included, nothing to be compiled beside it."""

from __future__ import annotations

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.interface import header
from experiments.exports.opencl import CHOICE, host_code, how_timed
from experiments.exports.signature import signature_of
from experiments.exports.templates import c_string

USE = (
    "Everything here is `static inline`; compile with a C99 or C++11 compiler and link with -ldl. OpenCL is loaded "
    "when the "
    "first context is opened: its headers are not needed. ANTUNE_OPENCL_LIBRARY names another loader than the system's."
)


def header_files(chosen: Chosen) -> dict[str, str | bytes]:
    """The header, by its name."""
    signature, variant = signature_of(chosen), variant_of(chosen, "opencl")
    kernels = "\n".join(f"  {c_string(line + chr(10))}," for line in variant.source.splitlines())
    body = host_code(chosen, signature, variant, kernels, "static inline ", "static inline ")
    return {f"{chosen.name}.h": header(chosen, signature, (CHOICE, USE, *how_timed(chosen, "opencl")),
                                       "static inline ", "", body)}
