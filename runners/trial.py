"""The trial of a device: a kernel of one line is built, run and checked as every variant is. What fails then is no plan's fault."""

from __future__ import annotations

import numpy as np

from generator.errors import InputError
from generator.expr import Int
from generator.plan import Plan, ScheduleChoice
from generator.problem import Problem, Reference
from generator.program import Array, Program
from generator.target import Dialect
from generator.variant import Kernel, KernelText, Launch, Variant
from runners.base import DeviceInfo
from runners.driver import BuildError, LaunchError, open_compiler, open_device
from runners.host_program import launches

TRIAL = 1
"""The version of the trial: a device that passed another one is tried again."""
BLOCK, BLOCKS = 16, 4
RESULTS = Array("antune_results", "int", (BLOCK * BLOCKS,), "temp")
TEXTS: dict[Dialect, KernelText] = {
    "opencl": KernelText("__kernel void ", "(__global int *antune_results)\n"
                         "{ int i = get_global_id(0); antune_results[i] = 3 * i + 1; }"),
    "cuda": KernelText('extern "C" __global__ void ', "(int *antune_results)\n"
                       f"{{ int i = blockIdx.x * {BLOCK} + threadIdx.x; antune_results[i] = 3 * i + 1; }}")}


def trial_variant(dialect: Dialect) -> Variant:
    """A kernel that writes an array of its own: it runs beside the data of any program."""
    kernel = Kernel("antune_trial", ("trial",), (RESULTS.name,), (), (), (BLOCK,), 0, TEXTS[dialect])
    return Variant(Plan(ScheduleChoice(), ()), dialect, "", (kernel,), (Launch(kernel.name, (Int(BLOCKS),), ()),), (RESULTS,))


def try_device(info: DeviceInfo) -> str:
    """Why the device does not work, in the driver's words; empty if it does. Loads its driver."""
    problem = Problem(Program("trial", "", (), (), "", (), ()), Reference({}, {}, (), "harness", "", ()))
    variant = trial_variant(info.target.dialect)
    try:
        codes = open_compiler(info.key, info.target, lambda: problem, travels=False).compile(variant).codes
        device = open_device(info.key, problem)
        executable = device.load(variant, codes)
        device.memory.upload()
        executable.run(tuple(launches(variant)))
        got = device.memory.read([RESULTS.name])[RESULTS.name]
        written = device.memory.overrun()
    except (BuildError, LaunchError, InputError) as error:
        return str(error)
    wrong = np.flatnonzero(got != 3 * np.arange(RESULTS.elements) + 1)
    if wrong.size:
        return f"a kernel of one line computes {got[wrong[0]]} instead of {3 * wrong[0] + 1}"
    return written or ""
