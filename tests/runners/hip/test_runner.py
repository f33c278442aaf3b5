"""The HIP runner over a double of AMD's library (tests/support/cuda_double.py); its contract:
tests/runners/test_contract.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from antune.doctor import examine
from antune.tables import device_rows
from generator.lowering import lower
from generator.lowering.heuristics.default import default_plan
from generator.polyhedral.dependences.reductions import reducible
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import LaunchFailed, Timed
from runners.backend import UNTESTED
from runners.base import DeviceInfo
from runners.devices import choose, find_device, survey
from tests.support import runners as support
from tests.support.cuda_double import UNUSABLE, hostile_for_host, measured, pretended
from tests.support.mixed import mixed
from tests.support.shuffles import by_shuffles
from tests.support.slow import few
from tests.support.suite import ALL_NAMES, ODD_SIZES, problem

pytestmark = pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceInfo]:
    """The double, as a device."""
    with pretended(tmp_path_factory.mktemp("driver"), "libamdhip64.so"):
        yield find_device("hip")


def test_an_amd_gpu_is_listed_last_and_said_to_be_untested(device: DeviceInfo) -> None:
    seen = survey()
    assert seen.devices[-1] == device and "hip" not in seen.obstacles
    assert (device.key, device.platform, device.driver) == ("hip/host-double", "HIP", "HIP 6.2.42134 (hiprtc)")
    target = device.target
    assert target.dialect == "hip" and target.architecture == "gfx1030:xnack-" and target.sub_group == 64
    assert target.local_bytes == 65536 and target.constant_bytes == 65536 and target.image_2d == (16384, 16384)
    assert choose(seen.devices, None) != device, "nobody gets it without a wish"
    assert UNTESTED in str(device_rows(seen)[-1])
    (told,) = [finding for finding in examine() if finding.name == "HIP"]
    assert (told.state, told.detail) == ("ok", f"usable ({UNTESTED})")


def test_a_kernel_that_fails_is_an_outcome(device: DeviceInfo, tmp_path: Path) -> None:
    kinds = (support.GOOD, support.CRASH, support.ALSO_GOOD)
    results = measured(
        support.scale_problem(), device, [support.plan(kind) for kind in kinds], tmp_path, hostile_for_host
    )
    good, lost, again = (results[number] for number in range(3))
    assert isinstance(good, Timed) and isinstance(again, Timed)
    assert isinstance(lost, LaunchFailed) and "HIP error 700: status 700 of the double" in lost.message


def test_all_memories_and_types_reach_the_kernels(device: DeviceInfo, calls: Path, tmp_path: Path) -> None:
    """Textures of one and two dimensions, constant memory, scalars and arrays of all types, shared memory."""
    found = mixed()
    plan = default_plan(found.program, device.target)
    constant = replace(plan, placement=(("A", "constant"), ("B", "texture"), ("e", "texture")))
    results = measured(found, device, [plan, constant], tmp_path)
    assert all(isinstance(outcome, Timed) for outcome in results.values()), results
    told = calls.read_text()
    assert re.search(r"texture channel 10 x 2, \d+ bytes", told), "doubles are pairs of integers"
    assert re.search(r"texture channel 32 x 1, 37 x 11, pitch 256", told), "rows begin where the device wants them"
    assert re.search(r"symbol antune_constant_A \d+", told)


def test_threads_of_a_wavefront_combine_by_shuffles(device: DeviceInfo, tmp_path: Path) -> None:
    """Groups of 32, also where a wavefront has 64 threads."""
    found = problem("atax", ODD_SIZES["atax"])
    shuffled = by_shuffles(found, ScheduleChoice(reductions=reducible(found.program)))
    assert "__shfl_xor(" in lower(found.program, shuffled, device.target).source
    results = measured(found, device, [shuffled], tmp_path)
    assert isinstance(results[0], Timed), results[0]


@pytest.mark.parametrize("name", few(ALL_NAMES, ("atax",)))
def test_results_of_programs(device: DeviceInfo, name: str, tmp_path: Path) -> None:
    found = problem(name, ODD_SIZES[name])
    results = measured(found, device, [default_plan(found.program, device.target)], tmp_path)
    assert isinstance(results[0], Timed), results[0]
