"""`antune suite pipelines`: all root, all inlined, and what explorers find, side by side; killed, begun again, added
to.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.search.parts import PARTS, Parts
from experiments.studies.side_by_side.pipelines import INLINED, Pipelines, names, parse_pipelines
from experiments.studies.side_by_side.polybench import PolyBench
from experiments.studies.side_by_side.table import speedups, tables
from experiments.studies.side_by_side.wanted import BEST, SuiteOptions
from experiments.suites.image_pipelines import PIPELINES, SIZES, Pipeline
from generator.errors import InputError
from generator.frontend_py.load import load_pipeline
from generator.frontend_py.problem import program_of, sizes_of
from generator.plan import KernelPlan, Plan
from generator.schedules.choice import ScheduleChoice
from generator.schedules.stages import Stages
from metrics.outcome import Outcome, WrongResult
from runners.base import Sitting
from tests.support.cli import Antune, antune_command
from tests.support.runs import DEFAULT, TARGET, ToyRunner, toy_outcome, toy_parts
from tests.support.side_by_side import figures, suite
from tests.support.slow import in_turn

RIVAL = Plan(ScheduleChoice(), (KernelPlan(("S0",), (64,), (8,)),))
WANTED = SuiteOptions(("blur",), Pipelines("small"), ("colony", "genetic", "random"), evaluations=8)


def parts(runner: ToyRunner, rival: Plan | None = RIVAL) -> Parts:
    return replace(toy_parts(runner), inlined_plan=lambda _program, _target: rival)


@pytest.fixture
def antune(monkeypatch: pytest.MonkeyPatch) -> Antune:
    return antune_command(monkeypatch, "suite", "pipelines")


def test_every_way_is_measured_and_compared(tmp_path: Path) -> None:
    (section,), shown = suite(tmp_path, WANTED, parts=parts(ToyRunner()))
    (blur,) = section.entries
    assert [way.name for way in blur.ways] == [INLINED, BEST, "colony", "genetic", "random"]
    assert section.title.endswith("pipelines of small size, 8 evaluations per search")
    inlined, best = blur.way(INLINED), blur.way(BEST)
    assert inlined and best and inlined.ms == pytest.approx(1 + 3 + 0.5 + 0.3)
    found = {name: way.ms for name in WANTED.explorers if (way := blur.way(name)) and way.ms}
    assert best.ms == min(found.values()) and best.detail.split(", ") == [n for n, ms in found.items() if ms == best.ms]
    assert [(duel.one, duel.two) for duel in blur.duels] == [
        (BEST, INLINED), ("colony", "genetic"), ("colony", "random"), ("colony", INLINED), ("genetic", "random"),
        ("genetic", INLINED), ("random", INLINED)]
    for duel in blur.duels:
        one, two = blur.way(duel.one), blur.way(duel.two)
        assert one and two and one.ms and two.ms and duel.ratio.middle == pytest.approx(two.ms / one.ms)
    assert shown.steps[0] == (0, 3 * 8) and shown.steps[-1] == (24, 24)
    text = (tmp_path / "table.md").read_text()
    for header in (
        "over the all-root plan | all inlined | best of all",
        "over the all-root plan | colony | genetic | random",
        "over each other | best of all : all inlined | colony : genetic",
        "over each other | colony : random | genetic : random | best of all : C",
    ):
        assert f"| {header} |\n" in text
    for head, lines in tables(section):
        assert sum(max(map(len, column)) + 3 for column in zip(head, *lines, strict=True)) < 120
    assert json.loads((tmp_path / "table.json").read_text())["rows"][0]["suite"] == "pipelines"


def test_the_order_of_explorers_does_not_turn_the_ratios_round(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, replace(WANTED, explorers=("random", "colony")), parts=parts(ToyRunner()))
    assert ("colony", "random") in section.duels and ("random", "colony") not in section.duels
    assert [head[0] for head, _ in speedups(section)] == ["over the all-root plan", "over each other"]
    assert len(tables(section)) == 5


def test_the_rival_may_be_the_default_plan(tmp_path: Path) -> None:
    (section,), _ = suite(tmp_path, WANTED, parts=parts(ToyRunner(), DEFAULT))
    inlined = section.entries[0].way(INLINED)
    assert inlined and inlined.detail == "the all-root plan" and inlined.ms == section.entries[0].default_ms
    assert inlined.over_default and inlined.over_default.middle == 1


@in_turn
def test_a_rival_that_fails_is_said(tmp_path: Path) -> None:
    def answer(plan: Plan) -> Outcome:
        return (
            WrongResult("blur[3] is 7, expected 5\nmore", toy_outcome(plan).durations)
            if plan == RIVAL
            else toy_outcome(plan)
        )

    def again(plan: Plan, _sitting: Sitting) -> Outcome:
        assert plan != RIVAL, "nobody needs the times of a wrong result"
        return toy_outcome(plan)

    runner = ToyRunner(answer=answer, answer_again=again)
    (section,), shown = suite(tmp_path, replace(WANTED, explorers=("exhaustive",)), parts=parts(runner))
    inlined = section.entries[0].way(INLINED)
    assert inlined and inlined.ms is None and inlined.over_default is None
    assert "blur: all inlined: wrong result: blur[3] is 7, expected 5" in shown.notes
    assert "| nothing valid (wrong result) |" in (tmp_path / "table.md").read_text()
    (section,), shown = suite(tmp_path / "illegal", WANTED, parts=parts(ToyRunner(), None))
    assert "| nothing valid |" in (tmp_path / "illegal" / "table.md").read_text() and section.entries[0].way(BEST)


@in_turn
def test_the_best_of_all_is_that_of_each_seed(tmp_path: Path) -> None:
    wanted = replace(WANTED, explorers=("colony", "random"), seeds=3)
    (section,), _ = suite(tmp_path, wanted, parts=parts(ToyRunner()))
    best, colony, random = (section.entries[0].way(name) for name in (BEST, "colony", "random"))
    assert best and colony and random and best.ms and colony.ms and random.ms
    assert best.ms <= min(colony.ms, random.ms) * (1 + 1e-9)
    assert best.over_default and best.over_default.low <= best.over_default.middle <= best.over_default.high
    assert len(list((tmp_path / "toy" / "blur-small").glob("*-[012]"))) == 6


@in_turn
def test_more_is_added_and_the_rest_is_kept(tmp_path: Path) -> None:
    first = replace(WANTED, explorers=("random",))
    before, _ = suite(tmp_path, first, parts=parts(ToyRunner()))
    runner = ToyRunner()
    after, _ = suite(tmp_path, first, parts=parts(runner))
    assert (before, runner.evaluated, runner.sittings) == (after, [], [])
    (section,), _ = suite(tmp_path, replace(WANTED, explorers=("colony",)), parts=parts(ToyRunner()))
    assert section.explorers == ("random", "colony")
    whole, _ = suite(tmp_path / "whole", replace(WANTED, explorers=("random", "colony")), parts=parts(ToyRunner()))
    assert figures(section.entries[0]) == figures(whole[0].entries[0])


@pytest.mark.slow
def test_two_suites_in_one_place_keep_their_tables(tmp_path: Path) -> None:
    suite(tmp_path, replace(WANTED, explorers=("random",), evaluations=2), parts=parts(ToyRunner()))
    both, _ = suite(tmp_path, SuiteOptions(("gemm",), PolyBench("MINI"), ("random",), 2), parts=parts(ToyRunner()))
    assert {section.setting.suite for section in both} == {"pipelines", "polybench"}


def test_programs_and_sizes() -> None:
    assert parse_pipelines("blur, harris,blur") == ("blur", "harris") and parse_pipelines("all") == names()
    assert len(names()) == 18 and SIZES == ("small", "medium", "full")
    with pytest.raises(InputError, match=r"'blurr' is neither a program.*the programs blur, "):
        parse_pipelines("blurr")
    with pytest.raises(InputError, match="no pipeline is called 'gemm'"):
        SuiteOptions(("gemm",), Pipelines())
    with pytest.raises(InputError, match="all inlined is always measured; leave `inlined` away"):
        replace(WANTED, explorers=("colony", "inlined"))


@in_turn
@pytest.mark.parametrize("program", PIPELINES, ids=lambda p: p.name)
def test_every_size_is_one_that_the_program_takes(program: Pipeline) -> None:
    pixels = []
    for size in SIZES:
        parameters = dict(program.parameters_at(size))
        assert load_pipeline(program.file, parameters)
        width, height, *_ = extents = sizes_of(parameters)
        pixels.append(width * height)
        assert len(extents) in (2, 4)
    assert pixels == sorted(pixels) and pixels[1] <= 2**20


def test_the_all_inlined_plan_inlines_what_it_can() -> None:
    program = next(p for p in PIPELINES if p.name == "harris")
    parameters = dict(program.parameters_at("small"))
    small = program_of(load_pipeline(program.file, parameters), sizes_of(parameters))
    plan = PARTS.inlined_plan(small, TARGET)
    assert plan and isinstance(plan.schedule, Stages)
    assert {where for _, where in plan.schedule.computed} == {"inline"} and len(plan.kernels) < 11


def test_bad_input_is_one_line(tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    bad = (
        (["--programs", "blurr"], "neither a program nor a group"),
        (["--programs", ","], "name some programs"),
        (["--size", "huge"], "'huge' is not one of"),
        (["--explorers", "magic"], "unknown explorer 'magic'"),
        (["--explorers", "inlined"], "always measured"),
        (["--budget", "0"], "--budget"),
        (["--minutes", "-1"], "--minutes"),
        (["--device", "no such device"], "device"),
        (["--json", tmp_path / "no" / "x.json"], "there is no directory"),
    )
    for words, message in bad:
        assert antune("--out", tmp_path / "out", *words) == 2, words
        err = capsys.readouterr().err
        assert message in err and "Traceback" not in err, err


@pytest.mark.slow
def test_the_command_is_killed_and_goes_on(tmp_path: Path, antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--programs", "blur,matmul", "--size", "small", "--budget", "5", "--explorers", "colony,random", "--out",
             str(tmp_path / "suite")]
    killed = subprocess.Popen(
        [sys.executable, "-m", "antune.cli", "suite", "pipelines", *words, "--device", "deterministic:0.3"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    store = tmp_path / "suite" / "deterministic" / "blur-small" / "colony-0" / "run.sqlite"
    while not store.exists() and killed.poll() is None:
        time.sleep(0.05)
    time.sleep(0.7)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert antune(*words, "--device", "deterministic", "--json", tmp_path / "found.json") == 0
    shown = capsys.readouterr()
    assert "best of all : all-root plan" in shown.out and "blur\n  time: sequential C" in shown.err
    found = json.loads((tmp_path / "found.json").read_text())
    assert found == json.loads((tmp_path / "suite" / "table.json").read_text())
    rows = {row["program"]: {way["name"]: way for way in row["ways"]} for row in found["rows"]}
    worked = {
        row["program"]: row["default_ms"] is not None for row in found["rows"]
    }  # the pretended device lets some plans fail
    assert rows["matmul"][INLINED]["detail"] == "the all-root plan" or not worked["matmul"]
    assert rows["blur"][INLINED]["detail"] != "the all-root plan"
    assert rows["blur"][BEST]["ms"] <= rows["blur"]["colony"]["ms"]


@pytest.mark.slow
def test_the_suite_on_a_real_device(tmp_path: Path, antune: Antune) -> None:
    words = ("--programs", "blur", "--size", "small", "--budget", 1, "--explorers", "colony", "--device", "pocl")
    assert antune(*words, "--out", tmp_path) == 0
    (row,) = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert row["platform"] == "PoCL" and row["sittings"] >= 3 and row["sequential_ms"] > 0
    known = [way for way in row["ways"] if way["ms"] is not None]  # on a busy machine a plan may take too long
    assert known and all(0 < way["over_default"]["low"] <= way["over_default"]["high"] for way in known)
