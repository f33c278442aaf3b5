"""Profilers: real perf events of real kernels; Nsight Compute's table; what is not there is absent."""

from __future__ import annotations

import os
import stat
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.measured import NAMES, NCU, from_ncu, from_perf
from metrics.outcome import NoProfile, Profile
from runners.base import Job
from runners.kernel_codes import alone
from runners.profiling import ncu
from runners.profiling.ncu import Work, parse, profile_by_ncu
from runners.profiling.perf_events import EVENTS, CountersUnavailable, PerfCounters, Tally
from tests.support.runners import GOOD, LOOP, NO_COMPILE, needed_device, opened, plan

TABLE = '''\
==PROF== Connected to process 4711
==PROF== Profiling "kernel0" - 0: 0%....50%....100% - 8 passes
"ID","Process ID","Process Name","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","4711","python","kernel0(float *, const float *)","gpu__time_duration.sum","usecond","1,500"
"0","4711","python","kernel0(float *, const float *)","sm__warps_active.avg.pct_of_peak_sustained_active","%","80"
"0","4711","python","kernel0(float *, const float *)","l1tex__t_sector_hit_rate.pct","%","50.00"
"0","4711","python","kernel0(float *, const float *)","lts__t_sector_op_read_hit_rate.pct","%","100"
"1","4711","python","kernel0(float *, const float *)","gpu__time_duration.sum","msecond","0.5"
"1","4711","python","kernel0(float *, const float *)","sm__warps_active.avg.pct_of_peak_sustained_active","%","40"
"1","4711","python","kernel0(float *, const float *)","l1tex__t_sector_hit_rate.pct","%","n/a"
"1","4711","python","kernel0(float *, const float *)","lts__t_sector_op_read_hit_rate.pct","%","n/a"
"2","4711","python","kernel1(int)","gpu__time_duration.sum","nsecond","10"
"2","4711","python","kernel1(int)","sm__inst_executed.avg.pct_of_peak_sustained_active","%","100.2"
==PROF== Disconnected from process 4711
'''


@pytest.fixture
def counters() -> Iterator[PerfCounters]:
    try:
        made = PerfCounters()
    except CountersUnavailable as error:
        pytest.skip(str(error))
    yield made
    made.close()


@pytest.fixture
def busy_thread() -> Iterator[None]:
    """A thread that computes all the time, without the interpreter's lock for most of it."""
    stop, numbers = threading.Event(), np.random.default_rng(0).random((500, 500))

    def work() -> None:
        while not stop.is_set():
            numbers.sum()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.usefixtures("busy_thread")
def test_other_threads_are_counted() -> None:
    try:
        counters = PerfCounters(("task-clock",))
    except CountersUnavailable as error:
        pytest.skip(str(error))
    tally = Tally()
    with counters.counting(tally):
        time.sleep(0.2)
    counters.close()
    used = tally.counts["task-clock"] * 1e-9
    assert 0.01 < used <= 1.2 * tally.seconds  # one thread works, this one sleeps


def test_counts_add_up_and_start_at_zero(counters: PerfCounters) -> None:
    tally, nothing = Tally(), Tally()
    for _ in range(3):
        with counters.counting(tally):
            sum(range(200_000))
    with counters.counting(nothing):
        pass
    assert set(tally.counts) <= set(EVENTS)
    for name, count in tally.counts.items():
        assert count > 10 * nothing.counts[name], name


def test_counters_are_given_back(counters: PerfCounters) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        PerfCounters().close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert counters.events


def test_what_cannot_be_counted_is_said() -> None:
    with pytest.raises(CountersUnavailable, match=r"perf_event|can be counted"):
        PerfCounters(())


def test_metrics_of_perf() -> None:
    counts = {"instructions": 3e9, "cycles": 1e9, "cache-references": 100.0, "cache-misses": 25.0,
              "L1-dcache-loads": 1000.0, "L1-dcache-load-misses": 10.0, "task-clock": 3e9}
    assert dict(from_perf(counts, 2.0, 2)) == pytest.approx(
        {"ipc": 0.5, "cache_hit_rate": 0.75, "first_cache_hit_rate": 0.99, "core_use": 0.75})
    assert from_perf({}, 1.0, 2) == ()
    assert from_perf({"instructions": 5.0, "cycles": 0.0, "cache-references": 0.0, "cache-misses": 0.0}, 0.0, 2) == ()


@given(st.dictionaries(st.sampled_from(sorted(EVENTS)), st.floats(0, 1e15)), st.floats(0, 1e3), st.integers(1, 64))
def test_metrics_are_shares_and_never_made_up(counts: dict[str, float], seconds: float, cores: int) -> None:
    found = dict(from_perf(counts, seconds, cores))
    assert set(found) <= set(NAMES)
    assert all(0 <= value <= 1 for value in found.values())
    assert "ipc" not in found or {"instructions", "cycles"} <= set(counts)


def test_table_of_ncu() -> None:
    found = parse(TABLE.splitlines())
    assert {name: dict(values) for name, values in found.items()} == {
        "kernel0": {"achieved_occupancy": pytest.approx((1.5 * 0.8 + 0.5 * 0.4) / 2), "cache_hit_rate": 0.75},
        "kernel1": {"ipc": 1.0}}
    assert parse(["==ERROR== nothing"]) == {}
    assert from_ncu({}) == ()
    assert set(NCU) <= set(NAMES)


def tool(folder: Path, script: str) -> None:
    """A stand-in for ncu, which needs an NVIDIA device."""
    file = folder / "ncu"
    file.write_text("#!/bin/sh\n" + textwrap.dedent(script))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def work() -> Work:
    """Something that a process can unpickle; the stand-ins below do not run it."""
    from generator.plan import Plan
    from generator.schedules.choice import ScheduleChoice
    from generator.variant import Kernel, KernelText, Variant
    from tests.support.runners import scale_problem

    kernel = Kernel("kernel5", ("S0",), (), (), (), (32,), 0, KernelText("void ", "(int n) {}"))
    return Work("cuda/0", scale_problem(), Variant(Plan(ScheduleChoice(), ()), "cuda", "", (kernel,), ()), ())


def test_ncu_is_asked_for_what_is_needed(tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel,) = work.variant.kernels
    (tmp_path / "table").write_text(TABLE.replace("kernel1(", f"{alone(kernel, work.variant).kernels[0].name}("))
    tool(tmp_path, f'echo "$@" > {tmp_path}/asked\ncat {tmp_path}/table\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = profile_by_ncu(work, tmp_path, 20.0)
    asked = (tmp_path / "asked").read_text()
    assert {name: dict(values) for name, values in found.items()} == {"kernel5": {"ipc": 1.0}}, (
        "as the variant calls it"
    )
    assert "--csv" in asked and all(quantity in asked for group in NCU.values() for quantity in group)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["asked", "ncu", "table"]


@pytest.mark.parametrize(("script", "said"), [
    ('echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"; exit 1', "administrator"),
    ("echo 'no kernels were profiled' >&2", "no kernels were profiled"),
    ("sleep 20", "longer than 0.5 s"),
])
def test_ncu_that_fails_says_why(script: str, said: str, tmp_path: Path, work: Work,
                                 monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, script)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(CountersUnavailable, match=said):
        profile_by_ncu(work, tmp_path, 0.5)


def test_without_ncu_the_remedy_is_said(tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(ncu, "USUAL_PLACE", tmp_path / "none")
    with pytest.raises(CountersUnavailable, match="CUDA toolkit"):
        profile_by_ncu(work, tmp_path, 5.0)


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
def test_real_kernels_are_counted(platform: str, tmp_path: Path) -> None:
    device = needed_device(platform)
    with opened(device, tmp_path, size=1 << 18) as runner:
        found = dict(runner.profile([Job(1, plan(GOOD)), Job(2, plan(NO_COMPILE)), Job(3, plan(LOOP))]))
    assert isinstance(failed := found[2], NoProfile) and failed.message
    for number in (1, 3):
        profile = found[number]
        if isinstance(profile, NoProfile) and "counted" in profile.message:
            pytest.skip(profile.message)
        assert isinstance(profile, Profile), profile
        ((statements, values),) = profile.kernels
        assert (profile.source, statements) == ("perf", ("S0",))
        assert all(0 <= value <= 1 for _, value in values)
    assert dict(values)["core_use"] > 0
