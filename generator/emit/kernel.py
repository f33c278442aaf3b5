"""Kernels in any C-like dialect: signature, indices, loops, cooperative copies, barriers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Protocol, assert_never

from generator.emit.atomics import atomic_functions, atomic_name
from generator.emit.borders import cut_at_borders
from generator.emit.contraction import must_not_contract
from generator.emit.cstyle import Printer
from generator.emit.cuda import CUDA
from generator.emit.folds import FoldWriter
from generator.emit.images import fetch_name, parameter, placement_preamble, symbols
from generator.emit.inlined import inlined_functions, with_inlined
from generator.emit.names import renamed, without_comment
from generator.emit.opaque import ONE
from generator.emit.opencl import OPENCL
from generator.emit.words import Words
from generator.expr import Binary, Expr, Fold, Int, Name
from generator.nest import Assign, Atomic, Barrier, Copy, Declare, For, If, Instance, Node, Shuffle, apply, walk
from generator.plain_text import one_line
from generator.program import ELEMENT_BYTES, Program
from generator.target import Dialect
from generator.variant import Kernel, Placed, Texture

ANY_ORDER = "antune_any_order"
"""A macro: the sum that follows in the same braces may add its terms in any order."""
VECTOR = "antune_vector"
"""A macro: all iterations of the loop that follows, as many as its argument says, are one vector for compilers that need to be told."""
_DIALECTS: dict[Dialect, Words] = {"opencl": OPENCL, "cuda": CUDA}


class SharedArray(Protocol):
    """What the printer needs to know of a shared array."""

    @property
    def name(self) -> str:
        """Its name in the kernel."""

    @property
    def type(self) -> str:
        """The element type."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Its extents."""


class Printed(Protocol):
    """A kernel with its text and the nodes that it was printed from."""

    @property
    def kernel(self) -> Kernel:
        """With the text."""

    @property
    def body(self) -> tuple[Node, ...]:
        """The nodes."""


def preamble(program: Program, kernels: Iterable[Printed], dialect: Dialect, placements: Sequence[Placed] = ()) -> str:
    """What stands before these kernels, which have these placements."""
    words = _DIALECTS[dialect]
    kernels = list(kernels)
    nodes = [node for one in kernels for node in walk(one.body)]
    atomics = {(node.operator, node.type, node.shared) for node in nodes if isinstance(node, Atomic)}
    parts = [words.double_preamble] if any(a.type == "double" for a in program.arrays) else []
    parts.append(placement_preamble(program, placements, words))
    if any(ELEMENT_BYTES[kind] == 8 for _, kind, _ in atomics):
        parts.append(words.swap_preamble)
    if any(isinstance(node, Shuffle) for node in nodes):
        parts.append(words.sub_group_preamble)
    parts += [text for macro, text in ((ANY_ORDER, words.any_order), (VECTOR, words.vector))
              if any(macro in one.kernel.source for one in kernels)]
    if words.inlined:
        parts.append(inlined_functions(line for one in kernels for line in one.kernel.source.splitlines()))
    return "".join([*parts, atomic_functions(atomics, words)])


def kernel_text(kernel: Kernel, program: Program, shared: Sequence[SharedArray], body: tuple[Node, ...],
                dialect: Dialect, long_strides: bool = False) -> str:
    """The text of one kernel; `long_strides` as in Target.

    Arrays and scalars have the program's names, unless the language or the code itself uses these (generator.emit.names).
    CUDA's read-only path needs no words: what a kernel only reads is `const` and `__restrict__`, for which nvcc loads
    through it by itself.
    """
    words = _DIALECTS[dialect]
    alone = words.inlined and prod(kernel.block) == 1
    body = cut_at_borders(body) if alone else body
    writer = _Writer(kernel, program, words, {}, long_strides)
    code, written = list(writer.lines(body, 1)), writer.written(body)
    names = renamed((*kernel.arrays, *kernel.scalars), (*writer.indices(code), *code))
    if names:
        writer = _Writer(kernel, program, words, names, long_strides)
        code = list(writer.lines(body, 1))
    if alone:
        code = [with_inlined(line) for line in code]
    parameters = list(_pointers(kernel, program, words, written, names))
    parameters += [f"const {words.type(program.array(name).type)} {names.get(name, name)}" for name in kernel.scalars]
    parameters += [f"const int {name}" for name in kernel.iterators]
    block = ", ".join(str(b) for b in (*kernel.block, 1, 1)[:3])
    comment = f"// {', '.join(kernel.statements)}: " + "  ".join(
        one_line(program.statement(name).text) for name in kernel.statements)
    attributes = words.kernel.format(block=block, threads=prod(kernel.block))
    if words.sub_groups and any(isinstance(node, Shuffle) for node in walk(body)):
        attributes += f" {words.sub_groups}"
    apart = [words.no_contraction] if words.no_contraction and must_not_contract(body, kernel.block) else []
    lines = [comment, attributes, f"void {kernel.name}({', '.join(parameters)})", "{", *apart, *writer.indices(code),
             *(f"  {line}" for line in _shared_arrays(shared, words, kernel.dynamic_bytes(dialect) > 0)),
             *code, "}", ""]
    return "\n".join(lines)


def _shared_arrays(shared: Sequence[SharedArray], words: Words, dynamic: bool) -> Iterator[str]:
    """The declarations of the arrays in shared memory.

    In dynamic memory those with larger elements come first: then all are aligned, and together as large as declared ones.
    """
    offset = 0
    for number, array in enumerate(sorted(shared, key=lambda a: -ELEMENT_BYTES[a.type]) if dynamic else shared):
        sizes = "".join(f"[{n}]" for n in array.sizes)
        if not dynamic:
            yield f"{words.shared_memory} {words.type(array.type)} {array.name}{sizes};"
            continue
        if not number:
            yield words.dynamic_memory
        yield words.dynamic_array.format(type=words.type(array.type), name=array.name, sizes=sizes, offset=offset)
        offset += prod(array.sizes) * ELEMENT_BYTES[array.type]


def _pointers(kernel: Kernel, program: Program, words: Words, written: set[str],
              names: Mapping[str, str]) -> Iterator[str]:
    """The declarations of the arrays among the arguments; `names` of those that are called otherwise."""
    placements = {placed.array: placed for placed in kernel.placements}
    for name in kernel.arrays:
        kind, called = words.type(program.array(name).type), names.get(name, name)
        if name in placements:
            yield parameter(placements[name], kind, called, words)
        else:
            yield f"{words.global_memory}{'' if name in written else 'const '}{kind} *{words.restrict} {called}"


class _Writer:
    """Prints the body of one kernel."""

    def __init__(self, kernel: Kernel, program: Program, words: Words, names: Mapping[str, str], long_strides: bool) -> None:
        self.words = words
        self.block = kernel.block
        self.alone = prod(kernel.block) == 1
        self.dims = len(kernel.block)
        self.thread_axes = words.axes[:self.dims]
        self.block_axes = kernel.launched(self.thread_axes)
        arrays = [program.array(name) for name in {*kernel.arrays, *(p.array for p in kernel.placements)}]
        shapes = {array.name: array.extents for array in arrays if array.extents}
        scalars = {array.name: f"{names.get(array.name, array.name)}[0]" for array in arrays if not array.extents}
        scalars |= {name: names[name] for name in kernel.scalars if name in names}
        textures = {t.array: (fetch_name(t), len(t.shape)) for t in kernel.placements if isinstance(t, Texture)}
        self.printer = Printer(shapes, scalars, words.call, textures,
                               {**names, **symbols(kernel.placements, words)}, words.reals, "L" if long_strides else "")

    def indices(self, code: list[str]) -> Iterator[str]:
        """Block and thread indices that `code` mentions, by name; dimension 0 is the outermost."""
        used = set(re.findall(r"\b[bt]\d\b", "\n".join(map(without_comment, code))))
        for letter, index, axes in (("b", self.words.group_index, self.block_axes), ("t", self.words.thread_index, self.thread_axes)):
            for dim, axis in enumerate(reversed(axes)):
                if f"{letter}{dim}" in used:
                    yield f"  const int {letter}{dim} = {index.format(axis=axis)};"
        if any(ONE.name in line for line in code):
            yield f"  const int {ONE.name} = {self.words.opaque_one}; // the offset is 0"

    def written(self, nodes: tuple[Node, ...]) -> set[str]:
        """Arrays that are assigned to."""
        result: set[str] = set()
        for node in nodes:
            match node:
                case Assign(target, _, _) | Atomic(target, _, _, _):
                    result.add(target.array)
                case For(body=body):
                    result |= self.written(body)
                case If(_, then, otherwise):
                    result |= self.written(then) | self.written(otherwise)
                case Barrier() | Copy() | Instance() | Declare() | Shuffle():
                    pass
        return result

    def lines(self, nodes: tuple[Node, ...], depth: int) -> Iterator[str]:
        """The text of `nodes`, indented by `depth`."""
        pad = "  " * depth
        for node in nodes:
            match node:
                case For():
                    yield from self._loop(node, depth)
                case If(condition, then, otherwise):
                    yield f"{pad}if ({self.printer.text(condition)}) {{"
                    yield from self.lines(then, depth + 1)
                    if otherwise:
                        yield f"{pad}}} else {{"
                        yield from self.lines(otherwise, depth + 1)
                    yield f"{pad}}}"
                case Assign(value=Fold() as fold) | Atomic(value=Fold() as fold):
                    yield f"{pad}{{"
                    yield from FoldWriter(self.printer, self.words).lines(fold, depth + 1)
                    yield from self.lines((replace(node, value=fold.total),), depth + 1)
                    yield f"{pad}}}"
                case Assign(target, op, value, any_order):
                    text = f"{self.printer.text(target)} {op}= {self.printer.text(value)};"
                    in_vectors = any_order and self.alone and self.words.any_order
                    yield from (f"{pad}{{", f"{pad}  {ANY_ORDER}", f"{pad}  {text}", f"{pad}}}") if in_vectors else (pad + text,)
                case Barrier():
                    yield pad + self.words.barrier
                case Copy():
                    yield from self._copy(node, depth)
                case Declare(name, kind, sizes):
                    yield f"{pad}{self.words.type(kind)} {name}{''.join(f'[{n}]' for n in sizes)};"
                case Atomic(target, operator, value, kind, shared):
                    yield (f"{pad}{atomic_name(operator, kind, shared, self.words)}(&{self.printer.text(target)}, "
                           f"{self.printer.text(value)});")
                case Shuffle():
                    yield from self._shuffle(node, depth)
                case Instance(name, _):
                    raise AssertionError(f"the instance of {name} was not lowered")
                case _:
                    assert_never(node)

    def _loop(self, node: For, depth: int) -> Iterator[str]:
        pad = "  " * depth
        if node.vector and self.alone and self.words.vector:
            yield f"{pad}{VECTOR}({node.unroll})"
        elif node.unroll > 1 and (self.words.unrolled_barriers or not any(isinstance(n, Barrier) for n in walk(node.body))):
            yield f"{pad}#pragma unroll {node.unroll}"
        single = {1: "++", -1: "--"}.get(node.step)
        step = f"{single}{node.iterator}" if single else f"{node.iterator} += {node.step}"
        note = f" // {node.note}" if node.note else ""
        start, condition = f"int {node.iterator} = {self.printer.text(node.start)}", self.printer.text(node.condition)
        if node.once:
            assert isinstance(node.condition, Binary) and node.condition.left == Name(node.iterator)
            start += f", last{depth} = {self.printer.text(node.condition.right)}"
            condition = f"{node.iterator} {node.condition.op} last{depth}"
        yield f"{pad}for ({start}; {condition}; {step}) {{{note}"
        yield from self.lines(node.body, depth + 1)
        yield f"{pad}}}"

    def _shuffle(self, shuffle: Shuffle, depth: int) -> Iterator[str]:
        """Exchange with ever nearer neighbours: after the last step all have the result."""
        value, lanes = shuffle.variable, shuffle.lanes // 2
        while lanes:
            text = self.words.shuffle.format(value=self.printer.text(value), lanes=lanes)
            step = apply(value, shuffle.operator, Name(text), shuffle.type)
            yield from self.lines((step,), depth)
            lanes //= 2

    def _copy(self, copy: Copy, depth: int) -> Iterator[str]:
        """Loops over the box: its last dimensions go to the threads, x to the last."""
        box = " x ".join(str(n) for n in copy.sizes)
        yield "  " * depth + f"// all threads fill {copy.local} ({box} elements of {copy.array})"
        spread = min(len(copy.sizes), self.dims)
        index: list[Expr] = []
        for dim, size in enumerate(copy.sizes):
            first = dim - (len(copy.sizes) - spread)
            start, step = self._share(first, spread) if first >= 0 else ("0", 1)
            name = f"e{dim}"
            index.append(Name(name))
            advance = f"++{name}" if step == 1 else f"{name} += {step}"
            yield "  " * (depth + dim) + f"for (int {name} = {start}; {name} < {size}; {advance})"
        depth += len(copy.sizes)
        source = tuple(_sum(o, i) for o, i in zip(copy.origin, index, strict=True))
        guards = [Binary(">=", at, Int(0)) for at, below in zip(source, copy.below, strict=True) if below]
        guards += [Binary("<", at, Int(extent))
                   for at, extent, above in zip(source, copy.extents, copy.above, strict=True) if above]
        if guards:
            yield "  " * depth + f"if ({' && '.join(self.printer.text(g, 6) for g in guards)})"
            depth += 1
        target = copy.local + "".join(f"[e{dim}]" for dim in range(len(copy.sizes)))
        yield "  " * depth + f"{target} = {self.printer.element(copy.array, source)};"

    def _share(self, dim: int, spread: int) -> tuple[str, int]:
        """Where a thread starts and how far it steps in copied dimension `dim` of `spread`.

        Blocks with more dimensions than the box flatten their outer ones into the first.
        """
        sizes = tuple(reversed(self.block))
        surplus = self.dims - spread
        if dim > 0 or surplus == 0:
            return f"t{dim + surplus}", sizes[dim + surplus]
        text, count = "t0", sizes[0]
        for extra in range(1, surplus + 1):
            text = f"({text}) * {sizes[extra]} + t{extra}" if extra > 1 else f"{text} * {sizes[extra]} + t{extra}"
            count *= sizes[extra]
        return text, count


def _sum(origin: Expr, index: Expr) -> Expr:
    return index if origin == Int(0) else Binary("+", origin, index)
