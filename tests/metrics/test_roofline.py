"""The roofline: what a program must do, exactly; the bound; probes that compute what they say; kept ceilings."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.ceilings.files import ceilings_file, keep_ceilings, kept_ceilings
from experiments.ceilings.measure import LIMITS, no_metrics, shapes
from experiments.ceilings.probes import LINKS, Probe, Shape, lower_probe, probe_plan, probe_problem
from generator.errors import InputError
from generator.facts import Demand, Operations
from generator.polyhedral.dependences.demand import program_demand
from generator.polyhedral.kit.points import points
from metrics.outcome import Timed
from metrics.roofline import Bandwidth, Ceilings, bandwidth_for, roof
from runners.base import DeviceInfo, Job
from runners.deterministic import DEVICE
from runners.pool_runner import DeviceRunner
from tests.support.runners import needed_device
from tests.support.slow import few
from tests.support.suite import polybench_program

CEILINGS = Ceilings("opencl/x", "1", "2026-11-21", (("float", 1e9),), (Bandwidth(1000, 8e9), Bandwidth(16000, 2e9)))


@pytest.mark.parametrize(("text", "count"), [
    ("{ [i, j] : 0 <= i < 100 and 0 <= j < 50 }", 5000),
    ("{ [i, j] : 0 <= i < 1000 and 0 <= j <= i }", 500_500),
    ("{ [i, j, k] : 0 <= i < 100 and i < j < 100 and 0 <= k <= j }", sum(j * (j + 1) for j in range(100))),
    ("{ [i] : 0 <= i < 100 and i mod 3 = 0 }", 34),
    ("{ A[i, j] : 0 <= i < 10 and 0 <= j < 10; A[i, j] : 5 <= i < 15 and 0 <= j < 10 }", 150),
    ("{ [i, j] : 0 <= i < 100 and 0 <= j < 100 and (i + j) mod 4 = 1 }", 2500), ("{ [] }", 1), ("{ [i] : 1 = 0 }", 0),
])
def test_points(text: str, count: int) -> None:
    assert points(isl.Set(text)) == pytest.approx(count, rel=0.02)


@settings(max_examples=60)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=3))
def test_small_sets_are_counted_exactly(rows: list[tuple[int, int, int]]) -> None:
    inside = [
        (i, j) for i, j in itertools.product(range(12), range(9)) if all(a * i + b * j + c >= 0 for a, b, c in rows)
    ]
    limits = " and ".join(f"{a}i + {b}j + {c} >= 0" for a, b, c in rows)
    assert points(isl.Set(f"{{ [i, j] : 0 <= i < 12 and 0 <= j < 9 and {limits} }}")) == len(inside)


def test_demand_of_gemm() -> None:
    program = polybench_program("gemm")
    size = dict(program.parameters)
    ni, nj, nk = (size[name] for name in ("ni", "nj", "nk"))
    demand = program_demand(program)
    assert demand.operations.floating == ni * nj + 3 * ni * nj * nk
    assert demand.read_bytes == 8 * (ni * nj + ni * nk + nk * nj) + 16  # and alpha and beta
    assert (demand.written_bytes, demand.type) == (8 * ni * nj, "double")
    assert demand.resident_bytes == demand.read_bytes  # C is read and written


def test_what_is_written_before_it_is_read_is_not_moved_in() -> None:
    program = polybench_program("atax")  # tmp and y begin with stores
    size = dict(program.parameters)
    demand = program_demand(program)
    assert demand.read_bytes == 8 * (size["m"] * size["n"] + size["n"])


def test_the_tighter_ceiling_bounds() -> None:
    computing = Demand(Operations(adds=1e6), 400.0, 0.0, 400.0, "float")
    moving = Demand(Operations(adds=1e3), 30_000.0, 2_000.0, 32_000.0, "float")
    first, second = roof(computing, CEILINGS), roof(moving, CEILINGS)
    assert first is not None and second is not None
    assert [first.ms, second.ms] == pytest.approx([1.0, 32_000 / 2e9 * 1e3])
    assert (first.limit, second.limit) == ("compute", "memory")
    assert second.share(0.032) == pytest.approx(0.5)
    in_place = roof(replace(moving, read_bytes=8_000.0, written_bytes=8_000.0, resident_bytes=4_000.0), CEILINGS)
    assert in_place is not None and in_place.ms == pytest.approx(
        16_000 / 4e9 * 1e3
    )  # read and written again in a cache that holds it
    assert roof(replace(moving, type="double"), CEILINGS) is None


def test_bandwidth_between_working_sets() -> None:
    assert [bandwidth_for(size, CEILINGS.bandwidths) for size in (1, 1000, 4000, 16000, 10**9)] == pytest.approx(
        [8e9, 8e9, 4e9, 2e9, 2e9])


PROBES = (
    Probe("fma", "float"),
    Probe("fma", "double"),
    Probe("sum", "float", 1 << 16),
    Probe("triad", "float", 1 << 18),
)


@pytest.mark.parametrize("platform", ["PoCL", "Intel OpenCL"])
@pytest.mark.parametrize("probe", few(PROBES, PROBES[:1]), ids=lambda probe: f"{probe.name} {probe.type}")
def test_probes_do_what_they_say(probe: Probe, platform: str, tmp_path: Path) -> None:
    device = needed_device(platform)
    quick = replace(LIMITS, min_repeats=3, max_repeats=3, time_s=0.1)
    tried = [next(shapes(probe, device.target)), Shape(64, 8, 4)]
    runner = DeviceRunner(probe_problem(probe), device, quick, tmp_path, 1, lower_probe, LINKS, no_metrics)
    try:
        outcomes = dict(runner.evaluate([Job(n, probe_plan(probe, shape)) for n, shape in enumerate(tried)]))
    finally:
        runner.close()
    for number, shape in enumerate(tried):
        outcome = outcomes[number]
        assert isinstance(outcome, Timed), outcome
        assert 1e7 < shape.work(probe) / (outcome.median_ms * 1e-3) < 1e15


def test_ceilings_are_kept_for_a_device_and_its_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    device = DeviceInfo("opencl/x", "x", "p", "1", DEVICE.target)
    assert kept_ceilings(device) is None
    keep_ceilings(CEILINGS)
    assert kept_ceilings(device) == CEILINGS
    assert kept_ceilings(replace(device, driver="2")) is None
    ceilings_file(device.key).write_text("{")
    assert kept_ceilings(device) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="XDG_CACHE_HOME"):
        keep_ceilings(CEILINGS)
