"""The words in which C-like device languages differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """One dialect. `{block}` in `kernel` is the block (x, y, z), `{threads}` its product; `{axis}` a dimension."""

    kernel: str
    global_memory: str
    restrict: str
    shared_memory: str
    barrier: str
    group_index: str
    thread_index: str
    axes: tuple[str, str, str]
    types: Mapping[str, str]
    double_preamble: str
    call: Callable[[str, list[str]], str]

    def type(self, element: str) -> str:
        """The dialect's name of an element type."""
        return self.types.get(element, element)
