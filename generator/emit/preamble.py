"""The text before kernels: extensions, macros, functions that they call, arrays in constant memory."""

from __future__ import annotations

from functools import lru_cache

from generator.emit.atomics import atomic_functions
from generator.emit.dialects import WORDS
from generator.emit.images import placement_preamble
from generator.emit.inlined import inlined_functions
from generator.emit.needs import Needs
from generator.emit.pairs import PAIR, PAIR_FUNCTION
from generator.emit.tensor_cores import fragment_functions
from generator.program import ELEMENT_BYTES, Program
from generator.target import Dialect


@lru_cache(maxsize=1024)
def preamble(program: Program, needs: Needs, dialect: Dialect) -> str:
    """Return the text before kernels of `program` with these needs."""
    words = WORDS[dialect]
    parts = [words.double_preamble] if any(a.type == "double" for a in program.arrays) else []
    parts.append(placement_preamble(program, needs.placements, words))
    if any(ELEMENT_BYTES[kind] == 8 for _, kind, _ in needs.atomics):
        parts.append(words.swap_preamble)
    if needs.sub_groups:
        parts.append(words.sub_group_preamble)
    if needs.later:
        parts.append(words.later_copies)
    if needs.fragments:
        parts.append(fragment_functions(needs.fragments))
    if needs.halves:
        parts.append(words.halves)
    parts += [text for needed, text in ((needs.any_order, words.any_order), (needs.vectors, words.vector)) if needed]
    if needs.streams:
        parts.append(words.stream)
    if needs.rows and words.stream_rows:
        parts.append(words.stream_rows(needs.rows))
    if PAIR in needs.functions:
        parts.append(PAIR_FUNCTION)
    if words.inlined:
        parts.append(inlined_functions(needs.functions, needs.own_functions))
    return "".join([*parts, atomic_functions(needs.atomics, words)])
