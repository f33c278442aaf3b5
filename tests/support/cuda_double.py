"""The runners of CUDA and HIP without a GPU: mocks of their drivers, and kernels compiled for the host.

The runner, its worker processes, the binding of the driver API with all its arguments, and the generated text are real.
The driver is a mock (tests/cuda_double/libcuda.c describes its checks; libamdhip64.c gives it HIP's names), and so is
the compiler: the host's C++ compiler compiles the text after tests/cuda_double/words.hpp.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from generator.emit.atomics import NO_PLAIN_READ
from generator.plan import Plan
from generator.problem import Problem
from generator.program import Program
from generator.target import Target
from generator.variant import Variant
from metrics.outcome import Outcome
from runners.base import DeviceInfo, Job, Limits
from runners.driver import BuildError
from runners.pool_runner import DeviceRunner, default_lower
from runners.tasks import Lower
from tests.support.children import changed_children
from tests.support.kept import FOLDER as KEPT
from tests.support.paths import TESTS
from tests.support.runners import lower_by_hand

FOLDER = TESTS / "cuda_double"
DYNAMIC = re.compile(r"extern __shared__ __align__\((16|32)\) unsigned char antune_shared\[\];")
KERNEL = re.compile(r"__global__(?: __launch_bounds__\(\w+\))?\s+void (\w+)\(([^)]*)\)")
RENAMED = re.compile(r"^#define (\w+) (antune_\w+)$", re.MULTILINE)
"""The macro that gives a template's kernel its name in a runner."""
NULL_POINTER = "((volatile int *)(size_t)16)[i] = 1;"
ILLEGAL_ADDRESS = "double_fail(700);"  # as on a GPU: this process is alive, but its context is lost
UNUSABLE = ("cuda-bindings is not installed" if find_spec("cuda") is None else
            "there is no C++ compiler" if shutil.which("c++") is None else None)
WATCHED = "CUDA_DOUBLE_RACES"
"""The environment variable that compiles kernels with race detection (tests/cuda_double/shadow.hpp)."""
LIMITS = Limits(compile_s=60.0, run_s=20.0, half_width=0.0, min_repeats=2, max_repeats=3, time_s=0.5)
LIMIT_S = 3600.0


def found_in(said: Path) -> list[str]:
    """Return the errors that the mock found and wrote to the file `said` (CUDA_DOUBLE_LOG)."""
    wrong = ("race in", "diverges at", "without some lanes", "without waiting", "is not aligned", "is not rounded")
    return [line for line in said.read_text().splitlines() if any(words in line for words in wrong)]


def build_driver(folder: Path, library: str = "libcuda.so.1") -> Path:
    """Build the mock in `folder`, unless it is there; return the value of LD_LIBRARY_PATH."""
    source, made = FOLDER / f"{library.partition('.')[0]}.c", folder / library
    if not made.exists():  # processes may have it open
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-Wl,-soname,{library}", "-o", str(made), str(source),
                        "-ldl"], check=True)
    return folder


@contextmanager
def pretended(folder: Path, library: str = "libcuda.so.1") -> Iterator[Path]:
    """Let processes that start now find the mock of `library`; it is built in `folder`."""
    import pytest  # workers import this file, and pytest takes them longer than most tasks

    build_driver(folder, library)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_LIBRARY_PATH", str(folder))
        patch.setattr("runners.devices.PROBE_S", LIMIT_S)
        for variable, value in probing_for_host(folder / "hooks").items():
            patch.setenv(variable, value)
        yield folder


def translate_for_host(self: object, text: str, capability: object) -> tuple[bytes, str]:
    """Replace NVRTC's translation: return an image for the mock, and a log like that of `ptxas -v`. Raises BuildError.
    """
    del self, capability
    for own, name in RENAMED.findall(text):
        text = re.sub(rf"\b{own}\b", name, text)
    names = [name for name, _ in KERNEL.findall(text)]
    with tempfile.TemporaryDirectory(prefix="host-kernels-") as folder:
        library = _library(Path(folder), "\n".join(['#include "words.hpp"', DYNAMIC.sub("", text), *wrappers(text)]))
    # 255 registers are the maximum; kernels that spill with fewer would be compiled again
    log = "".join(f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
                  f"    0 bytes stack frame, 24 bytes spill stores, 24 bytes spill loads\n"
                  f"ptxas info    : Used 255 registers\n" for name in names)
    return f"HOST:{len(library):08x}".encode() + library, log


def _library(folder: Path, text: str) -> bytes:
    """Return the shared library of C++ `text`. Raises BuildError."""
    source, made, library = folder / "kernels.cpp", folder / "kernels.o", folder / "kernels.so"
    source.write_text(text)
    watch = ["-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0",
             f"-D{NO_PLAIN_READ}"] if os.environ.get(WATCHED) else []
    options = ["-O0", "-w", "-fPIC", *watch]
    for words in ([*options, *_includes(options), "-c", "-o", str(made), str(source)],
                  [*options[:3], "-shared", "-o", str(library), str(made)]):
        done = subprocess.run(["c++", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(done.stderr)
    return library.read_bytes()


def _includes(options: Sequence[str]) -> list[str]:
    """Return the options for headers, which one process of a test run precompiles: two thirds of the time.

    Not every compiler can do that.
    """
    if (kept := os.environ.get(KEPT)) is None:
        return [f"-I{FOLDER}"]
    wanted = Path(kept) / "words.hpp.gch" / ("watched" if len(options) > 3 else "plain")
    if not wanted.exists():
        wanted.parent.mkdir(exist_ok=True)
        part = Path(kept) / f"{wanted.name}-{os.getpid()}"
        done = subprocess.run(["c++", *options, f"-I{FOLDER}", "-x", "c++-header", "-o", str(part),
                               str(FOLDER / "words.hpp")], capture_output=True, check=False)
        if done.returncode:
            part.unlink(missing_ok=True)
            return [f"-I{FOLDER}"]
        part.replace(wanted)  # whole at once: other processes may read it
    return [f"-I{kept}", f"-I{FOLDER}"]


def hip_for_host(self: object, text: str, architecture: str) -> bytes:
    """Replace hiprtc's translation. Raises BuildError."""
    return translate_for_host(self, text, architecture)[0]


def wrappers(text: str) -> list[str]:
    """Return a function per kernel that reads its parameters from a launch's buffer."""
    found = []
    for name, parameters in KERNEL.findall(text):
        kinds = [re.sub(r"\b(const|__restrict__)\b", "", p).rsplit(maxsplit=1) for p in parameters.split(",")
                 if p.strip()]
        types = [kind + "*" * last.count("*") for kind, last in kinds]
        reads = "".join(f"  {kind} a{n} = reader.next<{kind}>();\n" for n, kind in enumerate(types))
        values = ", ".join(f"a{n}" for n in range(len(types)))
        found.append(
            f"static void body_{name}(const char *start)\n{{\n  host::Reader reader{{start, 0}};\n{reads}"
            f"  {name}({values});\n}}\n"
            f'extern "C" void host_{name}(const unsigned *grid, const unsigned *block, unsigned, const char *a)\n'
            f"{{\n  host::run_grid(\"{name}\", grid, block, body_{name}, a);\n}}\n"
        )
    return found


def probing_for_host(folder: Path) -> Mapping[str, str]:
    """Return environment variables of processes that compile for the host, including probes of `antune devices`.

    Probes and trials of devices may take LIMIT_S: the host's compiler needs far more than an own one on a busy machine.
    """
    return changed_children(folder, """
from tests.support.children import after_import
def change(module):
    def translate(self, text, capability):
        from tests.support.cuda_double import translate_for_host
        return translate_for_host(self, text, capability)
    module.Nvrtc.translate = translate
def change_hip(module):
    def translate(self, text, architecture):
        from tests.support.cuda_double import translate_for_host
        return translate_for_host(self, text, architecture)[0]
    module.Hiprtc.translate = translate
def change_limits(module):
    module.PROBE_S = module.TRIAL_S = LIMIT_S
after_import("runners.devices", change_limits)
after_import("runners.cuda.compiler", change)
after_import("runners.hip.compiler", change_hip)
""".replace("LIMIT_S", str(LIMIT_S)))


def pretend() -> None:
    """Let this process compile for the host. (NVRTC itself crashes with the mock.)"""
    from runners.cuda.compiler import Nvrtc
    from runners.hip.compiler import Hiprtc

    Hiprtc.translate = hip_for_host  # type: ignore[method-assign]  # the double has no other way in
    Nvrtc.translate = translate_for_host  # type: ignore[method-assign]  # for the host


def lower_for_host(program: Program, plan: Plan, target: Target) -> Variant:
    """The real lowering, for compile workers: they import this module, and then compile for the host."""
    return default_lower(program, plan, target)


def hostile_for_host(program: Program, plan: Plan, target: Target) -> Variant:
    """The hand-written kernels of tests/support/runners.py, likewise; a null pointer fails as on a GPU."""
    variant = lower_by_hand(program, plan, target)
    kernels = tuple(
        replace(k, text=replace(k.text, after=k.text.after.replace(NULL_POINTER, ILLEGAL_ADDRESS)))
        for k in variant.kernels
    )
    return replace(variant, kernels=kernels)


if "runners.worker_main" in sys.modules:
    pretend()


def measured(found: Problem, device: DeviceInfo, plans: Sequence[Plan], folder: Path,
             lower: Lower = lower_for_host) -> dict[int, Outcome]:
    """Return the outcomes of `plans`, by their place."""
    runner = DeviceRunner(found, device, LIMITS, folder, 1, lower)
    try:
        return dict(runner.evaluate([Job(n, plan) for n, plan in enumerate(plans)]))
    finally:
        runner.close()
