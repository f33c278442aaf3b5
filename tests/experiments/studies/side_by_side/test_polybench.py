"""`antune suite polybench`: it can be killed, begun again and added to, and says how the ways to search compare."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.store import read_store
from experiments.studies.side_by_side.polybench import GROUPS, PolyBench, parse_programs, split_size
from experiments.studies.side_by_side.suite import Interrupted
from experiments.studies.side_by_side.table import means, sections_of
from experiments.studies.side_by_side.wanted import SuiteOptions
from experiments.suites.polybench import programs
from experiments.values.options import RunOptions
from generator.errors import InputError
from generator.problem import Problem
from metrics.finals import ratio_of
from runners.base import Job
from tests.support.cli import Antune, antune_command
from tests.support.runs import PROGRAM, REFERENCE, ToyRunner, toy_parts
from tests.support.side_by_side import figures, suite
from tests.support.slow import in_turn

WANTED = SuiteOptions(("gemm", "mvt"), PolyBench("MINI"), evaluations=8)


@pytest.fixture
def antune(monkeypatch: pytest.MonkeyPatch) -> Antune:
    return antune_command(monkeypatch, "suite", "polybench")


@in_turn
def test_every_way_is_measured_and_compared(tmp_path: Path) -> None:
    (section,), shown = suite(tmp_path, WANTED)
    gemm, mvt = section.entries
    assert (gemm.program, mvt.program, gemm.evaluations, gemm.setting) == ("gemm", "mvt", 8, PolyBench("MINI"))
    assert [way.name for way in gemm.ways] == ["tiles", "random", "colony"]
    assert all(way.ms and way.over_default and way.over_default.middle >= 1 for way in gemm.ways)
    for duel in gemm.duels:
        one, two = gemm.way(duel.one), gemm.way(duel.two)
        assert one and two and one.ms and two.ms and duel.ratio.middle == pytest.approx(two.ms / one.ms)
    assert gemm.sequential_ms == 51.0 and gemm.default_ms == pytest.approx(4.8)
    assert shown.steps[0] == (0, 2 * (7 + 2 * 8)) and shown.steps[-1] == (46, 46)
    assert shown.steps == sorted(shown.steps) and [entry.program for entry in shown.entries] == ["gemm", "mvt"]
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert {row["program"] for row in rows} == {"gemm", "mvt"}
    assert "MINI_DATASET, float, level o2, 8 evaluations" in (tmp_path / "table.md").read_text()


@in_turn
def test_a_finished_suite_has_nothing_to_do(tmp_path: Path) -> None:
    wanted, runner = replace(WANTED, programs=("gemm",)), ToyRunner()
    before, _ = suite(tmp_path, wanted)
    after, shown = suite(tmp_path, wanted, runner)
    assert (before, runner.evaluated, runner.sittings) == (after, [], [])
    assert shown.steps[0] == (23, 23)


@in_turn
def test_a_suite_that_is_cut_anywhere_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    wanted = replace(WANTED, programs=("gemm",))
    (expected,), _ = suite(tmp_path / "whole", wanted)
    jobs, cuts = 0, iter(np.random.default_rng(1).integers(1, 15, size=6).tolist())

    class Cut(BaseException):
        """Nothing catches it, like the end of the process."""

    def cut(_job: Job) -> None:
        nonlocal jobs
        jobs -= 1
        if jobs == 0:
            raise Cut

    while True:
        jobs = next(cuts, 10**9)
        try:
            found, _ = suite(tmp_path / "cut", wanted, ToyRunner(cut, before_again=cut))
        except Cut:
            continue
        break
    assert [figures(entry) for entry in found[0].entries] == [figures(entry) for entry in expected.entries]


def test_ctrl_c_ends_it_in_order(tmp_path: Path) -> None:
    def interrupt(job: Job) -> None:
        if job.number == 4:
            os.kill(os.getpid(), signal.SIGINT)

    wanted = replace(WANTED, programs=("gemm",))
    with pytest.raises(Interrupted):
        suite(tmp_path, wanted, ToyRunner(interrupt))
    assert not (tmp_path / "table.md").exists()
    (section,), _ = suite(tmp_path, wanted)
    assert len(section.entries) == 1


@pytest.mark.slow
def test_more_is_added_to_what_is_there(tmp_path: Path) -> None:
    suite(tmp_path, replace(WANTED, programs=("gemm",)))
    runner = ToyRunner()
    (section,), _ = suite(tmp_path, replace(WANTED, programs=("gemm",), explorers=("genetic",)), runner)
    assert section.explorers == ("random", "colony", "genetic") and len(runner.evaluated) < 12
    (section,), _ = suite(tmp_path, replace(WANTED, programs=("gemm",), evaluations=12, explorers=("colony",)))
    assert section.entries[0].evaluations == 12 and section.explorers == ("random", "colony", "genetic")
    with read_store(tmp_path / "toy" / "gemm-mini-float-o2" / "random-0") as store:
        assert len(store.results()) == 13
    sections, _ = suite(tmp_path, WANTED)  # gemm keeps what it has, mvt is new: two budgets, two tables
    assert [[entry.program for entry in one.entries] for one in sections] == [["mvt"], ["gemm"]]


@pytest.mark.slow
def test_several_seeds_are_one_line(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, replace(WANTED, programs=("gemm",), seeds=3))
    (entry,) = section.entries
    colony = entry.way("colony")
    assert (
        colony
        and colony.over_default
        and colony.over_default.low <= colony.over_default.middle <= colony.over_default.high
    )
    assert len(list((tmp_path / "toy" / "gemm-mini-float-o2").glob("colony-*"))) == 3


def test_a_program_that_cannot_be_tuned_is_left_out(tmp_path: Path) -> None:
    def read(options: RunOptions, _tell: object) -> Problem:
        if "gemm" in options.file:
            raise InputError("no compiler today")
        return Problem(PROGRAM, REFERENCE)

    (section,), shown = suite(tmp_path, WANTED, parts=replace(toy_parts(ToyRunner()), read_problem=read))
    assert [entry.program for entry in section.entries] == ["mvt"]
    assert any("gemm: left out: no compiler today" in note for note in shown.notes)


def test_another_run_in_the_place_is_not_taken_for_its_own(tmp_path: Path) -> None:
    suite(tmp_path, replace(WANTED, programs=("gemm",)))
    folder = tmp_path / "toy" / "gemm-mini-float-o2"
    folder.rename(folder.with_name("mvt-mini-float-o2"))
    (folder.with_name("mvt-mini-float-o2") / "entry.json").unlink()
    _, shown = suite(tmp_path, replace(WANTED, programs=("mvt",)))
    assert any("mvt: left out" in note and "--out" in note for note in shown.notes)


@pytest.mark.slow
def test_entries_without_the_name_of_a_suite_are_polybench(tmp_path: Path) -> None:
    """Those that were kept before there were others."""
    wanted, runner = replace(WANTED, programs=("gemm",)), ToyRunner()
    suite(tmp_path, wanted)
    file = tmp_path / "toy" / "gemm-mini-float-o2" / "entry.json"
    data = json.loads(file.read_text())
    assert data.pop("suite") == "polybench" and data["size"] == "MINI"
    file.write_text(json.dumps(data))
    (section,), _ = suite(tmp_path, wanted, runner)
    assert (section.setting, runner.evaluated, runner.sittings) == (PolyBench("MINI"), [], [])


def test_a_damaged_entry_is_said(tmp_path: Path) -> None:
    suite(tmp_path, replace(WANTED, programs=("gemm",)))
    for text in ("{", "[]", '{"suite": "linpack"}', '{"size": "HUGE", "type": "float", "defines": [], "level": "o2"}'):
        (tmp_path / "toy" / "gemm-mini-float-o2" / "entry.json").write_text(text)
        with pytest.raises(InputError, match=r"entry.json cannot be read.*remove it"):
            suite(tmp_path, WANTED)


def test_geometric_means(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, replace(WANTED, programs=("gemm",)))
    one = section.entries[0]
    many = tuple(
        replace(one, program=name, sequential_ms=(way.ms if (way := one.way("colony")) and way.ms else 1.0) * factor)
        for name, factor in (("a", 2.0), ("b", 4.0), ("c", 8.0))
    )
    (mean,) = [m for m in means(sections_of(many)[0]) if m.name == "colony : sequential C"]
    assert mean.mean == pytest.approx(4.0) and mean.lowest == pytest.approx(2.0) and mean.programs == 3
    assert mean.low is not None and mean.high is not None
    assert math.log(mean.high / 4) == pytest.approx(4.303 * math.log(2) / math.sqrt(3), rel=1e-3)  # Student, 2 degrees
    assert mean.low * mean.high == pytest.approx(16)
    assert all(m.low is None for m in means(sections_of(many[:2])[0]))


@settings(max_examples=50)
@given(st.floats(0.1, 10), st.integers(1, 8), st.integers(0, 1000))
def test_ratios_bear_what_slows_all_down(true: float, sittings: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = []
    for _ in range(sittings):
        moments = rng.uniform(1, 5, 20)
        times.append({0: (2.0 * true * moments).tolist(), 1: (2.0 * moments).tolist(), 2: []})
    ratio = ratio_of(times, 0, 1)
    assert ratio is not None and ratio.low <= ratio.middle * (1 + 1e-9) and ratio.middle <= ratio.high * (1 + 1e-9)
    assert ratio.middle == pytest.approx(true)
    assert ratio_of(times, 0, 2) is None and ratio_of([], 0, 1) is None


def test_programs_are_named_one_by_one_or_in_groups() -> None:
    assert parse_programs("gemm, mvt,gemm") == ("gemm", "mvt")
    assert parse_programs("stencils,gemm") == (*GROUPS["stencils"], "gemm")
    assert parse_programs("all") == programs()
    own = [
        name for group in ("blas", "kernels", "solvers", "datamining", "stencils", "medley") for name in GROUPS[group]
    ]
    assert sorted(own) == list(programs()) and len(GROUPS["core"]) == 16
    assert split_size(("SMALL_DATASET", "X=1"), None) == ("SMALL", ("X=1",))
    assert split_size(("SMALL_DATASET",), "small")[0] == "SMALL" and split_size((), None)[0] == "MEDIUM"


def bad() -> Sequence[tuple[Sequence[object], str]]:
    return (
        (["--programs", "gemmm"], "neither a program nor a group"),
        (["--size", "huge"], "no size 'HUGE'"),
        (["--size", "mini", "-D", "LARGE_DATASET"], "two sizes"),
        (["--explorer", "magic"], "unknown explorer 'magic'"),
        (["--explorer", ","], "name some explorers"),
        (["--explorer", "tiles"], "always measured"),
        (["--minutes", "-1"], "--minutes"),
        (["--json", "nowhere/x.json"], "there is no directory nowhere"),
        (["--device", "no such device"], "device"),
    )


def test_bad_input_is_one_line(tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in bad():
        assert antune("--out", tmp_path / "out", *words) == 2, words
        err = capsys.readouterr().err
        assert message in err and "Traceback" not in err and err.count("antune:") == 1


@pytest.mark.slow
def test_the_command_is_killed_and_goes_on(tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--programs", "mvt", "--size", "mini", "--budget", "6", "--explorer", "random", "--out", str(tmp_path)]
    killed = subprocess.Popen(
        [sys.executable, "-m", "antune.cli", "suite", "polybench", *words, "--device", "deterministic:0.3"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = tmp_path / "deterministic" / "mvt-mini-float-o2" / "tiles" / "run.sqlite"
    while not store.exists() and killed.poll() is None:
        time.sleep(0.05)
    time.sleep(0.7)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert antune(*words, "--device", "deterministic") == 0
    shown = capsys.readouterr()
    assert "mvt" in shown.out and "random : default plan" in shown.out and "over the default plan" in shown.err
    assert "of them done" in shown.err or "13 evaluations" in shown.err
    assert (tmp_path / "table.md").is_file()
    assert (tmp_path / "deterministic" / "mvt-mini-float-o2" / "convergence.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_suite_on_a_real_device(tmp_path: Path, antune: Antune) -> None:
    words = ("--programs", "gesummv", "--size", "mini", "--budget", 2, "--explorer", "random", "--device", "pocl")
    assert antune(*words, "--out", tmp_path / "suite", "--json", tmp_path / "found.json") == 0
    assert (tmp_path / "found.json").read_text() == (tmp_path / "suite" / "table.json").read_text()
    (row,) = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert row["platform"] == "PoCL" and row["type"] == "float" and row["sittings"] >= 3
    assert [way["name"] for way in row["ways"]] == ["tiles", "gpu-default", "random"]
    assert row["sequential_o3_ms"] > 0 and row["sequential_ms"] > 0 and row["openmp_ms"] is None
    table = (tmp_path / "suite" / "table.md").read_text()
    assert row["compiler"] in table and "C, plain -O3" in table and "random : gpu-default" in table
    assert "Plans: device time" in table and "gpu-default is what the default plan is on GPUs" in table
    known = [way for way in row["ways"] if way["ms"] is not None]  # on a busy machine a plan may take too long
    assert known and all(0 < way["over_default"]["low"] <= way["over_default"]["high"] for way in known)
