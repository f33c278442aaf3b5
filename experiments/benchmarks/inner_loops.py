"""The instructions in the inner loops of GPU kernels: `python -m experiments.benchmarks.inner_loops [NAME ...]`.

The start plans of a search on an NVIDIA GPU are compiled by NVRTC and disassembled by nvdisasm (both from wheels; no
GPU is needed). In the loop with the most fused multiply-adds, without the loops inside it, it counts instructions: an
SM issues one per cycle and partition, so the share of FFMA bounds the share of the device's peak that the kernel can
reach. The last column has the bytes of the sectors that a kernel loads from global memory per two operations (a
multiply-add), as the static model counts them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Annotated

import typer

from experiments.script import run
from experiments.search.parts import PARTS
from experiments.suites.image_pipelines import PIPELINES, pipeline
from experiments.suites.polybench import program_file
from experiments.values.options import Budget, RunOptions
from generator.errors import InputError
from generator.facts import KernelFacts
from generator.frontend_c.extract import extract
from generator.frontend_c.parse import read_scop
from generator.frontend_c.preprocess import macro_value
from generator.frontend_c.probing import needed_extents
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.lowering.analysis.facts import kernel_facts
from generator.plan import KernelPlan, Plan
from generator.polyhedral.dependences.expansion import expand
from generator.program import Program
from generator.reading import read_program
from generator.target import Target
from metrics.device_model import device_model
from metrics.resources import parse_ptxas
from metrics.transactions import traffic
from runners.cuda.compiler import Capability, Nvrtc

HOPPER = Target("sm_90", "cuda", 1024, (1024, 1024, 64), 227 * 1024, 132, True, False, 32, True, 1 << 27,
                (131072, 65000), constant_bytes=1 << 16, capability=(9, 0))
PROGRAMS = ("gemm", "2mm", "syrk", "conv_layer")
_LABEL = re.compile(r"^\s*(\.L_\w+):")
_INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)(.*);")
_FUNCTION = re.compile(r"^\.text\.(\w+):")


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of device code, with its own instructions by name, without those of the loops inside it."""

    kernel: str
    instructions: Counter[str]

    @property
    def count(self) -> int:
        """The number of all instructions."""
        return self.instructions.total()

    def named(self, *beginnings: str) -> int:
        """Return the number of instructions whose names have one of these prefixes."""
        return sum(n for name, n in self.instructions.items() if name.startswith(beginnings))

    @property
    def share(self) -> float:
        """The share of fused multiply-adds of floats, in [0, 1]."""
        return self.named("FFMA") / self.count


def main(names: Annotated[list[str] | None, typer.Argument(help="PolyBench programs and pipelines")] = None,
         asynchronous: Annotated[bool, typer.Option(help="plans that load the next tile ahead, by asynchronous "
                                                         "copies")] = False,
         dataset: Annotated[str, typer.Option(help="the size of PolyBench programs")] = "LARGE") -> None:
    """Print a row per kernel and plan."""
    programs = {name: read(name, dataset) for name in names or PROGRAMS}  # a refusal comes before the first row
    print(f"{'program':12}{'kernel':10}{'tile':>14}{'block':>10}  run vector depth registers shared  FFMA LDS.128 "
          "other LDS share  bytes")
    for name, program in programs.items():
        plans = dict.fromkeys(walk.plan for walk in PARTS.starts(program, HOPPER, options_of(name)))
        for plan in filter(None, map(made_asynchronous, plans)) if asynchronous else plans:
            variant = lower(program, plan, HOPPER)
            text, log = taken_apart(variant.source, (9, 0))
            registers, best = parse_ptxas(log), most_multiplied(inner_loops(text))
            loaded = {facts.statements: loaded_bytes(facts) for facts in kernel_facts(program, plan, HOPPER)}
            for kernel in variant.kernels:
                if kernel.name in best:
                    row = described(plan.kernel(kernel.statements), best[kernel.name])
                    print(f"{name:12}{kernel.name:10}{row.format(needs=registers[kernel.name])}"
                          f"{loaded[kernel.statements]:7.3f}")


def loaded_bytes(facts: KernelFacts) -> float:
    """Return the bytes of the sectors that a kernel loads from global memory per two operations."""
    device = device_model(HOPPER)
    touched = sum(access.transfers * traffic(access, facts.block, device.warp, device.sector_bytes).touched
                  for access in facts.accesses if access.space == "global" and access.mode == "read")
    return 2 * touched / facts.block_threads / facts.operations.total


def made_asynchronous(plan: Plan) -> Plan | None:
    """Return `plan` with asynchronous copies of the next tile in kernels that load it ahead; None if there are none."""
    kernels = tuple(replace(kernel, asynchronous=kernel.ahead) for kernel in plan.kernels)
    return replace(plan, kernels=kernels) if kernels != plan.kernels else None


def read(name: str, dataset: str = "LARGE") -> Program:
    """Return a program of PolyBench in floats, or a pipeline at its full size, without running anything.

    The sizes of a PolyBench program are macros with the names of its parameters, and it accesses all of its arrays.
    """
    if is_pipeline(name):
        given = pipeline(name)
        return read_program(given.file, Compilation(), dict(given.parameters_at("full")))
    file, compilation = program_file(name), Compilation(defines=(f"{dataset}_DATASET", "DATA_TYPE_IS_FLOAT"))
    source = read_scop(file, compilation)
    values = {one: macro_value(file, compilation, one.upper()) for one in source.parameters}
    sizes = {one: value for one, value in values.items() if value is not None}
    behind = (replace(one, extents=(None, *one.extents[1:])) if one.extents else one for one in source.variables)
    source = replace(source, variables=tuple(behind))  # as if all arrays were behind pointers of unknown size
    return expand(extract(source, sizes, needed_extents(source, sizes, {})))


def options_of(name: str) -> RunOptions:
    """Return the options of a search: in the space of pipelines, or at level o2."""
    plain = RunOptions(name, Compilation(), Budget(evaluations=60))
    return replace(plain, space="pipeline") if is_pipeline(name) else replace(plain, level="o2")


def is_pipeline(name: str) -> bool:
    """Return whether a program is a pipeline."""
    return name in {one.name for one in PIPELINES}


def described(plan: KernelPlan, loop: Loop) -> str:
    """Return its part of a row, with placeholders for the compiler's values, `needs`."""
    wide, shared = loop.named("LDS.128", "LDS.U.128"), loop.named("LDS")
    tile, block = ("x".join(map(str, sizes)) for sizes in (plan.tile, plan.block))
    return (f"{tile:>14}{block:>10}{plan.run:5}{plan.vector:7}{plan.depth:6}{{needs.registers:10}}{{needs.shared:7}}"
            f"{loop.named('FFMA'):6}{wide:8}{shared - wide:10}{loop.share:6.0%}")


def taken_apart(source: str, capability: Capability) -> tuple[str, str]:
    """Return the machine code of CUDA text, and the log of ptxas.

    Raises:
        InputError: nvdisasm is not installed.
    """
    cubin, log = Nvrtc().translate(source, capability)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([nvdisasm(), "-c", file.name], capture_output=True, text=True, check=True)
    return done.stdout, log


def nvdisasm() -> str:
    """Return its path. Raises InputError if it is not installed."""
    if found := shutil.which("nvdisasm"):
        return found
    try:
        listed = files("nvidia-cuda-nvdisasm") or []
    except PackageNotFoundError:
        listed = []
    for file in listed:
        if file.name == "nvdisasm":
            return str(Path(str(file.locate())))
    raise InputError("nvdisasm is not installed; use: pip install nvidia-cuda-nvdisasm")


def inner_loops(text: str) -> Iterator[Loop]:
    """Yield the loops in nvdisasm's text, from a label to the last branch back to it, without the loops inside them."""
    kernel, labels, seen, ends = "", dict[str, int](), list[str](), dict[int, int]()
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            yield from _own(kernel, seen, ends)
            kernel, labels, seen, ends = function[1], {}, [], {}
        elif label := _LABEL.match(line):
            labels[label[1]] = len(seen)
        elif found := _INSTRUCTION.match(line):
            seen.append(found[1])
            target = re.search(r"\((\.L_\w+)\)", found[2])
            if found[1].startswith("BRA") and target and labels.get(target[1], len(seen)) < len(seen) - 1:
                ends[labels[target[1]]] = len(seen)
    yield from _own(kernel, seen, ends)


def _own(kernel: str, seen: list[str], ends: Mapping[int, int]) -> Iterator[Loop]:
    """Yield the loops of one kernel, whose `ends` are by their beginnings."""
    for first, end in ends.items():
        inside = {place for start, last in ends.items() if first < start and last <= end
                  for place in range(start, last)}
        yield Loop(kernel, Counter(seen[place] for place in range(first, end) if place not in inside))


def most_multiplied(loops: Iterator[Loop]) -> dict[str, Loop]:
    """Return, for each kernel, the loop with the most fused multiply-adds; of equal ones, that over tiles, which has
    barriers (the other is for the rest of a sum), then that with their greatest share.
    """
    best: dict[str, Loop] = {}
    for loop in loops:
        other = best.get(loop.kernel)
        if loop.named("FFMA") and (other is None or _rank(loop) > _rank(other)):
            best[loop.kernel] = loop
    return best


def _rank(loop: Loop) -> tuple[int, bool, float]:
    return loop.named("FFMA"), loop.named("BAR") > 0, loop.share


if __name__ == "__main__":
    run(main)
