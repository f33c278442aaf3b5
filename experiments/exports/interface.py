"""The exported function as C text: its prototypes, and the parts of its body that every C export has."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from experiments.exports.chosen import Chosen
from experiments.exports.memory import Slot, copied_in, copied_out
from experiments.exports.signature import Signature
from experiments.exports.templates import c_string, chain, comment, fill
from generator.program import Array


def header(chosen: Chosen, signature: Signature, notes: Sequence[str], storage: str = "", before: str = "",
           after: str = "") -> str:
    """NAME.h: prototypes between `before` and `after`, with `storage` before each."""
    text = comment([*chosen.origin(), "", *wrapped(signature.notes), *wrapped(notes)])
    guard = f"ANTUNE_{chosen.name.upper()}_H"
    return fill("interface.h.in", body_values(chosen, signature) | {
        "COMMENT": text, "GUARD": guard, "STORAGE": storage, "BEFORE": before, "AFTER": after})


def body_values(chosen: Chosen, signature: Signature) -> dict[str, str]:
    """The function's name, its parameters, the check of its sizes."""
    name = chosen.name
    sizes = [f"{name}_size({c_string(p.name)}, {p.data}, {p.value})" for p in signature.of_role("size")]
    unused = "".join(f"  (void){p.name};\n" for p in signature.of_role("unused"))
    every = "".join(f"  (void){p.name};\n" for p in signature.parameters)
    arguments = ", ".join(parameter.name for parameter in signature.parameters)
    context = f"struct {name}_context *antune"
    return {
        "F": name,
        "PARAMETERS": signature.declarations,
        "SIZES": chain(sizes),
        "UNUSED": unused,
        "ALL_UNUSED": every,
        "CONTEXT_PARAMETERS": f"{context}, {signature.declarations}" if arguments else context,
        "CONTEXT_ARGUMENTS": f"antune, {arguments}" if arguments else "antune",
    }


def data_of(signature: Signature) -> Mapping[str, str]:
    """C expressions by array: the address of an array, the value of a scalar."""
    return {p.name: p.data for p in signature.of_role("array", "scalar")}


def incoming(chosen: Chosen, slots: Sequence[Slot]) -> list[tuple[int, Slot]]:
    """The slots that the caller's arrays are copied to, with their numbers."""
    return [(number, slot) for number, slot in enumerate(slots) if copied_in(chosen.info.program, slot.array)]


def reads(chosen: Chosen, signature: Signature, slots: Sequence[Slot]) -> list[str]:
    """Calls that copy the results out."""
    data = data_of(signature)
    results = [(number, slot.array) for number, slot in enumerate(slots) if copied_out(slot.array, slot)]
    return [f"{chosen.name}_read(antune, {number}, {label(array)}, {array.own_bytes}, (void *){data[array.name]})"
            for number, array in results]


def label(array: Array) -> str:
    """An array's name as a C string."""
    return c_string(array.name)


def wrapped(notes: Sequence[str]) -> list[str]:
    """Notes as lines of a comment."""
    return [line for note in notes for line in textwrap.wrap(note, 110)]
