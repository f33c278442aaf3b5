"""Functions of OpenCL C that kernels bring along, since compilers for CPUs do not vectorize loops around the built-in ones.

PoCL (3.0) calls even `min` of two integers from a library that its vectorizer does not see, in the conditions of loops, too: a
loop around it took 5 to 30 times as long (2026-11-23). What one instruction computes, its compiler has under the names of C. Intel's
runtime (2026.22.10) vectorizes across the threads of a block, around all built-in functions; in a block of one thread it is as
PoCL. Threads side by side must not have these there: of a loop to min(511, 1792 - 512 * b0 - t0) it then skips whole blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from generator.emit.names import without_comment


@dataclass(frozen=True, slots=True)
class _Function:
    """`value` of `arguments`; `{f}` is C's suffix of functions for `float`. `anywhere`: all compilers can have it."""

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
_CALL = re.compile(rf"\b(antune_)?({'|'.join(f.name for f in _FUNCTIONS)})\(")
_ANYWHERE = re.compile(rf"\b({'|'.join(f.name for f in _FUNCTIONS if f.anywhere)})\(")


def with_inlined(line: str) -> str:
    """A line of a kernel whose blocks have one thread: it calls the functions that it brings along."""
    code = without_comment(line)
    return _ANYWHERE.sub(r"antune_\1(", code) + line[len(code):]


def inlined_functions(code: Iterable[str]) -> str:
    """The definitions of what these lines of kernels call: for all compilers where it is antune_.., for PoCL the others, too."""
    calls = {(found[2], bool(found[1])) for line in code for found in _CALL.finditer(without_comment(line))}
    calls |= {(_TOGETHER[name], named) for name, named in calls if name in _TOGETHER}
    named = [f for f in _FUNCTIONS if (f.name, True) in calls]
    others = [f for f in _FUNCTIONS if (f.name, False) in calls and f not in named]
    lines = ["// Compilers for CPUs do not vectorize loops around calls of the built-in functions."] if calls else []
    if named:
        lines += ["#ifdef __clang__", *(line for f in named for line in _definitions(f))]
        lines += ["#else", *(f"#define antune_{f.name} {f.name}" for f in named), "#endif"]
    if calls:
        lines += ["#ifdef POCL_DEVICE_ADDRESS_BITS", *(line for f in others for line in _definitions(f))]
        lines += [*(f"#define {f.name} antune_{f.name}" for f in (*named, *others)), "#endif", ""]
    return "\n".join(lines)


def _definitions(function: _Function) -> Iterator[str]:
    for kind in function.types:
        arguments = ", ".join(f"{kind} {name}" for name in function.arguments)
        value = function.value.format(f="f" if kind == "float" else "")
        head = f"static inline __attribute__((overloadable)) {kind} antune_{function.name}({arguments})"
        if kind == "double":
            yield "#ifdef cl_khr_fp64"
        yield f"{head} {{ return {value}; }}"
        if kind == "double":
            yield "#endif"
