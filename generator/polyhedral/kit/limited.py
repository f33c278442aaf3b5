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
from typing import NoReturn

from generator.errors import IllegalPlan

CPU_SECONDS = 10


class ChildError(Exception):
    """The function raised an exception, whose message this is."""


def limited(function: Callable[[], str], what: str) -> str:
    """Return `function()`, computed in a child process.

    Raises:
        IllegalPlan: it took longer than CPU_SECONDS or crashed; `what` names the computation.
        ChildError: it raised an exception (with that exception's message).
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():  # the child calls only isl: locks of other threads do not matter
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(function, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) == signal.SIGXCPU:
            raise IllegalPlan(f"{what} was given up after {CPU_SECONDS} s of processor time")
        raise IllegalPlan(f"{what} crashed isl (signal {os.WTERMSIG(status)})")
    if os.WEXITSTATUS(status):
        raise ChildError(answer.decode())
    return answer.decode()


def _answer(function: Callable[[], str], pipe: int) -> NoReturn:
    """In the child: compute, write, and end without running any of the parent's clean-up."""
    code = 0
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (_used_s() + CPU_SECONDS, resource.RLIM_INFINITY))
        text = function()
    except BaseException as error:  # noqa: BLE001 - nothing may leave the child; the parent raises it
        code, text = 1, str(error) or type(error).__name__
    with os.fdopen(pipe, "wb") as out:
        out.write(text.encode())
    os._exit(code)


def _used_s() -> int:
    """Return the processor time of this (new) process so far, rounded up."""
    return int(sum(os.times()[:2])) + 1
