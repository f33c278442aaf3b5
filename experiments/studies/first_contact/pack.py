"""Collect what a machine with a GPU and no network needs: `python -m experiments.studies.first_contact.pack DIR`.

DIR receives the sources, wheels (if there is a network) and `begin.sh`, which needs Python, a C compiler, NVIDIA's
driver and NVRTC or nvcc on the other machine (docs/gpu_first_contact.md).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

from experiments.studies.first_contact.steps import ROOT

WHEELS = ("islpy", "pycparser", "typer", "rich", "deap", "threadpoolctl", "scipy", "pytest")
"""Packages for tuning and for the GPU tests; the colony learns with `scipy`."""
BINDINGS = {"12": "cuda-bindings>=12.6,<13", "13": "cuda-bindings>=13.0"}
THERE = ("numpy",)
"""Packages that such machines usually have; --with includes them."""
MOST_BYTES = 64 << 20
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_24_x86_64", "manylinux2014_x86_64")
BEGIN = """#!/bin/sh
# Unpacks antune and gets to know this machine; `sh begin.sh --minutes 55` (docs/gpu_first_contact.md).
set -e
cd "$(dirname "$0")"
[ -d antune ] || {{ mkdir antune; tar -xzf antune.tar.gz -C antune; }}
[ -x venv/bin/python ] || python3 -m venv --system-site-packages venv
venv/bin/python -c 'import islpy' 2> /dev/null || venv/bin/pip install -q --no-index --find-links wheels {packages}
out=$PWD/contact
cd antune
exec ../venv/bin/python -m antune suite first-contact --out "$out" "$@"
"""


def download(folder: Path, packages: Sequence[str], python: str, carried: Sequence[str]) -> None:
    """Download wheels of `packages` and their dependencies, without packages in `THERE` that are not in `carried`.

    Raises CalledProcessError.
    """
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version", python,
                    *platforms, "-d", str(folder), *packages, *carried], check=True)
    for name in set(THERE) - set(carried):
        for wheel in folder.glob(f"{name}-*.whl"):
            wheel.unlink()


def sources(root: Path, file: Path) -> None:
    """Pack all files that git tracks, including tests. Raises CalledProcessError."""
    names = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True).stdout
    with tarfile.open(file, "w:gz") as archive:
        for name in filter(None, names.decode().split("\0")):
            if (root / name).exists():
                archive.add(root / name, name, recursive=False)


def size_of(folder: Path) -> int:
    """Return the size of all wheels in bytes."""
    return sum(wheel.stat().st_size for wheel in folder.glob("*.whl"))


def main() -> None:
    """Collect the files and print their size."""
    options = argparse.ArgumentParser(prog="python -m experiments.studies.first_contact.pack")
    options.add_argument("folder", type=Path, metavar="DIR")
    options.add_argument("--cuda", choices=sorted(BINDINGS), default="13", help="the major version of the driver there")
    options.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}",
                         help="the version of Python there")
    options.add_argument("--with", dest="carried", action="append", default=[], metavar="PACKAGE",
                         help="a package that is missing there, such as numpy or nvidia-cuda-nvrtc")
    given = options.parse_args()
    wheels: Path = given.folder / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    packages = (*WHEELS, BINDINGS[given.cuda])
    download(wheels, packages, given.python, given.carried)
    sources(ROOT, given.folder / "antune.tar.gz")
    names = " ".join(f"'{name}'" for name in (*packages, *given.carried))
    (given.folder / "begin.sh").write_text(BEGIN.format(packages=names))
    size = size_of(wheels)
    count = len(list(wheels.glob("*.whl")))
    print(f"{given.folder}: {count} wheels of {size / 2**20:.1f} MiB, antune.tar.gz, begin.sh")
    if size > MOST_BYTES:
        print(f"The wheels are more than {MOST_BYTES >> 20} MiB; leave out --with, if the machine has that package.")


if __name__ == "__main__":
    main()
