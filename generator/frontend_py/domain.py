"""Reduction domains: the points over which an update runs, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generator.errors import InputError, Location
from generator.frontend_py.called import Word
from generator.frontend_py.nodes import Call, Expr, Pixel, RVar, Var, as_expr, parts
from generator.frontend_py.types import INT32, Type
from generator.frontend_py.where import here

_MOST_DIMS = 4


class RDom(Expr):
    """A box of integer points, `[(min, extent), ...]` by dimension; the first dimension varies fastest.

    `r.x`, `r.y`, `r.z`, `r.w` (or `r[0]`, ...) are its coordinates; a one-dimensional domain is its own coordinate. An
    image gives its coordinates. `where` excludes points.
    """

    def __init__(self, ranges: Any, name: str = "r") -> None:
        self.at = here()
        self.name = Word(name)
        pairs = ranges.bounds() if hasattr(ranges, "bounds") else list(ranges)
        if not 1 <= len(pairs) <= _MOST_DIMS:
            raise InputError(f"RDom `{name}` has {len(pairs)} dimensions; use 1 to {_MOST_DIMS}", self.at)
        try:
            self.ranges = tuple((as_expr(low), as_expr(extent)) for low, extent in pairs)
        except (TypeError, ValueError):
            raise InputError(f"RDom `{name}`: give a list of pairs (min, extent)", self.at) from None
        for bound in (bound for pair in self.ranges for bound in pair):
            bad = next((p for p in parts(bound) if isinstance(p, Var | RVar | Call | Pixel)), None)
            if bad is not None:
                raise InputError(
                    f"the bounds of RDom `{name}` depend on {'data' if isinstance(bad, Call | Pixel) else 'a Var'}; "
                    "they must be known before the pipeline runs: let it run as far as it ever can and leave "
                    "points out with `where`",
                    self.at,
                )
        self.predicate: Expr | None = None
        self.used: Location | None = None  # by an update, after which nothing may change

    def where(self, condition: Expr) -> None:
        """Exclude the points where `condition` does not hold. Raises InputError after the domain has been used."""
        if self.used is not None:
            raise InputError(
                f"RDom `{self.name}` is used in line {self.used.line} already: `where` must come before that", here()
            )
        if not condition.type.is_bool():
            raise InputError(f"RDom `{self.name}`: `where` needs a condition, not a {condition.type}", here())
        if any(domain is not self for domain in domains_of([condition])):
            raise InputError(f"RDom `{self.name}`: the condition of `where` uses another RDom", here())
        self.predicate = condition if self.predicate is None else self.predicate & condition

    def __len__(self) -> int:
        return len(self.ranges)

    def dimensions(self) -> int:
        """Return the number of dimensions."""
        return len(self.ranges)

    def __getitem__(self, dim: int) -> RVar:
        if not 0 <= dim < len(self.ranges):
            raise InputError(
                f"RDom `{self.name}` has {len(self.ranges)} dimensions, number {dim} is not one of them", here()
            )
        return RVar(self, dim)

    @property
    def type(self) -> Type:
        """Coordinates are 32-bit integers."""
        return INT32

    @property
    def x(self) -> RVar:
        """The first coordinate."""
        return self[0]

    @property
    def y(self) -> RVar:
        """The second coordinate."""
        return self[1]

    @property
    def z(self) -> RVar:
        """The third coordinate."""
        return self[2]

    @property
    def w(self) -> RVar:
        """The fourth coordinate."""
        return self[3]

    def as_expr(self) -> RVar:
        """Return the coordinate of a one-dimensional domain. Raises InputError if there are several."""
        if len(self.ranges) != 1:
            raise InputError(
                f"RDom `{self.name}` has {len(self.ranges)} dimensions; use its coordinates {self.name}.x, "
                f"{self.name}.y, ...",
                here(),
            )
        return self[0]


def Range(low: Any, extent: Any) -> tuple[Any, Any]:
    """Return a dimension of an RDom, the same as the pair."""
    return low, extent


def domains_of(exprs: Sequence[Expr]) -> list[RDom]:
    """Return the reduction domains that `exprs` use, without repetitions."""
    found: dict[int, RDom] = {}
    for node in parts(*exprs):
        if isinstance(node, RVar):
            found[id(node.domain)] = node.domain
    return list(found.values())
