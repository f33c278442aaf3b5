"""The exported function as C text: its prototypes, and the parts of its body that all C exports share."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from experiments.exports.memory import Slot, copied_in, copied_out
from experiments.exports.own_data import own_data
from experiments.exports.signature import Signature
from experiments.exports.templates import c_string, cases, chain, comment, fill
from experiments.exports.versions import Exported, Version
from generator.program import Array


def header(code: Exported, notes: Sequence[str], storage: str = "", before: str = "", after: str = "") -> str:
    """Return the text of NAME.h: prototypes between `before` and `after`, with `storage` before each."""
    text = comment([*code.chosen.origin(), "", *wrapped(code.signature.notes), *wrapped(_directions(code)),
                    *wrapped(notes)])
    guard = f"ANTUNE_{code.name.upper()}_H"
    return fill("interface.h.in", body_values(code) | {
        "COMMENT": text, "GUARD": guard, "STORAGE": storage, "BEFORE": before, "AFTER": after})


def _directions(code: Exported) -> list[str]:
    """Return which arrays are inputs and which are results."""
    program, words = code.chosen.program, dict[str, list[str]]()
    for parameter in code.signature.of_role("array"):
        array = program.array(parameter.name)
        how = ("Inputs" if array.role == "in" else "Inputs and results (read, or written in part)"
               if copied_in(program, array) else "Results (written completely)")
        words.setdefault(how, []).append(f"`{parameter.argument}`")
    called = {parameter.name: parameter.argument for parameter in code.signature.parameters}
    own = ", ".join(f"`{called[name]}`" for name in own_data(code))
    return [*(f"{how}: {', '.join(names)}." for how, names in sorted(words.items())),
            *([f"{own}: NULL stands for the data that the program itself has."] if own else [])]


def body_values(code: Exported) -> dict[str, str]:
    """Return the template values of the function: its name, its parameters, the check of its sizes."""
    name, signature = code.name, code.signature
    unused = "".join(f"  (void){p.argument};\n" for p in signature.of_role("unused"))
    every = "".join(f"  (void){p.argument};\n" for p in signature.parameters)
    arguments = ", ".join(parameter.argument for parameter in signature.parameters)
    context = f"struct {name}_context *antune"
    return {
        "F": name,
        "PARAMETERS": signature.declarations,
        "SIZED": _sized(code),
        "VERSION_COUNT": str(len(code.versions)),
        "UNUSED": unused,
        "ALL_UNUSED": every,
        "CONTEXT_PARAMETERS": f"{context}, {signature.declarations}" if arguments else context,
        "CONTEXT_ARGUMENTS": f"antune, {arguments}" if arguments else "antune",
    }


def _sized(code: Exported) -> str:
    """Return statements that prepare the version for the given sizes, or return 1 if there is no version for them."""
    sizes = code.versions[0].sizes
    if len(code.versions) == 1:
        checks = [f"{code.name}_size({c_string(p.name)}, {p.data}, {p.value})" for p in sizes]
        return f"  if ({chain(checks)}) return 1;\n"
    given = ", ".join(f"(long long)({parameter.data})" for parameter in sizes)
    return f"  const long long antune_sizes[] = {{{given}}};\n  if ({code.name}_at(antune, antune_sizes)) return 1;\n"


def find_text(code: Exported) -> str:
    """Return the function that finds the version for given sizes; empty if there is only one version."""
    if len(code.versions) == 1:
        return ""
    names = [parameter.name for parameter in code.versions[0].sizes]
    known = ", ".join("{" + ", ".join(str(p.value) for p in version.sizes) + "}" for version in code.versions)
    return fill("find_size.in", {"F": code.name, "NAMES": ", ".join(map(c_string, names)),
                                 "KNOWN": known, "VERSION_COUNT": str(len(code.versions)), "COUNT": str(len(names))})


def data_of(signature: Signature) -> Mapping[str, str]:
    """Return C expressions by name: the address of an array, the value of a scalar."""
    return {p.name: p.data for p in signature.of_role("array", "scalar")}


def sources(code: Exported) -> Mapping[str, str]:
    """Return the C expressions of `data_of`; for the program's own data, also if the caller passes NULL."""
    data = dict(data_of(code.signature))
    for name in own_data(code):
        given = data[name]
        data[name] = f"({given} ? (const void *){given} : (const void *){code.name}_own_{name})"
    return data


def incoming(version: Version) -> list[tuple[int, Slot]]:
    """Return the slots that the caller's arrays are copied to, with their numbers."""
    return [(number, slot) for number, slot in enumerate(version.slots, version.first_slot)
            if copied_in(version.chosen.program, slot.array)]


def reads(version: Version) -> list[str]:
    """Return the calls that copy the results to the caller's arrays."""
    data, name = data_of(version.signature), version.chosen.name
    results = [(number, slot.array) for number, slot in enumerate(version.slots, version.first_slot)
               if copied_out(slot.array, slot)]
    return [f"{name}_read(antune, {number}, {label(array)}, {array.own_bytes}, (void *){data[array.name]})"
            for number, array in results]


def tried(selector: str, expressions: Sequence[str]) -> str:
    """Return statements that return 1 if the expression of the version numbered `selector` is not 0."""
    return cases(selector, [f"  if ({expression}) return 1;\n" for expression in expressions])


def label(array: Array) -> str:
    """Return an array's name as a C string."""
    return c_string(array.name)


def wrapped(notes: Sequence[str]) -> list[str]:
    """Return notes as lines of a comment."""
    return [line for note in notes for line in textwrap.wrap(note, 110)]
