"""`antune suite recorded`: the table, the JSON and the plot, as a user or a script meets them."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.studies.recorded.arena import Arena, Source, find_sources, open_arena
from experiments.studies.recorded.methodology import make_yardstick, score
from experiments.studies.recorded.peers import PeerFailed, check_peers
from experiments.studies.recorded.race import Trace, race
from experiments.studies.recorded.results import describe_space, judge
from experiments.studies.recorded.suite import SuiteOptions, run_suite
from explorer.registry import SEARCHES, make_explorer
from generator.errors import InputError
from metrics.outcome import Durations, KernelTime, Timed
from runners.replay.recording import Recording, Row
from runners.replay.walks_file import write_walks
from tests.support.cli import Antune, antune_command
from tests.support.paths import ROOT
from tests.support.recordings import all_plans, cache, recorded_space, t1, t4, write
from tests.support.slow import in_turn


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    """Run the command in this process, in a directory with `toy.json.gz`; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "toy.json.gz", cache())
    return antune_command(monkeypatch, "suite", "recorded")


QUICK = ("--explorers", "random", "--seeds", "3", "--workers", "1", "--ants", "4")


def test_table_json_and_plot(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "toy_T4.json", t4())
    assert run_antune("toy.json.gz", "toy_T4.json", *QUICK, "--explorers", "random,colony", "--budgets", "8,4,16",
                      "--json", "out.json", "--plot", "out.png") == 0
    out = capsys.readouterr().out
    assert "toy (Pretended GPU): 16 configurations, 5 of them invalid; optimum 1.00 ms" in out
    assert len(re.findall(r"random +0\.\d{3} ± 0\.\d{3} +0\.\d{3} ± 0\.\d{3} +1\.000 ± 0\.000", out)) == 2
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [(row["space"], row["explorer"], row["budget"]) for row in rows] == [
        (space, explorer, budget) for space in ("toy", "toy_T4") for explorer in ("random", "colony")
        for budget in (4, 8, 16)]
    assert all(set(row) == {"space", "explorer", "budget", "mean", "sd"} for row in rows)
    assert all(0 <= row["mean"] <= 1 and row["sd"] >= 0 for row in rows)
    assert all(row["mean"] == 1 and row["sd"] == 0 for row in rows if row["budget"] == 16)  # all was tried
    for row, later in pairwise(rows):
        assert row["explorer"] != later["explorer"] or row["space"] != later["space"] or row["mean"] <= later["mean"]
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_same_seeds_give_the_same_figures_in_one_process_or_many(run_antune: Antune, tmp_path: Path) -> None:
    words = ("toy.json.gz", "--explorers", "random,colony", "--seeds", 4, "--budgets", "3,7", "--ants", 3)
    for workers, name in ((1, "one.json"), (2, "two.json")):
        assert run_antune(*words, "--workers", workers, "--json", name) == 0
    one, two = (json.loads((tmp_path / name).read_text())["rows"] for name in ("one.json", "two.json"))
    assert one == two


def test_all_explorers_run_by_default(run_antune: Antune, tmp_path: Path) -> None:
    assert run_antune("toy.json.gz", "--seeds", 1, "--workers", 1, "--budgets", 6, "--json", "out.json") == 0
    assert [row["explorer"] for row in json.loads((tmp_path / "out.json").read_text())["rows"]] == list(SEARCHES)


def test_restrictions_from_a_t1_file(run_antune: Antune, tmp_path: Path) -> None:
    described = write(tmp_path / "toy.T1.json", t1())
    assert run_antune("toy.json.gz", *QUICK, "--t1", described, "--budgets", 16, "--json", "out.json") == 0
    assert json.loads((tmp_path / "out.json").read_text())["rows"][0]["mean"] == 1
    plans = [
        set(all_plans(open_arena(Source(tmp_path / "toy.json.gz", "toy", path)).space)) for path in (described, None)
    ]
    assert plans[0] == plans[1] and len(plans[0]) == 16


def test_our_own_walks(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Row((("fuse", (), False), ("tile", ("S0",), a), ("tile", ("S1",), b)), timed(a * b)) for a in (1, 2, 4)
            for b in (1, 2)] + [Row((("fuse", (), True), ("tile", ("S0", "S1"), a)), timed(a)) for a in (1, 2, 4)]
    write_walks(tmp_path / "walks.json.gz", Recording("w", "a CPU", tuple(rows), False))
    assert run_antune("walks.json.gz", *QUICK, "--explorers", "random,colony", "--budgets", "5,9") == 0
    assert "walks (a CPU): 9 configurations" in capsys.readouterr().out


def timed(ms: float) -> Timed:
    kernels = (KernelTime(("S0",), ms / 2, (("occupancy", 0.5),)),)
    return Timed(ms, ms, ms, (ms,), ms, kernels, "", False, Durations(time_s=0.5))


@pytest.mark.parametrize(("words", "essence"), [
    (("missing.json",), "missing.json cannot be read"),
    (("toy.json.gz", "--explorers", "random,termites"), "no explorer 'termites'; use some of"),
    (("toy.json.gz", "--budgets", "50,many"), "'50,many' is not a list of numbers"),
    (("toy.json.gz", "--budgets", ""), "--budgets is empty"),
    (("toy.json.gz", "--budgets", "0,5"), "--budgets is 0, 5; use numbers from 1"),
    (("toy.json.gz", "--seeds", "0"), "--seeds is 0"),
    (("toy.json.gz", "--ants", "-1"), "--ants is -1"),
    (("toy.json.gz", "--workers", "0"), "--workers is 0"),
    (("toy.json.gz", "--t1", "toy.json.gz"), "is not a T1 file"),
    (("toy.json.gz", "--t1", "other.json"), "other.json has other parameters"),
    (("other.json",), "is a T1 file: it describes a space"),
    (("cut.json.gz",), "cut.json.gz is cut off"),
    (("toy.json.gz", "--json", "no/such/out.json"), "there is no directory no/such"),
    (("toy.json.gz", "--plot", "no/such/out.png"), "there is no directory no/such"),
])
def test_bad_input_is_one_message(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                  words: tuple[str, ...], essence: str) -> None:
    other = t1()
    other["ConfigurationSpace"]["TuningParameters"][0]["Name"] = "stranger"
    write(tmp_path / "other.json", other)
    (tmp_path / "cut.json.gz").write_bytes((tmp_path / "toy.json.gz").read_bytes()[:-40])
    assert run_antune(*words) == 2
    error = capsys.readouterr().err
    assert essence in error and "Traceback" not in error
    assert sum(line.startswith("antune: ") for line in error.splitlines()) == 1


def test_a_note_about_an_open_cache(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "open.json", cache(), lambda text: text.removesuffix("}}") + ",")
    assert run_antune("open.json", *QUICK, "--budgets", "4") == 0
    assert "note: open.json: the file is not closed" in capsys.readouterr().err


def test_files_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    files = []
    for directory in ("conv", "dedisp"):
        (tmp_path / directory).mkdir()
        files.append(write(tmp_path / directory / "A100.json", cache()))
    sources, _ = find_sources([*files, files[0]], [])
    assert [source.name for source in sources] == ["conv/A100 (1)", "dedisp/A100", "conv/A100 (2)"]


@in_turn
def test_ctrl_c_ends_all_processes(tmp_path: Path) -> None:
    write(tmp_path / "toy.json.gz", cache())
    command = [sys.executable, "-m", "antune.cli", "suite", "recorded", "toy.json.gz", "--seeds", "5000", "--explorers",
               "random", "--workers", "2", "--json", "out.json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, start_new_session=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "5000 searches\n"
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted; nothing was written" in error and "Traceback" not in error
    assert not (tmp_path / "out.json").exists()
    deadline_s = time.monotonic() + 5
    while left := alive_in_group(process.pid):
        assert time.monotonic() < deadline_s, left
        time.sleep(0.1)


def alive_in_group(group: int) -> list[str]:
    """The processes of a group that still run (zombies do not)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended while we looked
            state, _, its_group = stat.read_text().rsplit(")", 1)[1].split()[:3]
            found += [stat.parent.name] if int(its_group) == group and state not in "ZX" else []
    return found


# ---- the score


def as_trace(order: list[int], ms: list[float], seconds: float = 1.0) -> Trace:
    return Trace(np.array([ms[i] for i in order]), np.full(len(order), seconds), np.zeros(len(order)))


TIMES = [1.0 + math.log1p(i) for i in range(1000)]


@in_turn
@pytest.mark.parametrize(("name", "evaluations", "ratio"), [("convolution_A100", 1050, 0.896),
                                                            ("convolution_W7800", 40, 0.745)])
def test_the_window_is_that_of_the_methodology(name: str, evaluations: int, ratio: float) -> None:
    arena = open_arena(Source(recorded_space(f"{name}.json.gz"), name))
    _, yardstick = describe_space(arena, 10**6)
    assert yardstick is not None
    assert yardstick.evaluations == evaluations
    assert yardstick.covered == 1
    best, middle = yardstick.falling[-1], float(np.median(yardstick.falling))
    assert best / (best + 0.05 * (middle - best)) == pytest.approx(ratio, abs=0.001)


def test_random_search_scores_nothing_and_knowing_the_optimum_scores_all() -> None:
    yardstick = make_yardstick(TIMES, [1.0] * len(TIMES), 400)
    assert yardstick is not None
    rng = np.random.default_rng(0)
    by_chance = [as_trace(list(rng.permutation(1000)[:400]), TIMES) for _ in range(200)]
    assert score(yardstick, by_chance).mean == pytest.approx(0, abs=0.05)
    knowing = [as_trace([0, *range(500, 600)], TIMES)] * 3
    assert score(yardstick, knowing).mean > 0.99
    ignorant = [as_trace(list(range(999, 800, -1)), TIMES)] * 3
    assert score(yardstick, ignorant).mean < -1


def test_failures_and_the_explorers_own_time_lower_the_score() -> None:
    yardstick = make_yardstick(TIMES, [1.0] * len(TIMES), 400)
    assert yardstick is not None
    rng = np.random.default_rng(1)
    plain = [as_trace(sorted(rng.permutation(1000)[:100], reverse=True), TIMES) for _ in range(20)]
    failing = [Trace(np.concatenate([np.full(50, np.nan), t.ms]), np.ones(150), np.zeros(150)) for t in plain]
    slow = [Trace(t.ms, t.seconds, np.ones(100)) for t in plain]
    assert score(yardstick, failing).mean < score(yardstick, plain).mean
    assert score(yardstick, slow).mean < score(yardstick, plain).mean


@pytest.mark.parametrize(("valid", "seconds", "budget"), [([1.0, 1.0], [1.0, 1.0], 50), ([1.0], [1.0], 50),
                                                          (TIMES, [0.0] * 1000, 50), (TIMES, [1.0] * 1000, 1)])
def test_nothing_to_score(valid: list[float], seconds: list[float], budget: int) -> None:
    assert make_yardstick(valid, seconds, budget) is None


def test_nothing_valid_counts_as_zero(tmp_path: Path) -> None:
    arena = open_arena(Source(write(tmp_path / "toy.json", cache()), "toy"))
    facts, yardstick = describe_space(arena, 4)
    nothing = Trace(np.array([np.nan] * 4), np.ones(4), np.zeros(4))
    half = Trace(np.array([np.nan, 2.0, 4.0, 2.0]), np.ones(4), np.zeros(4))
    rows, standing = judge(facts, yardstick, "x", [nothing, half], [1, 4])
    assert [(row.budget, row.mean) for row in rows] == [(1, 0.0), (4, 0.25)]
    assert standing.curve is not None and standing.curve.shape == (3, 4)


def test_a_search_ends_with_the_space(tmp_path: Path) -> None:
    arena = open_arena(Source(write(tmp_path / "toy.json", cache()), "toy"))
    trace = race(arena, make_explorer("random", arena.space, 0), 50, 10)
    assert len(trace.ms) == len(trace.seconds) == len(trace.explorer_s) == 16
    assert np.isnan(trace.ms).sum() == 5
    assert trace.best_at(16) == trace.best_at(50) == 1.0


@in_turn
def test_a_random_search_is_quick() -> None:
    arena = open_arena(Source(recorded_space("dedispersion_W6600.json.gz"), "dedispersion_W6600"))
    started_s = time.process_time()
    trace = race(arena, make_explorer("random", arena.space, 0), 400, 10)
    assert len(trace.ms) == 400
    assert time.process_time() - started_s < 1
    assert trace.explorer_s.mean() < 0.005


# ---- the peers


@pytest.mark.skipif(importlib.util.find_spec("kernel_tuner") is not None, reason="Kernel Tuner is installed")
def test_absent_peers_are_one_message(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("toy.json.gz", *QUICK, "--peers", "random_sample") == 2
    assert "pip install kernel_tuner" in capsys.readouterr().err


def test_peers_search_the_same_space(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("kernel_tuner", reason="Kernel Tuner is not installed (extra `peers`)")
    data: dict[str, Any] = cache()
    write(tmp_path / "toy.json", data)
    described = write(tmp_path / "toy.T1.json", t1())
    for words in ((), ("--t1", described)):
        assert run_antune("toy.json", *QUICK, *words, "--budgets", "6,16", "--json", "out.json", "--peers",
                          "random_sample,genetic_algorithm") == 0
        rows = json.loads((tmp_path / "out.json").read_text())["rows"]
        found = {(row["explorer"], row["budget"]): row["mean"] for row in rows}
        assert found["kernel_tuner:random_sample", 16] == 1
        assert 0 < found["kernel_tuner:genetic_algorithm", 6] <= found["kernel_tuner:genetic_algorithm", 16] <= 1
    assert "kernel_tuner:random_sample" in capsys.readouterr().out
    with pytest.raises(InputError, match="no strategy 'termites'"):
        check_peers(["termites"])


def test_a_peer_that_fails_leaves_the_others_their_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "toy.json", cache())

    def search(arena: Arena, strategy: str, seeds: Sequence[int], budget: int, scratch: Path) -> list[float | None]:
        if strategy == "pso" and budget == 16:
            raise PeerFailed("Kernel Tuner's pso failed on toy with budget 16: ValueError: no; it is left out there")
        return [2.0] * len(seeds)

    monkeypatch.setattr("experiments.studies.recorded.suite.check_peers", lambda names: None)
    monkeypatch.setattr("experiments.studies.recorded.suite.peer_best_ms", search)
    options = SuiteOptions((file,), ("random",), (6, 16), 2, peers=("pso", "mls"))
    results, notes = run_suite(options, lambda done, total: None)
    assert {row.explorer for row in results.rows} == {"random", "kernel_tuner:mls"}
    assert [note for note in notes if "pso" in note] == [
        "Kernel Tuner's pso failed on toy with budget 16: ValueError: no; it is left out there"]


def test_a_killed_worker_is_one_message(tmp_path: Path) -> None:
    def kill(done: int, total: int) -> None:
        for process in active_children() if done else ():
            process.kill()

    options = SuiteOptions((write(tmp_path / "toy.json", cache()),), ("random",), (6,), 60, workers=2)
    with pytest.raises(InputError, match="use fewer --workers"):
        run_suite(options, kill)
    assert not active_children()
