"""Halide's own autoschedulers on the same definitions and inputs, and their place in the tables of a suite."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.studies.side_by_side.entries import Entry
from experiments.studies.side_by_side.halide_peer import (
    SCHEDULERS,
    PeerTime,
    beside,
    check_peers,
    halide_times,
    read_peers,
    write_peers,
)
from experiments.studies.side_by_side.pipelines import Pipelines
from experiments.studies.side_by_side.table import peers, sections_of
from experiments.studies.side_by_side.wanted import SuiteOptions
from experiments.suites.image_pipelines import pipeline
from generator.errors import InputError
from generator.problem import Problem
from runners.locks import exclusive
from tests.support.halide_wheel import wheel
from tests.support.suite import small_problem
from tests.support.targets import CPU

OURS = PeerTime("antune", 2.0)
THEIRS = (PeerTime("Halide Mullapudi2016", 3.0), PeerTime("Halide Adams2019", None, "RuntimeError: no"))


def an_entry(program: str) -> Entry:
    """One that was measured in some way."""
    return Entry(program, Pipelines("small"), "CPU", "PoCL", "1", 1, None, 1, "2026-11-25", 0.0, 1.0, 1.0, (), (), 1)


def times_of(name: str, problem: Problem | None = None) -> tuple[PeerTime, ...]:
    wheel()
    found = pipeline(name)
    return halide_times(found.file, found.parameters_at("small"), problem or small_problem(found)[0], CPU)


@pytest.mark.parametrize("name", ["blur", "harris", "max_filter", "matmul"])
def test_both_schedulers_compute_what_we_compute(name: str) -> None:
    """An input of the size that is needed, one with a boundary condition, several inputs, a reduction."""
    found = times_of(name)
    assert [one.name for one in found] == [f"Halide {scheduler}" for scheduler in SCHEDULERS]
    assert all(one.ms and one.ms > 0 for one in found), found


@pytest.mark.slow
def test_runs_wait_for_other_measurements(tmp_path: Path) -> None:
    """Ours hold this lock, too."""
    wheel()
    found, lock = pipeline("blur"), tmp_path / "timing.lock"
    problem = small_problem(found)[0]
    with ThreadPoolExecutor(1) as pool:
        with exclusive(lock):
            times = pool.submit(halide_times, found.file, found.parameters_at("small"), problem, CPU, lock)
            time.sleep(5.0)
            assert not times.done()
        assert all(one.ms for one in times.result())


def test_a_wrong_result_has_no_time() -> None:
    problem = small_problem(pipeline("blur"))[0]
    (output,) = problem.program.outputs
    values = problem.reference.outputs[output.name].copy()
    values[3, 4] += 1
    changed = replace(problem, reference=replace(problem.reference, outputs={output.name: values}))
    found = times_of("blur", changed)
    assert all(one.ms is None and one.detail.startswith("wrong result: ") for one in found), found


def test_a_definition_that_halide_refuses_is_told(tmp_path: Path) -> None:
    wheel()
    problem = small_problem(pipeline("blur"))[0]
    file = tmp_path / "blur.py"
    file.write_text("from antune import halide as hl\n\ndef build():\n    raise ValueError('not here')\n")
    found = halide_times(file, (), problem, CPU)
    assert [one.detail for one in found] == ["ValueError: not here"] * 2


def test_who_is_no_peer_is_refused() -> None:
    with pytest.raises(InputError, match="'tvm' is none of the peers; use halide"):
        check_peers(["tvm"])
    with pytest.raises(InputError, match="none of the peers"):
        SuiteOptions(("blur",), Pipelines("small"), peers=("kernel_tuner",))


def test_peers_are_kept_beside_the_entry_and_have_a_table(tmp_path: Path) -> None:
    assert read_peers(tmp_path) == ()
    write_peers((OURS, *THEIRS), tmp_path)
    entry = beside(an_entry("blur"), tmp_path)
    assert entry.peers == (OURS, *THEIRS)
    (section,) = sections_of([entry, an_entry("harris")])
    ((head, rows),) = peers(section)
    assert head == ("wall-clock time", "antune", "Halide Mullapudi2016", "Halide Adams2019", "ours : better of them")
    assert rows == [
        ("blur", "2.00 ms", "3.00 ms", "- (RuntimeError: no)", "1.5x"),
        ("geometric mean", "", "", "", "1.5x"),
    ]
    assert peers(sections_of([an_entry("blur")])[0]) == ()
    (tmp_path / "peers.json").write_text("[")
    with pytest.raises(InputError, match=r"peers\.json cannot be read"):
        read_peers(tmp_path)
