"""A directory with an OpenCL program in C: kernels, a function with the original signature, a self-check."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.exports.chosen import Chosen
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
from experiments.exports.opencl_api import api_values
from experiments.exports.opencl_here import here_files
from experiments.exports.own_data import own_text
from experiments.exports.selfcheck import build_values, selfcheck_files
from experiments.exports.templates import c_string, cases, chain, comment, fill
from experiments.exports.versions import Exported, Version, exported
from generator.expr import Expr
from generator.variant import Constant, Launch, Texture
from runners.opencl.cpu_name import ERROR
from runners.opencl.platforms import POCL, driver_name

CHOICE = ("It runs on the device that the environment variable ANTUNE_OPENCL_DEVICE names (part of \"PLATFORM: "
          "DEVICE\"), else on one like the tuned one, else on the first that is found.")
LOADED = (
    "OpenCL is loaded when the first context is opened (link with -ldl): the library that ANTUNE_OPENCL_LIBRARY "
    "names, else the "
    "system's. `sh opencl-here.sh COMMAND` runs a command with the OpenCL of the Python environment that made this."
)
PINNED = (
    "With PoCL, set POCL_AFFINITY=1 where all cores are for the program: without it, short kernels often run on one "
    "core only."
)


EMBED = 's/\\\\/\\\\\\\\/g\ns/"/\\\\"/g\ns/?/\\\\?/g\ns/^/"/\ns/$/\\\\n",/\n'
"""A sed script that makes C strings of lines; `?` is escaped because two of them may begin a trigraph."""


_CHANNELS = {"float": "FLOAT", "int": "SIGNED_INT32", "unsigned int": "UNSIGNED_INT32"}
"""Channel types of images whose texels are array elements, by element type."""


def opencl_files(chosen: Sequence[Chosen]) -> dict[str, str | bytes]:
    """Return the files of the directory, by name."""
    code = exported(chosen, "opencl")
    name = code.name
    body = host_code(code, '#include "kernels.inc"', "")
    checks = selfcheck_files(code)
    values = {"F": name, **build_values(code)}
    return {f"{name}.h": header(code, (CHOICE, LOADED, *how_timed(code.chosen, "opencl"))),
            f"{name}.c": f'#include "{name}.h"\n\n{body}',
            "kernels.cl": comment(code.chosen.origin()) + kernels_text(code),
            "embed.sed": EMBED,
            "Makefile": fill("opencl_makefile.in", values), "CMakeLists.txt": fill("opencl_cmake.in", values),
            **here_files(), **checks}


def kernels_text(code: Exported) -> str:
    """Return the text of all kernels. If there are several parts, the macro ANTUNE_PART selects the one to build."""
    if len(code.parts) == 1:
        return code.parts[0]
    return "".join(f"#if ANTUNE_PART == {number}\n{text}\n#endif\n" for number, text in enumerate(code.parts))


def how_timed(chosen: Chosen, dialect: str) -> tuple[str, ...]:
    """Return notes on how the plan was timed: in another language, or with a driver that needs special settings."""
    device = chosen.info.device
    if device.target.dialect != dialect:
        return (f"The plan was tuned in {device.target.dialect} and was never timed as {dialect}.",)
    return (PINNED,) if driver_name(device.platform) == POCL else ()


def usual_devices(chosen: Chosen) -> tuple[str, ...]:
    """Return default choices of "PLATFORM: DEVICE": the tuned device, any device of its driver, its name on any
    platform.
    """
    device = chosen.info.device
    platform = driver_name(device.platform)
    return (f"{platform}: {device.name}", f"{platform}: ", device.name)


def host_code(code: Exported, kernels: str, storage: str) -> str:
    """Return everything below the prototypes. `kernels` are lines of strings, `storage` qualifies public functions."""
    chosen, versions = code.chosen, code.versions
    launches = ["".join(f"{line}\n" for line in c_lines(v.variant.host, _launcher(v), code.name)) for v in versions]
    return fill("opencl_host.c.in", body_values(code) | {
        "STORAGE": storage, "KERNELS": kernels, "FIND": own_text(code) + find_text(code),
        "KERNEL_COUNT": str(max(code.kernels, 1)), "SLOT_COUNT": str(max(code.slots, 1)),
        "PART_COUNT": str(len(code.parts)), "FIRST": f" || {code.name}_use(antune, 0)" if len(versions) == 1 else "",
        "USUAL": ", ".join(map(c_string, usual_devices(chosen))), "CPU_ERROR": c_string(ERROR),
        **api_values(chosen.name),
        "PREPARE": tried("version", [chain([*_built(v), *_memory(v), *_kernels(v)]) for v in versions]),
        "IN": tried("antune->version", [chain([*_writes(code, v), *_scalars(code, v)]) for v in versions]),
        "OUT": tried("antune->version", [chain([*reads(v), f"{code.name}_finish(antune)"]) for v in versions]),
        "LAUNCHES": cases("antune->version", launches)})


def _built(version: Version) -> list[str]:
    return [f"{version.chosen.name}_build(antune, {version.part})"]


def _writes(code: Exported, version: Version) -> list[str]:
    data = sources(code)
    return [_write(version.chosen, number, slot, data[slot.array.name]) for number, slot in incoming(version)]


def _memory(version: Version) -> list[str]:
    calls, later, chosen = list[str](), list[str](), version.chosen
    for number, slot in enumerate(version.slots, version.first_slot):
        match slot.placed:
            case Texture(_, _, shape, words, _, in_place) if len(shape) in (1, 2):
                if len(shape) == 1 and not in_place:
                    calls.append(f"{chosen.name}_buffer(antune, {number}, {label(slot.array)}, {slot.array.bytes})")
                width, height = (*shape, 0)[:2]
                format = f"{chosen.name}_{channel(slot.placed)}"
                over = version.first_slot + version.slots.index(memory_of(slot))
                call = f"{chosen.name}_image(antune, {number}, {over}, {label(slot.array)}, {words}, {format}"
                (later if in_place else calls).append(f"{call}, {width}, {height})")
            case None | Constant():
                calls.append(f"{chosen.name}_buffer(antune, {number}, {label(slot.array)}, {slot.array.bytes})")
            case _:
                raise AssertionError("textures have one or two dimensions")
    return [*calls, *later]


def channel(texture: Texture) -> str:
    """Return OpenCL's name of the type of a texel's numbers, without CL_."""
    return _CHANNELS[texture.type] if texture.typed else f"UNSIGNED_INT{8 * texture.channel_bytes}"


def _kernels(version: Version) -> list[str]:
    calls, chosen, variant = [], version.chosen, version.variant
    program = chosen.program.with_arrays(variant.scratch)
    for number, kernel in enumerate(variant.kernels, version.first_kernel):
        calls.append(f"{chosen.name}_kernel(antune, {version.part}, {number}, {c_string(kernel.name)})")
        for array in kernel.arrays:
            slot = Slot(program.array(array), placement(kernel, array, variant))
            memory = "images" if isinstance(slot.placed, Texture) else "memory"
            position = kernel.arguments.index(array)
            calls.append(f"{chosen.name}_argument(antune, {number}, {position}, sizeof(void *), "
                         f"&antune->{memory}[{version.first_slot + version.slots.index(slot)}])")
    return calls


def _write(chosen: Chosen, number: int, slot: Slot, data: str) -> str:
    begin = f"(antune, {number}, {label(slot.array)}"
    match slot.placed:
        case Texture(_, _, (width, height)):
            return f"{chosen.name}_texels{begin}, {width}, {height}, (const void *){data})"
        case _:
            return f"{chosen.name}_write{begin}, {slot.array.own_bytes}, (const void *){data})"


def _scalars(code: Exported, version: Version) -> list[str]:
    """Return the calls that set scalar arguments, which differ from call to call; `*p` and `p` are both lvalues."""
    data = data_of(code.signature)
    return [f"{code.name}_argument(antune, {number}, {kernel.arguments.index(name)}, sizeof({data[name]}), "
            f"&{data[name]})"
            for number, kernel in enumerate(version.variant.kernels, version.first_kernel) for name in kernel.scalars]


def _launcher(version: Version) -> Callable[[Launch, Callable[[Expr], str]], list[str]]:
    """Return a printer of launches. Kernels are referred to by number, because two kernels of a version may share a
    text.
    """
    chosen, kernels = version.chosen, version.variant.kernels
    numbers = {kernel.name: number for number, kernel in enumerate(kernels, version.first_kernel)}

    def lines(launch: Launch, text: Callable[[Expr], str]) -> list[str]:
        number = numbers[launch.kernel]
        kernel = kernels[number - version.first_kernel]
        block = kernel.block or (1,)
        grid = ", ".join(text(extent) for extent in launch.grid) or "1"
        values = ", ".join(text(value) for value in launch.iterators) or "0"
        first = len(kernel.arrays) + len(kernel.scalars)
        sizes = f"{len(block)}, antune_grid, antune_block, {first}, {len(launch.iterators)}, antune_values"
        call = f"{chosen.name}_launch(antune, {number}, {c_string(kernel.name)}, {sizes})"
        return ["{", f"  const int antune_grid[] = {{{grid}}}, antune_block[] = {{{', '.join(map(str, block))}}};",
                f"  const int antune_values[] = {{{values}}};", f"  if ({call}) return 1;", "}"]

    return lines
