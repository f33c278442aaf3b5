"""Functions of OpenCL C that kernels define, because compilers for CPUs do not vectorize loops that call the built-in
ones.

PoCL (3.0) calls even `min` of two integers from a library that its vectorizer does not see, also in the conditions of
loops: a loop with it took 5 to 30 times as long (2026-11-23). Functions that are single instructions are available
under their C names. Intel's runtime (2026.22.10) vectorizes across the threads of a block, with all built-in functions;
in a block of one thread it is like PoCL. With several threads it must not have these functions: of a loop to min(511,
1792 - 512 * b0 - t0) it then skips whole blocks.

A loop with `exp` or `log` of floats takes a fifth of the time or less with our functions, on both runtimes
(2026-11-27). They reduce the argument as Cody and Waite do ("Software Manual for the Elementary Functions", 1980):
exp(x) = 2^k * exp(x - k ln 2), log(m * 2^k) = log(m) + k ln 2, with ln 2 as the sum of two numbers, the first of few
bits, so that its product with k is exact. The rest are polynomials, fitted by weighted least squares for the smallest
relative error. Results are within 1.2 units of the last place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Function:
    """`value` of `arguments`, after the statements `before`; `{f}` is C's suffix of functions for `float`. `anywhere`:
    all compilers can use it. `built_in`: types for which the compiler's own function is called.
    """

    name: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    value: str
    anywhere: bool
    before: tuple[str, ...] = ()
    built_in: tuple[str, ...] = ()


def _polynomial(x: str, terms: tuple[str, ...]) -> str:
    """Return the text of a polynomial, by Horner's rule; the constant term comes first."""
    text = f"{terms[-1]}f"
    for term in reversed(terms[:-1]):
        text = f"({text} * {x} + {term}f)"
    return text


_EXP_TERMS = ("0.5", "0.166666657", "0.0416662954", "0.00833349768", "0.00139447034", "0.000197902977")
"""Of (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2."""
_LOG_TERMS = ("0.333333105", "-0.249999866", "0.200022265", "-0.166692495", "0.142186552", "-0.1238437", "0.118730165",
              "-0.117896959", "0.0691514686")
"""Of (log(1 + f) - f + f^2 / 2) / f^3, where 1 + f is between the root of 1/2 and that of 2."""
_REAL, _INTEGERS = ("float", "double"), ("int", "uint", "long", "ulong")
_EXP = _Function("exp", ("x",), ("float",), "p * as_float((h + 127) << 23) * as_float((n - h + 127) << 23)", True, (
    "const float a = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;",  # beyond, the result is infinite or 0
    "const float k = a * 1.44269504f + 12582912.0f - 12582912.0f;",  # 1.5 * 2^23: rounds to an integer
    "const float r = a - k * 0.693145752f - k * 1.42860677e-6f;",
    f"const float p = {_polynomial('r', _EXP_TERMS)} * (r * r) + r + 1.0f;",
    "const int n = (int)k, h = n / 2;",  # 2^n itself may be too large or too small
), ("double",))
_LOG = _Function("log", ("x",), ("float",), "x > 0.0f ? (x < INFINITY ? y : x) : x == 0.0f ? -INFINITY : NAN", True, (
    "const int tiny = x < 1.17549435e-38f;",  # not normalized
    "const int bits = as_int(tiny ? x * 8388608.0f : x), e = (bits - 0x3f3504f3) >> 23;",  # of the root of 1/2
    "const float k = (float)(tiny ? e - 23 : e), f = as_float(bits - e * 8388608) - 1.0f, z = f * f;",
    f"const float y = {_polynomial('f', _LOG_TERMS)} * (f * z) - k * 2.12194440e-4f - 0.5f * z + f + k * 0.693359375f;",
), ("double",))
_FUNCTIONS = (
    _EXP,
    _LOG,
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
    for kind in (*function.types, *function.built_in):
        arguments = ", ".join(f"{kind} {name}" for name in function.arguments)
        head = f"static inline __attribute__((overloadable)) {kind} {own_name(function.name)}({arguments})"
        if kind == "double":
            yield "#ifdef cl_khr_fp64"
        if kind in function.built_in:
            yield f"{head} {{ return {function.name}({', '.join(function.arguments)}); }}"
        else:
            value = function.value.format(f="f" if kind == "float" else "")
            yield f"{head} {{ {' '.join((*function.before, f'return {value};'))} }}"
        if kind == "double":
            yield "#endif"
