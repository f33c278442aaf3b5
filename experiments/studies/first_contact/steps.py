"""The steps of a first contact: the commands, the files of their results, and reasons why steps cannot run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from experiments.store import is_run
from generator.errors import InputError
from runners.profiling.ncu import find_ncu

ROOT = Path(__file__).parents[3]
TESTS = ("tests/gpu/test_real_gpu.py", "tests/runners/test_contract.py", "tests/gpu/test_exports_on_gpu.py")
PROFILED = ("gemm", "jacobi-2d", "atax", "blur")
"""Programs whose best plans are profiled: sums of products, a stencil, matrix times vector, an image pipeline."""
EXPLORER = "colony"


@dataclass(frozen=True, slots=True)
class Wish:
    """The scope of a first contact.

    Everything is stored in `folder`. `programs` and `pipelines` are as for the suites; `plans` random plans of each are
    checked.
    """

    folder: Path
    device: str = "cuda"
    programs: str = "all"
    pipelines: str = "all"
    size: str = "large"
    pipeline_size: str = "full"
    evaluations: int = 30
    plans: int = 10
    peers: Path | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    `result` is the JSON file that `command` writes, `table` a Markdown file that it also writes, or None. `resumes`:
    the same command continues where it stopped. `obstacle`: why the step cannot run. `on_device`: it uses the device.
    """

    name: str
    title: str
    command: tuple[str, ...]
    result: Path
    table: Path | None = None
    resumes: bool = False
    obstacle: str = ""
    on_device: bool = True


def steps(wish: Wish) -> tuple[Step, ...]:
    """Return all steps, most useful first: results are checked before anything is timed.

    Profiles are included only for programs searched so far.
    """
    return tuple(_steps(wish))


def chosen(found: tuple[Step, ...], names: str) -> tuple[Step, ...]:
    """Return the steps that an option lists, by name or by the part before the first `-`.

    Raises InputError for any other word.
    """
    words = [word.strip() for word in names.split(",") if word.strip()]
    known = {step.name for step in found} | {step.name.partition("-")[0] for step in found} | {"profile"}
    if unknown := [word for word in words if word not in known]:
        raise InputError(f"--steps: there is no step {unknown[0]!r}; use some of {', '.join(sorted(known))}")
    return tuple(step for step in found
                 if not words or step.name in words or step.name.partition("-")[0] in words)


def _steps(wish: Wish) -> Iterator[Step]:
    yield _antune(wish, "devices", "Devices", ("devices",), with_device=False)
    for number, file in enumerate(TESTS, 1):
        yield _test(wish, f"tests-{number}", file)
    checked = wish.folder / "plans.result.json"
    yield Step("plans", f"{wish.plans} random plans of every program",
               (sys.executable, "-m", "experiments.studies.first_contact.plans", str(checked), wish.device,
                str(wish.plans), wish.programs, wish.pipelines), checked, resumes=True)
    yield _antune(wish, "ceilings", "Ceilings", ("suite", "roofline", "--again"))
    yield _suite(wish, "polybench", wish.programs, wish.size)
    yield _suite(wish, "pipelines", wish.pipelines, wish.pipeline_size)
    no_ncu = "" if find_ncu() else "Nsight Compute (ncu) is not installed"
    for run in sorted(_searched(wish)):
        name = run.parent.name
        yield _antune(wish, f"profile-{name}", f"Nsight Compute: {name}", ("profile", str(run), "--plans", "1"),
                      with_device=False, obstacle=no_ncu)
    if wish.peers is not None:
        result = wish.folder / "peers.result.json"
        yield Step("peers", "Programs of others",
                   (sys.executable, "-m", "experiments.studies.first_contact.peers", str(wish.peers), str(result)),
                   result, on_device=False)


def _searched(wish: Wish) -> Iterator[Path]:
    for suite in ("polybench", "pipelines"):
        for run in (wish.folder / suite).glob(f"*/*/{EXPLORER}-0"):
            if is_run(run) and any(run.parent.name.startswith(f"{name}-") for name in PROFILED):
                yield run


def _antune(wish: Wish, name: str, title: str, words: tuple[str, ...], with_device: bool = True,
            obstacle: str = "") -> Step:
    result = wish.folder / f"{name}.result.json"
    device = ("--device", wish.device) if with_device else ()
    return Step(name, title, (sys.executable, "-m", "antune", *words, *device, "--json", str(result)), result,
                obstacle=obstacle)


def _suite(wish: Wish, name: str, programs: str, size: str) -> Step:
    out = wish.folder / name
    command = (sys.executable, "-m", "antune", "suite", name, "--programs", programs, "--size", size, "--explorer",
               EXPLORER, "--budget", str(wish.evaluations), "--device", wish.device, "--out", str(out))
    return Step(name, f"Suite {name}, {size}, {wish.evaluations} evaluations", command, out / "table.json",
                out / "table.md", resumes=True)


def _test(wish: Wish, name: str, file: str) -> Step:
    result = wish.folder / f"{name}.result.xml"
    obstacle = ("pytest is not installed" if find_spec("pytest") is None else
                "" if (ROOT / file).exists() else f"{file} was not carried along")
    return Step(name, f"Tests: {file}", (sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider",
                                         "-p", "no:xdist", f"--junitxml={result}", file), result, obstacle=obstacle)
