"""Functions of OpenCL C that kernels define, because compilers for CPUs do not vectorize loops that call the built-in
ones.

PoCL (3.0) calls even `min` of two integers from a library that its vectorizer does not see, also in the conditions of
loops: a loop with it took 5 to 30 times as long (2026-11-23). Functions that are single instructions are available
under their C names. Intel's runtime (2026.22.10) vectorizes across the threads of a block, with all built-in functions;
in a block of one thread it is like PoCL. With several threads it must not have these functions: of a loop to min(511,
1792 - 512 * b0 - t0) it then skips whole blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Function:
    """`value` of `arguments`; `{f}` is C's suffix of functions for `float`. `anywhere`: all compilers can use it."""

    name: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    value: str
    anywhere: bool


_REAL, _INTEGERS = ("float", "double"), ("int", "uint", "long", "ulong")
_FUNCTIONS = (
    _Function("min", ("a", "b"), _INTEGERS, "a < b ? a : b", True),
    _Function("max", ("a", "b"), _INTEGERS, "a > b ? a : b", True),
    _Function("abs", ("a",), ("int", "long"), "a < 0 ? -a : a", True),
    _Function("fmin", ("a", "b"), _REAL, "b < a || a != a ? b : a", True),
    _Function("fmax", ("a", "b"), _REAL, "b > a || a != a ? b : a", True),
    *(_Function(name, ("a",), _REAL, f"__builtin_{name}{{f}}(a)", False)
      for name in ("fabs", "sqrt", "floor", "ceil", "trunc", "rint")),
)
_TOGETHER = {"min": "max", "max": "min", "fmin": "fmax", "fmax": "fmin"}
"""Kernels with the same functions are compiled together (`runners.kernel_codes`)."""
OWN = frozenset(f.name for f in _FUNCTIONS if f.anywhere)
"""The functions that a kernel with one thread per block calls by its own names."""


def own_name(function: str) -> str:
    """Return the name of a function that a kernel defines."""
    return f"antune_{function}"


def inlined_functions(called: frozenset[str], own: frozenset[str]) -> str:
    """Return the definitions of called functions: `own` ones (`own_name`) for all compilers, others for PoCL only."""
    own, called = _together(own), _together(called)
    named = [f for f in _FUNCTIONS if f.name in own]
    others = [f for f in _FUNCTIONS if f.name in called and f not in named]
    if not named and not others:
        return ""
    lines = ["// Compilers for CPUs do not vectorize loops around calls of the built-in functions."]
    if named:
        lines += ["#ifdef __clang__", *(line for f in named for line in _definitions(f))]
        lines += ["#else", *(f"#define {own_name(f.name)} {f.name}" for f in named), "#endif"]
    lines += ["#ifdef POCL_DEVICE_ADDRESS_BITS", *(line for f in others for line in _definitions(f))]
    for f in (*named, *others):  # PoCL's own names are macros, too
        lines += [f"#undef {f.name}", f"#define {f.name} {own_name(f.name)}"]
    lines += ["#endif", ""]
    return "\n".join(lines)


def _together(functions: frozenset[str]) -> frozenset[str]:
    return functions | {_TOGETHER[name] for name in functions if name in _TOGETHER}


def _definitions(function: _Function) -> Iterator[str]:
    for kind in function.types:
        arguments = ", ".join(f"{kind} {name}" for name in function.arguments)
        value = function.value.format(f="f" if kind == "float" else "")
        head = f"static inline __attribute__((overloadable)) {kind} {own_name(function.name)}({arguments})"
        if kind == "double":
            yield "#ifdef cl_khr_fp64"
        yield f"{head} {{ return {value}; }}"
        if kind == "double":
            yield "#endif"
