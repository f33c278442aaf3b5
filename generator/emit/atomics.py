"""Atomic updates as functions of the device language: built-in if the device has them, else by compare-and-swap."""

from __future__ import annotations

from collections.abc import Iterable

from generator.emit.words import Words

# Defined by detectors of data races: the first guess is then not a plain read that races with other swaps. The result
# is the same, because the swap fails on a wrong guess; but each update takes one more atomic operation.
NO_PLAIN_READ = "ANTUNE_NO_PLAIN_READ"

_BYTES = {"float": 4, "double": 8, "int": 4, "unsigned int": 4, "long": 8, "unsigned long": 8}
_NAMES = {"+": "add", "*": "mul", "min": "min", "max": "max", "=": "exchange"}
_APPLIED = {"+": "old + value", "*": "old * value", "=": "value"}


def atomic_name(operator: str, kind: str, shared: bool, words: Words) -> str:
    """Return the name of the function for an atomic `*place = *place operator value` on a C type.

    `shared`: in shared memory. If pointers have an address space, there is one function for each.
    """
    memory = "_shared" if shared and words.block_pointer != words.shared_pointer else ""
    return f"antune_{_NAMES[operator]}_{kind.replace(' ', '_')}{memory}"


def atomic_functions(used: Iterable[tuple[str, str, bool]], words: Words) -> str:
    """Return the functions for those `used` (operator, type, whether in shared memory), in order."""
    functions = {atomic_name(*one, words): one for one in sorted(used)}
    return "".join(_function(*one, words) for one in functions.values())


def _function(operator: str, kind: str, shared: bool, words: Words) -> str:
    """Return the function for one operator and type."""
    value = words.type(kind)
    pointer = words.block_pointer if shared else words.shared_pointer
    head = (f"{words.device_function} void {atomic_name(operator, kind, shared, words)}({pointer}{value} *place, "
            f"{value} value) {{\n")
    body = _swapping(operator, kind, pointer, words)
    if (found := words.atomics.get((operator, kind))) is not None:
        body = f"#if {found.where}\n  {found.statement}\n#else\n{body}#endif\n" if found.where else (
            f"  {found.statement}\n")
    return f"{head}{body}}}\n"


def _swapping(operator: str, kind: str, pointer: str, words: Words) -> str:
    """Swap in the new value unless another thread was faster; then try again with that thread's value."""
    value = words.type(kind)
    floating = kind in ("float", "double")
    applied = _APPLIED.get(operator) or (
        f"f{operator}(old, value)" if floating and words.generic_extrema else
        f"f{operator}{'f' if kind == 'float' else ''}(old, value)" if floating else f"{operator}(old, value)")
    word = words.swap_word[_BYTES[kind]]
    union = f"union {{ {word} bits; {value} number; }}"
    return "\n".join([
        f"  {union} seen, made;",
        f"#ifdef {NO_PLAIN_READ}",
        "  seen.bits = 0;",
        "#else",
        "  seen.number = *place;",
        "#endif",
        f"  {word} before;",
        "  do {",
        "    before = seen.bits;",
        f"    const {value} old = seen.number;",
        "    (void)old;",
        f"    made.number = {applied};",
        f"    seen.bits = {words.swap[_BYTES[kind]]}(({pointer}{word} *)place, before, made.bits);",
        "  } while (seen.bits != before);", ""])
