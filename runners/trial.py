"""The trial of a device: builds, runs and checks a one-line kernel like any variant. If it fails, no plan is the cause.
"""

from __future__ import annotations

import numpy as np

from generator.emit.dialects import WORDS
from generator.errors import InputError
from generator.expr import Int
from generator.plan import Plan
from generator.problem import Problem, Reference
from generator.program import Array, Program
from generator.schedules.choice import ScheduleChoice
from generator.target import Dialect
from generator.variant import Kernel, KernelText, Launch, Variant
from runners.backends import open_compiler, open_device
from runners.base import DeviceInfo
from runners.driver import BuildError, LaunchError
from runners.host_program import launches

TRIAL = 2
"""The version of the trial: a device that passed another version is tried again."""
BLOCK, BLOCKS = 16, 4
RESULTS = Array("antune_results", "int", (BLOCK * BLOCKS,), "temp")


def trial_variant(dialect: Dialect) -> Variant:
    """Return a variant whose kernel writes only an array of its own, so it can run with the data of any program."""
    kernel = Kernel("antune_trial", ("trial",), (RESULTS.name,), (), (), (BLOCK,), 0, _text(dialect))
    return Variant(
        Plan(ScheduleChoice(), ()), dialect, "", (kernel,), (Launch(kernel.name, (Int(BLOCKS),), ()),), (RESULTS,)
    )


def _text(dialect: Dialect) -> KernelText:
    words = WORDS[dialect]
    block, thread = (index.format(axis=words.axes[0]) for index in (words.group_index, words.thread_index))
    return KernelText(f"{words.kernel.format(block=f'{BLOCK}, 1, 1', threads=BLOCK)} void ",
                      f"({words.global_memory}int *antune_results)\n"
                      f"{{ int i = {block} * {BLOCK} + {thread}; antune_results[i] = 3 * i + 1; }}")


def try_device(info: DeviceInfo) -> str:
    """Return why the device does not work, in the driver's words; empty if it works. Loads its driver."""
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
