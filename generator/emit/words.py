"""The words in which C-like device languages differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """One dialect. `{block}` in `kernel` is the block (x, y, z), `{threads}` its product; `{axis}` a dimension.

    `swap` names the compare-and-swap of a word of so many bytes, `swap_word` the type of that word and `shared_pointer`
    how pointers to memory that others write are qualified. `shuffle` is the value `{value}` of the thread whose lane
    differs in the bits `{lanes}`; `sub_groups` are attributes of kernels that shuffle. `generic_extrema`: fmin and fmax
    take any floating type.
    """

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
    device_function: str
    shared_pointer: str
    swap: Mapping[int, str]
    swap_word: Mapping[int, str]
    swap_preamble: str
    shuffle: str
    sub_groups: str
    sub_group_preamble: str
    generic_extrema: bool

    def type(self, element: str) -> str:
        """The dialect's name of an element type."""
        return self.types.get(element, element)
