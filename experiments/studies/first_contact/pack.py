"""Collect what a machine with a GPU and no network needs: `python -m experiments.studies.first_contact.pack DIR`.

DIR receives the sources, wheels and `begin.sh`, which needs Python, a C compiler, NVIDIA's driver and NVRTC or nvcc on
the other machine (docs/gpu_first_contact.md). This needs a network and a git checkout.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from experiments.studies.first_contact.steps import ROOT
from generator.errors import AntuneError, InputError

WHEELS = ("islpy", "pycparser", "typer", "rich", "deap", "threadpoolctl", "scipy", "pytest")
"""Packages for tuning and for the GPU tests; the colony learns with `scipy`."""
BINDINGS = {"12": "cuda-bindings>=12.6,<13", "13": "cuda-bindings>=13.0"}
THERE = ("numpy",)
"""Packages that such machines usually have; --with includes them."""
MOST_BYTES = 64 << 20
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_24_x86_64", "manylinux2014_x86_64")
BEGIN = Path(__file__).with_name("begin.sh")
BEGUN_BY = "antune/__main__.py"
"""A file without which the sources are not those of antune."""
BAD_INPUT = 2


def download(folder: Path, packages: Sequence[str], python: str, carried: Sequence[str]) -> None:
    """Download wheels of `packages` and their dependencies, without packages in `THERE` that are not in `carried`.

    `folder` then has only these wheels, and the list of packages for `begin.sh`. Raises InputError if pip fails.
    """
    platforms = [word for name in PLATFORMS for word in ("--platform", name)]
    with tempfile.TemporaryDirectory(prefix="wheels-", dir=folder.parent) as name:
        part = Path(name) / folder.name
        part.mkdir()
        done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version",
                               python, *platforms, "-d", str(part), *packages, *carried], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        if done.returncode:
            reason = next(iter(reversed(done.stderr.strip().splitlines())), f"exit code {done.returncode}")
            raise InputError(f"pip cannot download the wheels, which needs a network and wheels of every package for "
                             f"Python {python}; it says: {reason}")
        for package in set(THERE) - set(carried):
            for wheel in part.glob(f"{package}-*.whl"):
                wheel.unlink()
        (part / "packages.txt").write_text("\n".join([f"# Python {python}", *packages, *carried, ""]))
        shutil.rmtree(folder, ignore_errors=True)
        part.replace(folder)


def sources(root: Path, file: Path) -> None:
    """Pack all files that git tracks, including tests. Raises InputError if `root` is not antune's git checkout."""
    try:
        names = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True).stdout
        known = list(filter(None, names.decode().split("\0")))
    except (OSError, subprocess.CalledProcessError):  # there is no git, or no checkout
        known = []
    if BEGUN_BY not in known:
        raise InputError(f"the sources cannot be packed: {root} is not a git checkout of antune, or git is not "
                         "installed; pack in a clone of antune's repository")
    part = file.with_name(f"{file.name}.part")
    with tarfile.open(part, "w:gz") as archive:
        for name in known:
            if (root / name).exists():
                archive.add(root / name, name, recursive=False)
    part.replace(file)


def size_of(folder: Path) -> int:
    """Return the size of all wheels in bytes."""
    return sum(wheel.stat().st_size for wheel in folder.glob("*.whl"))


def pack(folder: Path, packages: Sequence[str], python: str, carried: Sequence[str]) -> None:
    """Collect the files in `folder` and print their size. Raises InputError if something is missing here."""
    archive, wheels = folder / "antune.tar.gz", folder / "wheels"
    sources(ROOT, archive)
    download(wheels, packages, python, carried)
    shutil.copyfile(BEGIN, folder / "begin.sh")
    size, count = size_of(wheels), len(list(wheels.glob("*.whl")))
    print(f"{folder}: {count} wheels of {size / 2**20:.1f} MiB, antune.tar.gz of "
          f"{archive.stat().st_size / 2**20:.1f} MiB, begin.sh")
    if size > MOST_BYTES:
        print(f"The wheels are more than {MOST_BYTES >> 20} MiB; leave out --with, if the machine has that package.")


def main() -> None:
    """Pack as the command line says."""
    options = argparse.ArgumentParser(prog="python -m experiments.studies.first_contact.pack")
    options.add_argument("folder", type=Path, metavar="DIR")
    options.add_argument("--cuda", choices=sorted(BINDINGS), default="13", help="the major version of the driver there")
    options.add_argument("--python", default=f"{sys.version_info.major}.{sys.version_info.minor}",
                         help="the version of Python there")
    options.add_argument("--with", dest="carried", action="append", default=[], metavar="PACKAGE",
                         help="a package that is missing there, such as numpy or \"nvidia-cuda-nvrtc>=13.4,<14\"")
    given = options.parse_args()
    try:
        given.folder.mkdir(parents=True, exist_ok=True)
        pack(given.folder, (*WHEELS, BINDINGS[given.cuda]), given.python, given.carried)
    except AntuneError as error:
        print(f"pack: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except OSError as error:
        print(f"pack: {error.filename or given.folder} cannot be written: {error.strerror}; choose another folder",
              file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
