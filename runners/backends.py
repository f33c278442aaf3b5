"""All backends, by their order in lists of devices; a new one is added here, and everything else finds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from generator.errors import InputError
from generator.problem import Problem
from generator.target import Dialect, Target
from runners.backend import Backend
from runners.calls import Caller, Code
from runners.cuda.backend import CUDA
from runners.driver import BuildError, Compiler, Device, LaunchError
from runners.hip.backend import HIP
from runners.opencl.backend import OPENCL

BACKENDS: tuple[Backend, ...] = (CUDA, OPENCL, HIP)
"""CUDA before OpenCL on the same hardware; what is untested comes last, so that nobody gets it without a wish."""


def backend_named(name: str) -> Backend | None:
    """The backend of the dialect called `name`, if there is one."""
    return next((backend for backend in BACKENDS if backend.dialect == name), None)


def backend_of(key: str) -> Backend:
    """The backend of the device called `key`. Raises InputError for a key of none."""
    if (backend := backend_named(key.split("/")[0])) is None:
        raise InputError(f"the device {key} belongs to no driver; see `antune devices`")
    return backend


def open_compiler(key: str, target: Target, problem: Callable[[], Problem], folder: Path | None = None,
                  travels: bool = True) -> Compiler:
    """A Compiler for the device called `key`; `problem` is read only where compiling takes launches.

    What it compiles it keeps in `folder`, which several may share (None: nowhere). Code that does not travel is for
    processes of this machine with the same environment (`opencl.platforms.driver_environment`).

    Raises:
        InputError: the device or its compiler is not there.
    """
    return backend_of(key).open_compiler(key, target, problem, folder, travels)


def open_device(key: str, problem: Problem) -> Device:
    """The device called `key` with the arrays of `problem`.

    Raises:
        InputError: the device is not there any more.
        LaunchError: the arrays do not fit.
    """
    return backend_of(key).open_device(key, problem)


def open_caller(code: Code, target: Target) -> Caller:
    """`code` as a function of this process on its device, whose limits are `target`.

    Raises:
        InputError: the device is not there, or does not take the code.
    """
    try:
        return backend_of(code.device.key).open_caller(code, target)
    except (BuildError, LaunchError) as error:
        raise InputError(f"{code.device.name} does not take the code: {error}; tune again on this machine") from None


def check_tensor_cores(dialect: Dialect) -> None:
    """Raise InputError where this machine cannot compile code for tensor cores in `dialect`."""
    for backend in BACKENDS:
        if backend.dialect == dialect and backend.check_tensor_cores is not None:
            backend.check_tensor_cores()


def usable_compilers() -> tuple[str, ...]:
    """The dialects that this machine can compile for devices of other machines.

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
