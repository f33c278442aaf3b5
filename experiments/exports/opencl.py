"""A directory with an OpenCL program in C: kernels, a function with the original signature, a self-check."""

from __future__ import annotations

from collections.abc import Callable

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.host_program import c_lines
from experiments.exports.interface import body_values, data_of, header, incoming, label, reads
from experiments.exports.memory import Slot, placement, slots_of
from experiments.exports.opencl_api import api_values
from experiments.exports.opencl_here import here_files
from experiments.exports.selfcheck import selfcheck_files
from experiments.exports.signature import Signature, signature_of
from experiments.exports.templates import c_string, chain, comment, fill
from generator.expr import Expr
from generator.variant import Constant, Launch, Texture, Variant
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
    "core "
    "only."
)


def opencl_files(chosen: Chosen) -> dict[str, str | bytes]:
    """The files of the directory, by name."""
    name, signature, variant = chosen.name, signature_of(chosen), variant_of(chosen, "opencl")
    body = host_code(chosen, signature, variant, '#include "kernels.inc"', "", "static inline ")
    values = {"F": name, "SOURCES": f"{name}.c"}
    return {f"{name}.h": header(chosen, signature, (CHOICE, LOADED, *how_timed(chosen, "opencl"))),
            f"{name}.c": f'#include "{name}.h"\n\n{body}',
            "kernels.cl": comment(chosen.origin()) + variant.source,
            "embed.sed": 's/\\\\/\\\\\\\\/g\ns/"/\\\\"/g\ns/^/"/\ns/$/\\\\n",/\n',
            "Makefile": fill("opencl_makefile.in", values), "CMakeLists.txt": fill("opencl_cmake.in", values),
            **here_files(), **selfcheck_files(chosen, signature)}


def how_timed(chosen: Chosen, dialect: str) -> tuple[str, ...]:
    """Notes for users of a plan that was tuned in another language, or whose driver needs to be told something."""
    device = chosen.info.device
    if device.target.dialect != dialect:
        return (f"The plan was tuned in {device.target.dialect} and was never timed as {dialect}.",)
    return (PINNED,) if driver_name(device.platform) == POCL else ()


def usual_devices(chosen: Chosen) -> tuple[str, ...]:
    """What "PLATFORM: DEVICE" may hold where the user names no device: the tuned one, its driver, its name
    elsewhere.
    """
    device = chosen.info.device
    platform = driver_name(device.platform)
    return (f"{platform}: {device.name}", f"{platform}: ", device.name)


def host_code(chosen: Chosen, signature: Signature, variant: Variant, kernels: str, storage: str,
              internal: str) -> str:
    """Everything below the prototypes. `kernels` are lines of strings, `storage` and `internal` qualify functions."""
    slots, data = slots_of(chosen.info.program, variant), data_of(signature)
    writes = [_write(chosen, number, slot, data[slot.array.name]) for number, slot in incoming(chosen, slots)]
    out = [*reads(chosen, signature, slots), f"{chosen.name}_finish(antune)"]
    return fill("opencl_host.c.in", body_values(chosen, signature) | {
        "STORAGE": storage, "INTERNAL": internal, "KERNELS": kernels,
        "KERNEL_COUNT": str(max(len(variant.kernels), 1)), "SLOT_COUNT": str(max(len(slots), 1)),
        "USUAL": ", ".join(map(c_string, usual_devices(chosen))), "CPU_ERROR": c_string(ERROR),
        **api_values(chosen.name), "PREPARE": chain([*_memory(chosen, slots), *_kernels(chosen, variant, slots)]),
        "IN": chain([*writes, *_scalars(chosen, variant, signature)]), "OUT": chain(out),
        "LAUNCHES": "\n".join(c_lines(variant.host, _launcher(chosen, variant), chosen.name))})


def _memory(chosen: Chosen, slots: tuple[Slot, ...]) -> list[str]:
    calls = []
    for number, slot in enumerate(slots):
        match slot.placed:
            case Texture(_, _, (width, height), words):
                calls.append(f"{chosen.name}_image(antune, {number}, {label(slot.array)}, {words}, {width}, {height})")
            case Texture(_, _, (width,), words):
                calls += [f"{chosen.name}_buffer(antune, {number}, {label(slot.array)}, {slot.array.bytes})",
                          f"{chosen.name}_image(antune, {number}, {label(slot.array)}, {words}, {width}, 0)"]
            case None | Constant():
                calls.append(f"{chosen.name}_buffer(antune, {number}, {label(slot.array)}, {slot.array.bytes})")
            case _:
                raise AssertionError("textures have one or two dimensions")
    return calls


def _kernels(chosen: Chosen, variant: Variant, slots: tuple[Slot, ...]) -> list[str]:
    calls, program = [], chosen.info.program.with_arrays(variant.scratch)
    for number, kernel in enumerate(variant.kernels):
        calls.append(f"{chosen.name}_kernel(antune, {number}, {c_string(kernel.name)})")
        for position, array in enumerate(kernel.arrays):
            slot = Slot(program.array(array), placement(kernel, array, variant))
            memory = "images" if isinstance(slot.placed, Texture) else "memory"
            calls.append(f"{chosen.name}_argument(antune, {number}, {position}, sizeof(void *), "
                         f"&antune->{memory}[{slots.index(slot)}])")
    return calls


def _write(chosen: Chosen, number: int, slot: Slot, data: str) -> str:
    begin = f"(antune, {number}, {label(slot.array)}"
    match slot.placed:
        case Texture(_, _, (width, height), _):
            return f"{chosen.name}_texels{begin}, {width}, {height}, (const void *){data})"
        case _:
            return f"{chosen.name}_write{begin}, {slot.array.own_bytes}, (const void *){data})"


def _scalars(chosen: Chosen, variant: Variant, signature: Signature) -> list[str]:
    """Scalars are arguments that differ from call to call; `*p` and `p` are both lvalues."""
    data = data_of(signature)
    return [f"{chosen.name}_argument(antune, {number}, {position}, sizeof({data[name]}), &{data[name]})"
            for number, kernel in enumerate(variant.kernels)
            for position, name in enumerate(kernel.scalars, len(kernel.arrays))]


def _launcher(chosen: Chosen, variant: Variant) -> Callable[[Launch, Callable[[Expr], str]], list[str]]:
    numbers = {kernel.name: number for number, kernel in enumerate(variant.kernels)}

    def lines(launch: Launch, text: Callable[[Expr], str]) -> list[str]:
        number = numbers[launch.kernel]
        kernel = variant.kernels[number]
        block = kernel.block or (1,)
        grid = ", ".join(text(extent) for extent in launch.grid) or "1"
        values = ", ".join(text(value) for value in launch.iterators) or "0"
        first = len(kernel.arrays) + len(kernel.scalars)
        sizes = f"{len(block)}, antune_grid, antune_block, {first}, {len(launch.iterators)}, antune_values"
        call = f"{chosen.name}_launch(antune, {number}, {c_string(kernel.name)}, {sizes})"
        return ["{", f"  const int antune_grid[] = {{{grid}}}, antune_block[] = {{{', '.join(map(str, block))}}};",
                f"  const int antune_values[] = {{{values}}};", f"  if ({call}) return 1;", "}"]

    return lines
