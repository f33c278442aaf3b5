"""A directory with a CUDA program, for nvcc."""

from __future__ import annotations

from experiments.exports.chosen import Chosen, variant_of
from experiments.exports.runtime_api import RuntimeApi, program_files
from experiments.exports.templates import fill
from generator.errors import InputError
from generator.target import Target
from generator.variant import Variant
from metrics.device_model import device_model
from runners.cuda.bounds import blocks_wanted, bounded
from runners.cuda.compiler import best_capability, open_translator
from runners.driver import BuildError

CUDA = RuntimeApi("cuda", "cuda_runtime.h", "cudaDeviceProp", "cudaDevAttrMaxSharedMemoryPerMultiprocessor")
BOUNDED = (
    "Where __launch_bounds__ in kernels.cu has a second number, ptxas would spill registers without it; antune "
    "compiled "
    "and timed the kernels with such numbers. These were found by "
)
UNBOUNDED = (
    "antune compiles kernels that ptxas spills registers of by its own choice again, with a second number in "
    "__launch_bounds__. kernels.cu has no such numbers, because no CUDA compiler for the tuned device was at hand "
    "when it was written: nvcc may keep a few bytes of a thread in memory."
)


def cuda_files(chosen: Chosen) -> dict[str, str | bytes]:
    """The files of the directory, by name."""
    target = chosen.info.device.target
    values = {"F": chosen.name, "ARCH": _architecture(target)}
    text, notes = _with_bounds(variant_of(chosen, "cuda"), target)
    build = {"Makefile": fill("cuda_makefile.in", values), "CMakeLists.txt": fill("cuda_cmake.in", values)}
    return program_files(chosen, CUDA, text, notes, build)


def _with_bounds(variant: Variant, target: Target) -> tuple[str, tuple[str, ...]]:
    """The kernels with the bounds that the compile pool gives them, if a compiler is there to find them; notes on
    that.
    """
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
