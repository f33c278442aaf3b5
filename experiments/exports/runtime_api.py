"""A directory with a CUDA or HIP program for the runtime API: kernels, the function, a self-check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from experiments.exports.host_program import c_lines
from experiments.exports.interface import (
    body_values,
    data_of,
    find_text,
    header,
    incoming,
    label,
    reads,
    sources,
    tried,
)
from experiments.exports.memory import Slot, memory_of, placement
from experiments.exports.opencl import how_timed
from experiments.exports.own_data import own_text
from experiments.exports.selfcheck import selfcheck_files
from experiments.exports.templates import c_string, cases, chain, comment, fill
from experiments.exports.versions import Exported, Version, namespace
from generator.expr import Expr
from generator.program import ELEMENT_BYTES
from generator.target import LANGUAGES, Dialect
from generator.templates.template import Template
from generator.variant import Constant, Kernel, Launch, Texture, Variant


@dataclass(frozen=True, slots=True)
class RuntimeApi:
    """The names of the runtime libraries of CUDA and HIP; all functions and types begin with the dialect's name.

    `include` is the header, `properties` the type of a device's properties, `unit_shared` the attribute with the shared
    memory of a multiprocessor.
    """

    dialect: Dialect
    include: str
    properties: str
    unit_shared: str

    @property
    def title(self) -> str:
        """The usual name of the language."""
        return LANGUAGES[self.dialect].title

    @property
    def suffix(self) -> str:
        """The suffix of the language's files."""
        return LANGUAGES[self.dialect].suffix


def program_files(code: Exported, api: RuntimeApi, texts: Sequence[str], notes: tuple[str, ...],
                  build: Mapping[str, str]) -> dict[str, str | bytes]:
    """Return the files of the directory, by name: kernels with `texts` by part, a header with `notes`, and `build`
    files.
    """
    name = code.name
    choice = (
        f"It runs on the device that the environment variable ANTUNE_{api.title}_DEVICE names (its number, or part of "
        f"its name), else on one with the name of the tuned one, else on the first. Each call makes it the calling "
        "thread's current device."
    )
    return {f"{name}.h": header(code, (choice, *how_timed(code.chosen, api.dialect), *notes)),
            f"{name}.{api.suffix}": f'#include "{name}.h"\n\n{_host_code(code, api)}',
            f"kernels.{api.suffix}": comment(code.chosen.origin()) + _kernels_text(texts, code), **build,
            **selfcheck_files(code)}


def _kernels_text(texts: Sequence[str], code: Exported) -> str:
    """Return all parts as one text. Parts after the first are namespaces, because their definitions may have equal
    names.
    """
    first, *others = texts
    for number, text in enumerate(others, 1):
        kernels = {kernel.name: None for v in code.versions if v.part == number for kernel in v.variant.kernels}
        using = "".join(f"using {namespace(number)}::{kernel};\n" for kernel in kernels)
        first += f"\nnamespace {namespace(number)} {{\n{text}\n}}\n{using}"
    return first


def _host_code(code: Exported, api: RuntimeApi) -> str:
    """Return everything below the prototypes."""
    name, data, versions = code.name, data_of(code.signature), code.versions
    scalars = sorted({scalar for v in versions for kernel in v.variant.kernels for scalar in kernel.scalars})
    types = {scalar: code.chosen.program.array(scalar).c_type for scalar in scalars}
    launches = ["".join(f"{line}\n" for line in c_lines(v.variant.host, _launcher(v), name)) for v in versions]
    return fill("runtime_api_host.in", body_values(code) | {
        "API": api.dialect, "TITLE": api.title, "HEADER": api.include, "KERNELS": f"kernels.{api.suffix}",
        "UNIT_SHARED": api.unit_shared, "PROPERTIES": api.properties,
        "RENAMES": "\n".join(f"#define {own} {name}_{own}" for own in _global_names(versions)),
        "SLOT_COUNT": str(max(code.slots, 1)), "USUAL": c_string(code.chosen.info.device.name),
        "SCALAR_FIELDS": "".join(f"  {kind} scalar_{scalar};\n" for scalar, kind in types.items()),
        "FIND": own_text(code) + find_text(code), "FIRST": f" || {name}_use(antune, 0)" if len(versions) == 1 else "",
        "PREPARE": tried("version", [chain(_prepared(api, version)) for version in versions]),
        "IN": tried("antune->version", [chain(_writes(code, api, version)) for version in versions]),
        "SCALARS": "".join(f"  antune->scalar_{scalar} = {data[scalar]};\n" for scalar in scalars),
        "OUT": tried("antune->version", [chain([f"{name}_finish()", *reads(version)]) for version in versions]),
        "LAUNCHES": cases("antune->version", launches)})


def _prepared(api: RuntimeApi, version: Version) -> list[str]:
    """Return the calls that allocate memory and prepare kernels."""
    name, variant = version.chosen.name, version.variant
    numbers = {slot: number for number, slot in enumerate(version.slots, version.first_slot)}
    memory = [_memory(name, api, number, numbers[memory_of(slot)], slot) for slot, number in numbers.items()
              if not isinstance(slot.placed, Constant)]
    return [*memory, *(call for kernel in variant.kernels for call in _configured(name, variant, kernel))]


def _writes(code: Exported, api: RuntimeApi, version: Version) -> list[str]:
    data = sources(code)
    return [_write(code.name, api, number, slot, data[slot.array.name]) for number, slot in incoming(version)]


def _global_names(versions: Sequence[Version]) -> list[str]:
    """Return the names that a linker sees: kernels, arrays in constant memory, and namespaces instead of their
    contents.
    """
    kernels = dict.fromkeys(kernel.name for version in versions for kernel in version.variant.kernels)
    own = isinstance(versions[0].chosen.info.subject, Template)  # its names may clash with other names
    constants = {p.symbol for version in versions for kernel in version.variant.kernels for p in kernel.placements
                 if isinstance(p, Constant) and version.part == 0 and not own}
    spaces = [namespace(part) for part in sorted({version.part for version in versions} - {0})]
    return [*kernels, *sorted(constants), *spaces]


def _memory(name: str, api: RuntimeApi, number: int, over: int, slot: Slot) -> str:
    """Return the call that makes a slot; the memory of a texture is that of slot `over`."""
    match slot.placed:
        case Texture(_, kind, shape, _):
            width, height = (*shape, 0)[:2]
            channels = "int2" if kind == "double" else slot.array.c_type
            return (
                f"{name}_texture(antune, {number}, {over}, {label(slot.array)}, "
                f"{api.dialect}CreateChannelDesc<{channels}>(), {ELEMENT_BYTES[kind]}, {width}, {height})"
            )
        case _:
            return f"{name}_memory(antune, {number}, {label(slot.array)}, {slot.array.bytes})"


def _configured(name: str, variant: Variant, kernel: Kernel) -> list[str]:
    """Return the calls that prepare a kernel."""
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


def _launcher(version: Version) -> Callable[[Launch, Callable[[Expr], str]], list[str]]:
    variant = version.variant
    kernels = {kernel.name: kernel for kernel in variant.kernels}

    def lines(launch: Launch, text: Callable[[Expr], str]) -> list[str]:
        kernel = kernels[launch.kernel]
        grid = [*(text(extent) for extent in launch.grid), "1", "1", "1"][:3]
        fixed = all(extent.isdigit() and extent != "0" for extent in grid)
        blocks = grid if fixed else [f"antune_grid[{axis}]" for axis in range(3)]
        block = ", ".join(str(extent) for extent in (*kernel.block, 1, 1, 1)[:3])
        arguments = [f"antune->scalar_{name}" if name in kernel.scalars else _argument(version, kernel, name)
                     for name in kernel.arguments]
        arguments += [text(value) for value in launch.iterators]
        shared = kernel.dynamic_bytes(variant.dialect)
        launched = f"{kernel.name}<<<dim3({', '.join(blocks)}), dim3({block}), {shared}>>>"
        status = f"{variant.dialect}GetLastError()"
        check = f'if ({version.chosen.name}_check({status}, "launching", {c_string(kernel.name)})) return 1;'
        inside = [f"{launched}({', '.join(arguments)});", check]
        if fixed:
            return inside
        return ["{", f"  const int antune_grid[] = {{{', '.join(grid)}}};",
                f"  if ({' && '.join(f'{extent} > 0' for extent in blocks)}) {{", *(f"    {line}" for line in inside),
                "  }", "}"]

    return lines


def _argument(version: Version, kernel: Kernel, array: str) -> str:
    program = version.chosen.program.with_arrays(version.variant.scratch)
    slot = Slot(program.array(array), placement(kernel, array, version.variant))
    number = version.first_slot + version.slots.index(slot)
    return (f"antune->textures[{number}]" if isinstance(slot.placed, Texture)
            else f"({slot.array.c_type} *)antune->memory[{number}]")
