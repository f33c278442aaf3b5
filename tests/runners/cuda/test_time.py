"""What is in a time, on a double of CUDA's driver with a pretended clock: each call that queues work takes the host
1 ms, each kernel takes the device 1 us (tests/cuda_double/libcuda.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from generator.lowering.heuristics.default import default_plan
from metrics.outcome import Timed
from runners.base import DeviceInfo
from runners.devices import find_device
from runners.gpu import intervals
from runners.gpu.intervals import parts
from runners.host_program import BoundLaunch
from tests.support import runners as support
from tests.support.cuda_double import UNUSABLE, hostile_for_host, measured, pretended
from tests.support.suite import ODD_SIZES, problem

needs_double = pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
KERNEL_MS = 0.001


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceInfo]:
    """The double with its own clock, as a device."""
    with pytest.MonkeyPatch.context() as patch, pretended(tmp_path_factory.mktemp("driver")):
        patch.setenv("CUDA_DOUBLE_CLOCK", "1")
        yield find_device("cuda")


def launches_by_interval(calls: Path) -> set[int]:
    """How many launches stand between two records of events."""
    told = [line for line in calls.read_text().splitlines() if line.startswith(("record", "launch"))]
    sizes = {"launch k grid 64 1 1 block 64 1 1 shared 0, 32 bytes"}  # three pointers, a float, an int
    assert {"launch k " + line.split(maxsplit=2)[2] for line in told if line != "record"} <= sizes
    between = [len(row.split()) for row in " ".join(line.split()[0] for line in told).split("record")]
    return set(between) - {0}


@needs_double
def test_nothing_of_the_host_is_in_a_time(device: DeviceInfo, calls: Path, tmp_path: Path) -> None:
    """One launch and fifty: exactly as long as their kernels, though each call takes the host a thousand times that.

    Half a millisecond is measured at least: of the first program that is 500 runs, of the second ten.
    """
    kinds = (support.GOOD, support.LOOP)
    results = measured(support.scale_problem(), device, [support.plan(kind) for kind in kinds], tmp_path,
                       hostile_for_host)
    for number, count in enumerate((1, 50)):
        timed = results[number]
        assert isinstance(timed, Timed), timed
        assert timed.samples_ms == pytest.approx([count * KERNEL_MS] * len(timed.samples_ms), rel=1e-3)
        assert timed.kernels[0].median_ms == pytest.approx(count * KERNEL_MS, rel=1e-3)
        assert timed.host_ms > 0
    assert launches_by_interval(calls) == {1, 50, 500}


@needs_double
def test_without_graphs_the_host_counts(device: DeviceInfo, calls: Path, tmp_path: Path,
                                        monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left for drivers that refuse graphs: launches between two events of the stream."""
    monkeypatch.setenv("ANTUNE_GRAPHS", "0")
    timed = measured(support.scale_problem(), device, [support.plan(support.LOOP)], tmp_path, hostile_for_host)[0]
    assert isinstance(timed, Timed) and timed.median_ms > 50
    assert launches_by_interval(calls) == {50} and "graph" not in calls.read_text()


@needs_double
def test_a_program_that_changes_what_it_reads_runs_once_in_an_interval(device: DeviceInfo, calls: Path,
                                                                       tmp_path: Path) -> None:
    """And its kernels are timed by themselves, in other runs."""
    found = problem("mvt", ODD_SIZES["mvt"])
    assert any(array.role == "inout" for array in found.program.arrays)
    plan = default_plan(found.program, device.target)
    timed = measured(found, device, [plan], tmp_path)[0]
    assert isinstance(timed, Timed), timed
    kernels = len(timed.kernels)
    assert kernels > 1 and timed.median_ms == pytest.approx(KERNEL_MS * kernels, rel=1e-3)
    assert [kernel.median_ms for kernel in timed.kernels] == pytest.approx([KERNEL_MS] * kernels, rel=1e-3)
    graphs = calls.read_text().split("graph launched")[2:]  # the first is a trial
    assert {text.count("launch ") for text in graphs} == {kernels}


def launch(kernel: int) -> BoundLaunch:
    return BoundLaunch(kernel, (64,), (64,), ())


def test_kernels_are_timed_in_rows_of_launches() -> None:
    launches = [launch(kernel) for kernel in (0, 0, 1, 0)]
    (whole,) = parts(launches, 2, False)
    assert [(interval.kernel, len(interval.launches)) for interval in whole] == [(None, 8)]
    (rows,) = parts(launches, 2, True)
    assert [(interval.kernel, len(interval.launches)) for interval in rows] == [(0, 2), (1, 1), (0, 3), (1, 1), (0, 1)]
    assert [one for interval in rows for one in interval.launches] == launches * 2


def test_long_programs_have_several_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "MOST_LAUNCHES", 3)
    found = list(parts([launch(0)] * 7, 1, False))
    assert [len(part[0].launches) for part in found] == [3, 3, 1]
    assert not list(parts([], 1, True))
