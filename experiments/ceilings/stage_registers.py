"""The registers of each stage on a GPU, as reported by its compiler; the GPU need not be here.

This is RegUsage of PolyMage-GPU (Jangda & Guha 2020, section 5.3), of the stage alone (`stage_probes`). Deviation: the
paper takes all registers of such a kernel. Ours are those beyond a kernel that copies elements, because the loops and
subscripts of a kernel of several stages are not as many as those of all probes together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.ceilings.stage_probes import LowerStage, Unmeasurable, probe_plan, probe_problem
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from metrics.resources import Resources
from runners.backend import Reporter
from runners.backends import open_reporter
from runners.driver import BuildError

Note = Callable[[str], None]


def stage_registers(programs: Sequence[Program], target: Target, note: Note) -> dict[str, int]:
    """Return the registers of the stages of `programs`, by their digests; `note` receives messages on missing ones.

    Empty on devices whose compilers do not report registers. Takes two tenths of a second per stage; stages with the
    same digest are compiled once. Raises InputError if the compiler is missing, or does not know the device.
    """
    report = open_reporter(target)
    if report is None:
        return {}
    copy, found = probe_problem().program, dict[str, int]()
    least = _registers(copy, copy.arrays[-1].name, target, report)
    if isinstance(least, str):
        note(f"the registers of all stages are estimated: a kernel that copies elements fails: {least}")
        return {}
    for program in programs:
        for node in dataflow(program).nodes:
            if not node.digest or node.digest in found:
                continue
            needed = _registers(program, node.array, target, report)
            if isinstance(needed, str):
                note(f"{program.name}: the registers of `{node.array}` are estimated: {needed}")
            else:
                found[node.digest] = max(needed - least, 0)
    return found


def _registers(program: Program, array: str, target: Target, report: Reporter) -> int | str:
    """Return the registers of the probe of a stage, or why they are not known."""
    try:
        variant = LowerStage(program)(probe_problem().program, probe_plan(array), target)
        found = report(variant).get(variant.kernels[0].name, Resources()).registers
    except Unmeasurable as error:
        return error.reason
    except BuildError as error:
        return str(error).partition("\n")[0]
    return "the compiler does not report them" if found is None else found
