"""Boundary conditions: Funcs that extend an input beyond its coordinates.

    repeat_edge:   a a | a b c | c c    mirror_image:    b a | a b c | c b
    repeat_image:  b c | a b c | a b    mirror_interior: c b | a b c | b a
    constant_exterior(v):               v v | a b c | v v

For a dimension without limits, `None` or `Expr()` replaces both of its bounds, as in [(Expr(), Expr()), (0, height)].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generator.errors import InputError
from generator.frontend_py.func import Func
from generator.frontend_py.functions import cast, clamp, select
from generator.frontend_py.images import Image
from generator.frontend_py.nodes import Expr, Var, as_expr
from generator.frontend_py.where import here


def repeat_edge(source: Any, bounds: Sequence[tuple[Any, Any]] | None = None) -> Func:
    """Extend the input by the nearest element."""
    return _indexed("repeat_edge", source, bounds, lambda x, low, n: clamp(x, low, low + n - 1))


def repeat_image(source: Any, bounds: Sequence[tuple[Any, Any]] | None = None) -> Func:
    """Extend the input by repetition."""
    return _indexed("repeat_image", source, bounds, lambda x, low, n: (x - low) % n + low)


def mirror_image(source: Any, bounds: Sequence[tuple[Any, Any]] | None = None) -> Func:
    """Extend the input by mirror images, with repeated edges."""
    def mirrored(x: Expr, low: Expr, n: Expr) -> Expr:
        at = (x - low) % (2 * n)
        return select(at >= n, 2 * n - 1 - at, at) + low  # type: ignore[no-any-return]  # operators of Expr return Any
    return _indexed("mirror_image", source, bounds, mirrored)


def mirror_interior(source: Any, bounds: Sequence[tuple[Any, Any]] | None = None) -> Func:
    """Extend the input by mirror images, with shared edges."""
    def mirrored(x: Expr, low: Expr, n: Expr) -> Expr:
        at = (x - low) % (2 * n - 2)
        return select(at >= n, 2 * n - 2 - at, at) + low  # type: ignore[no-any-return]  # operators of Expr return Any
    return _indexed("mirror_interior", source, bounds, mirrored)


def constant_exterior(source: Any, value: Any, bounds: Sequence[tuple[Any, Any]] | None = None) -> Func:
    """Extend the input by `value`."""
    args = _args(source)
    inside: Expr | None = None
    nearest: list[Expr] = []
    for x, limit in _limits(source, bounds, args):
        if limit is None:
            nearest.append(x)
            continue
        low, n = limit
        within = (x >= low) & (x < low + n)
        inside = within if inside is None else inside & within
        nearest.append(clamp(x, low, low + n - 1))
    found = as_expr(source[tuple(nearest)])
    func = Func("constant_exterior")
    func[args] = found if inside is None else select(inside, found, cast(found.type, as_expr(value, found.type)))
    return func


def _indexed(name: str, source: Any, bounds: Sequence[tuple[Any, Any]] | None, index: Any) -> Func:
    args = _args(source)
    moved = [x if limit is None else index(x, *limit) for x, limit in _limits(source, bounds, args)]
    func = Func(name)
    func[args] = source[tuple(moved)]
    return func


def _args(source: Any) -> tuple[Var, ...]:
    if not isinstance(source, Func | Image):
        raise InputError("boundary conditions are for images and Funcs", here())
    return tuple(Var("xyzw"[d] if d < 4 else f"d{d}") for d in range(source.dimensions()))


def _limits(source: Any, bounds: Sequence[tuple[Any, Any]] | None,
            args: Sequence[Var]) -> list[tuple[Var, tuple[Expr, Expr] | None]]:
    """Return all coordinates, each with its min and extent if it has limits."""
    if bounds is None:
        if not isinstance(source, Image):
            raise InputError(
                f"Func `{source.title}` has no coordinates of its own: give the bounds [(min, extent), ...]", here()
            )
        bounds = source.bounds()
    if len(bounds) > len(args):
        raise InputError(f"{len(bounds)} bounds for {len(args)} dimensions", here())
    given = [*bounds, *[(None, None)] * (len(args) - len(bounds))]
    return [(x, None if _missing(low) or _missing(n) else (as_expr(low), as_expr(n)))
            for x, (low, n) in zip(args, given, strict=True)]


def _missing(bound: Any) -> bool:
    return bound is None or (isinstance(bound, Expr) and not bound.defined())
