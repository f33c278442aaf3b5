"""Stored runs without a search, and helpers to build and run exported C programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path

import pytest

from experiments.exports.kinds import Kind
from experiments.exports.opencl_here import bundled_libraries
from experiments.exports.resized import Resizing
from experiments.exports.write import export
from experiments.search.changes import source_hash
from experiments.store import create_store, read_store, reserve, utc_now
from experiments.values.options import Budget, RunOptions
from experiments.values.records import Evaluation, RunInfo
from generator.frontend_c.source import Compilation
from generator.lowering.heuristics.default import default_plan
from generator.plan import Plan
from generator.target import Target
from metrics.outcome import CompileFailed, Crashed, Durations, KernelTime, Outcome, Timed, TimedOut, WrongResult
from runners.base import DeviceInfo
from runners.devices import survey
from tests.support.reading import read_untimed
from tests.support.suite import SUITE, TARGET

Change = Callable[[Plan], Plan]
GPU = replace(TARGET, images=True, image_1d=1 << 27, image_2d=(16384, 16384), image_narrow=True, image_pitch=64,
              constant_bytes=1 << 16)
POCL = ("pthread", "PoCL")
SPENT = Durations(0.25, 0.5, 0.125, 1.0)
STRICT = "CFLAGS=-O1 -Wall -Wextra -pedantic -Werror"
AGREES = "selfcheck: ok: the results of the exported function agree with the sequential code"


def timed(ms: float, plan: Plan) -> Timed:
    """Return a timed outcome whose kernels have equal shares."""
    kernels = tuple(KernelTime(k.statements, ms / len(plan.kernels), (("occupancy", 0.5),)) for k in plan.kernels)
    return Timed(ms, 0.9 * ms, 1.1 * ms, (ms, 0.9 * ms, 1.1 * ms), ms + 1, kernels, plan.digest, False, SPENT)


def stored_run(folder: Path, file: Path, defines: Sequence[str] = (), changes: Sequence[Change] = (),
               target: Target = GPU, function: str | None = None, device: tuple[str, str] = POCL,
               here: DeviceInfo | None = None) -> Path:
    """Store a run in `folder`: the default plan takes 4 ms, each changed plan 1 ms less than the previous one.

    `device` is a name and a platform as antune calls it; `here` is a real one instead, which can check plans.
    """
    options = RunOptions(str(file), Compilation(defines=tuple(defines)), Budget(evaluations=9), function=function)
    problem = read_untimed(file, options.compilation, function, None, {}, 0)
    found = here or DeviceInfo("test", *device, "3.0", target)
    info = RunInfo(utc_now(), options, source_hash(file.read_bytes()), file.read_text(), problem.program, found,
                   problem.reference.compiler,
                   problem.reference.sequential_ms)
    first = default_plan(problem.program, found.target)
    plans = [first, *(change(first) for change in changes)]
    with create_store(reserve(folder, "abc"), info, problem.reference, "test") as store:
        store.begin_session(options.budget, "test")
        for number, plan in enumerate(plans):
            store.add_batch(number, 1, [Evaluation(number, number, 0, plan, "[]")])
            store.add_result(number, timed(4.0 - number, plan), float(number))
    return folder


def suite_run(folder: Path, name: str, *changes: Change, target: Target = GPU, device: tuple[str, str] = POCL) -> Path:
    """Store a run of a program of the suite at its smallest size."""
    return stored_run(folder, SUITE / f"{name}.c", ("MINI_DATASET",), changes, target, device=device)


def with_failures(folder: Path) -> Path:
    """Store a run of gemm with outcomes of several kinds."""
    file = SUITE / "gemm.c"
    options = RunOptions(str(file), Compilation(defines=("MINI_DATASET",)), Budget(evaluations=9))
    problem = read_untimed(file, options.compilation, None, None, {}, 0)
    plan = default_plan(problem.program, GPU)
    plans = [replace(plan, kernels=tuple(replace(k, unroll=2 ** n) for k in plan.kernels)) for n in range(6)]
    outcomes: list[Outcome] = [
        timed(4.0, plans[0]), timed(2.0, plans[1]), CompileFailed("no registers, sorry", SPENT),
        WrongResult("C[0][0] is 1", SPENT), TimedOut("time", 30.0, SPENT), Crashed("check", "gone", SPENT)]
    info = RunInfo(utc_now(), options, "abc", file.read_text(), problem.program,
                   DeviceInfo("test", "Test GPU", "Test platform", "1", GPU), "cc", problem.reference.sequential_ms)
    with create_store(reserve(folder, "abc"), info, problem.reference, "test") as store:
        store.begin_session(options.budget, "test")
        store.add_batch(1, 6, [Evaluation(n, 1, n, one, "[]") for n, one in enumerate(plans)])
        for number, outcome in enumerate(outcomes):
            store.add_result(number, outcome, float(number))
    return folder


def placed(memory: str, *arrays: str) -> Change:
    """Return a change that moves arrays to other memory."""
    return lambda plan: replace(plan, placement=tuple((name, memory) for name in sorted(arrays)))  # type: ignore[misc]  # the placement is a word


def pocl_environment(folder: Path) -> Mapping[str, str]:
    """Return an environment in which a C program finds PoCL, and Intel's CPU runtime if it is installed.

    PoCL is the system's or that of this installation's packages. Skips the test if neither works in a C program: PoCL's
    compiler may not know the CPU, which antune only repairs in Python.
    """
    environment = {**os.environ, "POCL_CACHE_DIR": str(folder)}
    seen = survey()
    if not any(device.platform == "PoCL" and device.key not in seen.repairs for device in seen.devices):
        if not intel_library():
            pytest.skip(
                "PoCL does not know this CPU, which nothing repairs for C programs; `pip install -e '.[intel]'`"
            )
        environment["ANTUNE_OPENCL_DEVICE"] = "Intel"
    spec = find_spec("pyopencl")
    assert spec is not None and spec.origin is not None
    libraries = sorted((Path(spec.origin).parent / ".libs").glob("libpocl*.so*"))
    if (bundled := bundled_libraries()) is not None:
        environment |= {"ANTUNE_OPENCL_LIBRARY": str(bundled[0]), "PYOPENCL_HOME": str(folder)}
    if libraries and "OCL_ICD_VENDORS" not in os.environ:
        vendors = folder / "vendors"
        vendors.mkdir(exist_ok=True)
        (vendors / "pocl.icd").write_text(f"{libraries[0]}\n")
        if intel := intel_library():
            (vendors / "intel.icd").write_text(f"{intel}\n")
        environment["OCL_ICD_VENDORS"] = str(vendors)
    return environment


def intel_library() -> Path | None:
    """Return Intel's CPU runtime; None if it is not installed."""
    try:
        files = metadata.files("intel-opencl-rt") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())).resolve() for file in files if file.name == "libintelocl.so"), None)


def need_compiler() -> None:
    """Skip the test if no C program can be built."""
    if not shutil.which("make") or not shutil.which("cc"):
        pytest.skip("make or cc is missing")


def schema_text() -> str:
    """Return the schema of T4 files."""
    return resources.files("experiments.exports").joinpath("t4_schema.json").read_text(encoding="utf-8")


def exported(run: Path, kind: Kind, folder: Path, number: int | None = None, sizes: Sequence[str] = ()) -> Path:
    with read_store(run) as store:
        export(store, kind, number, folder, resizing=Resizing(tuple(sizes)))
    return folder


def ran(folder: Path, environment: Mapping[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` and return the result."""
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=120, text=True, env=dict(environment),
                          check=False)


def checked(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the output of `make check`, which must not fail; the compiler of the kernels must not count warnings."""
    done = ran(folder, environment, "make", "check", STRICT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "generated." not in done.stderr
    return done.stdout
