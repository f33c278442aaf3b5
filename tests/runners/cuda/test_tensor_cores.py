"""Sums of products on tensor cores: NVRTC makes HMMA of them; on a stand-in that multiplies so results are right."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.benchmarks.inner_loops import inner_loops, nvdisasm, taken_apart
from experiments.suites.image_pipelines import pipeline
from generator.decisions.size_lists import smallest_inner
from generator.errors import IllegalPlan, InputError
from generator.frontend_c.source import Compilation
from generator.lowering import lower
from generator.plan import KernelPlan, Plan
from generator.precision import LEAST_CAPABILITY, Precision
from generator.problem import Problem
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from metrics.outcome import WrongResult
from runners.cuda.compiler import Capability, Nvrtc, Translator
from runners.cuda.headers import SAMPLE, header_folders
from runners.driver import BuildError
from tests.support.cuda_compiler import ELF, translator
from tests.support.cuda_double import UNUSABLE, pretended, translate_for_host
from tests.support.edits import edited, replaced
from tests.support.paths import ROOT, SUITES
from tests.support.programs import program_of, scop, write_c
from tests.support.reading import read_untimed
from tests.support.slow import few, in_turn
from tests.support.suite import pipeline_program, polybench_program, small_problem
from tests.support.targets import HOPPER
from tests.support.tensor_cores import (
    FLOAT,
    FORMS,
    TILES,
    WAYS,
    Way,
    float_problem,
    lower_for_whole_numbers,
    sum_of_products,
    tensor_plan,
    whole_numbers_in,
)
from tests.support.watched_gpu import WatchedGpu

NAMES = ("2mm", "3mm", "covariance", "doitgen", "gemm", "syr2k", "syrk")


@pytest.mark.parametrize(("name", "precision", "number", "way"), [
    ("gemm", "fp16", 3, "ahead"),
    *(pytest.param(name, precision, number, way, marks=pytest.mark.slow) for name in NAMES
      for precision in LEAST_CAPABILITY for number in range(len(TILES)) for way in WAYS)])
def test_programs_are_right_without_races(name: str, precision: Precision, number: int, way: Way,
                                          watched_gpu: WatchedGpu) -> None:
    found = float_problem(name)
    watched_gpu.check(found, [tensor_plan(found.program, watched_gpu.target, precision, number, way)])


@in_turn
@pytest.mark.parametrize("number", few(range(len(TILES)), 1))
def test_a_layer_of_convolutions(number: int, watched_gpu: WatchedGpu) -> None:
    """Four parallel loops, three that are summed over."""
    found, target = small_problem(pipeline("conv_layer"))[0], watched_gpu.target
    watched_gpu.check(found, [tensor_plan(found.program, target, "tf32", (number + 1) % len(TILES), "later")])


def problem_in(text: str) -> Problem:
    return read_untimed(write_c(text), Compilation(), None, None, {}, 0)


def check_exactly(text: str, number: int, gpu: WatchedGpu) -> None:
    """Factors that are small whole numbers are rounded to themselves: results are those of float."""
    found = problem_in(text)
    precision: Precision = ("tf32", "fp16", "bf16")[number // 6 % 3]
    plan = tensor_plan(found.program, gpu.target, precision, number % len(TILES), WAYS[number % len(WAYS)])
    gpu.check(found, [plan], lower_for_whole_numbers)


@in_turn
@pytest.mark.parametrize("seed", few([1, 3], 1))
def test_each_product_is_added_once(seed: int, watched_gpu: WatchedGpu) -> None:
    check_exactly(sum_of_products(np.random.default_rng(seed)), seed, watched_gpu)


@pytest.mark.parametrize(("form", "number"), [
    ("guarded batches", 6), ("loops of tiles", 14), ("bands", 8),
    *(pytest.param(form, number, marks=pytest.mark.slow) for form in FORMS for number in range(5 + len(TILES)))])
def test_loops_nested_in_uncommon_ways(form: str, number: int, watched_gpu: WatchedGpu) -> None:
    check_exactly(whole_numbers_in(*FORMS[form]), number, watched_gpu)


@pytest.mark.parametrize(("sum_", "names"), [
    ("A[i][k] * (float)(k + j)", ["A_tile", "right_tile"]),
    ("(float)(i + k) * B[k][j]", ["left_tile", "B_tile"]),
    ("A[i][k] * B[k][j] + (float)(i + k) * B[k][j]", ["left_tile", "right_tile"])])
def test_factors_need_no_arrays(sum_: str, names: list[str]) -> None:
    program = program_of(scop(
        f"for (i = 0; i < 64; i++) for (j = 0; j < 64; j++) for (k = 0; k < 64; k++) C[i][j] += {sum_};",
        "float A[64][64], B[64][64], C[64][64];"))
    kernel = KernelPlan(("S0",), (32, 32), (2, 32), inner_tile=32, padding=8, products="fp16")
    text = lower(program, Plan(ScheduleChoice(), (kernel,)), HOPPER).source
    assert list(dict.fromkeys(re.findall(r"(\w+_tile)\[", text))) == names


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 70))
def test_each_product_of_many_forms_is_added_once(seed: int, watched_gpu: WatchedGpu) -> None:
    check_exactly(sum_of_products(np.random.default_rng(seed)), seed, watched_gpu)


@in_turn
@pytest.mark.parametrize(("way", "old", "new", "number", "expected"), few([
    ("later", "__syncthreads();", "", 0, "race in shared memory"),
    ("later", "antune_left[i].x[e] = antune_to_tf32(antune_left[i].x[e]);", ";", 0, "is not rounded to tf32"),
    *(("at once", "__syncthreads();", "", number, "race in shared memory") for number in range(3)),
    *(("ahead", "__syncthreads();", "", number, "race in shared memory") for number in range(3)),
    ("later", "A_tile[(k_tile + 1) % 2]", "A_tile[k_tile % 2]", 0, "race in shared memory"),
    ("later", "antune_wait_copies();", "", 0, "without waiting for its copies"),
    ("at once", "nvcuda::wmma::mma_sync(", "if (t0 < 1) nvcuda::wmma::mma_sync(", 0, "diverges"),
    ("at once", "[step], ", "[step + 8], ", 0, "is not aligned"),
    ("later", "antune_right[i].x[e] = antune_to_tf32(antune_right[i].x[e]);", ";", 0, "is not rounded to tf32"),
], 2))
def test_faults_are_found(way: Way, old: str, new: str, number: int, expected: str, watched_gpu: WatchedGpu) -> None:
    found = float_problem("gemm")
    plan = tensor_plan(found.program, watched_gpu.target, "tf32" if way == "later" else "fp16", 1, way)
    watched_gpu.check_fault(found, plan, expected, old, new, number)


def test_a_lost_term_is_a_wrong_result(watched_gpu: WatchedGpu) -> None:
    found = float_problem("gemm")
    plan = tensor_plan(found.program, watched_gpu.target, "fp16", 1)
    change = partial(edited, partial(replaced, "<= 52 ?", "<= 48 ?", 0))
    assert isinstance(watched_gpu.outcomes(found, [plan], change)[0], WrongResult)


def target_of(capability: Capability) -> Target:
    return replace(HOPPER, capability=capability, local_bytes=64 << 10)


def headers(nvrtc: Translator) -> None:
    if not header_folders(nvrtc.version[0]):
        pytest.skip("the headers of CUDA are not installed")


@in_turn
@pytest.mark.parametrize(("name", "precision", "capability"), few([
    (name, precision, capability)
    for capability in ((7, 5), (8, 0), (9, 0)) for precision, least in LEAST_CAPABILITY.items() if capability >= least
    for name in ("gemm", "syr2k")], [
    ("gemm", "fp16", (7, 5)), ("syr2k", "fp16", (8, 0)), ("gemm", "bf16", (8, 0)), ("syr2k", "bf16", (9, 0)),
    ("gemm", "tf32", (9, 0)), ("syr2k", "tf32", (8, 0)), ("syr2k", "fp16", (7, 5))]))
def test_nvrtc_compiles_without_warnings(name: str, precision: Precision, capability: Capability) -> None:
    nvrtc = translator(Nvrtc)
    headers(nvrtc)
    target, program = target_of(capability), float_problem(name).program
    plan = tensor_plan(program, target, precision, way="later" if name == "syr2k" else "at once")
    cubin, log = nvrtc.translate(lower(program, plan, target).source, capability)
    assert cubin.startswith(ELF)
    assert not [line for line in log.splitlines()
                if line.strip() and not line.startswith("ptxas info") and "bytes stack frame" not in line], log


@in_turn
@pytest.mark.parametrize(("precision", "instruction"), few([
    ("fp16", r"HMMA\.168(16)\.F32 "), ("tf32", r"HMMA\.168([48])\.F32\.TF32 "),
    ("bf16", r"HMMA\.168(16)\.F32\.BF16 ")], 2))
def test_machine_code_multiplies_on_tensor_cores(precision: Precision, instruction: str) -> None:
    """An instruction is for 16 x 8 sums of so many terms; those of a tile stand once in the text, or several times. The
    next tile is on its way in the same loop: straight to shared memory if it is rounded later.
    """
    headers(translator(Nvrtc))
    try:
        nvdisasm()
    except InputError as missing:
        pytest.skip(str(missing))
    program = pipeline_program("matmul")
    plan = tensor_plan(program, HOPPER, precision, way="later")
    text = taken_apart(lower(program, plan, HOPPER).source, (9, 0))[0]
    terms = sum(map(int, re.findall(instruction, text)))
    [kernel] = plan.kernels
    expected = math.prod(kernel.tile) // (16 * 8) * smallest_inner(kernel.inner_tile) // (math.prod(kernel.block) // 32)
    assert terms >= expected and terms % expected == 0
    [loop] = [loop for loop in inner_loops(text) if loop.named("HMMA")]
    assert [loop.named(name) > 0 for name in ("LDGSTS", "LDG.", "BAR")] == (
        [True, False, True] if precision == "tf32" else [False, True, True])


def test_without_headers_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    nvrtc = translator(Nvrtc)
    monkeypatch.setattr("runners.cuda.compiler.header_folders", lambda major: ())
    with pytest.raises(BuildError, match="pip install nvidia-cuda-runtime nvidia-cuda-crt"):
        nvrtc.translate("#include <mma.h>\n", (9, 0))


@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
def test_the_stand_in_takes_the_check_of_headers() -> None:
    image, _ = translate_for_host(None, SAMPLE, (9, 0))
    assert image.startswith(b"HOST:")


@pytest.mark.slow
@pytest.mark.skipif(UNUSABLE is not None, reason=str(UNUSABLE))
def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    words = ("tune", str(SUITES / "polybench" / "gemm.c"), "-D", "MINI_DATASET", "-D", "DATA_TYPE_IS_FLOAT",
             "--device", "cuda", "--precision-of-products", "fp16", "--evaluations", "6", "--out",
             str(tmp_path / "run"))
    with pretended(tmp_path):
        done = subprocess.run([sys.executable, "-m", "antune", *words], capture_output=True, text=True, check=False,
                              cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert "plans may compute the products of S1 on tensor cores" in done.stdout
    assert set(json.loads((tmp_path / "run" / "summary.json").read_text())["outcomes"]) == {"timed"}
    assert "fp16" in (tmp_path / "run" / "results.csv").read_text()


def test_headers_are_those_of_the_compilers_own_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {name: tmp_path / name / "include" for name in ("cu13", "cuda_nvcc", "cuda_runtime")}
    for file in (folders["cu13"] / "mma.h", folders["cu13"] / "crt" / "mma.h", folders["cuda_runtime"] / "mma.h"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr("runners.cuda.headers.find_spec", lambda name: spec)
    monkeypatch.setattr("runners.cuda.headers._toolkits", lambda: iter(()))
    assert header_folders(13) == (folders["cu13"],)
    assert header_folders(12) == (), "half of CUDA 12's, and those of 13 are others"
    (folders["cuda_nvcc"] / "crt").mkdir(parents=True)
    (folders["cuda_nvcc"] / "crt" / "mma.h").touch()
    assert header_folders(12) == (folders["cuda_runtime"], folders["cuda_nvcc"])


def refused(plan: Plan, target: Target, words: str) -> None:
    with pytest.raises(IllegalPlan, match=words):
        lower(float_problem("gemm").program, plan, target)


def test_devices_without_them_refuse() -> None:
    program = float_problem("gemm").program
    for target in (replace(HOPPER, capability=(7, 5)), replace(HOPPER, dialect="hip", capability=None)):
        refused(tensor_plan(program, HOPPER, "bf16"), target, r"NVIDIA GPUs from compute capability 8\.0 on, by CUDA")


@pytest.mark.parametrize(("change", "words"), [
    ({"inner_tile": 8}, "multiplied 16 or 32 or 64 at a time"), ({"padding": 4}, "use a multiple of 8"),
    ({"tile": (24, 32)}, "fragments of 16 x 16"), ({"block": (1, 16)}, "use whole warps"),
    ({"shared": True}, "leave out `shared`"), ({"ahead": True, "asynchronous": True}, "fp16 is rounded before"),
    ({"ahead": True, "block": (1, 32)}, "would hold 64 elements of the next tile in registers, at most 32 are")])
def test_plans_that_fit_no_fragments_are_refused(change: dict[str, object], words: str) -> None:
    plan = tensor_plan(float_problem("gemm").program, HOPPER, "fp16")
    refused(replace(plan, kernels=tuple(replace(k, **change) for k in plan.kernels)), HOPPER, words)  # type: ignore[arg-type]  # fields


def test_the_page_shows_what_is_generated() -> None:
    program = polybench_program("gemm", ("NI=1024", "NJ=1024", "NK=1024", FLOAT))
    kernel = KernelPlan(("S0", "S1"), (64, 64), (4, 32), inner_tile=32, padding=8, vector=4, products="fp16")
    page = (ROOT / "docs" / "tensor_cores.md").read_text()
    [piece] = re.findall(r"```cuda\n(.*?)```", page, re.DOTALL)
    assert piece.strip() == lower(program, Plan(ScheduleChoice(), (kernel,)), HOPPER).source.strip()


@pytest.mark.parametrize(("sizes", "vectors"), [
    ((44, 72, 52), ["A", "B"]), ((44, 70, 52), ["A"]), ((44, 72, 54), ["B"]), ((45, 71, 53), [])])
def test_vectors_are_loaded_where_all_exist_or_none(sizes: tuple[int, int, int], vectors: list[str]) -> None:
    defines = [f"{name}={size}" for name, size in zip(("NI", "NJ", "NK"), sizes, strict=True)]
    program = polybench_program("gemm", (*defines, FLOAT))
    text = lower(program, tensor_plan(program, HOPPER, "tf32"), HOPPER).source
    assert re.findall(r"\(const float4 \*\)&([AB])\[", text) == vectors
    assert text.count("wmma::load_matrix_sync") == 2


def test_padding_is_zero_in_both_factors() -> None:
    """0 times an infinite element of the other factor is not a number."""
    program = program_of(scop("for (i = 0; i < 20; i++) for (j = 0; j < 20; j++) for (k = 0; k < 7; k++) "
                              "for (l = 0; l < 9; l++) C[i][j] += A[i][k] * B[l][j];",
                              "float C[20][20], A[20][7], B[9][20]; int l;"))
    text = lower(program, tensor_plan(program, HOPPER, "fp16", 1), HOPPER).source
    assert len(re.findall(r"(?:A|B)_tile\[.* <= 19 && .* <= 8 \? antune_to_fp16\(", text)) == 2
