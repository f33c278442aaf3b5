"""Capture as a process: the compiler it uses, time limits, what it leaves behind, what it refuses."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from generator.capture import capture
from generator.errors import InputError
from generator.frontend_c.parse import read_scop
from generator.frontend_c.source import Compilation
from tests.support.captures import AXPY, run


def test_no_file_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    run(tmp_path, AXPY)
    assert list(scratch.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["scratch", "user.c"]


def test_no_compiler_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "user.c"
    file.write_text(AXPY)
    source = read_scop(file, Compilation())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(InputError, match="no C compiler"):
        capture(source, {}, lambda *_: {}, seed=1)


def test_cc_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = tmp_path / "mycc"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec cc "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(wrapper))
    run(tmp_path, AXPY)
    assert "-O3" in (tmp_path / "calls").read_text()


@pytest.mark.parametrize(("microseconds", "limit_s", "samples"), [(400_000, 4, (2, 4)), (1_200_000, 2, (1, 1))])
def test_a_long_scop_is_timed_less_often_and_says_so(tmp_path: Path, microseconds: int, limit_s: float,
                                                     samples: tuple[int, int]) -> None:
    text = f"""\
#define _DEFAULT_SOURCE
#include <unistd.h>
double a[3];
int main(void) {{
#pragma scop
  usleep({microseconds});
  for (int i = 0; i < 3; i++) a[i] += 1;
#pragma endscop
  return 0;
}}
"""
    reference = run(tmp_path, text, limit_s=limit_s).reference
    assert samples[0] <= len(reference.sequential_ms) <= samples[1]
    assert "the sequential time is based on" in reference.warnings[-1]
    assert all(t >= microseconds / 1000 for t in reference.sequential_ms)
    np.testing.assert_array_equal(reference.outputs["a"], np.ones(3))


def test_libraries_and_old_language_standards(tmp_path: Path) -> None:
    (tmp_path / "extra.c").write_text("double extra(void) { return 4; }\n")
    library = tmp_path / "libextra.a"
    subprocess.run(["cc", "-c", str(tmp_path / "extra.c"), "-o", str(tmp_path / "extra.o")], check=True)
    subprocess.run(["ar", "rcs", str(library), str(tmp_path / "extra.o")], check=True)
    text = AXPY.replace("axpy(N - 1, 0.5)", "axpy(N - 1, extra())").replace(
        "#define N", "double extra(void);\n#define N"
    )
    flags = ("-std=c90", "-Werror", "-Wall", "-L", str(tmp_path), "-lextra")
    captured = run(tmp_path, text, compilation=Compilation(cflags=flags))
    assert captured.reference.warnings == () and captured.reference.inputs["alpha"] == 4


def test_one_of_several_scops(tmp_path: Path) -> None:
    text = """\
double a[3];
int main(void) {
  int i;
#pragma scop
  for (i = 0; i < 3; i++) a[i] = 7;
#pragma endscop
#pragma scop
  for (i = 0; i < 3; i++) a[i] *= 2;
#pragma endscop
  return 0;
}
"""
    file = tmp_path / "user.c"
    file.write_text(text)
    captured = capture(read_scop(file, Compilation(), scop=2), {}, lambda *_: {}, seed=1)
    np.testing.assert_array_equal(captured.reference.inputs["a"], [7, 7, 7])
    np.testing.assert_array_equal(captured.reference.outputs["a"], [14, 14, 14])


def test_an_element_type_of_another_size_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "user.c"
    file.write_text(AXPY)
    source = read_scop(file, Compilation())
    wrong = tuple(replace(v, type="float") if v.name == "x" else v for v in source.variables)
    with pytest.raises(InputError, match="`x` has elements of 8 bytes but its type was understood as `float`"):
        capture(replace(source, variables=wrong), {}, lambda *_: {}, seed=1)


def test_a_scop_that_comes_from_a_header_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "user.c"
    file.write_text(AXPY)
    source = read_scop(file, Compilation())
    with pytest.raises(InputError, match=r"user.c:5: `#pragma scop` is not written on this line"):
        capture(replace(source, first_line=5), {}, lambda *_: {}, seed=1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_hanging_program_is_killed_with_its_children(tmp_path: Path) -> None:
    text = """\
#include <unistd.h>
double a[3];
int main(void) {
  if (fork() == 0) { execlp("sleep", "sleep", "98765.25", (char *)0); }
  for (;;) sleep(1);
#pragma scop
  for (int i = 0; i < 3; i++) a[i] = 1;
#pragma endscop
  return 0;
}
"""
    with pytest.raises(InputError, match="took more than 1 s"):
        run(tmp_path, text, limit_s=1)
    commands = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline") if os.access(p, os.R_OK)]
    assert not any(b"98765.25" in c for c in commands)
