"""A run that goes on from a checkpoint is the run that was never stopped, and a checkpoint that does not fit does no
harm.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.run import More, resume, tune
from experiments.search import checkpoints
from experiments.search.checkpoints import CHECKPOINT_FILE
from experiments.store import open_store, read_store
from experiments.values.options import Budget
from generator.errors import InputError
from tests.support.runs import Log, ToyRunner, history, toy_options, toy_parts
from tests.support.slow import few
from tests.support.spaces import large_space

pytestmark = pytest.mark.usefixtures("saved_always")


def walked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the iterations that explorers are asked for from now on."""
    from experiments.search.loop import Search

    asked, original = list[int](), Search._walks

    def counting(search: Search, iteration: int, count: int) -> object:
        asked.append(iteration)
        return original(search, iteration, count)

    monkeypatch.setattr(Search, "_walks", counting)
    return asked


@pytest.mark.parametrize("name", few(["colony", "genetic", "portfolio", "local", "exhaustive", "acs"], 1))
def test_resumed_from_a_checkpoint_equals_replayed_and_uninterrupted(name: str, source: Path, tmp_path: Path,
                                                                     monkeypatch: pytest.MonkeyPatch) -> None:
    histories = []
    for how in ("whole", "checkpoint", "replay"):
        directory = tmp_path / how
        for budget in (42,) if how == "whole" else (6, 18, 42):
            if directory.exists():
                if how == "replay":
                    (directory / CHECKPOINT_FILE).unlink()
                asked = walked(monkeypatch)
                resume(directory, Budget(evaluations=budget), Log(), toy_parts(ToyRunner()))
                assert (asked[0] == 1) == (how == "replay")
            else:
                tune(toy_options(source, budget, explorer=name), directory, Log(), toy_parts(ToyRunner()))
        histories.append(history(directory))
    assert histories[0] == histories[1] == histories[2]


@pytest.mark.parametrize(
    "damage", few(["cut", "gone", "old code", "changed history", "noise", "empty", "other run", "directory"],
                  ("cut", "changed history"))
)
def test_a_checkpoint_that_does_not_fit_is_not_used(damage: str, source: Path, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    run, file = tmp_path / "run", tmp_path / "run" / CHECKPOINT_FILE
    tune(toy_options(source, 18), run, Log(), toy_parts(ToyRunner()))
    tune(toy_options(source, 42), tmp_path / "whole", Log(), toy_parts(ToyRunner()))
    data = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "noise":
            file.write_bytes(data[:-40] + bytes(40))
        case "empty":
            file.write_bytes(b"")
        case "gone":
            file.unlink()
        case "old code":
            monkeypatch.setattr(checkpoints, "SEARCH", ("explorer",))
        case "other run":
            tune(toy_options(source, 18, seed=5), tmp_path / "other", Log(), toy_parts(ToyRunner()))
            file.write_bytes((tmp_path / "other" / CHECKPOINT_FILE).read_bytes())
        case "changed history":
            with open_store(run) as store, store._writing():
                store._db.execute("UPDATE outcome SET median_ms = median_ms + 1 WHERE evaluation = 3")
        case "directory":
            file.unlink()
            file.mkdir()
    asked = walked(monkeypatch)
    if damage == "changed history":  # the search notices
        with pytest.raises(InputError, match="would now be another plan"):
            resume(run, Budget(evaluations=42), Log(), toy_parts(ToyRunner()))
    else:
        resume(run, Budget(evaluations=42), Log(), toy_parts(ToyRunner()))
    assert asked[0] == 1
    if damage != "changed history":
        assert history(run) == history(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "genetic"])
def test_twenty_thousand_evaluations_resume_in_seconds(name: str, source: Path, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    parts, run = replace(toy_parts(ToyRunner()), make_space=large_space), tmp_path / "run"
    tune(toy_options(source, 20_000, explorer=name, ants=20), run, Log(), parts)
    asked, began_s = walked(monkeypatch), time.process_time()
    resume(run, Budget(evaluations=20_040), Log(), parts)
    took_s = time.process_time() - began_s
    print(f"{name}: {took_s:.1f} CPU s")
    assert min(asked) > 900 and took_s < 20


def test_a_history_that_would_be_another_now_can_be_adopted(source: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    tune(toy_options(source, 18), run, Log(), toy_parts(ToyRunner()))
    (run / CHECKPOINT_FILE).unlink()
    with open_store(run) as store, store._writing():  # as if another version had asked for something else
        store._db.execute("UPDATE run SET options = replace(options, '\"seed\":0', '\"seed\":7')")
    before = history(run)
    with pytest.raises(InputError, match=r"cannot be continued as it was: .*--anyway"):
        resume(run, Budget(evaluations=42), Log(), toy_parts(ToyRunner()))
    log = Log()
    resume(run, Budget(evaluations=42), log, toy_parts(ToyRunner()), more=More(anyway=True))
    assert any("goes on from what was measured" in note for note in log.notes)
    after = history(run)
    assert after[:19] == before and len(after) == 43
    assert len({entry[4] for entry in after}) == 43  # nothing is asked twice
    runner = ToyRunner()
    (run / CHECKPOINT_FILE).unlink()
    resume(run, Budget(evaluations=54), Log(), toy_parts(runner))  # adopted for good, with or without a checkpoint
    assert history(run)[:43] == after and min(runner.evaluated) == 43
    with read_store(run) as store:
        assert store.reused.adopted() == 3
