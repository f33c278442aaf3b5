"""Atomic updates of GPUs: built-in ones wherever there are any, which compute the same."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from generator.emit.atomics import atomic_functions, atomic_name
from generator.emit.dialects import WORDS
from generator.lowering.heuristics.starts import sum_plan
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import Timed
from runners.cuda.compiler import Capability, Nvrtc
from tests.support.cuda_compiler import ELF, translator
from tests.support.cuda_double import UNUSABLE, found_in, measured, pretended
from tests.support.devices import device_named
from tests.support.slow import in_turn
from tests.support.suite import ODD_SIZES, problem

TYPES = ("int", "unsigned int", "long", "unsigned long", "float", "double")
USED = tuple((operator, kind, False) for operator, kind in product(("+", "*", "min", "max", "="), TYPES))


def test_sums_of_cuda_are_built_in() -> None:
    """A loop of compare-and-swap made a matrix-vector product take half a second instead of a millisecond."""
    words = WORDS["cuda"]
    for kind in TYPES:
        text = atomic_functions([("+", kind, False)], words)
        assert re.search(r"\n  atomicAdd\(", text) and ("atomicCAS" in text) == (kind == "double")
    assert "atomicCAS" in atomic_functions([("*", "float", False)], words)
    assert "atomic_cmpxchg" in atomic_functions([("+", "float", False)], WORDS["opencl"])


@pytest.mark.parametrize("capability", [(7, 5), (9, 0)])
def test_nvrtc_takes_all_of_them(capability: Capability) -> None:
    words = WORDS["cuda"]
    calls = "".join(f"{atomic_name(*one, words)}(({one[1]} *)p + {n}, ({one[1]})x[{n}]);" for n, one in enumerate(USED))
    text = f'{atomic_functions(USED, words)}extern "C" __global__ void k(void *p, const double *x) {{ {calls} }}'
    binary, log = translator(Nvrtc).translate(text, capability)
    assert binary.startswith(ELF) and "warning" not in log


@in_turn
@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
def test_split_sums_on_the_pretended_gpu(calls: Path, tmp_path: Path) -> None:
    """Rows by shuffles, columns by groups of threads, in floats and doubles."""
    with pretended(tmp_path):
        device = device_named("cuda")
        for defines in (("N=68", "DATA_TYPE_IS_FLOAT"), ODD_SIZES["mvt"]):
            found = problem("mvt", defines)
            plan = sum_plan(found.program, device.target, ScheduleChoice(reductions=("S0", "S1")))
            assert [(kernel.combine, kernel.block) for kernel in plan.kernels] == [("shuffle", (8, 32))] * 2
            (outcome,) = measured(found, device, [plan], tmp_path).values()
            assert isinstance(outcome, Timed), outcome
    assert not found_in(calls)
