"""A process that starts the user's program and briefly outlives antune: if antune is gone, it kills the program.

It runs on its own (`python -I -S guard.py`), without antune's modules and with few others, so that it starts in
milliseconds:

    guard.py LIFE LIMIT_S MOST_BYTES SCRATCH DIRECTORY STDIN PROGRAM [ARGUMENTS]

LIFE is the reading end of a pipe that antune holds open, SCRATCH the folder that is deleted if antune dies. The program
runs in DIRECTORY as leader of its own session. Its first MOST_BYTES of output go to the files `stdout` and `stderr`
there; the rest is dropped. The last line that the guard prints is `exit N`, `signal N` or `limit`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

POLL_S = 0.02
DRAIN_S = 0.3
CHUNK = 1 << 16
KILL_S = 3.0
PR_SET_CHILD_SUBREAPER = 36


def main(words: list[str]) -> None:
    """Start the program, wait for its end, for the limit or for the end of antune, and print which it was."""
    life, limit_s, most, scratch, directory, stdin = int(words[0]), float(words[1]), int(words[2]), *words[3:6]
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    adopt()
    child, pipes = start(directory, stdin, words[6:], life)
    files = {pipes[k]: [os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), most]
             for k, name in enumerate(("stdout", "stderr"))}
    end_s, status, gone = time.monotonic() + limit_s, None, False
    while status is None and not gone and time.monotonic() < end_s:
        gone = pump(files, life, POLL_S)
        status = ended(child)
    kill(child)  # and its descendants
    if gone:
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)
        return
    end_s = time.monotonic() + DRAIN_S
    while files and time.monotonic() < end_s and not pump(files, life, 0.0 if status is None else POLL_S):
        pass
    print("limit" if status is None else f"exit {status}" if status >= 0 else f"signal {-status}", flush=True)


def start(directory: str, stdin: str, command: list[str], life: int) -> tuple[int, tuple[int, int]]:
    """Fork the program. Return its process id, and the pipes of its output."""
    out, err = os.pipe(), os.pipe()
    child = os.fork()
    if child:
        os.close(out[1])
        os.close(err[1])
        return child, (out[0], err[0])
    try:
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.chdir(directory)
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        os.dup2(out[1], 1)
        os.dup2(err[1], 2)
        os.close(life)
        os.closerange(3, 64)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def pump(files: dict[int, list[int]], life: int, wait_s: float) -> bool:
    """Copy the program's output from each pipe to a file with a limited number of bytes. Return whether antune is gone.
    """
    for pipe in select.select([life, *files], [], [], wait_s)[0]:
        if pipe == life:
            return True
        data = os.read(pipe, CHUNK)
        file, left = files[pipe]
        files[pipe][1] -= os.write(file, data[:left])
        if not data:
            os.close(files.pop(pipe)[0])
            os.close(pipe)
    return False


def ended(child: int) -> int | None:
    """Return the exit status of the program, negative for a signal; None while it runs."""
    found, status = os.waitpid(child, os.WNOHANG)
    if not found:
        return None
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def adopt() -> None:
    """Make this process the parent of orphaned descendants, including those that left the session (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill(child: int) -> None:
    """Kill the program's group, and then all its descendants that are or become children of this process."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    end_s = time.monotonic() + KILL_S
    while (found := children()) and time.monotonic() < end_s:
        for pid in found:
            with suppress(PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not any(os.waitpid(pid, os.WNOHANG)[0] for pid in found):
            time.sleep(POLL_S)


def children() -> list[int]:
    """Return the children of this process, including dead ones that were not waited for."""
    try:
        file = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY)
    except OSError:
        return []
    found = os.read(file, CHUNK).split()
    os.close(file)
    return [int(word) for word in found]


if __name__ == "__main__":
    main(sys.argv[1:])
