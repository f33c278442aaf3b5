"""What Halide's schedulers for GPUs are asked to do, and how Nsight Compute's table of their runs is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.benchmarks.halide_on_gpu import answer_in, kernels_of
from experiments.studies.side_by_side.halide_peer import GPU_SCHEDULERS, SCHEDULERS, aim_of
from tests.support.targets import CPU, HOPPER, RDNA

RUNS = 140
TABLE = ['==PROF== Connected', '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',
         *(f'"{number}","f","gpu__time_duration.sum","ns","1,000"' for number in range(RUNS)),
         *(f'"{number}","g","gpu__time_duration.sum","us","2.50"' for number in range(RUNS)),
         '"0","g","sm__throughput.avg","%","7"']


def test_a_run_is_the_sum_of_its_kernels() -> None:
    found = kernels_of(TABLE, RUNS)
    assert found.launches == 2 and found.ms == pytest.approx(0.0035)


def test_the_answer_is_between_the_lines_of_ncu() -> None:
    assert answer_in([TABLE[0], '{"ms": 2.5, "runs": 7}', *TABLE[1:]]) == {"ms": 2.5, "runs": 7}
    assert answer_in(TABLE) is None


def test_halide_compiles_for_the_greatest_capability_that_it_knows() -> None:
    hopper, turing = aim_of(replace(HOPPER, compute_units=132)), aim_of(replace(HOPPER, capability=(7, 5)))
    assert hopper is not None and turing is not None
    assert (hopper.target, hopper.schedulers, hopper.parallelism) == (
        "host-cuda-cuda_capability_86", GPU_SCHEDULERS, 132)
    assert turing.target == "host-cuda-cuda_capability_75"


def test_cpus_have_other_schedulers_and_other_gpus_have_none() -> None:
    cpu = aim_of(CPU)
    assert cpu is not None and (cpu.target, cpu.schedulers) == ("host", SCHEDULERS)
    assert aim_of(RDNA) is None
