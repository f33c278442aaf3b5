"""Compile CUDA text to device code of one architecture, in the compile pool: by NVRTC, or by nvcc if that is missing.
Needs no GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from generator.errors import InputError
from generator.target import Target
from generator.variant import Variant
from metrics.device_model import device_model
from metrics.resources import Resources
from runners.cuda import headers
from runners.cuda.bounds import Translated, translate
from runners.cuda.headers import header_folders, needs_headers
from runners.driver import MESSAGE_CHARS, BuildError
from runners.gpu.units import Binary, UnitCompiler

Capability = tuple[int, int]
FILE = "kernels.cu"
REMEDY = "`pip install cuda-bindings nvidia-cuda-nvrtc` installs one, and so does NVIDIA's CUDA toolkit"
TOOLKIT = Path("/usr/local/cuda/bin/nvcc")


class Translator(Protocol):
    """A compiler of NVIDIA's."""

    @property
    def name(self) -> Literal["NVRTC", "nvcc"]:
        """Its name."""

    @property
    def version(self) -> tuple[int, int]:
        """Its version of CUDA."""

    def capabilities(self) -> tuple[Capability, ...]:
        """Return the compute capabilities that it compiles for."""

    def translate(self, text: str, capability: Capability) -> tuple[bytes, str]:
        """Return a cubin, and the log of `ptxas -v`. Raises BuildError."""


class Nvrtc:
    """NVIDIA's library for compiling at run time, through cuda-python."""

    def __init__(self) -> None:
        """Loads the library. Raises ImportError if it or its binding is missing."""
        from cuda.bindings import nvrtc

        self._nvrtc: Any = nvrtc
        try:
            status, major, minor = nvrtc.nvrtcVersion()
        except Exception as error:  # noqa: BLE001  the binding cannot find the library; it raises several kinds
            raise ImportError(str(error)) from None
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise ImportError(f"NVRTC: {status}")
        self._version = int(major), int(minor)

    @property
    def name(self) -> Literal["NVRTC"]:
        """Its name."""
        return "NVRTC"

    @property
    def version(self) -> tuple[int, int]:
        """Its version of CUDA."""
        return self._version

    def capabilities(self) -> tuple[Capability, ...]:
        """See `Translator`."""
        _, *known = self._nvrtc.nvrtcGetSupportedArchs()
        numbers: list[int] = known[0] if len(known) == 1 else known[-1]
        return tuple(divmod(number, 10) for number in numbers)

    def translate(self, text: str, capability: Capability) -> tuple[bytes, str]:
        """See `Translator`."""
        program = self._ask(self._nvrtc.nvrtcCreateProgram(text.encode(), FILE.encode(), 0, [], []))
        options = [f"--gpu-architecture={_arch(capability)}".encode(), b"--ptxas-options=-v",
                   *_includes(text, self._version[0])]
        try:
            (status,) = self._nvrtc.nvrtcCompileProgram(program, len(options), options)
            log = b" " * self._ask(self._nvrtc.nvrtcGetProgramLogSize(program))
            self._ask(self._nvrtc.nvrtcGetProgramLog(program, log))
            words = log.split(b"\0")[0].decode(errors="replace")
            if status != self._nvrtc.nvrtcResult.NVRTC_SUCCESS:
                raise BuildError(words.strip()[:MESSAGE_CHARS] or str(status))
            cubin = b" " * self._ask(self._nvrtc.nvrtcGetCUBINSize(program))
            self._ask(self._nvrtc.nvrtcGetCUBIN(program, cubin))
        finally:
            self._nvrtc.nvrtcDestroyProgram(program)
        return cubin, words

    def _ask(self, answer: tuple[Any, ...]) -> Any:
        """Return the value in an answer. Raises BuildError unless the call succeeded."""
        status, *values = answer
        if status != self._nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise BuildError(f"NVRTC failed: {getattr(status, 'name', status)}")
        return values[0] if values else None


def _includes(text: str, major: int) -> list[bytes]:
    """Return the options for the headers of `text`, for NVRTC of CUDA `major`.

    Raises BuildError if it includes headers that are missing.
    """
    if not needs_headers(text):
        return []
    folders = header_folders(major)
    if not folders:
        raise BuildError(f"the headers of CUDA are not installed, and tensor cores need them; {headers.REMEDY}")
    return [f"--include-path={folder}".encode() for folder in folders]


class Nvcc:
    """The toolkit's compiler, as a process per text."""

    def __init__(self) -> None:
        """Finds it in $CUDA_HOME/bin, the PATH or /usr/local/cuda/bin. Raises ImportError if it is in none of them."""
        home = os.environ.get("CUDA_HOME")
        places = [str(Path(home) / "bin" / "nvcc")] if home else []
        found = next(filter(None, map(shutil.which, [*places, "nvcc", str(TOOLKIT)])), None)
        if found is None:
            raise ImportError("nvcc is not in the PATH")
        self._path = found
        release = self._run("--version").stdout.partition("release ")[2].partition(",")[0]
        try:
            major, minor = (int(part) for part in release.split("."))
        except ValueError:
            raise ImportError(f"{found} does not say which version it is") from None
        self._version = major, minor

    @property
    def name(self) -> Literal["nvcc"]:
        """Its name."""
        return "nvcc"

    @property
    def version(self) -> tuple[int, int]:
        """Its version of CUDA."""
        return self._version

    def capabilities(self) -> tuple[Capability, ...]:
        """See `Translator`."""
        words = self._run("--list-gpu-arch").stdout.split()
        return tuple(divmod(int(word.removeprefix("compute_")), 10) for word in words)

    def translate(self, text: str, capability: Capability) -> tuple[bytes, str]:
        """See `Translator`."""
        with tempfile.TemporaryDirectory(prefix="antune-nvcc-") as name:
            source, cubin = Path(name) / FILE, Path(name) / "kernels.cubin"
            source.write_text(text)
            done = self._run(f"-arch={_arch(capability)}", "-cubin", "-Xptxas", "-v", "-o", str(cubin), str(source))
            log = (done.stderr + done.stdout).replace(f"{source}", FILE)
            if done.returncode:
                raise BuildError(log.strip()[:MESSAGE_CHARS] or f"nvcc ended with exit code {done.returncode}")
            return cubin.read_bytes(), log

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self._path, *arguments], capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL)


def _arch(capability: Capability) -> str:
    return f"sm_{capability[0]}{capability[1]}"


def check_headers() -> None:
    """Compile the include of kernels on tensor cores. nvcc has headers of its own.

    Raises:
        InputError: there is no compiler, NVRTC finds no headers, or those that it finds do not compile.
    """
    translator = open_translator()
    if translator.name != "NVRTC":
        return
    version = ".".join(map(str, translator.version))
    if not header_folders(translator.version[0]):
        raise InputError(f"tensor cores need headers of CUDA {version}, which are not installed; {headers.REMEDY}")
    try:
        translator.translate(headers.SAMPLE, max(translator.capabilities()))
    except BuildError as error:
        raise InputError(f"tensor cores need headers of CUDA {version}, and those in "
                         f"{', '.join(map(str, header_folders(translator.version[0])))} do not compile: "
                         f"{str(error).partition(chr(10))[0]}; {headers.REMEDY}") from None


def open_translator() -> Translator:
    """Return NVRTC if it is installed, else nvcc. Raises InputError if neither is installed."""
    reasons = []
    kinds: tuple[type[Nvrtc | Nvcc], ...] = (Nvrtc, Nvcc)
    for kind in kinds:
        try:
            return kind()
        except ImportError as error:
            reasons.append(str(error).partition("\n")[0])
    raise InputError(f"no CUDA compiler is installed ({'; '.join(reasons)}); {REMEDY}")


def best_capability(translator: Translator, device: Capability) -> Capability:
    """Return the greatest compute capability whose code runs on `device`: of the same major number, and not above it.

    Raises:
        InputError: this compiler makes no code for such a device.
    """
    usable = [c for c in translator.capabilities() if c[0] == device[0] and c <= device]
    if not usable:
        version = ".".join(map(str, translator.version))
        raise InputError(
            f"{translator.name} of CUDA {version} makes no code for {_arch(device)}; install a CUDA compiler "
            f"that does (CUDA 12 for older GPUs: docs/devices.md), a newer one for newer GPUs"
        )
    return max(usable)


def cuda_compiler(target: Target, folder: Path | None = None) -> UnitCompiler:
    """Return the compiler for `target`; `folder` is that of `kernel_codes.KernelCodes`.

    Raises:
        InputError: no compiler is installed, or none for this architecture.
    """
    compiled = _compiled_for(target)

    def translated(unit: Variant) -> Binary:
        found = compiled(unit)
        needs = found.needs.get(unit.kernels[0].name)
        return Binary(found.cubin, needs.spills if needs else None)

    return UnitCompiler(target, translated, folder)


def cuda_reporter(target: Target) -> Callable[[Variant], Mapping[str, Resources]]:
    """Return a function that compiles a variant for `target`, and returns the resources of its kernels.

    Raises:
        InputError: as `cuda_compiler`.
    """
    compiled = _compiled_for(target)
    return lambda variant: compiled(variant).needs


def _compiled_for(target: Target) -> Callable[[Variant], Translated]:
    if target.capability is None:
        raise InputError(f"the compute capability of {target.name} is not known; see `antune devices`")
    translator, model = open_translator(), device_model(target)
    capability = best_capability(translator, target.capability)
    return lambda variant: translate(lambda text: translator.translate(text, capability), variant, model)
