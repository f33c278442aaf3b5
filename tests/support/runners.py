"""Hand-written Programs and Variants for tests of runners; the program is `B[i] = a * A[i]`."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

from generator.errors import IllegalPlan
from generator.expr import Binary, Int, Load, Name
from generator.plan import KernelPlan, Plan
from generator.problem import Problem, Reference
from generator.program import Access, Array, Assignment, Box, Program, Statement
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from generator.variant import HostLoop, Kernel, KernelText, Launch, Variant
from runners.base import DeviceInfo, Limits
from runners.devices import list_devices
from runners.pool_runner import DeviceRunner

SIZE = 4096
QUICK = Limits(compile_s=20.0, run_s=10.0, half_width=0.2, min_repeats=3, max_repeats=6, time_s=0.3)

# A Plan's unroll factor selects the body in the hand-written "lowering" below.
GOOD, ALSO_GOOD, SAME_CODE, ILLEGAL, NO_COMPILE, CRASH, HANG, WRONG, NAN, ONCE, LOCAL, NO_WRITE, SLEEPY, BUG, \
    HANG_LOWER, LOOP, CRASH_CHECK, HANG_CHECK, HANG_TIME, OVERRUN, UNDERRUN, SPOILS_INPUT, HALF, STALE, \
    IDLE = range(1, 26)
SPIN = "volatile __global float *p = B; if (i == 0) while (p[i] != 12345.0f) p[i] = 1.0f;"
"""Of one thread: it takes one core, and the tests beside have the others."""
SLEEP = f"""
#if defined(__x86_64__) && defined(__linux__) && !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
if (i == 0) for (;;) {{ long pause[2] = {{3600, 0}}, done; __asm__ volatile("syscall" : "=a"(done)
 : "a"(35L), "D"(pause), "S"(0L) : "rcx", "r11", "memory"); }}
#else
{SPIN}
#endif
"""
"""Does not end either, but asks Linux to sleep (`nanosleep`): the tests beside have all cores. Intel's runtime compiles
for a machine of its own first, which does not know the registers: there it spins."""

BODIES = {
    GOOD: "B[i] = a * A[i];",
    ALSO_GOOD: "float t = A[i]; B[i] = t * a;",
    SAME_CODE: "B[i] = a * A[i];",
    NO_COMPILE: "B[i] = this does not compile;",
    CRASH: "((volatile __global int *)(size_t)16)[i] = 1;",
    HANG: SPIN,
    WRONG: "B[i] = (i == 77) ? 0.0f : a * A[i];",
    NAN: "B[i] = (i == 5) ? NAN : a * A[i];",
    ONCE: "B[i] = (H[0] > 2) ? 0.0f : a * A[i]; if (i == 0) H[0] += 1;",
    LOCAL: "__local float big[1 << 22]; big[get_local_id(0)] = A[i]; barrier(CLK_LOCAL_MEM_FENCE);"
           " B[i] = a * big[get_local_id(0)];",
    OVERRUN: "B[i] = a * A[i]; if (i == 0) B[get_global_size(0) + 3] = 1.0f;",
    UNDERRUN: "B[i] = a * A[i]; if (i == 0) B[-1] = 1.0f;",
    SPOILS_INPUT: "float t = A[i]; B[i] = a * t; if (i == 3 && H[0] == 0) H[0] = 1;",
    HALF: "if (i % 2) B[i] = a * A[i];",
    STALE: "B[i] = (H[0] == 1) ? a * A[i] : 0.0f;",
    NO_WRITE: "if (i != 9) B[i] = a * A[i];",
    SLEEPY: "float s = A[i]; for (int k = 0; k < 60000; k++) s = s * 0.5f + A[i] * 0.5f; B[i] = a * A[i] + 0.0f * s;",
    CRASH_CHECK: "if (n == 1) ((volatile __global int *)(size_t)16)[i] = 1; B[i] = a * A[i];",
    HANG_CHECK: f"if (n == 1) {{ {SLEEP} }} B[i] = a * A[i];",
    HANG_TIME: f"if (H[0] > 4) {{ {SLEEP} }} B[i] = a * A[i]; if (i == 0) H[0] += 1;",
    IDLE: SLEEP,
    LOOP: "B[i] = (n == 49) ? a * A[i] : (float)n;",
}


def plan(unroll: int) -> Plan:
    """Return a Plan for which the hand-written lowering below returns the body of number `unroll`."""
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), (64,), (64,), unroll=unroll),))


def scale_program(size: int = SIZE) -> Program:
    """Return `B[i] = a * A[i]`; H counts the runs: it is not an output, so only the check of the inputs notices
    changes.
    """
    target, source = Load("B", (Name("i"),), 1), Load("A", (Name("i"),), 0)
    statement = Statement("S0", ("i",), f"{{ S0[i] : 0 <= i < {size} }}",
                          Assignment(target, "", Binary("*", Load("a"), source)),
                          (Access("A", "{ S0[i] -> A[i] }", "read"), Access("B", "{ S0[i] -> B[i] }", "write")),
                          "B[i] = a * A[i];", 3)
    arrays = (Array("A", "float", (size,), "in"), Array("B", "float", (size,), "out"),
              Array("H", "int", (1,), "in"), Array("a", "float", (), "in"))
    schedule = f'{{ domain: "{{ S0[i] : 0 <= i < {size} }}", child: {{ schedule: "[{{ S0[i] -> [(i)] }}]" }} }}'
    return Program("scale", "scale.c", arrays, (statement,), schedule, (("n", size),), (Box("B", (0,), (size - 1,)),))


def scale_problem(size: int = SIZE) -> Problem:
    """Return the program with data."""
    values = np.linspace(1, 2, size, dtype=np.float32)
    scalar = np.array(3.0, np.float32)
    inputs = {"A": values, "B": np.zeros(size, np.float32), "a": scalar, "H": np.zeros(1, np.int32)}
    return Problem(scale_program(size), Reference(inputs, {"B": scalar * values}, (0.1,), "harness", "cc", ()))


def lower_by_hand(program: Program, plan: Plan, target: Target) -> Variant:
    """A replacement for the lowering: hostile kernels that a lowering does not make."""
    kind = plan.kernels[0].unroll
    if kind == ILLEGAL:
        raise IllegalPlan("S0 depends on S0")
    if kind == BUG:
        raise RuntimeError("a bug in the lowering")
    if kind == HANG_LOWER:
        _hang()
    size = program.array("A").extents[0]
    source = ("__kernel void k(__global float *A, __global float *B, __global int *H, float a, int n)\n"
              f"{{ int i = get_global_id(0); {BODIES[kind]} }}")
    if target.language.cplusplus:
        source = in_cuda(source, size)
    kernel = Kernel(
        "k", ("S0",), ("A", "B", "H"), ("a",), ("n",), (64,), 4 << 22 if kind == LOCAL else 0, in_parts(source)
    )
    launch = Launch("k", (Int(size // 64),), (Name("t"),))
    count = {LOOP: 50, CRASH_CHECK: 2, HANG_CHECK: 2, HANG_TIME: 2}.get(kind, 1)
    loop = HostLoop("t", Int(0), Binary("<", Name("t"), Int(count)), 1, (launch,))
    return Variant(plan, target.dialect, "", (kernel,), (loop,))


def _hang() -> None:
    """Wait for ever in a C function that holds the interpreter lock, as isl does, and that no signal ends.

    Unlike isl, it leaves the core to the tests beside.
    """
    mutex, library = ctypes.create_string_buffer(64), ctypes.PyDLL(None)  # of 40 bytes on Linux; zeros: nobody has it
    for _ in range(2):
        library.pthread_mutex_lock(mutex)


def in_parts(source: str) -> KernelText:
    """Return the text of a kernel named `k`."""
    before, _, after = source.partition("k(")
    return KernelText(before, f"({after}")


def in_cuda(source: str, size: int) -> str:
    """Return one of the kernels above in CUDA C++."""
    words = {"__kernel": 'extern "C" __global__', "__global ": "", "__local": "__shared__",
             "barrier(CLK_LOCAL_MEM_FENCE)": "__syncthreads()", "get_local_id(0)": "threadIdx.x",
             "get_global_id(0)": "blockIdx.x * 64 + threadIdx.x", "get_global_size(0)": str(size), "NAN": "nanf(\"\")"}
    for opencl, cuda in words.items():
        source = source.replace(opencl, cuda)
    return source


def worker_pids(parent: int) -> list[int]:
    """Return the worker processes of `parent`, without zombies: children of its fork servers, or its own."""
    servers = _children(parent, b"fork_server_main")
    return sorted([*_children(parent, b"worker_main"), *(pid for server in servers for pid in _children(server, b""))])


def _children(parent: int, word: bytes) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rsplit(")", 1)[1].split()[:2]
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if int(ppid) == parent and state != "Z" and word in command:
            found.append(int(stat.parent.name))
    return found


def stays_on_cores(pid: int) -> bool:
    """Return whether a thread of the process may use one core only, as PoCL's threads where POCL_AFFINITY is 1."""
    return any(len(os.sched_getaffinity(int(thread.name))) == 1 for thread in Path(f"/proc/{pid}/task").iterdir())


def alive(pid: int) -> bool:
    """Return whether the process is running (not a zombie)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@lru_cache
def device_of(platform: str) -> DeviceInfo | None:
    """Return the device of a platform, or None if it is not installed; drivers are queried once per process."""
    return next((device for device in list_devices() if device.platform == platform), None)


def needed_device(platform: str) -> DeviceInfo:
    """Return the device of a platform; skip the test if it is not installed."""
    import pytest  # workers import this file, and pytest takes them longer than most tasks

    if (found := device_of(platform)) is None:
        pytest.skip(f"{platform} is not installed")
    return found


@contextmanager
def opened(device: DeviceInfo, workdir: Path, limits: Limits = QUICK, workers: int | None = None,
           size: int = SIZE) -> Iterator[DeviceRunner]:
    """Yield a runner over the scale problem, and close it at the end."""
    runner = DeviceRunner(scale_problem(size), device, limits, workdir, workers, lower_by_hand)
    try:
        yield runner
    finally:
        runner.close()
