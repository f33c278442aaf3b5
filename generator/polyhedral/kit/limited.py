"""Calls into isl that may not end, made in a child process with a limit of processor time.

isl counts operations too rarely to stop on large numbers, and its C code cannot be interrupted from inside. The child
is a fork: it sees the parent's isl objects and returns text. The limit is processor time, not wall time, so that a busy
machine does not change the answer.
"""

from __future__ import annotations

import os
import resource
import signal
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from generator.errors import IllegalPlan

CPU_SECONDS = 10
_ILLEGAL = 2
"""The exit code of a child whose function raised IllegalPlan."""
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


class ChildError(Exception):
    """The function raised an exception, whose message this is."""


def limited(function: Callable[[], str], what: str) -> str:
    """Return `function()`, computed in a child process.

    Raises:
        IllegalPlan: it took longer than CPU_SECONDS or crashed (`what` names the computation), or raised this itself.
        ChildError: it raised another exception (with that exception's message).
    """
    reading, writing = os.pipe()
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)  # none may reach the child before `_answer`'s `try`
    with warnings.catch_warnings():  # the child calls only isl: locks of other threads do not matter
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(function, reading, writing)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
    except BaseException:  # Ctrl-C, for example
        with suppress(ProcessLookupError, ChildProcessError):  # it has been waited for
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        raise
    return _read(answer, status, what)


def _read(answer: bytes, status: int, what: str) -> str:
    """Return what the child wrote, or raise what its exit status says."""
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) == signal.SIGXCPU:
            raise IllegalPlan(f"{what} was given up after {CPU_SECONDS} s of processor time")
        raise IllegalPlan(f"{what} crashed isl (signal {os.WTERMSIG(status)})")
    match os.WEXITSTATUS(status):
        case 0:
            return answer.decode()
        case code if code == _ILLEGAL:
            raise IllegalPlan(answer.decode())
        case _:
            raise ChildError(answer.decode())


def _answer(function: Callable[[], str], reading: int, writing: int) -> NoReturn:
    """In the child: compute, write, and end without running any of the parent's code, whatever happens."""
    code = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as out:
            found, text = _computed(function)
            out.write(text.encode())
        code = found
    finally:
        os._exit(code)


def _computed(function: Callable[[], str]) -> tuple[int, str]:
    """Return the exit code, and the result of `function` within the limit or the message of its exception."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)  # an unprivileged process cannot raise it
        limit = _used_s() + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
        return 0, function()
    except IllegalPlan as error:
        return _ILLEGAL, str(error)
    except BaseException as error:  # noqa: BLE001 - nothing may leave the child; the parent raises it
        return 1, str(error) or type(error).__name__


def _used_s() -> int:
    """Return the processor time of this (new) process so far, rounded up."""
    return int(sum(os.times()[:2])) + 1
