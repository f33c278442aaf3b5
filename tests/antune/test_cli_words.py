"""What the command line says: help in groups, wrong values in plain words, files that cannot be written, early Ctrl-C.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from antune.cli import app
from antune.help import GROUPS
from tests.support.cli import Antune, antune_command
from tests.support.pages import made_run
from tests.support.paths import ROOT
from tests.support.slow import in_turn


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.c").write_text("int main(void) { return 0; }\n")
    return antune_command(monkeypatch)


def test_the_options_of_tune_stand_in_groups(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("tune", "--help") == 0
    text = capsys.readouterr().out
    titles = [line.rstrip(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[1:-1] == [title for title, _ in GROUPS if title != "Examples"]
    assert text.rindex("--evaluations") > text.index("When to stop:") > text.rindex("--explorer")
    known = {name for _, names in GROUPS for name in names}
    command = typer.main.get_command(app).commands["tune"]  # type: ignore[attr-defined]  # typer's groups have commands
    options = {one.name for one in command.params if one.param_type_name == "option"}
    assert options <= known, "an option of tune has no group in antune/help.py"
    assert run_antune("list", "--help") == 0
    assert "Options:" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "message"), [
    (("--evaluations", "abc"), "'abc' is not a whole number"),
    (("--minutes", "soon"), "'soon' is not a number"),
    (("--live-port", "99999"), "99999 is too large; the most is 65535"),
    (("--scop", "0"), "0 is too small; the least is 1"),
    (("--level", "o9"), "'o9' is not one of 'o1', 'o2', 'o3'"),
])
def test_wrong_values_are_named_in_plain_words(words: tuple[str, ...], message: str, run_antune: Antune,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("tune", "scale.c", *words) == 2
    err = capsys.readouterr().err
    assert f"Invalid value for '{words[0]}': {message}" in err
    assert "Value error" not in err and "Input should" not in err


@in_turn
def test_a_graph_is_written_as_its_name_says_or_refused(run_antune: Antune, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    made_run(tmp_path / "run", 20).close()
    for name, beginning in (
        ("a.png", b"\x89PNG"),
        ("a.pdf", b"%PDF"),
        ("a.svg", b"<svg"),
        ("a.html", b"<!DOCTYPE html>"),
    ):
        assert run_antune("graph", "run", "--out", name) == 0
        assert (tmp_path / name).read_bytes().startswith(beginning)
    capsys.readouterr()
    for out, message in (
        ("a.gif", "is not a .svg, .html, .png or .pdf file"),
        ("run", "is a directory; name a file in it"),
        ("", "an empty name is not a file; name the file to write"),
        ("no/a.svg", "there is no directory no"),
        ("folder.svg", "is a directory; name a file in it"),
    ):
        (tmp_path / "folder.svg").mkdir(exist_ok=True)
        assert run_antune("graph", "run", "--out", out) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ("suite", "polybench", "--programs", "gemm", "--size", "mini", "--device", "deterministic"),
    ("suite", "pipelines", "--programs", "blur", "--device", "deterministic"),
    ("suite", "first-contact", "--minutes", "1"),
])
def test_folders_of_results_that_cannot_be_made_are_refused(words: tuple[str, ...], run_antune: Antune,
                                                            monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)  # first-contact handles SIGTERM
    assert run_antune(*words, "--out", "scale.c") == 2
    *_, said = capsys.readouterr().err.splitlines()
    assert said.startswith("antune: --out ") and said.endswith("; choose another folder") and "scale.c" in said


@pytest.mark.parametrize("place", ["nowhere", "scale.c"])
def test_a_graph_of_no_run_names_what_is_no_run(
    place: str, run_antune: Antune, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_antune("graph", place) == 2
    assert f"{place} is not a run directory" in capsys.readouterr().err


def test_compare_leaves_a_damaged_run_out_and_says_which(run_antune: Antune, tmp_path: Path,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two", "three"):
        made_run(tmp_path / "runs" / name, 20).close()
    (tmp_path / "runs" / "two" / "run.sqlite").write_bytes(os.urandom(5000))
    assert run_antune("compare", "runs", "--json", "table.json") == 0
    out = capsys.readouterr().out
    assert "left out: runs/two: runs/two/run.sqlite is damaged" in out
    assert any("runs/two" in reason for reason in json.loads((tmp_path / "table.json").read_text())["left_out"])
    shutil.rmtree(tmp_path / "runs" / "one")
    assert run_antune("compare", "runs") == 2
    err = capsys.readouterr().err
    assert "there is one run in runs" in err and "runs/two/run.sqlite is damaged" in err and err.count("\n") == 1


@pytest.mark.parametrize(("address", "message"), [
    ("nonsense", "'nonsense' is not an address of a Dask scheduler: write tcp://HOST:PORT"),
    ("tcp://127.0.0.1:notaport", "is not an address of a Dask scheduler"),
    ("none.json", "there is no scheduler file none.json"),
])
def test_a_worker_without_a_scheduler_says_so(address: str, message: str, run_antune: Antune,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    assert run_antune("worker", address, "--device", "deterministic") == 2
    said = capsys.readouterr()
    assert message in said.err and "Traceback" not in said.out + said.err


@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.15])
def test_ctrl_c_while_everything_is_imported_is_quiet(delay_s: float) -> None:
    words = ("import os, sys, time; sys.argv = ['antune', 'devices']; import antune.__main__ as entry;"
             "print('begun', flush=True); entry.main()")
    child = subprocess.Popen(
        [sys.executable, "-c", words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(delay_s)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in err


@pytest.mark.parametrize("content", ["", "{}", "[]", "no JSON", '{"address": "nowhere"}'])
def test_what_is_no_scheduler_file_is_refused_at_once(content: str, run_antune: Antune, tmp_path: Path,
                                                      capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    (tmp_path / "scheduler.json").write_text(content)
    assert run_antune("worker", "scheduler.json", "--device", "deterministic") == 2
    assert "scheduler.json is not a scheduler file" in capsys.readouterr().err


INTERRUPTED = """import os, signal, sys
class Interrupt:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "generator.errors":
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv, sys.meta_path = [sys.argv[1], "devices"], [Interrupt, *sys.meta_path]
import antune"""


@pytest.mark.parametrize(("program", "quiet"), [("/usr/bin/antune", True), ("analysis.py", False)])
def test_ctrl_c_before_the_command_begins_is_quiet_and_a_users_program_keeps_its_way(program: str, quiet: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in ((130, -signal.SIGINT) if quiet else (1, -signal.SIGINT))
    assert ("KeyboardInterrupt" in done.stderr) != quiet
