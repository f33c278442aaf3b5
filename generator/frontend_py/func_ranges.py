"""The possible values of Funcs: `level[x] = image[x] % 8` is 0 to 7, so `histogram[level[x]]` needs no clamp."""

from __future__ import annotations

import math

from generator.frontend_py.collect import Collected
from generator.frontend_py.func import Func
from generator.frontend_py.intervals import Interval, Intervals, as_stored, of_type
from generator.frontend_py.nodes import Call
from generator.frontend_py.sizes import Sizes


class FuncRanges:
    """The intervals of all values of all Funcs, for all coordinates; computed on first use."""

    def __init__(self, collected: Collected, sizes: Sizes) -> None:
        self.collected, self.sizes = collected, sizes
        self._found: dict[tuple[int, int], Interval] = {}

    def of(self, call: Call) -> Interval:
        """Return the least and the greatest possible value of a Func's value, after all its definitions."""
        if not self._found:
            for func in self.collected.funcs:  # producers first, so that the intervals of used Funcs are known
                self._note(func)
        return self._found.get((id(call.func), call.index), of_type(call.kind))

    def _note(self, func: Func) -> None:
        """Compute the intervals of a Func; where it uses itself, it may have any value."""
        known = Intervals(self.sizes, {}, self._so_far)
        found = [[known.of(value) for value in definition.values] for definition in func.definitions]
        for index, all_ in enumerate(zip(*found, strict=True)):
            low, high = min(low for low, _ in all_), max(high for _, high in all_)
            kind = func.types()[index]
            self._found[id(func), index] = of_type(kind) if math.isnan(low + high) else as_stored(kind, (low, high))

    def _so_far(self, call: Call) -> Interval:
        return self._found.get((id(call.func), call.index), of_type(call.kind))
