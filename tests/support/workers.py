"""Worker processes that follow their task: one works, exits, hangs, or exhausts memory, one tells what it sees."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runners.messages import Answer, Handler, Report


def worker(greeting: str) -> Handler:
    """Return a worker that does its task by name; `damage` makes it exit on the next task."""
    damaged = False

    def handler(task: str, report: Report) -> Answer:
        nonlocal damaged
        if damaged:
            os.kill(os.getpid(), signal.SIGSEGV)
        report("check", 60.0 if task.startswith("eat") else 2.0)
        if task == "wait":  # for a lock, for example: longer than any limit
            report("check", None)
            time.sleep(3.0)
            report("check", 2.0)
        elif task == "parts":  # a wait, and two parts of a phase, the second of which takes too long
            report("check", None)
            time.sleep(1.0)
            report("check", 2.0)
            time.sleep(1.0)
            report("check", 0.3)
            time.sleep(60.0)
        elif task == "damage":
            damaged = True
        elif task == "raise":
            raise ValueError(greeting)
        misbehave(task)
        return Answer(os.getpid(), retire=task == "retire", doubtful=task == "fail")

    return handler


def misbehave(task: str) -> None:
    match task:
        case "hold":
            ctypes.PyDLL(None).sleep(3600)  # like isl: a C function that holds the interpreter lock
        case "sleep":
            time.sleep(1.2)
        case "eat":
            hoard = [bytearray(b"x" * (16 << 20)) for _ in range(10**6)]
            del hoard
        case "eat elsewhere":
            hoarder = "hoard = [bytearray(b'x' * (16 << 20)) for _ in range(10**6)]"
            subprocess.run([sys.executable, "-c", hoarder], check=True)
        case "print":
            os.ftruncate(1, 1000 << 20)  # as if so much had been printed before: a hole takes no time
            while True:
                os.write(1, b"x" * (1 << 20))
        case "leave":
            Path("broken.dot").write_text("as PoCL does where it gives up on a kernel")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "exit":
            print("a last word", flush=True)
            os._exit(3)


def teller() -> Handler:
    """Return a worker that evaluates expressions: what it answers is what it sees of its process."""
    def handler(task: str, report: Report) -> Answer:
        report("check", 60.0)
        return Answer(eval(task, {"os": os, "sys": sys, "tempfile": tempfile}))

    return handler
