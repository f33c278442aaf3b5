"""A directory with a program for the runtime API of CUDA or HIP: kernels, a function with the original signature, a
self-check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import assert_never

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.host_program import c_lines
from experiments.exports.interface import body_values, data_of, header, incoming, label, reads
from experiments.exports.memory import Slot, placement, slots_of
from experiments.exports.opencl import how_timed
from experiments.exports.selfcheck import selfcheck_files
from experiments.exports.signature import Signature, signature_of
from experiments.exports.templates import c_string, chain, comment, fill
from generator.expr import Expr
from generator.program import ELEMENT_BYTES
from generator.target import LANGUAGES, Dialect
from generator.variant import Constant, Kernel, Launch, Texture, Variant


@dataclass(frozen=True, slots=True)
class RuntimeApi:
    """What the runtime libraries of CUDA and HIP call things: all functions and types begin with the dialect's name.

    `include` is the header, `properties` the type of what is known of a device, `unit_shared` the attribute with the
    shared memory of a multiprocessor.
    """

    dialect: Dialect
    include: str
    properties: str
    unit_shared: str

    @property
    def title(self) -> str:
        """What people call it."""
        return LANGUAGES[self.dialect].title

    @property
    def suffix(self) -> str:
        """That of its files."""
        return LANGUAGES[self.dialect].suffix


def program_files(chosen: Chosen, api: RuntimeApi, text: str, notes: tuple[str, ...],
                  build: Mapping[str, str]) -> dict[str, str | bytes]:
    """The files of the directory, by name: kernels with `text`, a header with `notes`, and `build` files."""
    name, signature, variant = chosen.name, signature_of(chosen), variant_of(chosen, api.dialect)
    choice = (
        f"It runs on the device that the environment variable ANTUNE_{api.title}_DEVICE names (its number, or part of "
        f"its "
        "name), else on one with the name of the tuned one, else on the first."
    )
    return {f"{name}.h": header(chosen, signature, (choice, *how_timed(chosen, api.dialect), *notes)),
            f"{name}.{api.suffix}": f'#include "{name}.h"\n\n{_host_code(chosen, api, signature, variant)}',
            f"kernels.{api.suffix}": comment(chosen.origin()) + text, **build, **selfcheck_files(chosen, signature)}


def _host_code(chosen: Chosen, api: RuntimeApi, signature: Signature, variant: Variant) -> str:
    """Everything below the prototypes."""
    name, slots, data = chosen.name, slots_of(chosen.info.program, variant), data_of(signature)
    scalars = sorted({scalar for kernel in variant.kernels for scalar in kernel.scalars})
    memory = [
        _memory(name, api, number, slot) for number, slot in enumerate(slots) if not isinstance(slot.placed, Constant)
    ]
    functions = [call for kernel in variant.kernels for call in _configured(name, variant, kernel)]
    writes = [_write(name, api, number, slot, data[slot.array.name]) for number, slot in incoming(chosen, slots)]
    types = {scalar: chosen.info.program.array(scalar).type for scalar in scalars}
    return fill("runtime_api_host.in", body_values(chosen, signature) | {
        "API": api.dialect, "TITLE": api.title, "HEADER": api.include, "KERNELS": f"kernels.{api.suffix}",
        "UNIT_SHARED": api.unit_shared, "PROPERTIES": api.properties,
        "RENAMES": "\n".join(f"#define {own} {name}_{own}" for own in _global_names(variant)),
        "SLOT_COUNT": str(max(len(slots), 1)), "USUAL": c_string(chosen.info.device.name),
        "SCALAR_FIELDS": "".join(f"  {kind} scalar_{scalar};\n" for scalar, kind in types.items()),
        "PREPARE": chain([*memory, *functions]), "IN": chain(writes),
        "SCALARS": "".join(f"  antune->scalar_{scalar} = {data[scalar]};\n" for scalar in scalars),
        "OUT": chain([f"{name}_finish()", *reads(chosen, signature, slots)]),
        "LAUNCHES": "\n".join(c_lines(variant.host, _launcher(chosen, variant, slots), name))})


def _global_names(variant: Variant) -> list[str]:
    """Kernels and arrays in constant memory: names that a linker sees."""
    constants = {p.symbol for kernel in variant.kernels for p in kernel.placements if isinstance(p, Constant)}
    return [*(kernel.name for kernel in variant.kernels), *sorted(constants)]


def _memory(name: str, api: RuntimeApi, number: int, slot: Slot) -> str:
    match slot.placed:
        case Texture(_, kind, shape, _):
            width, height = (*shape, 0)[:2]
            channels = "int2" if kind == "double" else kind
            return (
                f"{name}_texture(antune, {number}, {label(slot.array)}, {api.dialect}CreateChannelDesc<{channels}>(), "
                f"{ELEMENT_BYTES[kind]}, {width}, {height})"
            )
        case _:
            return f"{name}_memory(antune, {number}, {label(slot.array)}, {slot.array.bytes})"


def _configured(name: str, variant: Variant, kernel: Kernel) -> list[str]:
    """Calls that prepare a kernel."""
    pointer, called = f"(const void *){kernel.name}", c_string(kernel.name)
    calls = []
    if dynamic := kernel.dynamic_bytes(variant.dialect):
        calls.append(f"{name}_shared({pointer}, {called}, {dynamic})")
    match kernel.cache:
        case "none":
            return calls
        case "shared" | "l1":
            shared = int(kernel.cache == "shared")
            return [*calls, f"{name}_divide({pointer}, {called}, {shared}, {kernel.local_bytes})"]
        case _:
            assert_never(kernel.cache)


def _write(name: str, api: RuntimeApi, number: int, slot: Slot, data: str) -> str:
    array = slot.array
    match slot.placed:
        case Constant(_, symbol):
            return (
                f'{name}_check({api.dialect}MemcpyToSymbol({symbol}, (const void *){data}, {array.own_bytes}), '
                f'"copying in", '
                f"{label(array)})"
            )
        case Texture(_, kind, (width, height), _):
            row = width * ELEMENT_BYTES[kind]
            return f"{name}_rows(antune, {number}, {label(array)}, {row}, {height}, (const void *){data})"
        case _:
            return f"{name}_write(antune, {number}, {label(array)}, {array.own_bytes}, (const void *){data})"


def _launcher(chosen: Chosen, variant: Variant,
              slots: tuple[Slot, ...]) -> Callable[[Launch, Callable[[Expr], str]], list[str]]:
    kernels = {kernel.name: kernel for kernel in variant.kernels}

    def lines(launch: Launch, text: Callable[[Expr], str]) -> list[str]:
        kernel = kernels[launch.kernel]
        grid = [*(text(extent) for extent in launch.grid), "1", "1", "1"][:3]
        block = ", ".join(str(extent) for extent in (*kernel.block, 1, 1, 1)[:3])
        arguments = [_argument(chosen, variant, kernel, array, slots) for array in kernel.arrays]
        arguments += [f"antune->scalar_{scalar}" for scalar in kernel.scalars]
        arguments += [text(value) for value in launch.iterators]
        launched = f"{kernel.name}<<<dim3({', '.join(grid)}), dim3({block}), {kernel.dynamic_bytes(variant.dialect)}>>>"
        check = (
            f'if ({chosen.name}_check({variant.dialect}GetLastError(), "launching", {c_string(kernel.name)})) return 1;'
        )
        inside = [f"{launched}({', '.join(arguments)});", check]
        if all(extent.isdigit() and extent != "0" for extent in grid):
            return inside
        wanted = " && ".join(f"{extent} > 0" for extent in grid if not extent.isdigit() or extent == "0")
        return [f"if ({wanted}) {{", *(f"  {line}" for line in inside), "}"]

    return lines


def _argument(chosen: Chosen, variant: Variant, kernel: Kernel, array: str, slots: tuple[Slot, ...]) -> str:
    slot = Slot(chosen.info.program.with_arrays(variant.scratch).array(array), placement(kernel, array, variant))
    number = slots.index(slot)
    return (f"antune->textures[{number}]" if isinstance(slot.placed, Texture)
            else f"({slot.array.type} *)antune->memory[{number}]")
