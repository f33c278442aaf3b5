"""Runs and wisdom: each leaves its winner; `--wisdom` begins with what is known, and goes on with just that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import antune
from experiments.run import resume, tune
from experiments.search.taken import fitted, taken_walks
from experiments.search.using_wisdom import keep_wisdom
from experiments.store import read_store
from experiments.values.options import Budget, Timing
from experiments.wisdom.database import Wisdom
from experiments.wisdom.entry import Entry, known_by
from generator.plan import KernelPlan, Plan, plan_from_json
from generator.schedules.choice import ScheduleChoice
from generator.schedules.partition import Group, Partition
from generator.schedules.stages import Stages
from generator.schedules.time_tiles import TimeTiles
from runners.base import Job
from runners.deterministic import DEVICE
from tests.support.cli import antune_command
from tests.support.programs import SUMS_OF_ROWS, program_of
from tests.support.runs import PROGRAM, Log, ToyRunner, history, toy_options, toy_parts, toy_source
from tests.support.slow import in_turn
from tests.support.templates import small_sum


@pytest.fixture
def wisdom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wisdom:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANTUNE_WISDOM", str(tmp_path / "wisdom.sqlite"))
    return Wisdom(tmp_path / "wisdom.sqlite")


def search(size: int, out: str, *, evaluations: int = 8, wisdom: bool = True, reporter: Log | None = None) -> Path:
    done = antune.tune(SUMS_OF_ROWS, defines=[f"N={size}"], evaluations=evaluations, device="deterministic", out=out,
                       ants=4, wisdom=wisdom, reporter=reporter or Log())
    return done.directory


def remember(directory: Path, wisdom: Wisdom, number: int) -> Entry:
    """Keep a plan of a run as if it had been the best on a device."""
    with read_store(directory) as store:
        info, plan = store.info(), store.results()[number].evaluation.plan
    entry = Entry(known_by(info.subject), DEVICE.name, DEVICE.platform, DEVICE.target.dialect,
                  DEVICE.target.shares_host_cores, DEVICE.driver, plan, 1.0, 2.0, info.created_at)
    wisdom.keep([entry])
    return entry


def test_a_run_leaves_its_winner_and_wisdom_that_is_damaged_stops_nothing(wisdom: Wisdom, tmp_path: Path) -> None:
    file, log = toy_source(tmp_path), Log()
    finish = tune(toy_options(file), tmp_path / "run", log, toy_parts(ToyRunner()))
    (entry,) = wisdom.entries()
    assert finish.best is not None and entry.subject == known_by(PROGRAM)
    assert (entry.plan, entry.ms) == (finish.best.evaluation.plan, finish.summary.best_ms)
    wisdom.path.write_bytes(b"?" * 5000)
    tune(toy_options(file), tmp_path / "more", log, toy_parts(ToyRunner()), wisdom=True)
    assert sum("is damaged: file is not a database" in note for note in log.notes) == 2


def stopped(_: Job) -> None:
    raise KeyboardInterrupt


def test_a_run_without_a_final_leaves_nothing(wisdom: Wisdom, tmp_path: Path) -> None:
    file, log = toy_source(tmp_path), Log()
    finish = tune(toy_options(file), tmp_path / "run", log, toy_parts(ToyRunner(before_again=stopped)))
    assert finish.ending == "interrupted" and finish.best is not None
    assert wisdom.entries() == () and "wisdom keeps nothing of this run" in log.notes[-1]
    tune(toy_options(file, timing=Timing(finalists=0)), tmp_path / "none", log, toy_parts(ToyRunner()))
    assert wisdom.entries() == ()
    resume(tmp_path / "run", Budget(evaluations=26), log, toy_parts(ToyRunner()))
    assert len(wisdom.entries()) == 1


def test_a_plan_that_multiplies_in_a_lower_precision_is_not_kept(wisdom: Wisdom, tmp_path: Path) -> None:
    file, run = toy_source(tmp_path), tmp_path / "run"
    finish = tune(toy_options(file), run, Log(), toy_parts(ToyRunner()))
    assert finish.best is not None
    wisdom.forget(wisdom.entries())
    plan = finish.best.evaluation.plan
    low = replace(plan, kernels=tuple(replace(kernel, products="fp16") for kernel in plan.kernels))
    with read_store(run) as store:
        info = store.info()
    for found, count in ((low, 0), (plan, 1)):
        best = replace(finish.best, evaluation=replace(finish.best.evaluation, plan=found))
        keep_wisdom(info, finish.summary, best, print)
        assert len(wisdom.entries()) == count


@in_turn
def test_a_run_goes_on_with_the_plans_that_it_began_with(wisdom: Wisdom) -> None:
    entry = remember(search(64, "small", wisdom=False), wisdom, 7)
    log = Log()
    whole = search(96, "whole", reporter=log)
    assert any("wisdom: the search begins with 1 known plan, of other sizes on" in note for note in log.notes)
    with read_store(whole) as store:
        (text,) = store.info().options.wisdom
        first = store.batch(1)[0].plan
    assert first == plan_from_json(text) and first.kernels[0].tile == entry.plan.kernels[0].tile
    part = search(96, "part", evaluations=4)
    wisdom.forget(wisdom.entries())
    antune.resume(part, evaluations=8, reporter="silent")
    assert history(part) == history(whole)
    search(96, "nothing", evaluations=1, reporter=log)
    assert "wisdom has nothing for main" in log.notes[-4] + log.notes[-3] + log.notes[-2]


def test_a_template_begins_with_the_values_of_another_size(wisdom: Wisdom) -> None:
    small = antune.tune(small_sum(), evaluations=3, device="deterministic", reporter="silent").directory
    with read_store(small) as store:
        plans = {result.evaluation.number: dict(result.evaluation.plan.parameters) for result in store.results()}
    number = next(number for number, values in plans.items() if values["per_thread"] != plans[0]["per_thread"])
    entry = remember(small, wisdom, number)
    large = antune.tune(small_sum(n=4000), evaluations=1, device="deterministic", reporter="silent", wisdom=True)
    with read_store(large.directory) as store:
        assert store.batch(1)[0].plan.parameters == entry.plan.parameters


FOREIGN = (
    Plan(ScheduleChoice(), (KernelPlan(("S7",), (32,), (16,)),)), Plan(None, (), parameters=(("size", 64),)),
    Plan(TimeTiles(4), (KernelPlan(("S0",), (32, 32), (16, 16)),)), Plan(Stages((("A", "block"),)), ()),
    Plan(Partition((Group(("S1", "S0")),)), (KernelPlan(("S0", "S1"), (8,) * 9, (8,) * 9),)),
    Plan(ScheduleChoice(), (KernelPlan(("S0",), (2**31 - 1,) * 3, (3,)),), (("nowhere", "texture"),)))


def test_plans_of_other_programs_are_fitted_or_left_out(wisdom: Wisdom, tmp_path: Path) -> None:
    """Imported wisdom may say anything."""
    program = program_of(SUMS_OF_ROWS.replace("[N]", "[64]").replace("N - 1", "63").replace("< N", "< 64"))
    options = toy_options(tmp_path / "any.c")
    found = fitted(FOREIGN, program, DEVICE.target, options, 9)
    assert all(walk.plan in found for walk in taken_walks(
        program, DEVICE.target, replace(options, wisdom=tuple(plan.to_json() for plan in found))))
    assert 1 <= len(found) <= 2, "only those of this program's statements and loops"


@in_turn
def test_only_plans_that_are_taken_are_named(wisdom: Wisdom) -> None:
    entry = remember(search(64, "small", wisdom=False), wisdom, 7)
    near = replace(entry.subject, identity="0" * 16, extents=tuple(96 for _ in entry.subject.extents))
    wisdom.keep([replace(entry, subject=near, plan=FOREIGN[0], device="A stranger")])
    log = Log()
    search(96, "large", evaluations=1, reporter=log)
    (note,) = [note for note in log.notes if note.startswith("wisdom: the search begins with 1 known plan, of ")]
    assert note.endswith(f"on {DEVICE.name}")


def test_the_command_lists_shows_carries_and_forgets(wisdom: Wisdom, monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    command = antune_command(monkeypatch, "wisdom")
    assert command("list") == 0 and "There is no wisdom yet" in capsys.readouterr().out
    remember(search(64, "small", wisdom=False, evaluations=1), wisdom, 0)
    assert command("list") == 0 and "2x" in capsys.readouterr().out
    assert command("show") == 0 and '"kernels"' in capsys.readouterr().out
    assert command("export", "w.json") == 0 and command("import", "w.json", "--database", "other.sqlite") == 0
    assert command("list", "--database", "other.sqlite") == 0
    assert "imported" in capsys.readouterr().out
    assert command("import", "w.json", "--database", "other.sqlite") == 0
    assert "0 of 1 plan taken; of the others the same or something better is known" in capsys.readouterr().out
    assert command("forget", "main", "--all") == 2 and "--all forgets all plans" in capsys.readouterr().err
    assert command("forget", "nobody") == 2 and command("forget") == 2
    assert "wisdom has no plan 'nobody'" in capsys.readouterr().err
    assert command("forget", "main") == 0 and wisdom.entries() == ()
    monkeypatch.setenv("ANTUNE_WISDOM", "off")
    assert command("list") == 2 and "wisdom is off" in capsys.readouterr().err
