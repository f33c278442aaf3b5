"""The x dimension: the parallel loop along which neighbouring threads lie (ours)."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Any, TypeAlias

from generator.decisions.base import Decided, KernelDecision, Known, Offer, Option, Question, Row
from generator.decisions.shape import Shape
from generator.errors import InputError
from generator.forms import Form

Order: TypeAlias = tuple[int, ...]


def _offer(known: Known) -> Offer[Order]:
    """Offers the orders that move one dimension to the end (x) and keep the others; () is the schedule's order."""
    count = len(known.shape.extents)
    if not known.wide or count < 2:
        return Offer(((),))
    return Offer(tuple(_order(x, count) for x in reversed(range(count))), (("dimensions", count),))


def _order(x: int, count: int) -> Order:
    return () if x == count - 1 else (*(d for d in range(count) if d != x), x)


class _XDimension(KernelDecision[Order]):
    """The question is which dimension is x; a plan holds the order of all of them."""

    def ask(self, known: Known) -> Generator[Question, Option, Order]:
        """See KernelDecision."""
        offer, count = self.offer(known), len(known.shape.extents)
        by_x = {order[-1] if order else max(0, count - 1): order for order in offer.options}
        answer = yield Question(self.name, tuple(by_x), offer.depends)
        assert isinstance(answer, int)
        return by_x[answer]

    def answers(self, kernel: Decided) -> dict[str, Option]:
        """See KernelDecision. An order that is not on offer gets the answer with the same x."""
        order = self.of(kernel)
        return {self.name: order[-1] if order else max(0, len(kernel.tile) - 1)}

    def turned(self, shape: Shape, value: Order) -> Shape:
        """See KernelDecision."""
        return shape.ordered(value)

    def check(self, data: Mapping[str, Any], where: str) -> None:
        """See KernelDecision."""
        count = len(data["tile"]) if isinstance(data.get("tile"), list) else 0
        if self.key in data and not _is_permutation(data[self.key], count):
            raise InputError(f"{where}.{self.key} is {json.dumps(data[self.key])}; use {self.form.wanted}")


def _is_permutation(value: object, count: int) -> bool:
    return value == [] or (
        isinstance(value, list) and all(type(v) is int for v in value) and sorted(value) == list(range(count))
    )


X_DIMENSION = _XDimension(
    "order", "x dimension", (), Form(lambda _: False, "a permutation of the dimensions' numbers"), _offer,
    Row("any parallel loop", "neighbouring threads differ in x, so this decides which accesses are coalesced", "wide"),
    lambda order: str(order[-1]))
