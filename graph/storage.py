"""The storage orders of intermediate arrays (`generator.storage_orders`), decided after the places of the stages."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from generator.storage_orders import Contiguous
from graph.kernels import number
from graph.reaching import Answers
from graph.space import Chooser, Decision, PageRow

CONTIGUOUS = "contiguous dimension"

ROW = PageRow(CONTIGUOUS,
    "an intermediate array that is not inline, from the outputs to the inputs, `--space pipeline`",
    "the last one, others by their numbers from 0 on",
    "elements along this dimension are adjacent in memory, and neighbouring threads compute them. Offered for "
    "arrays that are read across their rows, or read others so, as between passes along rows and along columns (wide)")
"""A row of the table in docs/decisions.md."""


def choose_orders(chooser: Chooser, offered: Mapping[str, tuple[int, ...]], inline: Collection[str]) -> Contiguous:
    """Decide the contiguous dimension of every array, from the last one on, whose options are `offered`."""
    chosen = {array: (dims[0], number(chooser, Decision(CONTIGUOUS, (array,)), dims))
              for array, dims in reversed(tuple(offered.items())) if array not in inline}
    return tuple(sorted((array, dim) for array, (last, dim) in chosen.items() if dim != last))


def order_answers(offered: Mapping[str, tuple[int, ...]], contiguous: Contiguous) -> Answers:
    """Return the answers that lead to these storage orders."""
    chosen = dict(contiguous)
    return {(CONTIGUOUS, (array,), 0): chosen.get(array, dims[0]) for array, dims in offered.items()}
