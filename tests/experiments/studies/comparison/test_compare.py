"""`antune compare`: what may be compared is, after the same number of evaluations, and luck is called luck."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.search.run_dirs import find_runs
from experiments.store import Store, create_store, reserve
from experiments.studies.comparison.figures import Comparison, compare
from experiments.studies.comparison.groups import sections_of
from experiments.studies.comparison.plot import TITLE_WIDTH, over_evaluations, over_time, write_comparison
from experiments.studies.comparison.trials import Trial, read_trial
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Evaluation, RunInfo
from generator.errors import InputError
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from metrics.outcome import CompileFailed, Durations, Outcome, Timed
from tests.support.cli import Antune, antune_command
from tests.support.runs import DEFAULT, REFERENCE, toy_info
from tests.support.slow import in_turn

INFO = toy_info()
FAILED = CompileFailed("no", Durations())


def timed(ms: float) -> Timed:
    return Timed(ms, ms * 0.99, ms * 1.01, (ms,), ms, (), f"{ms}", False, Durations())


def write_run(directory: Path, times_ms: Sequence[float | None], info: RunInfo = INFO, ending: str | None = "finished",
              **options: object) -> Path:
    """A run whose evaluations 0, 1, ... took `times_ms` (None: failed), each half a second after the one before."""
    changed = replace(info, options=replace(info.options, **options))  # type: ignore[arg-type]  # tests name real fields
    with create_store(reserve(directory, "abc"), changed, REFERENCE, "1.0") as store:
        fill(store, times_ms)
        if ending is not None:
            store.end_session(ending)  # type: ignore[arg-type]  # tests name real endings
    return directory


def fill(store: Store, times_ms: Sequence[float | None]) -> None:
    plans = [DEFAULT, *(Plan(ScheduleChoice(), (KernelPlan(("S0",), (n,), (1,)),)) for n in range(1, len(times_ms)))]
    store.add_batch(1, len(plans), [Evaluation(number, 1, number, plan, "[]") for number, plan in enumerate(plans)])
    for number, ms in enumerate(times_ms):
        outcome: Outcome = FAILED if ms is None else timed(ms)
        store.add_result(number, outcome, number / 2)


def course(rng: np.random.Generator, quality: float, length: int = 8) -> list[float | None]:
    return [10.0, *(quality * (1 + float(rng.exponential())) if rng.uniform() > 0.1 else None for _ in range(length))]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs of two explorers; the colony is clearly better."""
    folder, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(5)
    for seed in range(6):
        write_run(folder / f"colony-{seed}", course(rng, 1.0), explorer="colony", seed=seed)
        write_run(folder / f"random-{seed}", course(rng, 4.0), explorer="random", seed=seed)
    return folder


@pytest.fixture
def antune(monkeypatch: pytest.MonkeyPatch) -> Antune:
    return antune_command(monkeypatch, "compare")


def read(folder: Path) -> list[Trial]:
    return [read_trial(path) for path in sorted(folder.iterdir())]


def only(trials: list[Trial], at: int | None = None) -> Comparison:
    (section,) = sections_of(trials)
    return compare(section, at)


def test_groups_differ_by_more_than_their_seeds(runs: Path, tmp_path: Path) -> None:
    (section,) = sections_of(read(runs))
    assert [(group.label, len(group.trials)) for group in section.groups] == [("colony", 6), ("random", 6)]
    write_run(tmp_path / "other", [10.0, 5.0], explorer="colony", seed=0, level="o2")
    (section,) = sections_of(read(runs) + read(tmp_path))
    assert [group.label for group in section.groups] == ["colony level=o1", "colony level=o2", "random level=o1"]


def test_figures_are_medians_over_the_runs_of_a_group(runs: Path) -> None:
    trials = read(runs)
    colony, random = only(trials).standings
    best = sorted(float(t.best_ms[-1]) for t in trials if t.info.options.explorer == "colony")
    assert colony.best_ms == pytest.approx((best[2] + best[3]) / 2)
    assert (colony.low_ms, colony.high_ms) == (best[0], best[-1])
    assert colony.over_default == pytest.approx(float(np.median([10 / ms for ms in best])))
    assert colony.arrived >= 1 and random.arrived == 0 and random.near is None


def test_a_clear_difference_is_found_and_equal_explorers_are_not_told_apart(runs: Path, tmp_path: Path) -> None:
    (contest,) = only(read(runs)).contests
    assert (contest.verdict, contest.superiority) == ("faster", 1.0)
    assert contest.ratio is not None and contest.ratio > 2 and contest.corrected == contest.p < 0.05
    rng = np.random.default_rng(6)
    for seed in range(6):
        write_run(tmp_path / f"genetic-{seed}", course(rng, 1.0), explorer="genetic", seed=seed)
    found = {(c.one, c.two): c for c in only(read(runs) + read(tmp_path)).contests}
    assert found["colony", "genetic"].verdict == "no difference shown"
    assert found["genetic", "random"].verdict == "faster"
    assert all(c.corrected >= c.p for c in found.values())


def test_few_runs_tell_nothing(tmp_path: Path) -> None:
    for seed in range(3):
        write_run(tmp_path / f"a{seed}", [10.0, 1.0 + seed / 10], explorer="colony", seed=seed)
        write_run(tmp_path / f"b{seed}", [10.0, 5.0 + seed / 10], explorer="random", seed=seed)
    (contest,) = only(read(tmp_path)).contests
    assert (contest.verdict, contest.superiority) == ("too few runs to tell", 1.0)
    assert contest.p == pytest.approx(0.1)


def test_programs_devices_and_ways_of_timing_are_apart(tmp_path: Path) -> None:
    info = toy_info()
    write_run(tmp_path / "a", [10.0, 1.0])
    write_run(tmp_path / "b", [10.0, 1.0], replace(info, subject=replace(info.program, parameters=(("n", 9),))))
    write_run(tmp_path / "c", [10.0, 1.0], replace(info, device=replace(info.device, key="other", name="Other")))
    write_run(tmp_path / "d", [10.0, 1.0], replace(info, device=replace(info.device, driver="2.0")))
    write_run(tmp_path / "e", [10.0, 1.0], timing=replace(info.options.timing, cache="cold"))
    assert len(sections_of(read(tmp_path))) == 5


def through(platform: str, driver: str) -> RunInfo:
    """A run on the same GPU through another driver."""
    info = toy_info()
    return replace(info, device=replace(info.device, key=f"{platform}/gpu", platform=platform, driver=driver))


def test_one_gpu_through_two_platforms_makes_one_table(tmp_path: Path) -> None:
    for seed in range(4):
        write_run(tmp_path / f"cuda-{seed}", [10.0, 1.0 + seed / 100], through("CUDA", "CUDA 13.0"), seed=seed)
        write_run(tmp_path / f"opencl-{seed}", [12.0, 2.0 + seed / 100], through("NVIDIA OpenCL", "580.1"), seed=seed)
    found = only(read(tmp_path))
    assert [one.label for one in found.standings] == ["colony, CUDA", "colony, NVIDIA OpenCL"]
    assert found.section.driver == "CUDA 13.0 and 580.1"
    (contest,) = found.contests
    assert contest.verdict == "faster" and contest.ratio == pytest.approx(2, rel=0.02)


def test_a_platform_with_two_drivers_is_not_one_table(tmp_path: Path) -> None:
    """Its times changed with the driver, so that nobody knows which of them to compare."""
    for number, info in enumerate((through("CUDA", "12.0"), through("CUDA", "13.0"), through("NVIDIA OpenCL", "1"))):
        write_run(tmp_path / str(number), [10.0, 1.0], info)
    assert len(sections_of(read(tmp_path))) == 3


def test_all_are_compared_after_the_same_number_of_evaluations(tmp_path: Path) -> None:
    write_run(tmp_path / "long", [10.0, 5.0, 4.0, 1.0], explorer="colony")
    write_run(tmp_path / "short", [10.0, 3.0, 2.0], explorer="random", ending="interrupted")
    write_run(tmp_path / "small", [10.0, 6.0], explorer="genetic", ending="exhausted")
    found = only(read(tmp_path))
    assert (found.evaluations, found.target_ms) == (2, 2.0)
    assert {s.label: s.best_ms for s in found.standings} == {"colony": 4.0, "random": 2.0, "genetic": 6.0}
    assert any("--at 3" in note for note in found.notes) and any("short (interrupted)" in note for note in found.notes)
    later = only(read(tmp_path), at=3)
    assert {s.label: s.best_ms for s in later.standings} == {"colony": 1.0, "genetic": 6.0}
    assert any("left out" in note and "short" in note for note in later.notes)
    with pytest.raises(InputError, match="smaller --at"):
        compare(sections_of(read(tmp_path)[:1])[0], 99)


def test_only_the_complete_beginning_of_a_running_search_counts(tmp_path: Path) -> None:
    with create_store(reserve(tmp_path / "run", "abc"), toy_info(), REFERENCE, "1.0") as store:
        fill(store, [10.0, None, 7.0])
        store.add_batch(2, 2, [Evaluation(n, 2, n - 3, DEFAULT, "[]") for n in (3, 4)])
        store.add_result(4, timed(1.0), 9.0)
        trial = read_trial(tmp_path / "run")
    assert (trial.status, trial.evaluations, trial.best_ms.tolist()) == ("running", 2, [10.0, 10.0, 7.0])


def test_failures_and_runs_that_found_nothing(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [None, None, None], explorer="colony")
    write_run(tmp_path / "b", [None, None, 3.0], explorer="random")
    found = only(read(tmp_path))
    assert [s.best_ms for s in found.standings] == [None, 3.0]
    assert found.contests[0].ratio is None and found.default_ms is None
    write_comparison([found], tmp_path / "plot.png")


def test_a_long_title_of_a_plot_is_broken_into_lines(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [5.0, 4.0], explorer="colony")
    write_run(tmp_path / "b", [5.0, 3.0], explorer="random")
    found = only(read(tmp_path))
    words = [f"word{n:02}" for n in range(40)]
    write_comparison([replace(found, section=replace(found.section, driver=" ".join(words)))], tmp_path / "plot.svg")
    pieces = [piece for piece in re.findall(r">([^<>]+)<", (tmp_path / "plot.svg").read_text()) if "word" in piece]
    assert len(pieces) > 1 and [word for piece in pieces for word in re.findall(r"word\d+", piece)] == words
    assert max(map(len, pieces)) <= TITLE_WIDTH


def test_repeated_seeds_are_said(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_run(tmp_path / name, [10.0, 1.0], seed=3)
    assert any("seed 3" in note for note in only(read(tmp_path)).notes)


def test_curves_hold_what_was_known_at_each_moment(tmp_path: Path) -> None:
    trials = [
        read_trial(write_run(tmp_path / "a", [10.0, 5.0, None, 2.0])),
        read_trial(write_run(tmp_path / "b", [None, 4.0])),
    ]
    assert over_evaluations(trials).tolist() == [[10.0, 5.0], [np.inf, 4.0]]
    moments, best = over_time(trials)
    assert moments[-1] == np.median([trial.elapsed_s[-1] for trial in trials])
    assert (best[0, 0], best[0, -1], best[1, 0], best[1, -1]) == (10.0, 5.0, np.inf, 4.0)


@in_turn
def test_the_command_prints_and_writes(
    runs: Path, tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plots = tmp_path / "out.json", [tmp_path / "plot.png", tmp_path / "plot.svg"]
    for plot in plots:
        assert antune(runs, "--json", out, "--plot", plot) == 0
    text = capsys.readouterr().out
    assert "colony is faster" in text and "after 8 evaluations" in text
    (section,) = json.loads(out.read_text())["sections"]
    assert [row["label"] for row in section["groups"]] == ["colony", "random"]
    assert len(section["runs"]) == 12 and section["tests"][0]["verdict"] == "faster"
    assert plots[0].read_bytes().startswith(b"\x89PNG") and b"<svg" in plots[1].read_bytes()


def test_a_run_by_two_names_counts_once(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs / "colony-0")
    (tmp_path / "all").symlink_to(runs)
    assert (
        len(find_runs([runs, runs / "colony-0", tmp_path / "all" / "colony-1", tmp_path / "link", tmp_path / "all"]))
        == 12
    )


def test_a_section_without_results_does_not_hide_the_others(runs: Path, tmp_path: Path, antune: Antune,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    fresh = write_run(tmp_path / "fresh", [10.0], replace(INFO, device=replace(INFO.device, key="other")), ending=None)
    assert antune(runs, fresh, "--json", tmp_path / "out.json") == 0
    text = capsys.readouterr().out
    assert "colony is faster" in text and "left out: no run of" in text and "has got any result yet" in text
    found = json.loads((tmp_path / "out.json").read_text())
    assert (len(found["sections"]), len(found["left_out"])) == (1, 1)


def bad_words(folder: Path) -> Iterator[tuple[list[object], str]]:
    one = write_run(folder / "runs" / "one", [10.0, 2.0])
    (folder / "empty").mkdir()
    yield [folder / "nothing"], "is not a directory"
    yield [folder / "empty"], "there are no runs"
    yield [one], "there is one run"
    two = write_run(folder / "runs" / "two", [10.0, 2.0])
    yield [one, two, "--plot", folder / "plot.docx"], ".png, .svg, .pdf"
    yield [one, two, "--plot", folder / "gone" / "plot.png"], "no directory"
    yield [one, two, "--at", 50], "smaller --at"
    (two / "run.sqlite").write_bytes(b"garbage")
    yield [one, two], "run.sqlite"


def test_bad_input_is_one_line(tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in bad_words(tmp_path):
        assert antune(*words) == 2
        err = capsys.readouterr().err
        assert message in err and "Traceback" not in err and len(err.splitlines()) == 1


def test_budgets_do_not_tell_groups_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [10.0, 1.0], budget=Budget(evaluations=1), seed=0)
    write_run(tmp_path / "b", [10.0, 1.0], budget=Budget(minutes=3.0), seed=1, device="other name", file="/elsewhere.c")
    assert len(sections_of(read(tmp_path))[0].groups) == 1
    assert isinstance(read(tmp_path)[0].info.options, RunOptions)
