"""The words in which C-like device languages differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

ANY_ORDER = "antune_any_order"
"""A macro: the sum that follows in the same braces may add its terms in any order."""
VECTOR = "antune_vector"
"""A macro: all iterations of the following loop, as many as its argument, form one vector, for compilers that need a
hint.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """A dialect's form of a function of C: its `name`, with arguments converted to `argument`, the result to `result`.
    """

    name: str
    argument: str = ""
    result: str = ""

    def call(self, name: str, arguments: list[str]) -> str:
        """Return the call of the function `name` with the conversions of this one."""
        given = [f"({self.argument})({a})" for a in arguments] if self.argument else arguments
        return f"{f'({self.result})' if self.result else ''}{name}({', '.join(given)})"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The `statement` that updates `*place` by `value` atomically; `where`: the preprocessor's condition for it, if
    any.
    """

    statement: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class First:
    """The first of adjacent elements: its text, and where it is."""

    text: str
    space: Literal["global", "shared", "private"]


@dataclass(frozen=True, slots=True)
class Words:
    """One dialect. `entry` marks a kernel. In `block_size`, an attribute of kernels, `{block}` is the block (x, y, z)
    and `{threads}` its product; `{axis}` is a dimension.

    `dynamic_memory` declares the shared memory that a launch requests, aligned to `{bytes}`; `dynamic_array` declares
    the array `{name}` of `{type}` and `{sizes}` at byte `{offset}` of it (empty: not needed).

    `barrier` makes shared memory consistent in a block; `array_barrier` global memory, too.

    `function` returns how a function of C is called, including `min` and `max` of integers.

    `atomics`: the built-in atomic updates, by operator and C type. `swap`: the compare-and-swap of a word of so many
    bytes; `swap_word`: the type of that word. `shared_pointer`: the qualifier of pointers to global memory that others
    write; `block_pointer`: of those to shared memory. `shuffle`: the value `{value}` of the thread whose lane differs
    in the bits `{lanes}`; `from_lane`: that of the thread `{lane}` of those that shuffle together; `sub_groups`:
    attributes of kernels that shuffle. `factors_around_barriers`: the plan's factor is for loops with barriers, too.
    `no_contraction`: forbids fused multiply-adds in a function (`emit.contraction`). `generic_extrema`: fmin and fmax
    take any floating type. `inlined`: compilers may need `emit.inlined`. `any_order` defines the macro before sums of a
    thread that is alone in its block, whose terms may be reordered: compilers for CPUs then vectorize them. `vector`
    defines the macro before its loops over neighbours. `opaque_one`: 1, as an expression that compilers do not evaluate
    (`emit.opaque`). `reals`: the texts of certain real numbers.

    `textures`: the types of texture arguments by their dimensions. `fetch` returns the lines of a function that reads
    element `x` (`x`, `y`) of a texture `image`, given the C type, the dimensions and the words per texel
    (`generator.variant.Texture`); `sampler` precedes those for two dimensions. `constant_memory` qualifies arguments in
    constant memory; if they cannot be arguments, `constant_symbol` declares them. `halves` defines the conversions of
    halves (`emit.half`).

    `later_copies` defines the functions of asynchronous copies (`emit.later`); empty: there are none.

    `stream` defines the macro that stores an element past the caches (`emit.streams`); `stream_rows`: the functions
    that store rows of some C types; None if a thread that is alone in its block stores elements.

    `wide`: the statement that copies so many adjacent elements of a C type to a target from a source, given their first
    elements; `wide_stream`: past the caches, where the dialect can. `aligned`: the attribute of arrays that are aligned
    to `{bytes}`.
    """

    entry: str
    block_size: str
    global_memory: str
    restrict: str
    shared_memory: str
    dynamic_memory: str
    dynamic_array: str
    barrier: str
    array_barrier: str
    sub_group_barrier: str
    group_index: str
    thread_index: str
    axes: tuple[str, str, str]
    types: Mapping[str, str]
    double_preamble: str
    function: Callable[[str], Function]
    device_function: str
    shared_pointer: str
    block_pointer: str
    atomics: Mapping[tuple[str, str], BuiltIn]
    swap: Mapping[int, str]
    swap_word: Mapping[int, str]
    swap_preamble: str
    shuffle: str
    from_lane: str
    sub_groups: str
    sub_group_preamble: str
    factors_around_barriers: bool
    no_contraction: str
    generic_extrema: bool
    inlined: bool
    any_order: str
    vector: str
    opaque_one: str
    reals: Mapping[str, str]
    textures: Mapping[int, str]
    fetch: Callable[[str, int, int], tuple[str, ...]]
    sampler: str
    constant_memory: str
    constant_symbol: str
    wide: Callable[[str, int, First, First], str]
    wide_stream: Callable[[str, int, First, First], str]
    aligned: str
    halves: str
    later_copies: str
    stream: str
    stream_rows: Callable[[Iterable[str]], str] | None = None

    @property
    def kernel(self) -> str:
        """The text before `void` and the name of a kernel."""
        return f"{self.entry} {self.block_size}"

    def type(self, element: str) -> str:
        """Return the dialect's name of an element type."""
        return self.types.get(element, element)
