"""On a CPU that PoCL's compiler does not know, and with drivers that run nothing."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from experiments.exports.kinds import Kind
from experiments.exports.write import export
from experiments.run import resume, tune
from experiments.search.loop import Refused
from experiments.search.run_dirs import list_run
from experiments.store import read_store
from generator.errors import InputError
from metrics.outcome import CompileFailed, Durations, Timed
from runners.devices import Survey, choose, find_device, survey
from runners.opencl.cpu_name import find_pointer, known_cpu, lasting_string, repair_cpu_name
from tests.support.cli import Antune, antune_command
from tests.support.cpu import BEYOND_REPAIR, CRASH, UNKNOWN, spoiled
from tests.support.exports import need_compiler, pocl_environment, suite_run
from tests.support.runs import DEFAULT, Log, ToyRunner, toy_options, toy_outcome, toy_parts, toy_source
from tests.support.slow import in_turn

SMALL = """
static float A[64], B[64];
int main(void) {
  for (int i = 0; i < 64; i++) A[i] = i;
#pragma scop
  for (int i = 0; i < 64; i++)
    B[i] = 2 * A[i];
#pragma endscop
  return B[3] != 6;
}
"""
AVX2 = "fpu sse2 avx avx2 fma f16c bmi1 bmi2 movbe abm"
AVX512 = AVX2 + " avx512f avx512cd avx512bw avx512dq avx512vl adx"


class Spoiler:
    """Spoils the CPU's name in all processes that the test starts from now on."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch = folder, monkeypatch
        self(None)

    def __call__(self, name: str | None) -> None:
        for variable, value in spoiled(self._folder, name or "").items():
            self._monkeypatch.setenv(variable, value)


@pytest.fixture
def cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spoiler:
    """`cpu(UNKNOWN)`: now the machine has such a CPU."""
    return Spoiler(tmp_path, monkeypatch)


@pytest.fixture
def run_antune(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Antune:
    (tmp_path / "small.c").write_text(SMALL)
    monkeypatch.chdir(tmp_path)
    return antune_command(monkeypatch)


def platforms(seen: Survey) -> tuple[list[str], list[str]]:
    """Of those that work, and of those that do not."""
    return [device.platform for device in seen.devices], [entry.device.platform for entry in seen.broken]


def test_a_run_and_its_python_export_work_on_an_unknown_cpu(cpu: Spoiler, run_antune: Antune, tmp_path: Path,
                                                           capfd: pytest.CaptureFixture[str]) -> None:
    cpu(UNKNOWN)
    assert run_antune("devices", "--json", "devices.json") == 0
    assert "its compiler does not know this CPU; antune makes it compile for the CPU" in capfd.readouterr().out
    states = {row["platform"]: row["state"] for row in json.loads(Path("devices.json").read_text())}
    assert states["PoCL"] == "repaired" and states.get("Intel OpenCL", "works") == "works"
    assert (
        run_antune("tune", "small.c", "--device", "pocl", "--evaluations", "1", "--finalists", "1", "--out", "run") == 0
    )
    with read_store(tmp_path / "run") as store:
        assert [type(result.outcome) for result in store.results()] == [Timed, Timed]
    assert run_antune("export", "run", "--to", "python", "--out", "mine") == 0
    module = next((tmp_path / "mine").glob("*.py"))
    assert not any(f"import {room}" in module.read_text() for room in ("antune", "runners", "generator"))

    def checked() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, module.name],
            cwd=module.parent,
            text=True,
            capture_output=True,
            check=False,
            env={**os.environ, "ANTUNE_OPENCL_DEVICE": "Portable", "POCL_CACHE_DIR": str(tmp_path)},
        )

    assert checked().stdout.startswith("selfcheck: ok"), checked().stderr
    cpu(BEYOND_REPAIR)
    failed = checked()
    assert failed.returncode == 1 and f"error: unknown target CPU '{BEYOND_REPAIR}'" in failed.stderr
    assert "use Intel's CPU runtime (pip install" in failed.stderr and "_ErrorRecord" not in failed.stderr
    assert failed.stderr.startswith("selfcheck: ") and "Traceback" not in failed.stderr


@in_turn
def test_a_device_that_cannot_be_repaired_is_named_with_its_reason_and_not_chosen(
        cpu: Spoiler, run_antune: Antune, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path) -> None:
    cpu(BEYOND_REPAIR)
    assert run_antune("devices", "--json", "devices.json") == 0
    out = capfd.readouterr().out
    assert "DOES NOT WORK: PoCL" in out and f"    error: unknown target CPU '{BEYOND_REPAIR}'" in out
    (row,) = (row for row in json.loads(Path("devices.json").read_text()) if row["platform"] == "PoCL")
    assert row["state"] == "fails" and "unknown target CPU" in row["note"] and row["remedy"]
    assert run_antune("tune", "small.c", "--device", "pocl", "--out", "run") == 2
    error = capfd.readouterr().err
    assert error.startswith("antune: this device does not work: PoCL, ") and "unknown target CPU" in error
    assert "_ErrorRecord" not in error and len(error.splitlines()) == 1 and not Path("run").exists()
    (tmp_path / "none").mkdir()
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path / "none"))  # no driver but those inside of pyopencl
    assert run_antune("doctor") == 2
    out = capfd.readouterr().out
    assert (
        "MISSING   device PoCL" in out
        and "-> use Intel's CPU runtime, for CPUs of other vendors, too: `pip install -e" in out
    )
    with pytest.raises(InputError, match=r"no device works: PoCL, .*unknown target CPU.*pip install -e"):
        find_device(None)


@in_turn
def test_a_driver_that_crashes_at_every_build_costs_its_own_device_only(cpu: Spoiler) -> None:
    cpu(CRASH)
    working, broken = platforms(seen := survey())
    assert broken == ["PoCL"] and "PoCL" not in working
    assert "SIGABRT" in seen.broken[0].reason
    with pytest.raises(InputError, match="SIGABRT"):
        choose(seen.devices, "pocl:all", seen.broken)


@in_turn
def test_who_has_passed_is_not_tried_again_and_who_failed_is(cpu: Spoiler) -> None:
    assert "PoCL" in platforms(survey())[0]
    cpu(CRASH)
    assert "PoCL" in platforms(survey())[0], "what has passed is remembered"
    assert "PoCL" in platforms(survey(anew=True))[1]


@in_turn
def test_a_run_stops_where_the_driver_refuses_everything_and_goes_on_when_that_is_mended(
        cpu: Spoiler, run_antune: Antune, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "PoCL" in platforms(survey())[0]  # the driver goes bad after that
    cpu(BEYOND_REPAIR)
    words = ("tune", "small.c", "--device", "pocl", "--evaluations", "1", "--finalists", "0", "--out", "run")
    assert run_antune(*words) == 3
    error = capfd.readouterr().err
    assert "runs no kernel, not even one of one line: error: unknown target CPU" in error
    assert "`antune resume run` goes on" in error and "_ErrorRecord" not in error
    with read_store(tmp_path / "run") as store:
        assert store.results() == () and len(store.batch(0)) == 1, "the failure is not the plan's"
    cpu(None)
    assert run_antune("resume", "run") == 0
    with read_store(tmp_path / "run") as store:
        assert [isinstance(result.outcome, Timed) for result in store.results()] == [True, True]


class FullDisk(NamedTuple):
    """What `shutil.disk_usage` says."""

    total: int
    used: int
    free: int


class Diagnosed(ToyRunner):
    """A toy that fails at the default plan and has been asked whether it runs anything."""

    def __init__(self, reason: str | None) -> None:
        failed = CompileFailed("out of registers", Durations())
        super().__init__(answer=lambda plan: failed if plan == DEFAULT else toy_outcome(plan))
        self.reason, self.asked = reason, 0

    def refusal(self) -> str | None:
        """See `runners.base.DiagnosingRunner`."""
        self.asked += 1
        return self.reason


@pytest.mark.parametrize("works", [True, False])
def test_only_the_trial_tells_whether_a_failed_default_plan_ends_the_run(works: bool, tmp_path: Path) -> None:
    source = toy_source(tmp_path)
    runner = Diagnosed(None if works else "no kernel at all")
    if works:
        assert tune(toy_options(source, 12), tmp_path / "run", Log(), toy_parts(runner)).summary.evaluations == 12
    else:
        with pytest.raises(Refused, match="no kernel at all"):
            tune(toy_options(source, 12), tmp_path / "run", Log(), toy_parts(runner))
        assert runner.evaluated == [0] and list_run(tmp_path / "run").status == "interrupted"
        runner.reason = None
        assert resume(tmp_path / "run", None, Log(), toy_parts(runner)).summary.evaluations == 12
        assert runner.evaluated.count(0) == 2
    assert runner.asked == (1 if works else 2)


def test_a_full_disk_is_named_as_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a kernel of one line PoCL aborts there."""
    source = toy_source(tmp_path)
    monkeypatch.setattr("experiments.search.loop.disk_usage", lambda place: FullDisk(10**9, 10**9, 4096))
    with pytest.raises(Refused, match=rf"SIGABRT; the disk of {tmp_path / 'run'} is full, free some of it\. When"):
        tune(toy_options(source, 12), tmp_path / "run", Log(), toy_parts(Diagnosed("SIGABRT")))


@pytest.mark.parametrize(("flags", "name"), [(AVX512, "skylake-avx512"), (AVX2, "haswell"), ("fpu avx", "sandybridge"),
                                             (AVX2.replace(" bmi2", ""), "sandybridge"), ("fpu sse2", "x86-64")])
def test_the_named_cpu_can_do_nothing_that_this_one_cannot(flags: str, name: str) -> None:
    assert known_cpu(f"processor\t: 0\nflags\t\t: {flags}\n\nprocessor\t: 1\n") == name


def test_without_flags_the_oldest_cpu_is_named() -> None:
    assert known_cpu("") == "x86-64"


def test_a_pointer_is_found_among_numbers_that_are_no_addresses() -> None:
    words = (ctypes.c_uint64 * 256)(
        *[0, 7, 4096, 1 << 46, (1 << 64) - 1, lasting_string("genericly"), lasting_string("generic")]
    )
    start = ctypes.addressof(words)
    with Path("/proc/self/mem").open("rb", buffering=0) as memory:
        assert find_pointer(memory, start, b"generic\0") == start + 6 * 8
        assert find_pointer(memory, start, b"specific\0") is None


@dataclass(frozen=True)
class Pretended:
    """A device of a driver, with its structure at an address."""

    platform: SimpleNamespace
    int_ptr: int


@pytest.mark.parametrize(("driver", "name", "repaired"), [("Portable Computing Language", "generic", True),
                                                          ("Portable Computing Language", "znver3", False),
                                                          ("Intel(R) OpenCL", "generic", False)])
def test_only_pocl_is_repaired_and_only_where_it_is_needed(driver: str, name: str, repaired: bool) -> None:
    structure = (ctypes.c_void_p * 256)(None, lasting_string("pthread"), lasting_string(name))
    answer = repair_cpu_name(Pretended(SimpleNamespace(name=driver), ctypes.addressof(structure)))
    own = known_cpu(Path("/proc/cpuinfo").read_text())
    assert answer == (own if repaired else "")
    assert ctypes.string_at(structure[2] or 0).decode() == (own if repaired else name)
    assert ctypes.string_at(structure[1] or 0) == b"pthread"


def test_a_structure_that_cannot_be_read_is_left_alone() -> None:
    assert repair_cpu_name(Pretended(SimpleNamespace(name="Portable Computing Language"), 4096)) == ""


BARE = """
import pyopencl as cl
from runners.opencl.errors import in_words
class Bare(cl.Error):  # as some versions of pyopencl print errors
    def __str__(self): return repr(self.args[0])
bare = Bare(cl._cl._ErrorRecord(msg="no such thing", code=-11, routine="clBuildProgram"))
print(str(bare), in_words(bare), sep="\\n")
"""


def test_an_error_of_pyopencl_is_told_in_words() -> None:
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=True)
    bare, words = done.stdout.splitlines()
    assert "_ErrorRecord" in bare
    assert words.startswith("clBuildProgram failed with the status -11: ") and words.endswith("no such thing")


REFUSED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
static int refuse(void) { return -11; }
static int words(void *p, void *d, unsigned i, size_t n, void *log, size_t *got) {
  (void)p; (void)d; (void)i; (void)got;
  strncpy((char *)log, "error: unknown target CPU 'generic'", n);
  return 0;
}
void *dlsym(void *library, const char *name) {
  if (!strcmp(name, "clBuildProgram")) return (void *)refuse;
  if (!strcmp(name, "clGetProgramBuildInfo")) return (void *)words;
  return ((void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"))(library, name);
}
"""


@in_turn
def test_the_self_check_of_a_c_export_says_that_pocl_does_not_know_the_cpu(tmp_path: Path) -> None:
    need_compiler()
    environment = pocl_environment(tmp_path)

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path / "export", capture_output=True, text=True, check=False,
                              env={**environment, "LD_PRELOAD": str(library) if library.exists() else ""})

    library = tmp_path / "refuse.so"
    with read_store(suite_run(tmp_path / "run", "gemm")) as store:
        export(store, Kind.opencl, None, tmp_path / "export")
    (tmp_path / "refuse.c").write_text(REFUSED)
    for command in (("make",), ("cc", "-shared", "-fPIC", "../refuse.c", "-o", str(library))):
        assert (built := run(*command)).returncode == 0, built.stderr
    done = run("./selfcheck")
    assert done.returncode != 0 and "error: unknown target CPU 'generic'" in done.stderr
    assert "the compiler of this PoCL does not know this CPU" in done.stderr and "ANTUNE_OPENCL_DEVICE" in done.stderr
