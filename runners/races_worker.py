"""The worker that runs a Plan under Oclgrind: lower, compile, run once, compare. Loads pyopencl."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyopencl as cl

from generator.errors import IllegalPlan, InputError
from generator.plan import Plan
from generator.problem import Problem
from generator.program import NUMPY_TYPES, Array
from generator.variant import Placed, Texture
from metrics.outcome import CompileFailed, Durations, Failed, Illegal, LaunchFailed, WrongResult
from runners.check import compare
from runners.data import Values, garbage, initial_values, scalar_arguments
from runners.driver import BuildError, LaunchError
from runners.host_program import launches
from runners.locks import shared
from runners.messages import Answer, NotInstalled, Report
from runners.opencl.device import Executable
from runners.opencl.images import Images, image_over
from runners.opencl.memory import Buffers, Memory
from runners.opencl.session import Function, Session
from runners.pool_runner import maker_of
from runners.tasks import WorkerSetup


class ExactMemory(Memory):
    """The arrays of a Problem in buffers that end where the arrays end: each access beyond is out of bounds.

    Nothing is restored, since there is only one run.
    """

    def __init__(self, session: Session, problem: Problem) -> None:
        """Allocates and fills all buffers; those of arrays that are only read may not be written."""
        self.values = initial_values(problem)
        self.scalars = scalar_arguments(problem, self.values)
        self._room = Buffers(session)
        self._images = Images(session.context, session.queue, self.values)
        self.buffers = {}
        self._kept: list[cl.Image] = []
        self._context = session.context
        for array in problem.contract.arrays:
            if not array.by_value:
                self._allocate(array)
        self._constants = self.buffers

    def placed(self, placed: Placed) -> cl.Image | cl.Buffer:
        """See `Memory`: images of arrays that kernels write are over their buffers here, too."""
        if isinstance(placed, Texture) and placed.in_place:
            image = image_over(self._context, placed, self.buffers[placed.array])
            self._kept.append(image)  # kernels do not keep their arguments alive
            return image
        return super().placed(placed)

    def in_global(self, name: str, in_place: Collection[str]) -> cl.Buffer:
        """See `Memory`."""
        return self.buffers[name]

    def hold(self, arrays: Sequence[Array]) -> None:
        """Allocate more arrays."""
        for array in arrays:
            self.values[array.name] = np.full(array.extents, garbage(array), NUMPY_TYPES[array.type])
            self._allocate(array)

    def _allocate(self, array: Array) -> None:
        access = cl.mem_flags.READ_ONLY if array.role == "in" else cl.mem_flags.READ_WRITE
        self.buffers[array.name] = cl.Buffer(
            self._context, access | cl.mem_flags.COPY_HOST_PTR, hostbuf=self.values[array.name]
        )

    def read(self, names: Sequence[str]) -> Values:
        """Return the current contents of the arrays `names`."""
        contents = {name: np.empty_like(self.values[name]) for name in names}
        for name, into in contents.items():
            self._room.read(self.buffers[name], 0, into)
        return contents


class RaceWorker:
    """Evaluates one Plan: returns None if the result is right, NotInstalled, or the failure."""

    def __init__(self, setup: WorkerSetup) -> None:
        """Nothing is opened yet."""
        self._setup = setup

    def __call__(self, plan: Plan, report: Report) -> Answer:
        """Oclgrind's log completes the answer."""
        report("generate", None)
        with shared(self._setup.lock):
            try:
                session = Session(self._setup.device)
            except InputError:
                return Answer(NotInstalled())
            try:
                return Answer(self._run(session, plan, report))
            except IllegalPlan as error:
                return Answer(Illegal(str(error), Durations()))
            except BuildError as error:
                return Answer(CompileFailed(str(error), Durations()))
            except LaunchError as error:
                return Answer(LaunchFailed(str(error), Durations()))

    def _run(self, session: Session, plan: Plan, report: Report) -> Failed | None:
        setup, problem = self._setup, self._setup.problem()
        report("generate", setup.limits.compile_s)
        make = maker_of(setup.subject, setup.target)
        variant = make(plan) if make is not None else setup.lower(setup.program, plan, setup.target)
        report("compile", setup.limits.compile_s)
        program = session.build(variant)
        functions = [Function(program, kernel.name) for kernel in variant.kernels]
        memory = ExactMemory(session, problem)
        memory.hold(variant.scratch)
        report("check", setup.limits.run_s)
        Executable(session, functions, variant, memory, variant.in_place).run(tuple(launches(variant)))
        got = memory.read([array.name for array in problem.contract.outputs])
        reference = problem.reference
        message = compare(setup.subject, reference.outputs, got, setup.length, reference.rounding,
                          plan.rounded_products)
        return WrongResult(message, Durations()) if message else None
