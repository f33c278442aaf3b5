"""The registers of each stage on a GPU, as reported by its compiler; the GPU need not be here.

This is RegUsage of PolyMage-GPU (Jangda & Guha 2020, section 5.3), of the stage alone (`stage_probes`). Deviation: the
paper takes all registers of such a kernel. Ours are those beyond a kernel that copies elements, because the loops and
subscripts of a kernel of several stages are not as many as those of all probes together.
"""

from __future__ import annotations

from collections.abc import Callable

from experiments.ceilings.stage_probes import LowerStage, Unmeasurable, probe_plan, probe_problem
from generator.polyhedral.pipelines.dataflow import dataflow
from generator.program import Program
from generator.target import Target
from runners.backend import Reporter
from runners.backends import open_reporter
from runners.driver import BuildError

Note = Callable[[str], None]


def stage_registers(program: Program, target: Target, note: Note) -> dict[str, int]:
    """Return the registers of the stages of `program`, by their digests; `note` receives messages on missing ones.

    Empty on devices whose compilers do not report registers. Takes two tenths of a second per stage.
    Raises InputError if the compiler is missing, or does not know the device.
    """
    report = open_reporter(target)
    if report is None:
        return {}
    copy, found = probe_problem().program, dict[str, int]()
    least = _registers(copy, copy.arrays[-1].name, target, report) or 0
    for node in dataflow(program).nodes:
        if not node.digest or node.digest in found:
            continue
        try:
            needed = _registers(program, node.array, target, report)
        except (Unmeasurable, BuildError) as error:
            reason = error.reason if isinstance(error, Unmeasurable) else str(error).partition("\n")[0]
            note(f"{program.name}: the registers of `{node.array}` are estimated: {reason}")
            continue
        if needed is not None:
            found[node.digest] = max(needed - least, 0)
    return found


def _registers(program: Program, array: str, target: Target, report: Reporter) -> int | None:
    """Return the registers of the probe of a stage. Raises Unmeasurable and BuildError."""
    variant = LowerStage(program)(probe_problem().program, probe_plan(array), target)
    return report(variant)[variant.kernels[0].name].registers
