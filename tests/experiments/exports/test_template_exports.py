"""Exports of kernel templates as code, and `antune.load` of their runs: the user's text, launched as it was tuned."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import antune
from antune.template import array, constant, output, template, texture
from experiments.exports.chosen import choose
from experiments.exports.kinds import Kind
from experiments.exports.resized import Resizing
from experiments.exports.write import export
from experiments.run import tune
from experiments.search.parts import PARTS
from experiments.store import read_store
from experiments.values.options import Budget, RunOptions, Timing
from generator.errors import InputError
from generator.frontend_c.source import Compilation
from generator.target import Dialect
from generator.templates.building import Tunable
from generator.templates.template import template_plan
from metrics.outcome import Timed
from runners.base import Job, Limits
from runners.pool_runner import DeviceRunner
from tests.support.cuda_runtime import build_on_host
from tests.support.devices import device_named
from tests.support.exports import checked, need_compiler, ran
from tests.support.runs import Log
from tests.support.slow import in_turn

ONCE = Limits(min_repeats=1, max_repeats=1, least_s=0.0)
QUIET, N = replace(PARTS, picture=False), 1000
AGREES = "selfcheck: ok: the results of the exported function agree with the results that the tuning run stored"
HEADS = {"opencl": "__kernel void blend(__global float *out, float weight, __global const float *a, int n, __constant "
                   "float *table, __global float *sums)\n{\n    int i = get_group_id(0) * block_size_x * per",
         "cuda": "__constant__ float table[4];\nstruct Point { int table; };\n__global__ void blend("
                 "float *out, float weight, const float *a, int n, float *sums)\n{\n"
                 "    int i = blockIdx.x * block_size_x * per"}
BODY = {"opencl": " + get_local_id(0);", "cuda": " + threadIdx.x;"}
REST = """
    /* what??/ '''quoted''' \\ */
    for (int k = 0; k < per; k++, i += block_size_x)
        if (i < n) {
            out[i] = weight * a[i] + table[i % 4];
            sums[i] += a[i];
        }
}
"""


def blend(language: Dialect = "opencl") -> Tunable:
    """Arrays of all roles, numbers among them, constant memory; arrays and numbers in any order."""
    a, table = np.random.default_rng(0).random(N, np.float32), np.arange(4, dtype=np.float32)
    sums = np.ones(N, np.float32)
    usual: dict[str, Any] = {
        "arguments": {"out": output(N), "weight": np.float32(0.5), "a": a, "n": np.int32(N), "table": constant(table),
                      "sums": array(sums, "inout")},
        "answer": {"out": np.float32(0.5) * a + table[np.arange(N) % 4], "sums": sums + a}, "tolerance": (1e-6, 1e-6)}
    text = HEADS[language] + BODY[language] + REST
    return template(text, "blend", {"block_size_x": [32, 64], "per": [1, 2, 4]}, block="block_size_x",
                    grid=f"ceil({N} / (block_size_x * per))", language=language, **usual)


SHIFT = {"opencl": """__kernel void shift(__global float *out, __read_only image2d_t image,
                                    __read_only image1d_buffer_t by)
{
    const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    int x = get_group_id(0) * width + get_local_id(0), y = get_group_id(1);
    out[y * 24 + x] = read_imagef(image, nearest, (int2)(x + read_imagei(by, y).x, y)).x;
}
""", "cuda": """__global__ void shift(float *out, cudaTextureObject_t image, cudaTextureObject_t by)
{
    int x = blockIdx.x * width + threadIdx.x, y = blockIdx.y;
    int from = x + tex1Dfetch<int>(by, y);
    out[y * 24 + x] = tex2D<float>(image, from < 24 ? from : 23, y);
}
"""}


def shift(language: Dialect = "opencl") -> Tunable:
    """Rows of an image, each moved by a number of its own."""
    image, by = np.random.default_rng(0).random((10, 24), np.float32), np.arange(10, dtype=np.int32)
    places = np.minimum(np.arange(24) + by[:, None], 23)
    return template(SHIFT[language], "shift", {"width": [4, 8, 12]}, {"out": output((10, 24)), "image": texture(image),
                    "by": texture(by)}, grid=["24 / width", 10], block="width", language=language,
                    answer={"out": np.take_along_axis(image, places, 1)}, tolerance=(0.0, 0.0))


def run_of(made: Tunable, folder: Path, evaluations: int = 3) -> Path:
    """A run on the device that computes times."""
    options = RunOptions("blend.py", Compilation(), Budget(evaluations), device="deterministic", space="template",
                         timing=Timing(finalists=0), from_python=True)
    tune(options, folder, Log(), replace(QUIET, read_problem=lambda _options, _tell: made.problem), "text")
    return folder


def exported(run: Path, kind: Kind, folder: Path, number: int | None = None) -> Path:
    with read_store(run) as store:
        export(store, kind, number, folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_of(blend(), tmp_path_factory.mktemp("template") / "run")


@in_turn
def test_an_opencl_export_is_the_text_with_its_values_and_checks_itself(run: Path, pocl: Mapping[str, str],
                                                                        tmp_path: Path) -> None:
    folder = exported(run, Kind.opencl, tmp_path, 2)
    text = (folder / "kernels.cl").read_text()
    with read_store(run) as store:
        values = dict(store.results()[2].evaluation.plan.parameters)
    assert all(f"#define {name} {value}\n" in text for name, value in values.items()) and REST in text
    assert "int n, float table[4], float sums[1000])" in (folder / "blend.h").read_text()
    assert AGREES in checked(folder, pocl)
    (folder / "kernels.cl").write_text(text.replace("weight * a[i]", "weight * a[i] * 1.00001f"))  # beyond 1e-6
    done = ran(folder, pocl, "make", "check")
    assert done.returncode and "out: element" in done.stderr


@pytest.mark.slow
def test_an_export_of_any_name_checks_infinite_results(pocl: Mapping[str, str], tmp_path: Path) -> None:
    usual = blend()
    a, table, sums = (usual.problem.reference.inputs[name] for name in ("a", "table", "sums"))
    a[3] = np.inf
    made = template(usual.template.text, "blend", {"block_size_x": [32]}, arguments={
        "out": output(N), "weight": np.float32(0.5), "a": a, "n": np.int32(N), "table": constant(table),
        "sums": array(sums, "inout")}, answer={"out": np.float32(0.5) * a + table[np.arange(N) % 4], "sums": sums + a},
        block="block_size_x", grid=f"ceil({N} / block_size_x)", tolerance=(1e-6, 1e-6), defines={"per": 1},
        name="3d ßlend")
    folder = exported(run_of(made, tmp_path / "run", 1), Kind.opencl, tmp_path / "export")
    assert (folder / "_3d__lend.h").exists() and AGREES in checked(folder, pocl)
    text = (folder / "kernels.cl").read_text()
    (folder / "kernels.cl").write_text(text.replace("weight * a[i]", "(i == 3 ? 0 : weight * a[i])"))
    done = ran(folder, pocl, "make", "check")
    assert done.returncode and "out: element" in done.stderr


@pytest.mark.parametrize(("name", "safe"), [("double", "double_"), ("new", "new_"), ("main", "main_scop"),
                                            ("a-b", "a_b"), ("7", "_7"), ("int2", "int2")])
def test_exports_have_names_that_c_allows(run: Path, name: str, safe: str) -> None:
    with read_store(run) as store:
        chosen = choose(store, None, False)
    subject = chosen.info.subject
    assert replace(chosen, info=replace(chosen.info, subject=replace(subject, name=name))).name == safe


def test_a_header_takes_the_tuned_sizes_only(run: Path, pocl: Mapping[str, str], tmp_path: Path) -> None:
    folder = exported(run, Kind.c_header, tmp_path)
    (folder / "main.c").write_text(f"""#include "blend.h"
static float out[{N}], a[{N}], table[4] = {{1, 2, 3, 4}}, sums[{N}];
int main(void) {{
  struct blend_context *context = blend_init();
  if (!context) return 3;
  for (int i = 0; i < {N}; i++) a[i] = i;
  if (!blend_run(context, out, 2, a, {N - 1}, table, sums)) return 4;
  puts(blend_error());
  if (blend_run(context, out, 2, a, {N}, table, sums)) return 5;
  return out[5] == 12 && sums[7] == 7 ? 0 : 6;
}}
""")
    assert ran(folder, pocl, "cc", "-std=c99", "-o", "main", "main.c", "-ldl").returncode == 0
    done = ran(folder, pocl, "./main")
    assert done.returncode == 0, done
    assert "n is 999, but the code was tuned for 1000 and works for that only" in done.stdout


def test_a_python_export_checks_itself_and_runs_nothing_of_the_text(run: Path, pocl: Mapping[str, str],
                                                                    tmp_path: Path) -> None:
    folder = exported(run, Kind.python, tmp_path)
    done = ran(folder, pocl, sys.executable, "-c", """
import sys, numpy as np, blend as module
a, table, sums = np.ones(1000, np.float32), np.zeros(4, np.float32), np.zeros(1000, np.float32)
out, summed = module.blend(3.0, a, table, sums)
assert (out == 3).all() and (summed == 1).all() and not sums.any()
try:
    module.blend(3.0, a, table, sums, n=5)
except ValueError as error:
    print(error)
sys.exit(0 if module.selfcheck() else 1)
""")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "n is 5, but the code was tuned for 1000" in done.stdout


def test_a_cuda_export_has_names_of_its_own(tmp_path: Path) -> None:
    need_compiler()
    run = run_of(blend("cuda"), tmp_path / "run")
    folder = exported(run, Kind.cuda, tmp_path / "export", 1)
    text = (folder / "kernels.cu").read_text()
    assert (run / "best.cu").exists() and "#undef block_size_x" in text
    assert "int n, float table_values[4], float sums[1000])" in (folder / "blend.h").read_text()
    build_on_host(folder)
    done = subprocess.run("./selfcheck", cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and AGREES in done.stdout, done.stdout + done.stderr


@in_turn
def test_textures_are_images_on_a_device_and_in_exports(pocl: Mapping[str, str], tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runner = DeviceRunner(shift().problem, device_named("pocl"), ONCE, Path(folder), workers=1)
        with closing(runner):
            (outcome,) = dict(runner.evaluate([Job(0, template_plan([("width", 8)]))])).values()
    assert isinstance(outcome, Timed), outcome
    assert AGREES in checked(exported(run_of(shift(), tmp_path / "run"), Kind.opencl, tmp_path / "export"), pocl)
    there = exported(run_of(shift("cuda"), tmp_path / "cuda run"), Kind.cuda, tmp_path / "cuda export")
    build_on_host(there)
    assert subprocess.run("./selfcheck", cwd=there, check=False).returncode == 0


def test_other_languages_and_sizes_are_refused(run: Path, tmp_path: Path) -> None:
    with read_store(run) as store:
        with pytest.raises(InputError, match=r"kernel in OpenCL, .* cannot be exported to HIP; use --to opencl"):
            export(store, Kind.hip, None, tmp_path)
        with pytest.raises(InputError, match="tune it for the other size"):
            export(store, Kind.opencl, None, tmp_path, resizing=Resizing(("n=5",)))


@in_turn
def test_a_tuned_template_is_a_function(tmp_path: Path) -> None:
    device = device_named("pocl")
    made = blend()
    options = RunOptions("blend.py", Compilation(), Budget(1), device=device.key, space="template", from_python=True,
                         timing=Timing(finalists=0, max_repeats=6))
    tune(options, tmp_path / "run", Log(), replace(QUIET, read_problem=lambda _options, _tell: made.problem), "text")
    function = antune.load(tmp_path / "run")
    assert str(function).startswith("blend(weight, a, table, sums, *, out=None, n=1000, ")
    a, table, sums = np.arange(N, dtype=np.float32), np.full(4, 0.5, np.float32), np.zeros(N, np.float32)
    out, summed = function(2.0, a, table, sums)
    np.testing.assert_array_equal(out, 2 * a + 0.5)
    np.testing.assert_array_equal(summed, a)
    assert not sums.any()
    with pytest.raises(InputError, match="n is 7, but the code was tuned for 1000"):
        function(2.0, a, table, sums, n=7)
    with pytest.raises(InputError, match=r"plan=5: .* has no such evaluation"):
        antune.load(tmp_path / "run", plan=5)


def test_somebody_elses_kernel_is_exported_with_trust_only(run: Path, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "theirs"))
    with read_store(run) as store:
        with pytest.raises(InputError, match="its kernel is text that could run any code"):
            export(store, Kind.opencl, None, tmp_path / "out")
        assert export(store, Kind.opencl, None, tmp_path / "out", trust=True)
    with pytest.raises(InputError, match="its kernel is text that could run any code"):
        antune.load(run)
