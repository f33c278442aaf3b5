"""Conversions between halves (16 bits) and numbers.

Kernels and C store halves as unsigned short, because few compilers have the type. IEEE 754 binary16: a sign, five bits
of exponent, ten of fraction.
"""

from __future__ import annotations

from generator.arithmetic import TO_FLOAT, TO_HALF

_LIMITS = "the greatest half is 65504: from 65520 on, the nearest is infinity; those below 2^-14 are multiples of 2^-24"
_PORTABLE_TO_FLOAT = """union { unsigned int bits; float number; } y;
  const unsigned int sign = (x & 0x8000u) << 16, size = x & 0x7fffu;
  if (size >= 0x7c00u) y.bits = 0x7f800000u | (size & 0x3ffu) << 13;
  else if (size >= 0x400u) y.bits = (size << 13) + 0x38000000u;
  else y.number = size * 0x1p-24f;
  y.bits |= sign;
  return y.number;"""
_PORTABLE_TO_HALF = """union { unsigned int bits; float number; } y;
  y.number = x;
  const unsigned int sign = y.bits >> 16 & 0x8000u, size = y.bits & 0x7fffffffu;
  y.bits = size;
  if (size > 0x7f800000u) return sign | 0x7e00u;
  if (size >= 0x477ff000u) return sign | 0x7c00u;
  if (size >= 0x38800000u) return sign | ((size + 0xfffu + (size >> 13 & 1u) - 0x38000000u) >> 13);
  y.number += 0.5f;
  return sign | (y.bits - 0x3f000000u);"""


def half_functions(qualifiers: str, condition: str, to_float: str, to_half: str) -> str:
    """Return definitions of both functions. `to_float`, `to_half`: their bodies if `condition` on macros holds."""
    return f"#if {condition}\n{_functions(qualifiers, to_float, to_half)}#else\n{portable_halves(qualifiers)}#endif\n"


def portable_halves(qualifiers: str) -> str:
    """Return definitions of both functions for any compiler."""
    return f"/* {_LIMITS} */\n{_functions(qualifiers, _PORTABLE_TO_FLOAT, _PORTABLE_TO_HALF)}"


def _functions(qualifiers: str, to_float: str, to_half: str) -> str:
    return (f"{qualifiers} float {TO_FLOAT}(unsigned short x) {{\n  {to_float}\n}}\n"
            f"{qualifiers} unsigned short {TO_HALF}(float x) {{\n  {to_half}\n}}\n")
