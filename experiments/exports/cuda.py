"""A directory with a CUDA program, for nvcc."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.exports.chosen import Chosen
from experiments.exports.runtime_api import RuntimeApi, program_files
from experiments.exports.selfcheck import build_values
from experiments.exports.templates import fill
from experiments.exports.versions import Exported, exported
from generator.errors import InputError
from generator.target import Target
from generator.templates.template import Template
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


def cuda_files(chosen: Sequence[Chosen]) -> dict[str, str | bytes]:
    """Return the files of the directory, by name."""
    code = exported(chosen, "cuda")
    target = code.chosen.info.device.target
    values = {"F": code.name, "ARCH": _architecture(target), **build_values(code)}
    texts, notes = _with_bounds(code, target)
    build = {"Makefile": fill("cuda_makefile.in", values), "CMakeLists.txt": fill("cuda_cmake.in", values)}
    return program_files(code, CUDA, texts, notes, build)


def _with_bounds(code: Exported, target: Target) -> tuple[Sequence[str], tuple[str, ...]]:
    """Return the kernels with the launch bounds that the compile pool adds, if a compiler is there to find them, and
    notes.
    """
    if isinstance(code.chosen.info.subject, Template):  # the author of the text sets its bounds
        return code.parts, ()
    if target.capability is None:
        return code.parts, (UNBOUNDED,)
    blocks: dict[str, int] = {}
    try:
        translator = open_translator()
        capability = best_capability(translator, target.capability)
        for version in code.versions:
            blocks |= blocks_wanted(lambda text: translator.translate(text, capability), version.variant,
                                    device_model(target))
    except (InputError, BuildError):
        return code.parts, (UNBOUNDED,)
    found_by = f"{translator.name} {'.'.join(map(str, translator.version))} for sm_{capability[0]}{capability[1]}."
    return [bounded(text, blocks) for text in code.parts], (BOUNDED + found_by,) if blocks else ()


def _architecture(target: Target) -> str:
    """Return the number of the tuned architecture; `native` if it is unknown."""
    return "native" if target.capability is None else "{}{}".format(*target.capability)
