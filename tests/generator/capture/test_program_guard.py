"""The user's program ends with antune, at its limit, and whatever it prints; static refusals come before it is run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generator.errors import InputError
from generator.frontend_c.source import Compilation, Invocation
from generator.problem import Problem
from generator.reading import read_problem
from tests.support.cluster import wait_until
from tests.support.paths import ROOT
from tests.support.programs import write_c
from tests.support.slow import few, in_turn

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int x[50];
int main(void) {
BEFORE
#pragma scop
  for (int i = 0; i < 50; i++) x[i] = i;
#pragma endscop
  return x[3];
}
"""
HEEDING = """import runpy, signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` has it ignored, and those who run in the background SIGINT
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("antune", run_name="__main__")"""
ENDLESS = """  FILE *told = fopen("%s", "w");
  int child = fork(), loner = child ? fork() : 0;  // the second leaves the session
  if (child && !loner) setsid();
  if (child && loner) fprintf(told, "%%d %%d %%d", (int)getpid(), child, loner), fclose(told);
  for (;;) sleep(1);"""


def read(before: str, folder: Path, limit_s: float = 60.0) -> Problem:
    compilation = Compilation(("-D_POSIX_C_SOURCE=200809L",), invocation=Invocation(limit_s=limit_s))
    return read_problem(write_c(PROGRAM.replace("BEFORE", before), folder), compilation, None, None, {}, 0)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@in_turn
@pytest.mark.parametrize("how", few([signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT], 1))
def test_it_dies_with_antune(how: signal.Signals, tmp_path: Path) -> None:
    told, scratch = tmp_path / "told", tmp_path / "scratch"
    scratch.mkdir()
    file = write_c(PROGRAM.replace("BEFORE", ENDLESS % told), tmp_path)
    antune = subprocess.Popen(
        [sys.executable, "-c", HEEDING, "explain", str(file)],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)},
    )
    try:
        wait_until(lambda: told.is_file() and len(told.read_text().split()) == 3, "the program to begin")
        pids = [int(word) for word in told.read_text().split() if int(word)]
        assert all(map(alive, pids)) and any(scratch.iterdir())
        antune.send_signal(how)
        antune.wait(5)
        wait_until(lambda: not any(map(alive, pids)), "the program and its children to end", 5.0)
        wait_until(lambda: not any(scratch.iterdir()), "its folder to go", 5.0)
    finally:
        antune.kill()


COMPILER = """#!/bin/sh
# The real one, except that it takes its time for the program that is to be run.
case "$*" in *scop.o*) touch "$TMPDIR/cc1234.s" TOLD; exec sleep 100;; esac
exec cc "$@"
"""


@in_turn
@pytest.mark.parametrize("how", few([signal.SIGTERM, signal.SIGHUP], 1))
def test_nothing_is_left_when_antune_ends_before_it_begins(how: signal.Signals, tmp_path: Path) -> None:
    told, scratch, slow = tmp_path / "told", tmp_path / "scratch", tmp_path / "slow-cc"
    scratch.mkdir()
    slow.write_text(COMPILER.replace("TOLD", str(told)))
    slow.chmod(0o755)
    antune = subprocess.Popen(
        [sys.executable, "-c", HEEDING, "explain", str(write_c(PROGRAM.replace("BEFORE", ""), tmp_path))],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch), "CC": str(slow)},
    )
    try:
        wait_until(told.is_file, "the compiler to begin")
        assert any(scratch.iterdir())
        antune.send_signal(how)
        assert antune.communicate(timeout=5)[1] == b""
        assert antune.returncode == 128 + how and not any(scratch.iterdir())
    finally:
        antune.kill()


def test_it_may_take_so_long(tmp_path: Path) -> None:
    begun_s = time.monotonic()
    with pytest.raises(InputError, match="it took more than 1 s"):
        read("  for (;;) sleep(1);", tmp_path, 1.0)
    assert time.monotonic() - begun_s < 20


@in_turn
def test_what_it_prints_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"it took more than 2 s \(noise noise"):
        read('  for (;;) printf("noise noise noise\\n");', tmp_path, 2.0)


def test_much_output_does_no_harm(tmp_path: Path) -> None:
    program = read(
        '  for (int k = 0; k < 500000; k++) fprintf(k % 2 ? stdout : stderr, "noise noise noise\\n");', tmp_path
    ).program
    assert program.array("x").role == "out"


def test_refusals_come_before_it_is_run(tmp_path: Path) -> None:
    text = PROGRAM.replace("BEFORE", f'  fopen("{tmp_path}/ran", "w");').replace(
        "x[i] = i;", "while (x[i] > 0) x[i]--;"
    )
    with pytest.raises(InputError, match="is not static control"):
        read_problem(write_c(text, tmp_path), Compilation(), None, None, {}, 0)
    assert not (tmp_path / "ran").exists()
