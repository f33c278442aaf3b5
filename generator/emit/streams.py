"""Stores past the caches (non-temporal stores), where a plan has `streamed` arrays.

A thread that is alone in its block on a CPU collects a part of a row and then stores it, in whole cache lines:

                                        for (int x_part = 0; x_part <= 2559; x_part += 1024) {
                                          float out_row[1024];
    for (int x = 0; x <= 2559; ++x) {     for (int x = x_part; x <= min(x_part + 1023, 2559); ++x) {
      out[y * 2560 + x] = ..;       ->      out_row[x - x_part] = ..;
    }                                     }
                                          antune_stream_float(&out[..], &out_row[0], min(..) - x_part + 1);
                                        }

Compilers vectorize the loop as before; they do not vectorize loops with non-temporal stores of elements, whose
alignment they do not know (LLVM, `isLegalNTStore`). The function looks at the address itself, so it is right for any
pointer and any length of rows; the parts begin at multiples of their length in the array, so that all of them but the
ends of rows are whole lines if the array begins at one. Other threads store element by element.

Non-temporal stores are weakly ordered, but nothing in the kernel reads the array, and before anything else does, the
runtime's threads execute a locked instruction (they count the finished blocks), which writes all that is buffered
(Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3, 11.3.1 "Buffering of Write Combining Memory
Locations"; AMD64 Architecture Programmer's Manual, volume 2, 7.4.1 "Write-combining buffers": both list locked
instructions among the events that empty the buffers).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from generator.emit.names import free_name
from generator.emit.scopes import last_of
from generator.expr import Binary, Expr, Int, Load, Name, loads_of, names_of
from generator.linear import residue, simplify, substitute
from generator.nest import Assign, Atomic, Declare, For, If, Node, Streamed, expressions, rounds, walk
from generator.program import ELEMENT_BYTES, Array

STORE = "antune_store"
"""A macro: `antune_store(A[i], value)` stores a value past the caches."""
LINE = 64
"""Bytes of a cache line of x86-64 and most ARM processors."""
PART = 4096
"""Most bytes of a row of an array that a thread collects: a part of the first-level cache."""
_MOST_BYTES = 32
"""PoCL (3.0) splits wider non-temporal stores wrongly on processors without AVX-512: half of the elements are lost."""

OPENCL_STORE = f"""#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
#define {STORE}(element, value) __builtin_nontemporal_store(value, &(element))
#endif
#endif
#ifndef {STORE}
#define {STORE}(element, value) (element) = (value)
#endif
"""
HIP_STORE = f"#define {STORE}(element, value) __builtin_nontemporal_store(value, &(element))\n"
CUDA_STORE = f"#define {STORE}(element, value) __stcs(&(element), value)\n"

_HAS_VECTORS = """#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store) && (defined(__AVX__) || !defined(__SSE2__))
#define antune_streams
#endif
#endif
"""
_ROW = """// Whole cache lines go past the caches.
static inline void {name}(__global {kind} *to, const __private {kind} *from, int count)
{{
  int k = 0;
#ifdef antune_streams
  for (; k < count && ((size_t)(to + k) & {last}) != 0; ++k) to[k] = from[k];
  for (; k + {line} <= count; k += {line}) {{
{stores}
  }}
#endif
  for (; k < count; ++k) to[k] = from[k];
}}
"""
_KINDS = {"unsigned int": "uint", "unsigned long": "ulong", "unsigned char": "uchar", "unsigned short": "ushort",
          "half": "ushort"}


def row_name(kind: str) -> str:
    """Return the name of the function that stores a part of a row of a C type."""
    return f"antune_stream_{_KINDS.get(kind, kind)}"


def row_functions(kinds: Iterable[str]) -> str:
    """Return the functions for some C types, in OpenCL C."""
    functions = {row_name(kind): _row_function(kind) for kind in sorted(kinds)}
    return _HAS_VECTORS + "".join(functions.values())


def _row_function(kind: str) -> str:
    called, size = _KINDS.get(kind, kind), ELEMENT_BYTES[kind]
    lanes, line = min(16, _MOST_BYTES // size), LINE // size
    stores = "\n".join(f"    __builtin_nontemporal_store(vload{lanes}(0, from + k + {lane}), "
                       f"(__global {called}{lanes} *)(to + k + {lane}));" for lane in range(0, line, lanes))
    return _ROW.format(name=row_name(kind), kind=called, last=LINE - 1, line=line, stores=stores)


def with_rows(nodes: Sequence[Node], arrays: Sequence[Array], rolled: bool = False,
              others: Collection[str] = ()) -> tuple[Node, ...]:
    """Return `nodes`, of a thread that is alone in its block, with stores of rows to `arrays`, which they only write.

    `rolled`: tell the compiler not to unroll loops over a part, unless the plan does (`emit/rolled.py`). `others`:
    names of parameters, which `nodes` need not mention; new names are others.
    """
    mentioned = {name for node in walk(tuple(nodes)) for expr in expressions(node)
                 for name in (*names_of(expr), *(load.array for load in loads_of(expr)))}
    made = {name for node in walk(tuple(nodes)) for name in _declared(node)}
    return _Rows({array.name: array for array in arrays}, {*mentioned, *made, *others}, rolled).nodes(nodes)


def _declared(node: Node) -> Iterator[str]:
    match node:
        case For(iterator=name) | Declare(name=name):
            yield name
        case _:
            pass


@dataclass(slots=True)
class _Rows:
    arrays: dict[str, Array]
    taken: set[str]
    rolled: bool

    def nodes(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Return `nodes` with stores of rows."""
        return tuple(new for node in nodes for new in self._node(node))

    def _node(self, node: Node) -> tuple[Node, ...]:
        match node:
            case If(condition, then, otherwise):
                return (If(condition, self.nodes(then), self.nodes(otherwise)),)
            case For():
                stores = self._stores(node)
                if not stores:
                    return (replace(node, body=self.nodes(node.body)),)
                count = rounds(node)
                short = count is not None and count * self._largest(stores) <= PART
                return self._whole(node, stores, count) if short and count else (self._parts(node, stores),)
            case _:
                return (node,)

    def _stores(self, loop: For) -> list[Assign]:
        """Return the assignments whose targets are neighbours in successive iterations, if parts of their rows may be
        stored later than the loop says.
        """
        last, inside = last_of(loop), [n for n in walk(loop.body) if isinstance(n, Assign | Atomic)]
        changed = {node.target.array for node in inside} | {name for n in walk(loop.body) for name in _declared(n)}
        if loop.step != 1 or last is None or _uses(loop.start, changed) or _uses(last, changed):
            return []
        found = []
        for node in loop.body:
            if not isinstance(node, Assign) or node.op or node.wide or node.target.array not in self.arrays:
                continue
            single = sum(other.target.array == node.target.array for other in inside) == 1
            line = _most_trips(loop, last) * _size(self.arrays[node.target.array]) >= LINE
            if single and line and _moves(node.target, loop.iterator, changed):
                found.append(node)
        return found

    def _whole(self, loop: For, stores: list[Assign], count: int) -> tuple[Node, ...]:
        """Return a loop with a constant number of iterations, which collects all that it stores."""
        index = simplify(Binary("-", Name(loop.iterator), loop.start))
        rows = {id(node): self._row(node.target) for node in stores}
        yet = tuple(Declare(rows[id(n)], self.arrays[n.target.array].type, (count,)) for n in stores)
        body = tuple(replace(n, target=Load(rows[id(n)], (index,))) if isinstance(n, Assign) and id(n) in rows else n
                     for n in loop.body)
        after = tuple(self._streamed(n.target, loop.iterator, loop.start, rows[id(n)], Int(0), Int(count))
                      for n in stores)
        return (*yet, replace(loop, body=self.nodes(body)), *after)

    def _parts(self, loop: For, stores: list[Assign]) -> For:
        """Return a loop over parts of rows, at most `PART` bytes of each array, and in it the loop over one part."""
        size = PART // self._largest(stores)
        part = free_name(f"{loop.iterator}_part", self.taken)
        self.taken.add(part)
        before = self._before(stores[0].target, loop, size)
        last = last_of(loop)
        assert last is not None
        first: Expr = Name(part) if before == Int(0) else Binary("max", Name(part), loop.start)
        end = Binary("min", simplify(Binary("+", Name(part), Int(size - 1))), last)
        place = simplify(Binary("-", Name(loop.iterator), Name(part)))
        rows = {id(node): self._row(node.target) for node in stores}
        body = tuple(replace(n, target=Load(rows[id(n)], (place,))) if isinstance(n, Assign) and id(n) in rows else n
                     for n in loop.body)
        inner = replace(loop, start=first, condition=Binary("<=", Name(loop.iterator), end), body=self.nodes(body),
                        rolled=loop.rolled or (self.rolled and loop.unroll <= 1))
        begin = simplify(Binary("-", first, Name(part))) if first == Name(part) else Binary("-", first, Name(part))
        count = simplify(Binary("+", Binary("-", end, first), Int(1)))
        yet = tuple(Declare(rows[id(n)], self.arrays[n.target.array].type, (size,)) for n in stores)
        after = tuple(self._streamed(n.target, loop.iterator, first, rows[id(n)], begin, count) for n in stores)
        start = loop.start if before == Int(0) else simplify(Binary("-", loop.start, before))
        return For(part, start, Binary("<=", Name(part), last), size, (*yet, inner, *after), "parts of a row")

    def _largest(self, stores: list[Assign]) -> int:
        """Return the bytes of the largest element."""
        return max(_size(self.arrays[node.target.array]) for node in stores)

    def _row(self, target: Load) -> str:
        name = free_name(f"{target.array}_row", self.taken)
        self.taken.add(name)
        return name

    def _before(self, target: Load, loop: For, size: int) -> Expr:
        """Return how many elements the loop's first one lies behind a multiple of `size` in the array."""
        extents, first = self.arrays[target.array].extents, {loop.iterator: loop.start}
        if prod(extents) > 2**31:
            return Int(0)  # the text of the remainder is of type int
        place: Expr = Int(0)
        for d, index in enumerate(target.index):
            place = Binary("+", place, Binary("*", substitute(index, first), Int(prod(extents[d + 1:]))))
        place = simplify(place)
        rest = residue(place, size, {})
        return Binary("%", place, Int(size)) if rest is None else Int(rest)

    def _streamed(self, target: Load, iterator: str, first: Expr, row: str, begin: Expr, count: Expr) -> Streamed:
        place = substitute(target, {iterator: first})
        assert isinstance(place, Load)
        return Streamed(replace(place, index=tuple(map(simplify, place.index))), Load(row, (begin,)), count,
                        self.arrays[target.array].type)


def _size(array: Array) -> int:
    return ELEMENT_BYTES[array.type]


def _most_trips(loop: For, last: Expr) -> int:
    """Return an upper bound of the number of iterations; a large number if none is known."""
    match last, loop.start:
        case Int(end), Int(start):
            return end - start + 1
        case Binary("min", left, right), _:
            return min(_most_trips(loop, left), _most_trips(loop, right))
        case _:
            return PART


def _moves(target: Load, name: str, changed: set[str]) -> bool:
    """Return whether the next value of `name` is the next element, and nothing else in the subscripts changes."""
    *rows, column = target.index or (Int(0),)
    after = simplify(Binary("-", substitute(column, {name: Binary("+", Name(name), Int(1))}), column))
    others = (*rows, simplify(Binary("-", column, Name(name))))
    return after == Int(1) and not any(_uses(index, changed | {name}) for index in others)


def _uses(expr: Expr, names: set[str]) -> bool:
    return bool(names_of(expr) & names) or any(load.array in names for load in loads_of(expr))
