"""What variants are compared with: the original program in several builds, and what is said of them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pytest

from generator.frontend_c.source import Compilation
from generator.problem import Reference, load_reference, save_reference
from generator.reading import read_problem
from tests.support.cli import antune_command
from tests.support.slow import few

NATIVE = ("-march=native", "-mcpu=native")
ABOVE = """\
#pragma omp parallel for \\
  schedule(static)
#pragma scop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      b[i][j] = 2 * a[i][j] + 1;
#pragma endscop
"""
INSIDE = """\
#pragma scop
  for (int t = 0; t < 3; t++) {
    #pragma omp parallel for
    for (int i = 0; i < N; i++)
      #pragma omp simd
      for (int j = 0; j < N; j++)
        b[i][j] += a[i][j];
  }
#pragma endscop
"""
AROUND = f"#pragma omp parallel\n  {{\n{INSIDE.replace('parallel for', 'for')}  }}\n"
PLAIN = INSIDE.replace("#pragma omp", "// omp")


def program(scop: str, first: str = "i + j") -> str:
    """A program that runs `scop` on two matrices."""
    return (
        "#define N 64\nfloat a[N][N], b[N][N];\nint main(void) {\n"
        f"  for (int i = 0; i < N; i++)\n    for (int j = 0; j < N; j++)\n      a[i][j] = {first};\n{scop}  return "
        f"0;\n}}\n"
    )


def reference(folder: Path, text: str, *cflags: str) -> Reference:
    """What a run of the program gave."""
    file = folder / "user.c"
    file.write_text(text)
    return read_problem(file, Compilation(cflags=cflags), None, None, {}, 0).reference


@pytest.mark.parametrize("scop", few([ABOVE, INSIDE], 1, ["above", "inside"]))
def test_a_file_with_openmp_is_timed_in_three_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scop: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    found = reference(tmp_path, program(scop))
    o3, openmp = found.baselines
    assert (o3.name, o3.threads, openmp.name, openmp.threads) == ("o3", 1, "openmp", 2)
    assert o3.compiler.endswith("-O3") and openmp.compiler.endswith("-fopenmp")
    assert found.compiler.startswith(o3.compiler) and found.compiler.split()[-1] in ("-O3", *NATIVE)
    assert all(len(times) >= 5 and min(times) > 0 for times in (found.sequential_ms, o3.samples_ms, openmp.samples_ms))
    assert not found.warnings
    expected = reference(
        tmp_path,
        program(PLAIN if scop == INSIDE else scop.partition("#pragma scop")[1] + scop.partition("#pragma scop")[2]),
    )
    assert [baseline.name for baseline in expected.baselines] == ["o3"]
    np.testing.assert_array_equal(found.outputs["b"], expected.outputs["b"])


def test_who_compares_nothing_makes_the_first_build_only(tmp_path: Path) -> None:
    """`antune explain` and `antune check`: builds of long programs take seconds."""
    file = tmp_path / "user.c"
    file.write_text(program(INSIDE))
    found = read_problem(file, Compilation(), None, None, {}, 0, baselines=False).reference
    assert not found.baselines and found.compiler.endswith("-O1 -ftree-vectorize")
    np.testing.assert_array_equal(found.outputs["b"], reference(tmp_path, program(INSIDE)).outputs["b"])


def test_openmp_that_cannot_be_timed_is_said(tmp_path: Path) -> None:
    found = reference(tmp_path, program(AROUND))
    assert [baseline.name for baseline in found.baselines] == ["o3"]
    (warning,) = found.warnings
    assert "the file's own OpenMP could not be timed" in warning and "inside a parallel region" in warning


def test_a_build_with_other_results_is_said(tmp_path: Path) -> None:
    first = "i + j\n#ifdef _OPENMP\n  + 1\n#endif\n"
    (warning,) = reference(tmp_path, program(INSIDE, first)).warnings
    assert warning == "the file's own OpenMP has other results: 4096 elements of b; its time says little"


def test_the_users_options_decide(tmp_path: Path) -> None:
    found = reference(tmp_path, program(PLAIN), "-march=x86-64", "-O1")
    assert found.compiler.endswith("-O3 -march=x86-64 -O1") and not found.warnings
    (o3,) = found.baselines
    assert (o3.compiler, o3.samples_ms) == (found.compiler, found.sequential_ms)


@pytest.mark.slow
def test_many_loops_in_one_function_are_compiled_with_fewer_questions_about_aliases(tmp_path: Path) -> None:
    loop = "  for (int i = 0; i < N; i++)\n    b[0][i] += a[0][i];\n"
    bound = "--param=sccvn-max-alias-queries-per-access"
    few, many = (reference(tmp_path, program(f"#pragma scop\n{loop * count}#pragma endscop\n")) for count in (2, 60))
    assert bound not in few.compiler
    if "clang" in many.compiler:
        assert bound not in many.compiler
    else:
        assert all(f"{bound}=30" in words for words in (many.compiler, many.baselines[0].compiler))
    own = reference(tmp_path, program(f"#pragma scop\n{loop * 60}#pragma endscop\n"), f"{bound}=500")
    assert own.compiler.endswith(f"{bound}=500")
    np.testing.assert_allclose(many.outputs["b"], 30 * few.outputs["b"])


def test_threads_are_counted_where_the_user_names_openmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    o3, openmp = reference(tmp_path, program(ABOVE), "-fopenmp").baselines
    assert (o3.threads, openmp.threads) == (1, 2)


def test_sequential_builds_have_one_thread_whatever_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    text = program(PLAIN, "omp_get_max_threads()").replace("#define", "#include <omp.h>\n#define")
    found = reference(tmp_path, text, "-fopenmp")
    assert (found.inputs["a"] == 1).all()


MEETING = """#!/bin/sh
# The real one, which compiles the tuned file only while another process compiles it, too.
case "$*" in *scop.o*)
  touch FOLDER/met.$$
  for k in $(seq 200); do [ $(ls FOLDER/met.* | wc -l) -ge 2 ] && break; sleep 0.1; done
  [ $(ls FOLDER/met.* | wc -l) -ge 2 ] || { echo "error: alone" >&2; exit 1; };;
esac
exec cc "$@"
"""


def test_all_builds_are_compiled_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(MEETING.replace("FOLDER", str(tmp_path)))
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    assert reference(tmp_path, program(PLAIN)).warnings == ()


def test_a_compiler_without_native_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = tmp_path / "oldcc"
    wrapper.write_text('#!/bin/sh\ncase "$*" in *=native*) echo "unknown option" >&2; exit 1;; esac\nexec cc "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(wrapper))
    found = reference(tmp_path, program(PLAIN))
    (warning,) = found.warnings
    assert "has no option -march=native: the sequential time is that of" in warning
    assert found.compiler.endswith("-O3") and found.baselines[0].samples_ms == found.sequential_ms


def test_baselines_are_kept_with_the_reference(tmp_path: Path) -> None:
    found = reference(tmp_path, program(PLAIN))
    save_reference(found, tmp_path / "kept.npz")
    again = load_reference(tmp_path / "kept.npz")
    assert (again.baselines, again.compiler, again.sequential_ms) == (
        found.baselines,
        found.compiler,
        found.sequential_ms,
    )


def test_the_story_of_a_file_with_openmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    (tmp_path / "user.c").write_text(program(ABOVE))
    antune = antune_command(monkeypatch, "tune")
    assert antune(tmp_path / "user.c", "--device", "deterministic", "--evaluations", 2, "--out", tmp_path / "run") == 0
    shown = capsys.readouterr().out
    for words in ("sequential C, plain -O3", "your OpenMP, 2 threads", "vs sequential C", "Plans: device time",
                  "Sequential C: wall-clock time of the same loops, 1 thread, ", "-fopenmp.", " -O3"):
        assert words in shown, words
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["compiler"] in shown and summary["openmp_compiler"] in shown and summary["openmp_threads"] == 2
    assert all(summary[name] > 0 for name in ("sequential_ms", "sequential_o3_ms", "openmp_ms"))
