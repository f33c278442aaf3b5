"""A directory with a CUDA program: kernels, a function with the original signature (runtime API), a self-check."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.host_program import c_lines
from experiments.exports.interface import body_values, data_of, header, incoming, label, reads
from experiments.exports.memory import Slot, placement, slots_of
from experiments.exports.opencl import how_timed
from experiments.exports.selfcheck import selfcheck_files
from experiments.exports.signature import Signature, signature_of
from experiments.exports.templates import c_string, chain, comment, fill
from generator.errors import InputError
from generator.expr import Expr
from generator.program import ELEMENT_BYTES
from generator.target import Target
from generator.variant import Constant, Kernel, Launch, Texture, Variant
from metrics.device_model import device_model
from runners.cuda.bounds import blocks_wanted, bounded
from runners.cuda.compiler import best_capability, open_translator
from runners.driver import BuildError

CHOICE = ("It runs on the device that the environment variable ANTUNE_CUDA_DEVICE names (its number, or part of its "
          "name), else on one with the name of the tuned one, else on the first.")
BOUNDED = ("Where __launch_bounds__ in kernels.cu has a second number, ptxas would spill registers without it; antune compiled "
           "and timed the kernels with such numbers. These were found by ")
UNBOUNDED = ("antune compiles kernels that ptxas spills registers of by its own choice again, with a second number in "
             "__launch_bounds__. kernels.cu has no such numbers, because no CUDA compiler for the tuned device was at hand "
             "when it was written: nvcc may keep a few bytes of a thread in memory.")


def cuda_files(chosen: Chosen) -> dict[str, str | bytes]:
    """The files of the directory, by name."""
    name, signature, variant = chosen.name, signature_of(chosen), variant_of(chosen, "cuda")
    values = {"F": name, "ARCH": _architecture(chosen.info.device.target)}
    text, notes = _with_bounds(variant, chosen.info.device.target)
    return {f"{name}.h": header(chosen, signature, (CHOICE, *how_timed(chosen, "cuda"), *notes)),
            f"{name}.cu": f'#include "{name}.h"\n\n{_host_code(chosen, signature, variant)}',
            "kernels.cu": comment(chosen.origin()) + text,
            "Makefile": fill("cuda_makefile.in", values), "CMakeLists.txt": fill("cuda_cmake.in", values),
            **selfcheck_files(chosen, signature)}


def _with_bounds(variant: Variant, target: Target) -> tuple[str, tuple[str, ...]]:
    """The kernels with the bounds that the compile pool gives them, if a compiler is there to find them; notes on that."""
    if target.capability is None:
        return variant.source, (UNBOUNDED,)
    try:
        translator = open_translator()
        capability = best_capability(translator, target.capability)
        blocks = blocks_wanted(lambda text: translator.translate(text, capability), variant, device_model(target))
    except (InputError, BuildError):
        return variant.source, (UNBOUNDED,)
    found_by = f"{translator.name} {'.'.join(map(str, translator.version))} for sm_{capability[0]}{capability[1]}."
    return bounded(variant.source, blocks), (BOUNDED + found_by,) if blocks else ()


def _architecture(target: Target) -> str:
    """The number of the tuned architecture, `native` if it is not known."""
    return "native" if target.capability is None else "{}{}".format(*target.capability)


def _host_code(chosen: Chosen, signature: Signature, variant: Variant) -> str:
    """Everything below the prototypes."""
    name, slots, data = chosen.name, slots_of(chosen.info.program, variant), data_of(signature)
    scalars = sorted({scalar for kernel in variant.kernels for scalar in kernel.scalars})
    memory = [_memory(name, number, slot) for number, slot in enumerate(slots) if not isinstance(slot.placed, Constant)]
    functions = [call for kernel in variant.kernels for call in _configured(name, kernel)]
    writes = [_write(name, number, slot, data[slot.array.name]) for number, slot in incoming(chosen, slots)]
    types = {scalar: chosen.info.program.array(scalar).type for scalar in scalars}
    return fill("cuda_host.cu.in", body_values(chosen, signature) | {
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


def _memory(name: str, number: int, slot: Slot) -> str:
    match slot.placed:
        case Texture(_, kind, shape, _):
            width, height = (*shape, 0)[:2]
            channels = "int2" if kind == "double" else kind
            return (f"{name}_texture(antune, {number}, {label(slot.array)}, cudaCreateChannelDesc<{channels}>(), "
                    f"{ELEMENT_BYTES[kind]}, {width}, {height})")
        case _:
            return f"{name}_memory(antune, {number}, {label(slot.array)}, {slot.array.bytes})"


def _configured(name: str, kernel: Kernel) -> list[str]:
    """Calls that prepare a kernel."""
    pointer, called = f"(const void *){kernel.name}", c_string(kernel.name)
    calls = []
    if dynamic := kernel.dynamic_bytes("cuda"):
        calls.append(f"{name}_shared({pointer}, {called}, {dynamic})")
    match kernel.cache:
        case "none":
            return calls
        case "shared" | "l1":
            shared = int(kernel.cache == "shared")
            return [*calls, f"{name}_divide({pointer}, {called}, {shared}, {kernel.local_bytes})"]
        case _:
            assert_never(kernel.cache)


def _write(name: str, number: int, slot: Slot, data: str) -> str:
    array = slot.array
    match slot.placed:
        case Constant(_, symbol):
            return (f"{name}_check(cudaMemcpyToSymbol({symbol}, (const void *){data}, {array.own_bytes}), \"copying in\", "
                    f"{label(array)})")
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
        launched = f"{kernel.name}<<<dim3({', '.join(grid)}), dim3({block}), {kernel.dynamic_bytes('cuda')}>>>"
        check = f"if ({chosen.name}_check(cudaGetLastError(), \"launching\", {c_string(kernel.name)})) return 1;"
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
