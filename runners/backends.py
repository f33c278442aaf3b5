"""All backends, in their order in lists of devices; a new one only needs to be added here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from generator.errors import InputError
from generator.problem import Problem
from generator.target import Dialect, Target
from runners.backend import Backend, Reporter
from runners.calls import Caller, Code
from runners.cuda.backend import CUDA
from runners.driver import BuildError, Compiler, Device, LaunchError
from runners.hip.backend import HIP
from runners.opencl.backend import OPENCL

BACKENDS: tuple[Backend, ...] = (CUDA, OPENCL, HIP)
"""CUDA before OpenCL on the same hardware; untested backends come last, so that they are never the default."""


def backend_named(name: str) -> Backend | None:
    """Return the backend of the dialect `name`, if there is one."""
    return next((backend for backend in BACKENDS if backend.dialect == name), None)


def backend_of(key: str) -> Backend:
    """Return the backend of the device `key`. Raises InputError if no backend fits."""
    if (backend := backend_named(key.split("/")[0])) is None:
        raise InputError(f"the device {key} belongs to no driver; see `antune devices`")
    return backend


def imports_of(key: str) -> tuple[str, ...]:
    """Return the modules that a fork server imports for workers of the device `key`; () if no backend fits."""
    backend = backend_named(key.split("/")[0])
    return backend.imports if backend else ()


def reports_spills(key: str) -> bool:
    """Return whether the compiler of the device `key` tells what kernels spill; False if no backend fits."""
    return _reporter_of(key.split("/")[0]) is not None


def open_compiler(key: str, target: Target, problem: Callable[[], Problem], folder: Path | None = None,
                  travels: bool = True) -> Compiler:
    """Return a Compiler for the device `key`; `problem` is only read if compiling takes launches.

    Compiled kernels are kept in `folder`, which several processes may share (None: not kept). Code that does not travel
    is for processes of this machine with the same environment (`opencl.platforms.driver_environment`).

    Raises:
        InputError: the device or its compiler is missing.
    """
    return backend_of(key).open_compiler(key, target, problem, folder, travels)


def open_device(key: str, problem: Problem) -> Device:
    """Return the device `key` with the arrays of `problem`.

    Raises:
        InputError: the device is no longer there.
        LaunchError: the arrays do not fit.
    """
    return backend_of(key).open_device(key, problem)


def open_reporter(target: Target) -> Reporter | None:
    """Return a function that compiles a variant for `target`, a device that need not be here, and returns the resources
    of its kernels; None if the compiler does not report them.

    Raises InputError if the compiler is missing, or makes no code for such a device.
    """
    opened = _reporter_of(target.dialect)
    return opened(target) if opened is not None else None


def _reporter_of(dialect: str) -> Callable[[Target], Reporter] | None:
    backend = backend_named(dialect)
    return backend.open_reporter if backend is not None else None


def open_caller(code: Code, target: Target) -> Caller:
    """Return `code` as a function of this process on its device, whose limits are `target`.

    Raises:
        InputError: the device is missing, or refuses the code.
    """
    try:
        return backend_of(code.device.key).open_caller(code, target)
    except (BuildError, LaunchError) as error:
        raise InputError(f"{code.device.name} does not take the code: {error}; tune again on this machine") from None


def check_tensor_cores(dialect: Dialect) -> None:
    """Raise InputError if this machine cannot compile code for tensor cores in `dialect`."""
    for backend in BACKENDS:
        if backend.dialect == dialect and backend.check_tensor_cores is not None:
            backend.check_tensor_cores()


def usable_compilers() -> tuple[str, ...]:
    """Return the dialects that this machine can compile for devices of other machines.

    Raises:
        InputError: there is none; the message says why, for each.
    """
    found, reasons = [], []
    for backend in BACKENDS:
        if backend.check_compiler is not None:
            try:
                backend.check_compiler()
                found.append(backend.dialect)
            except InputError as error:
                reasons.append(str(error))
    if not found:
        raise InputError("; ".join(reasons))
    return tuple(found)
