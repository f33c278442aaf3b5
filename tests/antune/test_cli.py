"""The commands, their exit codes and their messages, as a user or a script meets them."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

import antune
from antune.parsing import parse_define, parse_parameters
from experiments.ceilings.files import keep_ceilings
from experiments.search.run_dirs import claimed_directory
from explorer.registry import EXPLORERS
from generator.errors import InputError
from generator.garbage import THRESHOLDS
from metrics.outcome import CompileFailed, Durations
from metrics.roofline import Bandwidth, Ceilings
from tests.support.cli import Antune, antune_command
from tests.support.paths import ROOT
from tests.support.runners import needed_device
from tests.support.runs import ToyRunner, toy_parts
from tests.support.slow import few

SOURCE = """
void scale(int n, int m, double A[n][m], double B[n][m])
{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      B[i][j] = 2.0 * A[i][j] + B[i][j];
#pragma endscop
}
"""
HEAVY = ("numpy", "islpy", "pyopencl", "sklearn", "scipy", "matplotlib", "plotly", "deap", "rich",
         "pycparser", "sqlite3")


@pytest.fixture
def run_antune(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Antune:
    """Run the command in this process, in an empty directory with `scale.c`; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.c").write_text(SOURCE)
    return antune_command(monkeypatch)


def tune_words(*more: object) -> tuple[object, ...]:
    return ("tune", "scale.c", "--param", "n=40", "--param", "m=30", "--device", "deterministic", "--evaluations", 12,
            *more)


def test_help_loads_nothing_heavy() -> None:
    script = ("import gc, sys\nfrom antune.__main__ import main\nsys.argv = ['antune', '--help']\ntry: main()\n"
              f"except SystemExit: pass\nprint(gc.get_threshold(), [m for m in {HEAVY!r} if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"{THRESHOLDS} []\n"), "the command looks for garbage rarely"
    assert "antune tune FILE.c" in done.stdout


@pytest.mark.parametrize("command", ["tune", "resume", "report", "list", "explain", "devices", "doctor"])
def test_every_command_teaches_by_example(command: str, run_antune: Antune,
                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(command, "--help") == 0
    assert f"    antune {command}" in capsys.readouterr().out


def test_version(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("--version") == 0
    assert capsys.readouterr().out.startswith("antune ")


def test_tune_then_list_report_and_resume(run_antune: Antune, tmp_path: Path,
                                          capsys: pytest.CaptureFixture[str],
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTUNE_PICTURE", "1")
    assert run_antune(*tune_words()) == 0
    run = tmp_path / "antune-runs" / "scale-1"
    out = capsys.readouterr().out
    for words in ("sequential C", "default plan", "best plan", "The winning decisions", "compile", str(run.name),
                  "[12/12] iteration 2 ant 1"):
        assert words in out
    written = {p.name for p in run.iterdir()} - {"search.checkpoint"}  # there only if the search took its time
    assert written == {
        "run.sqlite",
        "run.lock",
        "seal",
        "reference.npz",
        "summary.json",
        "results.csv",
        "best.json",
        "best.cl",
        "convergence.png",
    }
    assert "made by: antune tune" in (run / "best.cl").read_text()
    assert run_antune("resume", run) == 0
    assert "is complete" in capsys.readouterr().out
    assert run_antune("list", "--json", "runs.json") == 0
    (listed,) = json.loads((tmp_path / "runs.json").read_text())
    assert (listed["status"], listed["summary"]["evaluations"]) == ("finished", 12)
    assert run_antune("report", run) == 0
    page = (run / "report.html").read_text()
    assert "src=\"http" not in page and "__kernel" in page and "antune tune" in page
    for title in ("How the best time fell", "Outcomes", "What each decision did", "Environment"):
        assert title in page


def test_runs_get_their_own_directories(run_antune: Antune, tmp_path: Path) -> None:
    for _ in range(2):
        assert run_antune(*tune_words("--explorer", "random", "--space", "paper")) == 0
    with (
        claimed_directory(tmp_path / "antune-runs", "scale") as one,
        claimed_directory(tmp_path / "antune-runs", "scale") as other,
    ):
        assert [one.name, other.name] == ["scale-3", "scale-4"], "two that start at the same time"
    assert sorted(path.name for path in (tmp_path / "antune-runs").iterdir()) == ["scale-1", "scale-2"]


def test_the_same_command_makes_the_same_run(run_antune: Antune, tmp_path: Path) -> None:
    for name in "ab":
        assert run_antune(*tune_words("--out", name, "--seed", 3)) == 0
    assert (tmp_path / "a" / "results.csv").read_text() == (tmp_path / "b" / "results.csv").read_text()


def test_explain_shows_the_code_of_a_stored_plan(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(*tune_words("--out", "run")) == 0
    words = ("explain", "scale.c", "--param", "n=40", "--param", "m=30", "--device", "deterministic")
    capsys.readouterr()
    assert run_antune(*words, "--plan", "run/best.json") == 0
    assert "__kernel" in capsys.readouterr().out
    assert run_antune(*words, "--json", "launches.json") == 0
    found = json.loads(Path("launches.json").read_text())
    assert [kernel["blocks_per_launch"]["min"] >= 1 for kernel in found["kernels"]] == [True], found
    plan = json.loads(Path("run/best.json").read_text())
    Path("steps.json").write_text(json.dumps({**plan, "schedule": {"steps": 2}}))
    capsys.readouterr()
    assert run_antune(*words, "--plan", "steps.json", "--json", "steps.out.json") == 2
    shown = capsys.readouterr()
    assert "run several time steps each" in shown.err and not shown.out and not Path("steps.out.json").exists()


@pytest.mark.parametrize(("words", "message"), [
    (("tune", "none.c"), "none.c is not a file; give a C file"),
    (("tune", "scale.c", "-D", "1X"), "-D '1X' is not a definition; write -D NAME"),
    (("tune", "scale.c", "-I", "nowhere"), "-I nowhere is not a directory"),
    (("tune", "scale.c", "--source", "nowhere.c"), "--source nowhere.c is not a file"),
    (("tune", "scale.c", "--param", "n"), "--param 'n' is not a number; write --param NAME=NUMBER"),
    (("tune", "scale.c", "--param", "n=1.5"), "n = 1.5: sizes of C are whole numbers"),
    (("tune", "scale.c", "--cflags", "'open"), "balance the quotes"),
    (("tune", "scale.c", "--explorer", "bees"), f"unknown explorer 'bees'; use one of {', '.join(EXPLORERS)}"),
    (("tune", "scale.c", "--device", "deterministic:soon"), "is not a number of seconds"),
    (("tune", "scale.c", "--device", "no such device"), "no device is called 'no such device'; use"),
    (("tune", "scale.c", "--evaluations", "0"), "--evaluations is 0; use a number above 0"),
    (("tune", "scale.c", "--ants", "0"), "--ants is 0; use 1 to 100000"),
    (("tune", "scale.c", "--seed", "-1"), "--seed is -1; use 0 to 2^63 - 1"),
    (("tune", "scale.c", "--seed", "99999999999999999999"), "--seed is 99999999999999999999; use 0 to"),
    (("tune", "scale.c", "--minutes", "0"), "--minutes is 0.0; use a number above 0"),
    (("tune", "scale.c", "--minutes", "nan"), "--minutes is nan; use a number above 0"),
    (("tune", "scale.c", "--minutes", "inf"), "--minutes is inf; use a number above 0"),
    (("tune", "scale.c", "--iterations", "-1"), "--iterations is -1; use a number above 0"),
    (("resume", "nowhere"), "nowhere is not a run directory"),
    (("report", "."), ". is not a run directory"),
    (("list", "nowhere"), "nowhere is not a directory"),
    (("explain", "scale.c", "--plan", "none.json"), "--plan none.json cannot be read"),
    (("explain", "scale.c", "--json", "x.json", "--cost", "static"), "leave --find, --why and --cost out"),
    (("explain", "scale.c", "--plan", "scale.c"), "--plan scale.c: the plan is not JSON"),
])
def test_bad_input_is_one_line_with_a_remedy(words: tuple[str, ...], message: str, run_antune: Antune, tmp_path: Path,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(*words) == 2
    err = capsys.readouterr().err
    assert err.startswith("antune: ") and message in err and err.count("\n") == 1
    assert not (tmp_path / "antune-runs").exists()


def test_unknown_options_are_explained(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune("tune", "scale.c", "--foo") == 2
    assert "--foo" in capsys.readouterr().err
    assert run_antune("tune", "scale.c", "--space", "outer") == 2


def test_a_taken_directory_is_refused(run_antune: Antune, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(*tune_words("--out", "run")) == 0
    assert run_antune(*tune_words("--out", "run")) == 2
    assert "already holds a run: go on with `antune resume run`" in capsys.readouterr().err
    (tmp_path / "scale.c").write_text(SOURCE + "\n")
    assert run_antune(*tune_words("--out", "run")) == 2
    assert "made with another version of the file" in capsys.readouterr().err


def test_an_unwritable_directory_is_refused(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(*tune_words("--out", "scale.c/run")) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--no-picture",), pytest.param((), marks=pytest.mark.slow)])
def test_the_picture_may_be_left_out(words: tuple[str, ...], run_antune: Antune, tmp_path: Path,
                                     capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTUNE_PICTURE", "1")
    assert run_antune(*tune_words("--out", "run", *words)) == 0
    [files] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Files:")]
    written = (tmp_path / "run" / "convergence.png").exists()
    assert written == ("convergence.png" in files) == (not words)
    assert "summary.json, results.csv" in files and files.endswith("best.json, best.cl)")


def test_nothing_valid_is_exit_code_3(run_antune: Antune, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                      capsys: pytest.CaptureFixture[str]) -> None:
    runner = ToyRunner(answer=lambda _plan: CompileFailed("no", Durations()))
    monkeypatch.setattr("experiments.search.parts.PARTS", toy_parts(runner))
    assert run_antune(*tune_words()) == 3
    assert "Nothing valid was found" in capsys.readouterr().out
    assert run_antune("report", "antune-runs/scale-1") == 0
    assert "compile failed" in (tmp_path / "antune-runs" / "scale-1" / "report.html").read_text()


def shown_on_a_terminal(columns: int, *words: str) -> str:
    """What `antune words...` writes to a terminal of so many columns."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    child = subprocess.Popen([sys.executable, "-m", "antune.cli", *words], cwd=ROOT, stdout=end, env=environment)
    return shown_by(child, terminal, end)


def shown_by(child: subprocess.Popen[bytes], terminal: int, end: int) -> str:
    """What a process, which must succeed, writes to the `end` of a terminal."""
    os.close(end)
    shown = b""
    with suppress(OSError):  # Linux: reading a terminal whose other end is closed
        while piece := os.read(terminal, 4096):
            shown += piece
    os.close(terminal)
    assert child.wait(20) == 0
    return shown.decode()


def test_tables_give_way_to_lines_on_a_narrow_terminal(run_antune: Antune, tmp_path: Path) -> None:
    assert run_antune(*tune_words("--out", "run")) == 0
    narrow = shown_on_a_terminal(60, "list", str(tmp_path))
    assert f"run {tmp_path / 'run'}\r\n  status: finished\r\n  plans: 12\r\n" in narrow
    assert "status: " not in shown_on_a_terminal(300, "list", str(tmp_path))


@pytest.mark.parametrize("more", few([{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
                                      {"PYTHONIOENCODING": "ascii"}], 1), ids=len)
def test_odd_names_survive_a_locale_that_lacks_them(more: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "f\u00fcr 1"
    folder.mkdir()
    (folder / "gr\u00f6\u00dfe.c").write_text(SOURCE)
    out = folder / "r\u00fcn"
    words = [sys.executable, "-m", "antune.cli", "tune", str(folder / "gr\u00f6\u00dfe.c"), "--param", "n=40",
             "--param", "m=30", "--device", "deterministic", "--evaluations", "2", "--out", str(out)]
    done = subprocess.run(words, cwd=ROOT, env={**os.environ, **more}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Next: antune report '" in done.stdout  # the name has a blank
    assert "gr\u00f6\u00dfe.c" in (out / "best.cl").read_text(encoding="utf-8")


def test_a_run_directory_that_cannot_be_written_is_no_bug(run_antune: Antune, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert run_antune(*tune_words("--out", "run")) == 0

    def full(_store: object, directory: Path, **_facts: object) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device", str(directory / "report.html"))

    monkeypatch.setattr("experiments.report.page.write_report", full)
    capsys.readouterr()
    assert run_antune("report", "run") == 2
    assert capsys.readouterr().err == ("antune: run/report.html cannot be written: No space left on device; free disk "
                                       "space, or use a place that you can write\n")


def start(tmp_path: Path, stdout: int, evaluations: int = 30) -> subprocess.Popen[bytes]:
    """`antune tune` in a process of its own, with 0.05 s per evaluation."""
    (tmp_path / "scale.c").write_text(SOURCE)
    words = ("tune", str(tmp_path / "scale.c"), "--param", "n=40", "--param", "m=30", "--evaluations", str(evaluations),
             "--device", "deterministic:0.05", "--out", str(tmp_path / "run"))
    return subprocess.Popen([sys.executable, "-m", "antune.cli", *words], cwd=ROOT, stdout=stdout)


def test_ctrl_c_saves_and_exits_with_130(tmp_path: Path, run_antune: Antune) -> None:
    child = start(tmp_path, subprocess.PIPE)
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith(b"[4/30]"):
            break
    child.send_signal(signal.SIGINT)
    rest = child.stdout.read().decode()
    assert child.wait(20) == 130
    assert "Ctrl-C again stops at once" in rest and "interrupted, saved after" in rest and "antune resume" in rest
    assert run_antune("resume", tmp_path / "run") == 0
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["evaluations"] == 30


def test_a_terminal_shows_one_bar(tmp_path: Path) -> None:
    terminal, end = pty.openpty()
    text = shown_by(start(tmp_path, end, 12), terminal, end)
    assert "12/12" in text and " left" in text and "best plan" in text and "[4/12]" not in text


def test_explain_says_how_fast_any_plan_could_be(run_antune: Antune, capsys: pytest.CaptureFixture[str],
                                                 tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = needed_device("PoCL")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = ("explain", "scale.c", "--param", "n=40", "--param", "m=30", "--device", device.key)
    assert run_antune(*words) == 0
    assert f"antune suite roofline --device {device.key}" in capsys.readouterr().out
    rates = tuple((type_, 1e9) for type_ in ("float", "double"))
    keep_ceilings(Ceilings(device.key, device.driver, "now", rates, (Bandwidth(1 << 20, 1e6),)))
    assert run_antune(*words) == 0
    assert re.search(r"least time on .*: [\d.]+ ms, limited by memory", capsys.readouterr().out)


def test_doctor_says_what_is_there(run_antune: Antune, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run_antune("doctor"), capsys.readouterr().out
    for name in ("Python", "packages", "C compiler", "linker", "device 0", "CUDA", "Intel CPU runtime", "runs"):
        assert name in out
    assert (code == 2) == ("MISSING" in out)


def test_definitions_and_sizes_are_read_as_a_compiler_reads_them() -> None:
    assert parse_define("N=1024") == "N=1024"
    assert parse_define("F(x)=((x) + 1)") == "F(x)=((x) + 1)"
    assert parse_parameters(["n=3", " m = -4 "]) == (("n", 3), ("m", -4))
    with pytest.raises(InputError, match="given twice"):
        parse_parameters(["n=3", "n=4"])


def test_public_names_exist_and_can_be_found() -> None:
    for name in antune.__all__:
        assert getattr(antune, name).__module__ != "antune", "it comes from a room"
    with pytest.raises(AttributeError):
        antune.nothing  # noqa: B018  # the access is the test
