"""Hostile variants of `B[i] = a * A[i]`, and workers that lose their device: a search must survive them.

Every Plan has a name of its fault and a unique number that is in its code, its statements and its messages, so that a
result that went to another Plan is noticed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from generator.expr import Binary, Int, Name
from generator.plan import Plan
from generator.program import Program
from generator.target import Target
from generator.variant import HostLoop, Kernel, KernelText, Launch, Variant
from graph.walk import Walk
from metrics.outcome import CompileFailed, Crashed, LaunchFailed, Outcome, Timed, TimedOut, WrongResult
from runners.compile_worker import CompileWorker
from runners.device_worker import DeviceWorker
from runners.driver import BuildError, LaunchError
from runners.messages import Answer, Handler, Report
from runners.tasks import Compile, WorkerSetup

TERABYTE = 1 << 40
SPIN = "volatile __global float *p = B; while (i < 64 && p[i] != 12345.0f) p[i] = 1.0f;"  # in one group: one core
NULL = "((volatile __global int *)(size_t)0)[i] = 1;"
BARRIER = ("volatile __local int flag; if (get_local_id(0) == 0) flag = 0; barrier(CLK_LOCAL_MEM_FENCE);"
           "if (i % 2) {{ while (i < 64 && !flag) ; }} else {{ barrier(CLK_LOCAL_MEM_FENCE);"
           "if (i == 62) flag = 1; }} B[i] = -1.0f * {n};")
BOMB = ("".join(f"#define X{k} {' '.join([f'X{k - 1}'] * 8)}\n" for k in range(1, 11))
        + f"#define X0 {'a' * 80}\n#define TEXT(x) #x\n#define EXPANDED(x) TEXT(x)\n")
"""Macros for a text of 8^10 x 80 characters."""

Check = Callable[[Outcome, int], bool]


@dataclass(frozen=True)
class Fault:
    """A kernel body (with `{n}`, the number of the Plan) and its expected outcome. `runs`: launches per run."""

    body: str
    expected: Check
    runs: int = 1
    before: str = ""


def _timed(outcome: Outcome, _number: int) -> bool:
    return isinstance(outcome, Timed)


def _wrong(words: str) -> Check:
    return lambda outcome, number: (isinstance(outcome, WrongResult)
                                    and words.format(n=number) in outcome.message)


def _expired(*phases: str) -> Check:
    return lambda outcome, _number: isinstance(outcome, TimedOut) and outcome.phase in phases


def _crashed(phase: str, words: str) -> Check:
    return lambda outcome, _number: (isinstance(outcome, Crashed) and outcome.phase == phase
                                     and words in outcome.message)


def _failed(outcome: Outcome, _number: int) -> bool:
    """Anything but a success, if the specification does not define the result."""
    return not isinstance(outcome, Timed)


def _lost(words: str) -> Check:
    return lambda outcome, _number: (isinstance(outcome, LaunchFailed | CompileFailed | Crashed)
                                     and words in outcome.message)


GOOD = "B[i] = a * A[i] + 0.0f * {n};"
FAULTS = {
    "good": Fault(GOOD, _timed),
    "endless compile": Fault(GOOD, _expired("compile"), before='#include "{path}/fifo"'),
    "hungry compile": Fault(f"{GOOD} B[0] += sizeof(EXPANDED(X10));", _crashed("compile", "out of memory"),
                            before=BOMB),
    "endless lowering": Fault(GOOD, _expired("generate")),
    "hungry lowering": Fault(GOOD, _crashed("generate", "out of memory")),
    "terabyte lowering": Fault(GOOD, _crashed("generate", "MemoryError")),
    "killed lowering": Fault(GOOD, _crashed("generate", "SIGKILL")),
    "terabyte local": Fault(f"__local char big[{TERABYTE}]; big[i] = A[i]; barrier(CLK_LOCAL_MEM_FENCE);"
                            " B[i] = big[i] + {n};", _failed),
    "terabyte private": Fault(f"volatile char big[{TERABYTE}]; for (long k = 0; k < {TERABYTE}; k += 4096) big[k] = i;"
                              " B[i] = big[i] + {n};", _failed),
    "loop": Fault(SPIN, _expired("compile")),
    "loop in check": Fault(f"if (t == 1) {{{{ {SPIN} }}}} {GOOD}", _expired("check"), runs=2),
    "loop in timing": Fault(f"if (H[0] > 4) {{{{ {SPIN} }}}} {GOOD} if (i == 0) H[0] += 1;", _expired("time"), runs=2),
    "null": Fault(NULL, _crashed("compile", "SIG")),
    "null in check": Fault(f"if (t == 1) {NULL} {GOOD}", _crashed("check", "SIG"), runs=2),
    "far out of bounds": Fault("B[i + (1L << 36)] = 1.0f;", _failed),
    "smash": Fault(f"{GOOD} if (i == 0) for (int k = 0; k < (1 << 20); k++) B[k] = {{n}};", _failed),
    "smash in check": Fault(f"{GOOD} if (t == 1 && i == 0) for (int k = 0; k < (1 << 20); k++) B[k] = {{n}};", _failed,
                            runs=2),
    "out of bounds": Fault(f"{GOOD} if (i == 0) B[get_global_size(0) + 3] = 1.0f;",
                           _wrong("B was written past its end")),
    "barrier": Fault(BARRIER, _failed),
    "nan": Fault(f"{GOOD} if (i == {{n}}) B[i] = NAN;", _wrong("B[{n}] is nan")),
    "inf": Fault(f"{GOOD} if (i == {{n}}) B[i] = INFINITY;", _wrong("B[{n}] is inf")),
    "wrong": Fault(f"{GOOD} if (i == {{n}}) B[i] = 0.0f;", _wrong("after the first run B[{n}] is 0.0")),
    "once": Fault(f"{GOOD} if (i == {{n}} && H[0] > 2) B[i] = 0.0f; if (i == 0) H[0] += 1;",
                  _wrong("after the last run")),
    "lost at launch": Fault(GOOD, _lost("CONTEXT_LOST")),
    "lost at build": Fault(GOOD, _lost("CONTEXT_LOST")),
    "lost on the device": Fault(GOOD, _lost("CONTEXT_LOST")),
    "lost in a raw error": Fault(GOOD, _lost("CONTEXT_LOST")),
    "lost afterwards": Fault(GOOD, _timed),
}
HOSTILE = tuple(name for name in FAULTS if name != "good")


def hostile_plan(fault: str, number: int, folder: str = "") -> Plan:
    """Return the Plan with `number` that has `fault`; `folder` holds the pipe that has no writer."""
    return Plan(None, (), parameters=(("fault", fault), ("number", number), ("path", folder)))


def fault_of(plan: Plan) -> str:
    """Return the name of its fault."""
    return str(dict(plan.parameters)["fault"])


def number_of(plan: Plan) -> int:
    """Return its number."""
    return int(dict(plan.parameters)["number"])


def as_expected(plan: Plan, outcome: Outcome) -> bool:
    """Return whether `outcome` is the expected one of `plan`, and belongs to no other plan."""
    number = number_of(plan)
    if not FAULTS[fault_of(plan)].expected(outcome, number):
        return False
    if not isinstance(outcome, Timed):
        return True
    return (outcome.code_hash == variant_of(plan).code_hash
            and [kernel.statements for kernel in outcome.kernels] == [(f"P{number}",)])


def lower_hostile(program: Program, plan: Plan, target: Target) -> Variant:
    """A replacement for the lowering, which may itself be hostile."""
    del program, target
    match fault_of(plan):
        case "endless lowering":
            sum(range(10**13))  # like isl: a C function that holds the interpreter lock
        case "hungry lowering":
            hoard = []
            while True:
                hoard.append(bytearray(b"x" * (64 << 20)))
        case "terabyte lowering":
            bytearray(1000 * TERABYTE)  # more than any machine has
        case "killed lowering":
            os.kill(os.getpid(), 9)
    return variant_of(plan)


def variant_of(plan: Plan, size: int = 4096) -> Variant:
    """Return the code of `plan`."""
    fault, number = FAULTS[fault_of(plan)], number_of(plan)
    body = fault.body.format(n=number)
    before = fault.before.replace("{path}", str(dict(plan.parameters)["path"]))
    after = ("(__global float *A, __global float *B, __global int *H, float a, int t)\n"
             f"{{ int i = get_global_id(0); {body} }}")
    kernel = Kernel(
        "k", (f"P{number}",), ("A", "B", "H"), ("a",), ("t",), (64,), 0, KernelText(f"{before}\n__kernel void ", after)
    )
    launch = Launch("k", (Int(size // 64),), (Name("t"),))
    loop = HostLoop("t", Int(0), Binary("<", Name("t"), Int(fault.runs)), 1, (launch,))
    return Variant(plan, "opencl", "", (kernel,), (loop,))


class Lost:
    """A device after its context was lost: every call fails, until the process ends."""

    def __init__(self, error: type[Exception]) -> None:
        """`error`: the exception type of the driver's binding."""
        self._error = error

    def __getattr__(self, name: str) -> Any:
        """Raise the error for any call."""
        raise self._error(f"{name} failed: CONTEXT_LOST")


def make_fragile_compile_worker(setup: WorkerSetup) -> Handler:
    """Return a compile worker that loses its context for some Plans, permanently."""
    worker = CompileWorker(setup)

    def handler(task: Any, report: Report) -> Answer:
        if isinstance(task, Compile):
            match fault_of(task.variant.plan):
                case "lost at launch":
                    worker._compiler = Lost(LaunchError)
                case "lost at build":
                    worker._compiler = Lost(BuildError)
        return worker(task, report)

    return handler


def make_fragile_device_worker(setup: WorkerSetup) -> Handler:
    """Return a device worker that loses its context for some Plans, permanently."""
    worker = DeviceWorker(setup)

    def lose(error: type[Exception]) -> None:
        worker._device = worker._memory = Lost(error)

    def handler(task: Any, report: Report) -> Answer:
        match fault := fault_of(task.compiled.variant.plan):
            case "lost on the device":
                lose(LaunchError)
            case "lost in a raw error":
                lose(RuntimeError)
        answer = worker(task, report)
        if fault == "lost afterwards":
            lose(LaunchError)
        return answer

    return handler


@dataclass
class Script:
    """An explorer that asks for given Plans in their order."""

    plans: Sequence[Plan]
    asked: int = 0
    told: dict[Plan, Outcome] = field(default_factory=dict)

    def ask(self, count: int) -> Sequence[Walk]:
        """See `explorer.base.Explorer`."""
        walks = [Walk((), plan) for plan in self.plans[self.asked : self.asked + count]]
        self.asked += len(walks)
        return walks

    def tell(self, walk: Walk, outcome: Outcome) -> None:
        """See `explorer.base.Explorer`."""
        self.told[walk.plan] = outcome
