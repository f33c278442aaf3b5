"""Casts by the names of their types: u8(e), i16_sat(e), ..."""

from __future__ import annotations

from typing import Any

from generator.frontend_py.functions import cast, saturating_cast
from generator.frontend_py.nodes import Expr
from generator.frontend_py.types import Float, Int, UInt


def i8(value: Any) -> Expr:
    """cast(Int(8), value)."""
    return cast(Int(8), value)


def i16(value: Any) -> Expr:
    """cast(Int(16), value)."""
    return cast(Int(16), value)


def i32(value: Any) -> Expr:
    """cast(Int(32), value)."""
    return cast(Int(32), value)


def i64(value: Any) -> Expr:
    """cast(Int(64), value)."""
    return cast(Int(64), value)


def u8(value: Any) -> Expr:
    """cast(UInt(8), value)."""
    return cast(UInt(8), value)


def u16(value: Any) -> Expr:
    """cast(UInt(16), value)."""
    return cast(UInt(16), value)


def u32(value: Any) -> Expr:
    """cast(UInt(32), value)."""
    return cast(UInt(32), value)


def u64(value: Any) -> Expr:
    """cast(UInt(64), value)."""
    return cast(UInt(64), value)


def f32(value: Any) -> Expr:
    """cast(Float(32), value)."""
    return cast(Float(32), value)


def f64(value: Any) -> Expr:
    """cast(Float(64), value)."""
    return cast(Float(64), value)


def i8_sat(value: Any) -> Expr:
    """saturating_cast(Int(8), value)."""
    return saturating_cast(Int(8), value)


def i16_sat(value: Any) -> Expr:
    """saturating_cast(Int(16), value)."""
    return saturating_cast(Int(16), value)


def i32_sat(value: Any) -> Expr:
    """saturating_cast(Int(32), value)."""
    return saturating_cast(Int(32), value)


def i64_sat(value: Any) -> Expr:
    """saturating_cast(Int(64), value)."""
    return saturating_cast(Int(64), value)


def u8_sat(value: Any) -> Expr:
    """saturating_cast(UInt(8), value)."""
    return saturating_cast(UInt(8), value)


def u16_sat(value: Any) -> Expr:
    """saturating_cast(UInt(16), value)."""
    return saturating_cast(UInt(16), value)


def u32_sat(value: Any) -> Expr:
    """saturating_cast(UInt(32), value)."""
    return saturating_cast(UInt(32), value)


def u64_sat(value: Any) -> Expr:
    """saturating_cast(UInt(64), value)."""
    return saturating_cast(UInt(64), value)
