"""The words in which C-like device languages differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

ANY_ORDER = "antune_any_order"
"""A macro: the sum that follows in the same braces may add its terms in any order."""
VECTOR = "antune_vector"
"""A macro: all iterations of the loop that follows, as many as its argument says, are one vector for compilers that
need to be told.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """How a dialect calls a function of C: by `name`, with all arguments converted to `argument`, the result to
    `result`.
    """

    name: str
    argument: str = ""
    result: str = ""

    def call(self, name: str, arguments: list[str]) -> str:
        """The call of a function that is like this one but for its name."""
        given = [f"({self.argument})({a})" for a in arguments] if self.argument else arguments
        return f"{f'({self.result})' if self.result else ''}{name}({', '.join(given)})"


@dataclass(frozen=True, slots=True)
class Words:
    """One dialect. `entry` marks a kernel. `{block}` in `block_size`, an attribute of kernels, is the block (x, y, z),
    `{threads}` its product; `{axis}` a dimension.

    `dynamic_memory` declares the shared memory that a launch asks for, from a multiple of `{bytes}` on,
    `dynamic_array` the array `{name}` of `{type}`
    and `{sizes}` at byte `{offset}` of it (empty: the language needs no such thing).

    `barrier` makes shared memory consistent in a block, `array_barrier` global memory, too.

    `function` tells how a function of C is called, `min` and `max` of integers among them.

    `swap` names the compare-and-swap of a word of so many bytes, `swap_word` is the type of that word; `shared_pointer`
    says how pointers to global memory that others write are qualified, `block_pointer` those to shared memory.
    `shuffle` is the value `{value}` of the thread whose lane differs in the bits `{lanes}`, `from_lane` that of the
    thread `{lane}` of those that shuffle together; `sub_groups` are attributes of kernels that shuffle.
    `unrolled_barriers`: loops with barriers are unrolled like others. `no_contraction`: what forbids a function's
    body to fuse multiplications with additions (`emit.contraction`). `generic_extrema`: fmin and fmax take any
    floating type; `inlined`: compilers may need `emit.inlined`. `any_order` defines
    what stands before sums of a thread that is alone in its block, whose terms may change places: compilers for CPUs
    then add in vectors; `vector` what stands before its loops over neighbours. `opaque_one`: 1, in words that compilers
    do not see through (`emit.opaque`). `reals` says what certain real numbers are called.

    `textures` are the types of texture arguments by their dimensions; `fetch` makes the lines of a function that
    returns element `x` (`x`, `y`) of a texture `image`, from the C type, the dimensions and the words per texel
    (`generator.variant.Texture`); `sampler` stands before those for two dimensions. `constant_memory` qualifies
    arguments in constant memory; where they cannot be arguments, `constant_symbol` declares them. `halves` defines the
    functions that convert them (`emit.half`).

    `later_copies` defines the functions of copies that go on by themselves (`emit.later`); empty: there are none.

    `wide` is the statement that copies so many elements of a C type at once, to the first one of its target from the
    first one of its source; `aligned` what stands before arrays whose beginnings have to be multiples of `{bytes}`.
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
    swap: Mapping[int, str]
    swap_word: Mapping[int, str]
    swap_preamble: str
    shuffle: str
    from_lane: str
    sub_groups: str
    sub_group_preamble: str
    unrolled_barriers: bool
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
    wide: Callable[[str, int, str, str], str]
    aligned: str
    halves: str
    later_copies: str

    @property
    def kernel(self) -> str:
        """What stands before `void` and the name of a kernel."""
        return f"{self.entry} {self.block_size}"

    def type(self, element: str) -> str:
        """The dialect's name of an element type."""
        return self.types.get(element, element)
