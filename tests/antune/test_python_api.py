"""antune from Python: the blocks of docs/python.md, results, reporters, explorers of others, files with the names of
folders.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import antune
from antune.reporters import Silent
from experiments.run import tune as tune_run
from experiments.store import read_store
from experiments.values.options import RunOptions
from explorer.registry import EXPLORERS, explorers, find_maker
from generator.errors import InputError
from tests.support.cli import Antune, antune_command
from tests.support.paths import ROOT
from tests.support.programs import SUMS_OF_ROWS
from tests.support.runners import needed_device
from tests.support.slow import few

BLUR = f"#define N 64\n{SUMS_OF_ROWS}"
FAST = {"evaluations": 3, "device": "deterministic", "reporter": "silent"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blur.c").write_text(BLUR)
    return tmp_path


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)


@pytest.mark.slow
def test_every_block_of_the_page_runs(folder: Path) -> None:
    needed_device("PoCL")
    (folder / "page.py").write_text("\n".join(blocks()))
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("4") == 2, "the reporter and the function of the page count the default plan and three others"
    assert lines[-2:] == ["__main__:Patient", "__main__:unscreened"]


def test_a_result_has_figures_and_exports(folder: Path) -> None:
    result = antune.tune(folder / "blur.c", **FAST)  # type: ignore[arg-type]  # as users without types call it
    assert result.plan is not None and result.best_ms and result.default_ms and result.sequential_ms
    assert result.speedup == pytest.approx(result.sequential_ms / result.best_ms)
    assert result.directory == (folder / "antune-runs" / "blur-1").absolute() and "main on" in repr(result)
    assert result.report().read_text().startswith("<!DOCTYPE html>")
    assert {path.name for path in result.export("json", "out")} and result.warnings == ()
    with pytest.raises(InputError, match="there is no export 'nonsense'; use one of"):
        result.export("nonsense", "out")
    more = antune.resume(str(result.directory), evaluations=5, reporter="silent")
    assert more.summary.evaluations == 5
    with antune.read_store(str(result.directory)) as store:
        assert len(store.results()) == 6


@pytest.mark.parametrize("reporter", few(["notebook", "silent", "text", "rich"], 2))
def test_reporters_by_name(reporter: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    antune.tune("blur.c", evaluations=1, device="deterministic", reporter=reporter)  # type: ignore[arg-type]  # as users without types call it
    assert bool(capsys.readouterr().out) is (reporter != "silent")


def test_wrong_words_are_one_sentence(folder: Path) -> None:
    with pytest.raises(InputError, match="there is no reporter 'loud'; use one of silent, text"):
        antune.tune("blur.c", reporter="loud")  # type: ignore[arg-type]  # as users without types call it
    with pytest.raises(InputError, match=r"none.c is not a file"):
        antune.tune("none.c")
    with pytest.raises(InputError, match="unknown explorer 'bees'; use one of colony"):
        antune.tune("blur.c", explorer="bees", reporter="silent")
    with pytest.raises(InputError, match="no plan maker 'oracle'; use one of sioutas, polymage-dp, beam, usual, or"):
        antune.tune("blur.c", models="oracle", evaluations=1, reporter="silent")


@pytest.mark.parametrize(("words", "message"), [
    ({"models": ["sioutas", "oracle"]}, "no plan maker 'oracle'; use one of sioutas"),
    ({"models": 3}, "models is 3; give a text, or a list of texts"),
    ({"models": ("beam", 3)}, "models is ('beam', 3); give a text, or a list of texts"),
    ({"defines": "1X"}, "-D '1X' is not a definition"), ({"includes": [3]}, "includes is [3]; give a path, or a list"),
    ({"cflags": ["-O1", 3]}, "cflags is ['-O1', 3]; give a text"), ({"device": [3]}, "device is [3]; give a text"),
    ({"parameters": ["n=3"]}, "parameters is ['n=3']; give names and numbers, like {'width': 640}"),
    ({"level": ["o1"]}, "level is ['o1']; use o1, o2 or o3"), ({"stop_at": 8}, "stop_at is 8; give a text"),
    ({"seed": "3"}, "seed is '3'; give a whole number"), ({"program_limit": "5"}, "give a number of seconds"),
    ({"explorer": ["colony"]}, "explorer is ['colony']; give its name as text, a class, or a function")])
def test_values_of_wrong_types_are_one_sentence(words: dict[str, object], message: str, folder: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        antune.tune("blur.c", **{**FAST, **words})  # type: ignore[arg-type]  # as users without types call it
    assert not list(folder.glob("antune-runs/*")), "there is no run"


def test_numbers_may_come_from_arrays(folder: Path) -> None:
    whole = {name: np.int64(2) for name in ("evaluations", "ants", "seed", "finalists", "stagnation")}
    result = antune.tune("blur.c", **{**FAST, **whole, "minutes": np.float32(3), "program_limit": np.float32(9)})  # type: ignore[arg-type]  # as users without types call it
    more = antune.resume(result.directory, evaluations=np.int32(4), reporter="silent")  # type: ignore[arg-type]  # as above
    assert result.summary.evaluations == 2 and more.summary.evaluations == 4


def test_what_the_command_line_splits_or_repeats_may_be_a_list_or_a_text(folder: Path) -> None:
    (folder / "own").mkdir()
    (folder / "own" / "size.h").write_text("#define N 64\n")
    (folder / "other.c").write_text("int other;\n")
    (folder / "sized.c").write_text(f'#include "size.h"\n{SUMS_OF_ROWS}')
    one = antune.tune("sized.c", models="none", defines="Q=2", includes="own", sources="other.c", cflags="-O1 -g",
                      args="1 'a b'", **FAST)  # type: ignore[arg-type]  # as users without types call it
    other = antune.tune("sized.c", models=["none"], defines=["Q=2"], includes=[folder / "own"], sources=("other.c",),
                        cflags=["-O1", "-g"], args=["1", "a b"], **FAST)  # type: ignore[arg-type]  # as above
    compilations = []
    for result in (one, other):
        with read_store(result.directory) as store:
            compilations.append(store.info().options.compilation)
    assert compilations[0] == compilations[1] and compilations[0].invocation.arguments == ("1", "a b")


@pytest.mark.parametrize("models", [["sioutas", "polymage-dp"], ("sioutas,polymage-dp",), "sioutas, polymage-dp"])
def test_plan_makers_may_be_a_list(models: object, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[str, ...]]()

    def stop(options: RunOptions, *_: object, **__: object) -> None:
        asked.append(options.models)
        raise InputError("enough")

    monkeypatch.setattr("antune.api.tune_run", stop)
    with pytest.raises(InputError, match="enough"):
        antune.tune("blur.c", models=models, **FAST)  # type: ignore[arg-type]  # as users without types call it
    assert asked == [("sioutas", "polymage-dp")]


PACKAGE = """
from explorer.random_walk import RandomWalk

class Patient(RandomWalk):
    def __init__(self, space, seed, starts):
        super().__init__(space, seed)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with an entry point, as pip leaves it."""
    place = tmp_path / "site"
    info = place / "patient_explorer-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "patient_explorer.py").write_text(PACKAGE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: patient-explorer\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[antune.explorers]\npatient = patient_explorer:Patient\nbroken = nowhere:Nothing\n"
    )
    monkeypatch.syspath_prepend(str(place))
    return place


def test_explorers_of_other_packages_have_names(package: Path, folder: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    assert set(explorers()) == {*EXPLORERS, "patient", "broken"}
    command: Antune = antune_command(monkeypatch)
    assert (
        command(
            "tune", "blur.c", "--explorer", "patient", "--evaluations", 3, "--device", "deterministic", "--out", "run"
        )
        == 0
    )
    assert command("resume", "run", "--evaluations", 5) == 0
    assert command("graph", "run") == 0
    capsys.readouterr()
    assert command("tune", "blur.c", "--explorer", "broken") == 2
    assert ("the explorer 'broken' (nowhere:Nothing of the package patient-explorer) cannot be imported"
            in capsys.readouterr().err)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(package)])
    assert command("resume", "run", "--evaluations", 7) == 2
    err = capsys.readouterr().err
    assert "unknown explorer 'patient'" in err and err.count("\n") == 1
    assert command("report", "run") == 0


def test_a_class_is_found_where_it_is_imported_and_nowhere_else(folder: Path) -> None:
    with pytest.raises(InputError, match="is a class or a function of a Python program"):
        find_maker("antigravity:Nothing")
    assert "antigravity" not in sys.modules, "names come from stores: nothing is imported for them"
    with pytest.raises(InputError, match="is a class or a function of a Python program"):
        find_maker("os:system")


SHADOWED = (
    "import sys; sys.path.insert(0, {folder!r}); import antune; r = antune.tune({source!r}, evaluations=1, "
    "device={device!r}, reporter='silent', finalists=0); print(r.summary.outcomes)"
)


@pytest.mark.parametrize("name", few(["metrics", "graph"], 1))
def test_a_file_with_the_name_of_a_folder_breaks_nothing(name: str, folder: Path) -> None:
    needed_device("PoCL")
    (folder / f"{name}.py").write_text("raise RuntimeError('the wrong one')\n")
    words = SHADOWED.format(folder=str(folder), source=str(folder / "blur.c"), device="pocl")
    done = subprocess.run(
        [sys.executable, "-c", words], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "'timed': 2" in done.stdout
    assert f"antune has folders of the same names as {folder / name}.py" in done.stderr


def test_a_module_that_is_there_already_is_named(folder: Path) -> None:
    (folder / "metrics.py").write_text("mine = 1\n")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); import metrics, antune"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert f"{folder / 'metrics.py'} is imported as `metrics`, which is the name of a folder of antune" in done.stderr


def test_the_names_of_before_are_there_for_programs_that_run_the_parts(folder: Path) -> None:
    options = antune.RunOptions(
        str(folder / "blur.c"), antune.Compilation(), antune.Budget(evaluations=1), device="deterministic"
    )
    finish = tune_run(options, folder / "run", Silent())
    with read_store(folder / "run") as store:
        assert len(store.results()) == 2 and finish.best is not None
