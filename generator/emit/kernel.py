"""Print kernels in any C-like dialect: comment, attributes, signature, indices, shared arrays; `body.py` prints the
body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from generator.arithmetic import TO_FLOAT, TO_HALF
from generator.emit.arms import with_both_arms
from generator.emit.body import BodyWriter
from generator.emit.borders import cut_at_borders
from generator.emit.compilers import for_compiler, loops_for_compiler
from generator.emit.contraction import must_not_contract
from generator.emit.cstyle import Printer
from generator.emit.dialects import WORDS
from generator.emit.images import fetch_name, parameter, symbols
from generator.emit.inlined import OWN, own_name
from generator.emit.merged import with_merged_loops
from generator.emit.names import renamed
from generator.emit.needs import Mentioned, Needs, mentioned
from generator.emit.opaque import ONE
from generator.emit.pairs import with_pairs
from generator.emit.phases import in_phases
from generator.emit.rolled import with_rolled_loops
from generator.emit.streams import with_rows
from generator.emit.words import Words
from generator.expr import Int
from generator.lowered_kernel import LoweredKernel, SharedArray
from generator.plain_text import one_line
from generator.program import ELEMENT_BYTES, Array
from generator.target import Target
from generator.variant import KernelText, Placed, Texture


@dataclass(frozen=True, slots=True)
class Printed:
    """A kernel's text, the definitions that it needs, the arrays that are its arguments, and `Kernel.vectors`."""

    text: KernelText
    needs: Needs
    arguments: tuple[str, ...]
    vectors: tuple[tuple[str, int], ...]


@lru_cache(maxsize=1024)
def printed(kernel: LoweredKernel, placements: tuple[Placed, ...], target: Target) -> Printed:
    """Return the kernel's text for the target, with arrays placed by `placements`, and with workarounds for its
    compiler.

    CUDA's read-only path needs no keywords: arrays that a kernel only reads are `const` and `__restrict__`, and nvcc
    loads them through it.
    """
    words, alone = WORDS[target.dialect], prod(kernel.block) == 1
    body = for_compiler(loops_for_compiler(kernel, target), target, kernel.block)
    body = cut_at_borders(body) if alone and words.inlined else body
    body = with_merged_loops(body) if alone and target.intel_cpu else body
    elsewhere = symbols(placements, words)
    if alone and target.intel_cpu:
        body = with_pairs(body, kernel.arrays, {*elsewhere, *(one.array for one in placements)})
    in_rows = alone and bool(kernel.streamed) and bool(words.stream_rows)
    if in_rows:
        others = (*(array.name for array in (*kernel.arrays, *kernel.scalars)), *kernel.outer)
        streamed = [array for array in kernel.arrays if array.name in kernel.streamed]
        body = with_rows(body, streamed, target.intel_cpu, others)
    if alone and target.intel_cpu:
        body = with_rolled_loops(with_both_arms(kernel, in_phases(kernel, body)))
    found = mentioned(body)
    arguments = tuple(array for array in kernel.arrays if array.name not in elsewhere)
    names = _names(kernel, arguments, found)
    singly = frozenset() if in_rows else frozenset(kernel.streamed)
    needs = _needs(found, placements, words, alone, bool(singly))
    printer = _printer(kernel, placements, {**names, **elsewhere}, needs, words, target, alone)
    dynamic = target.language.dynamic_bytes(kernel.local_bytes) > 0
    elements = {array.name: ELEMENT_BYTES[array.type] for array in kernel.shared}
    placed = frozenset(one.array for one in placements)
    outside = frozenset(array.name for array in kernel.arrays)
    writer = BodyWriter(printer, words, alone, found.aligned, placed, elements, singly, outside)
    after = [f"({', '.join(_parameters(kernel, arguments, placements, names, found, words))})", "{",
             *([words.no_contraction] if words.no_contraction and must_not_contract(body, kernel.block) else []),
             *_indices(kernel, found, words, printer), *_shared_arrays(kernel.shared, words, dynamic, found.aligned),
             *writer.lines(body, 1), "}", ""]
    before = f"{_comment(kernel)}\n{_attributes(kernel, found, words)}\nvoid "
    called = tuple(array.name for array in arguments)
    vectors = tuple((name, found.aligned[name]) for name in called if name in found.aligned and name not in placed)
    return Printed(KernelText(before, "\n".join(after)), needs, called, vectors)


def _names(kernel: LoweredKernel, arguments: Sequence[Array], found: Mentioned) -> dict[str, str]:
    """Return new names of arrays and scalars whose names the language or the code itself uses."""
    taken = (*found.names, *kernel.outer, *(array.name for array in kernel.shared))
    return renamed([array.name for array in (*arguments, *kernel.scalars)], taken)


def _needs(found: Mentioned, placements: tuple[Placed, ...], words: Words, alone: bool,
           streams: bool) -> Needs:
    functions = frozenset(words.function(name).name for name in found.functions) if words.inlined else frozenset()
    own = functions & OWN if alone else frozenset()
    return Needs(frozenset(placements), found.atomics, functions - own, own, found.sub_groups,
                 found.any_order and alone, found.vectors and alone,
                 not found.functions.isdisjoint((TO_FLOAT, TO_HALF)), found.later, found.fragments, streams, found.rows)


def _printer(kernel: LoweredKernel, placements: Sequence[Placed], called: Mapping[str, str], needs: Needs, words: Words,
             target: Target, alone: bool) -> Printer:
    """Return the printer of the kernel's expressions. `called`: renamed arrays and scalars. `alone`: a block is one
    thread.
    """
    def call(function: str, arguments: list[str]) -> str:
        one = words.function(function)
        return one.call(own_name(one.name) if one.name in needs.own_functions else one.name, arguments)

    shapes = {array.name: array.extents for array in kernel.arrays if array.extents}
    scalars = {array.name: f"{called.get(array.name, array.name)}[0]" for array in kernel.arrays if not array.extents}
    scalars |= {array.name: called[array.name] for array in kernel.scalars if array.name in called}
    textures = {t.array: (fetch_name(t), len(t.shape)) for t in placements if isinstance(t, Texture)}
    return Printer(shapes, scalars, call, textures, called, words.reals,
                   "L" if target.long_strides else "", alone and target.intel_cpu)


def _comment(kernel: LoweredKernel) -> str:
    return f"// {', '.join(kernel.statements)}: " + "  ".join(map(one_line, kernel.comments))


def _attributes(kernel: LoweredKernel, found: Mentioned, words: Words) -> str:
    block = ", ".join(str(b) for b in (*kernel.block, 1, 1)[:3])
    attributes = words.kernel.format(block=block, threads=prod(kernel.block))
    return f"{attributes} {words.sub_groups}" if words.sub_groups and found.sub_groups else attributes


def _parameters(
    kernel: LoweredKernel,
    arguments: Sequence[Array],
    placements: Sequence[Placed],
    names: Mapping[str, str],
    found: Mentioned,
    words: Words,
) -> Iterator[str]:
    """Yield the declarations of the arguments. `names`: those of renamed ones."""
    placed = {one.array: one for one in placements}
    for array in arguments:
        kind, called = words.type(array.type), names.get(array.name, array.name)
        if array.name in placed:
            yield parameter(placed[array.name], kind, called, words)
        else:
            constant = "" if array.name in found.written else "const "
            yield f"{words.global_memory}{constant}{kind} *{words.restrict} {called}"
    yield from (f"const {words.type(scalar.type)} {names.get(scalar.name, scalar.name)}" for scalar in kernel.scalars)
    yield from (f"const int {name}" for name in kernel.iterators)


def _indices(kernel: LoweredKernel, found: Mentioned, words: Words, printer: Printer) -> Iterator[str]:
    """Yield the block and thread indices that the body mentions, by name; dimension 0 is the outermost."""
    if kernel.batch:
        number = words.group_index.format(axis=words.axes[2])
        divided = f"{number} / {kernel.grid[2]}" if kernel.grid[2] > 1 else number
        begin = f" + {kernel.batch.low}" if kernel.batch.low else ""
        yield f"  const int {kernel.batch.iterator} = {divided}{begin};"
    threads = [words.thread_index.format(axis=axis) for axis in words.axes[:len(kernel.block)]]
    for letter, indices in (("b", _block_indices(kernel, words, printer)), ("t", threads)):
        for dim, index in enumerate(reversed(indices)):
            if f"{letter}{dim}" in found.plain:
                yield f"  const int {letter}{dim} = {index};"
    if ONE.name in found.plain:
        yield f"  const int {ONE.name} = {words.opaque_one}; // the offset is 0"


def _block_indices(kernel: LoweredKernel, words: Words, printer: Printer) -> tuple[str, ...]:
    """Return the block indices of the kernel's x, y and z."""
    if not kernel.linear_grid:
        found = kernel.axes(tuple(words.group_index.format(axis=axis) for axis in words.axes[:len(kernel.grid)]))
        if kernel.batch:
            return (*found[:2], f"{found[2]} % {kernel.grid[2]}" if kernel.grid[2] > 1 else "0")
        begins = [one.first for one in kernel.parts] or [Int(0)] * len(found)
        return tuple(number if begin == Int(0) else f"{number} + {printer.text(begin)}"
                     for number, begin in zip(found, begins, strict=True))
    counted, number = kernel.axes(kernel.grid), words.group_index.format(axis=words.axes[0])
    first, *others = [f"{number} / {prod(counted[:k])} % {n}" for k, n in enumerate(counted)]
    last = others.pop().rpartition(" % ")[0]
    return kernel.axes((first.replace(" / 1", ""), *others, last))


def _shared_arrays(shared: Sequence[SharedArray], words: Words, dynamic: bool,
                   aligned: Mapping[str, int]) -> Iterator[str]:
    """Yield the declarations of the arrays in shared memory.

    `aligned`: arrays with an alignment in bytes. In dynamic memory, arrays with larger elements or vector accesses come
    first: then all are aligned, and together as large as declared ones.
    """
    offset = 0
    unit = {array.name: max(ELEMENT_BYTES[array.type], aligned.get(array.name, 0)) for array in shared}
    for number, array in enumerate(sorted(shared, key=lambda a: -unit[a.name]) if dynamic else shared):
        sizes = "".join(f"[{n}]" for n in array.sizes)
        if not dynamic:
            begin = words.aligned.format(bytes=aligned[array.name]) if array.name in aligned else ""
            yield f"  {words.shared_memory} {begin}{words.type(array.type)} {array.name}{sizes};"
            continue
        if not number:
            yield f"  {words.dynamic_memory.format(bytes=max(16, *unit.values()))}"
        yield "  " + words.dynamic_array.format(
            type=words.type(array.type), name=array.name, sizes=sizes, offset=offset
        )
        offset += prod(array.sizes) * ELEMENT_BYTES[array.type]
