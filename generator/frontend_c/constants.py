"""C constants: their values and, where it decides how arithmetic wraps, their types."""

from __future__ import annotations

from typing import Any

from generator.errors import InputError
from generator.expr import Cast, Expr, Int, Real
from generator.frontend_c.places import where

_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "e": 27, "\\": 92, "'": 39, '"': 34, "?": 63}
_INT_MAX, _UINT_MAX, _LONG_MAX = 2**31 - 1, 2**32 - 1, 2**63 - 1


def read_constant(node: Any) -> Expr:
    """Return the value of a numeric or character constant. Raises InputError for all others (strings, `1.0L`)."""
    value: Expr | None = None
    if node.type == "char":
        code = _character(node.value)
        value = None if code is None else Int(code)
    elif "int" in node.type and node.value[0].isdigit():
        value = _integer(node.value)
    elif node.type in ("float", "double"):
        value = Real(node.value)
    if value is None:
        raise InputError(f"the constant {node.value} ({node.type}) is not supported in a SCoP", where(node))
    return value


def typed(value: Expr, kind: str) -> Expr:
    """Return `value` with its C type in the source; types that C promotes to int are left out."""
    return Cast(kind, value) if kind in ("unsigned int", "long", "unsigned long") else value


def _integer(text: str) -> Expr:
    """Return the value with the first type that holds it (C11 6.4.4.1); only hexadecimal and octal ones may be
    unsigned.
    """
    digits = text.rstrip("uUlL")
    suffix = text[len(digits):].lower()
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    value = int(digits, 8 if octal else 0)
    is_long = "l" in suffix or value > _UINT_MAX
    if digits[0] != "0" and "u" not in suffix:
        is_unsigned, is_long = False, is_long or value > _INT_MAX
    else:
        is_unsigned = "u" in suffix or value > (_LONG_MAX if is_long else _INT_MAX)
    return typed(Int(value), ("unsigned " if is_unsigned else "") + ("long" if is_long else "int"))


def _character(text: str) -> int | None:
    """Return the value of a plain character constant like `'a'` or `'\\n'`; None for all others (`L'a'`, `'ab'`)."""
    body = text[1:-1]
    if text[0] != "'" or not body.isascii():
        return None
    if len(body) == 1:
        return ord(body)
    if body[0] != "\\":
        return None
    if body[1:] in _ESCAPES:
        return _ESCAPES[body[1:]]
    code = int("0" + body[1:], 0) if body[1] == "x" else int(body[1:], 8)
    return (code + 128) % 256 - 128  # char is signed, as on the devices
