"""The code of an export: one function with a version of its kernels for each size; most exports have one size only.

Sizes are compiled into kernels, so each version has its own text. Kernels with equal texts are written once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import assert_never

from experiments.exports.c_names import parameter_names
from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.memory import Slot, slots_of
from experiments.exports.signature import Parameter, Signature, signature_of
from experiments.exports.told_apart import Sizes, size_parameters
from generator.target import Dialect
from generator.variant import (
    Constant,
    HostBranch,
    HostLoop,
    HostOp,
    Kernel,
    Launch,
    Placed,
    Texture,
    Variant,
    kernel_name,
)


@dataclass(frozen=True, slots=True)
class Version:
    """The code for one size.

    `signature` is that of the original function for this size; `sizes` are the parameters of the exported function that
    determine the size. Kernels and memory slots are numbered through all versions; those of this version begin at
    `first_kernel` and `first_slot`. Their text is in the part numbered `part` of the export.
    """

    chosen: Chosen
    signature: Signature
    sizes: tuple[Parameter, ...]
    variant: Variant
    part: int
    slots: tuple[Slot, ...]
    first_kernel: int
    first_slot: int

    @property
    def label(self) -> str:
        """The size in words."""
        told = ", ".join(f"{parameter.name} = {parameter.value}" for parameter in self.sizes)
        return told or (self.chosen.size or "the tuned size")


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported function; `signature` has its parameters, `parts` are the texts of its versions' kernels.

    A part is a translation unit of its own, because the definitions before the kernels differ between parts.
    """

    signature: Signature
    versions: tuple[Version, ...]
    parts: tuple[str, ...]

    @property
    def chosen(self) -> Chosen:
        """The export for the tuned size."""
        return self.versions[0].chosen

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.chosen.name

    @property
    def kernels(self) -> int:
        """The number of kernels of all versions together."""
        return sum(len(version.variant.kernels) for version in self.versions)

    @property
    def slots(self) -> int:
        """The number of memory slots of all versions together."""
        return sum(len(version.slots) for version in self.versions)


def exported(chosen: Sequence[Chosen], dialect: Dialect) -> Exported:
    """Return the chosen plans as one function in `dialect`, for all their sizes.

    Raises:
        InputError: they cannot be one function, or a plan has no code in `dialect`.
    """
    original = [signature_of(one) for one in chosen]
    named = [_named(signature, own, chosen[0].name)
             for signature, own in zip(original, size_parameters(chosen, original), strict=True)]
    signatures, sizes = [signature for signature, _ in named], [own for _, own in named]
    variants, parts, texts = _shared([variant_of(one, dialect) for one in chosen])
    slots = [slots_of(one.program, variant) for one, variant in zip(chosen, variants, strict=True)]
    kernels = accumulate((len(variant.kernels) for variant in variants), initial=0)
    memory = accumulate(map(len, slots), initial=0)
    versions = tuple(map(Version, chosen, signatures, sizes, variants, parts, slots, kernels, memory))
    return Exported(_common(versions), versions, texts)


def _named(signature: Signature, sizes: Sizes, function: str) -> tuple[Signature, Sizes]:
    """Return the parameters with names that the exported function can use."""
    names = parameter_names([*dict.fromkeys(p.name for p in (*signature.parameters, *sizes))], function)
    own, told = (tuple(p.with_name(names[p.name]) for p in some) for some in (signature.parameters, sizes))
    renamed = (f"`{now}`: `{before}` of the original program." for before, now in names.items() if now != before)
    return replace(signature, parameters=own, notes=(*signature.notes, *renamed)), told


def _common(versions: Sequence[Version]) -> Signature:
    """Return the signature for all versions; arrays whose extents differ become untyped pointers."""
    first = versions[0]
    if len(versions) == 1:
        return first.signature
    columns = zip(*(version.signature.parameters for version in versions), strict=True)
    own = [_unified(column) for column in columns]
    added = [size for size in first.sizes if size.name not in {parameter.name for parameter in own}]
    untyped = [column for column in zip(*(v.signature.parameters for v in versions), strict=True)
               if len({parameter.text for parameter in column}) > 1]
    notes = [*first.signature.notes, "It has code for " + "; ".join(f"({version.label})" for version in versions) + "."]
    notes += [f"`{column[0].name}`: {' or '.join(parameter.text for parameter in column)}." for column in untyped]
    if added:
        notes.append(", ".join(f"`{size.name}`" for size in added) + ": says which size is meant.")
    return Signature((*own, *added), tuple(notes), first.signature.sequential)


def _unified(column: tuple[Parameter, ...]) -> Parameter:
    first = column[0]
    if len({parameter.text for parameter in column}) == 1:
        return first
    const = "const " if first.text.startswith("const ") else ""
    return replace(first, text=f"{const}void *{first.name}")


def _shared(variants: Sequence[Variant]) -> tuple[list[Variant], list[int], tuple[str, ...]]:
    """Return the variants with unique names for distinct kernels, the part of each, and the texts of the parts."""
    preambles = list(dict.fromkeys(variant.preamble for variant in variants))
    parts = [preambles.index(variant.preamble) for variant in variants]
    written: list[tuple[int, Kernel]] = []
    known: dict[tuple[int, str], str] = {}
    found = []
    for number, (variant, part) in enumerate(zip(variants, parts, strict=True)):
        names: dict[str, str] = {}
        for kernel in variant.kernels:
            text = part, kernel.text.called("")
            if number == 0 or text not in known:
                name = kernel.name if number == 0 else kernel_name(len(written))
                written.append((part, replace(kernel, name=name)))
                known.setdefault(text, name)
            names[kernel.name] = kernel.name if number == 0 else known[text]
        found.append(_renamed(variant, names, part))
    texts = ["\n".join([preamble, *(kernel.source for of, kernel in written if of == part)])
             for part, preamble in enumerate(preambles)]
    return found, parts, tuple(texts)


def _renamed(variant: Variant, names: dict[str, str], part: int) -> Variant:
    kernels = tuple(replace(kernel, name=names[kernel.name],
                            placements=tuple(_within(placed, part) for placed in kernel.placements))
                    for kernel in variant.kernels)
    return replace(variant, kernels=kernels, host=tuple(_launching(variant.host, names)))


def _within(placed: Placed, part: int) -> Placed:
    """Return where an array is placed, as seen outside the part: later parts are namespaces in CUDA and HIP."""
    match placed:
        case Texture():
            return placed
        case Constant(array, symbol):
            return Constant(array, f"{namespace(part)}::{symbol}" if part else symbol)
        case _:
            assert_never(placed)


def namespace(part: int) -> str:
    """Return the name of a part's namespace."""
    return f"antune_part{part}"


def _launching(ops: Sequence[HostOp], names: dict[str, str]) -> Iterator[HostOp]:
    for op in ops:
        match op:
            case Launch(kernel):
                yield replace(op, kernel=names[kernel])
            case HostLoop():
                yield replace(op, body=tuple(_launching(op.body, names)))
            case HostBranch():
                yield replace(op, then=tuple(_launching(op.then, names)),
                              otherwise=tuple(_launching(op.otherwise, names)))
            case _:
                assert_never(op)
