"""Kernels that do nothing but compute, or nothing but move data, in OpenCL and CUDA.

They are written by hand, as programs with a reference, so that they go through the same runner as everything else: a
probe that computes nonsense has no rate. Every block works on a range of its own, neighbouring threads on neighbouring
elements. CPUs want one thread per block, whose loop is vectorised; GPUs want many. Chains are kept in registers if
their loop is unrolled, which PoCL does not do unless it is told (a third of the operations per second otherwise).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from generator.emit.dialects import WORDS
from generator.emit.words import Words
from generator.expr import Int, Load, Name
from generator.plan import KernelPlan, Plan
from generator.problem import Problem, Reference
from generator.program import (
    ELEMENT_BYTES,
    NUMPY_TYPES,
    Access,
    Array,
    Assignment,
    Box,
    ElementType,
    Program,
    Statement,
)
from generator.schedules.choice import ScheduleChoice
from generator.target import Target
from generator.variant import Kernel, KernelText, Launch, Variant

ProbeName: TypeAlias = Literal["sum", "triad", "fma"]
LINKS = 4096
"""Multiply-adds per chain of the probe fma at least: x -> 0.5 x + 1 tends to 2 and stays there."""
OPERATIONS = 1 << 29
"""Operations that a launch of fma does at least, milliseconds on a CPU: some of its cores may wake up late."""
MOST_LANES = 16
RESULTS = 4096
"""Numbers that `sum` and `fma` leave, so that nothing they do is superfluous."""
MOVED = 1 << 27
"""Bytes that a launch of the others moves at least: small working sets are gone through many times."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What is measured: `sum` reads an array, `triad` reads two and writes one, `fma` computes.

    `working_set` in bytes, over all arrays that are gone through (fma: not used).
    """

    name: ProbeName
    type: ElementType
    working_set: int = 0

    @property
    def arrays(self) -> int:
        """How many arrays a round goes through."""
        return {"sum": 1, "triad": 3, "fma": 0}[self.name]

    @property
    def elements(self) -> int:
        """Elements of each array: a multiple of all vectors' lengths."""
        if not self.arrays:
            return RESULTS
        return self.working_set // (self.arrays * ELEMENT_BYTES[self.type]) // MOST_LANES * MOST_LANES


@dataclass(frozen=True, slots=True)
class Shape:
    """How a probe is spread: `chains` are independent accumulators, or elements in flight, per thread.

    `lanes`: elements are taken as vectors of so many (OpenCL only), which compilers for CPUs do not always find.
    """

    threads: int
    blocks: int
    chains: int
    lanes: int = 1

    def steps(self, probe: Probe) -> int:
        """Times that a thread goes through its chains in a round; 0: there is too little data for this shape."""
        return probe.elements // self._accumulators

    def rounds(self, probe: Probe) -> int:
        """Rounds of a launch."""
        return max(1, MOVED // self._round_bytes(probe))

    def work(self, probe: Probe) -> float:
        """Bytes that a launch moves, or operations that it does: a multiply-add is two."""
        if probe.name == "fma":
            return 2.0 * self.links * self._accumulators
        return float(self._round_bytes(probe)) * self.rounds(probe)

    @property
    def links(self) -> int:
        """Multiply-adds per chain of a launch of fma."""
        return max(LINKS, OPERATIONS // (2 * self._accumulators))

    def covered(self, probe: Probe) -> int:
        """Elements of an array that the rounds go through."""
        return self.steps(probe) * self._accumulators

    @property
    def _accumulators(self) -> int:
        return self.chains * self.threads * self.blocks * self.lanes

    def _round_bytes(self, probe: Probe) -> int:
        return max(1, self.covered(probe) * probe.arrays * ELEMENT_BYTES[probe.type])


_HEAD = """(GLOBAL TYPE *A, GLOBAL TYPE *B, GLOBAL TYPE *C)
{
  const int block = BLOCK, lane = LANE, first = block * THREADS * STEPS * CHAINS + lane;
  const int thread = block * THREADS + lane;
"""
_RESULT = """
  TYPE total = 0;
  for (int c = 0; c < CHAINS; c++) total += x[c];
  for (int i = thread; i < RESULTS; i += BLOCKS * THREADS) B[i] = total / DIVISOR;
}
"""
_BODIES: dict[ProbeName, str] = {
    "sum": """  TYPE x[CHAINS];
  for (int c = 0; c < CHAINS; c++) x[c] = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (int k = 0; k < STEPS; k++)
      #pragma unroll
      for (int c = 0; c < CHAINS; c++) x[c] += A[first + (k * CHAINS + c) * THREADS];""" + _RESULT,
    "triad": """  for (int round = 0; round < ROUNDS; round++)
    for (int k = 0; k < STEPS; k++)
      for (int c = 0; c < CHAINS; c++) {
        const int at = first + (k * CHAINS + c) * THREADS;
        B[at] = A[at] + (TYPE)2 * C[at];
      }
  for (int i = COVERED + thread; i < ELEMENTS; i += BLOCKS * THREADS) B[i] = A[i] + (TYPE)2 * C[i];
}
""",
    "fma": """  TYPE x[CHAINS];
  for (int c = 0; c < CHAINS; c++) x[c] = A[(thread + c) % RESULTS]; // else all threads compute the same, once
  for (int k = 0; k < LINKS; k++)
    #pragma unroll
    for (int c = 0; c < CHAINS; c++) x[c] = x[c] * (TYPE)0.5 + (TYPE)1;""" + _RESULT,
}


def _words(words: Words) -> dict[str, str]:
    block, lane = (f"(int){index.format(axis=words.axes[0])}" for index in (words.group_index, words.thread_index))
    return {"KERNEL": f"{words.entry} void", "GLOBAL ": words.global_memory, "BLOCK": block, "LANE": lane}


def probe_problem(probe: Probe) -> Problem:
    """The program of `probe` with its data: arrays of ones, so that all results are small numbers."""
    dtype, results = NUMPY_TYPES[probe.type], probe.elements if probe.name == "triad" else RESULTS
    ones = np.ones(probe.elements, dtype)
    expected = {"sum": 1.0, "triad": 3.0, "fma": 2.0}[probe.name]
    third = ones if probe.name == "triad" else ones[:1]
    inputs = {"A": ones, "B": np.zeros(results, dtype), "C": third}
    return Problem(_program(probe, results, len(third)),
                   Reference(inputs, {"B": np.full(results, expected, dtype)}, (), "harness", "", ()))


def _program(probe: Probe, results: int, third: int) -> Program:
    """A program with the arrays of the probe; its one statement stands for what the kernel does to them."""
    domain = f"{{ S0[i] : 0 <= i < {results} }}"
    body = Assignment(Load("B", (Name("i"),), 1), "", Load("A", (Int(0),), 0))
    accesses = (Access("A", "{ S0[i] -> A[0] }", "read"), Access("B", "{ S0[i] -> B[i] }", "write"))
    statement = Statement("S0", ("i",), domain, body, accesses, probe.name, 1)
    arrays = (Array("A", probe.type, (probe.elements,), "in"), Array("B", probe.type, (results,), "out"),
              Array("C", probe.type, (third,), "in"))
    schedule = f'{{ domain: "{domain}", child: {{ schedule: "[{{ S0[i] -> [(i)] }}]" }} }}'
    return Program(probe.name, "probe", arrays, (statement,), schedule, (), (Box("B", (0,), (results - 1,)),))


def probe_plan(probe: Probe, shape: Shape) -> Plan:
    """A Plan that stands for the shape of a probe."""
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), (shape.blocks,), (shape.threads,), unroll=shape.chains),),
                parameters=(("lanes", shape.lanes), ("probe", probe.name), ("working set", probe.working_set)))


def lower_probe(program: Program, plan: Plan, target: Target) -> Variant:
    """The kernel that a Plan of `probe_plan` stands for, in place of the lowering of real programs."""
    kernel, parameters = plan.kernels[0], dict(plan.parameters)
    name = next(known for known in _BODIES if known == parameters["probe"])
    probe = Probe(name, program.array("B").type, int(parameters["working set"]))
    shape = Shape(kernel.block[0], kernel.tile[0], kernel.unroll, int(parameters["lanes"]))
    text = _HEAD + _BODIES[name]
    divisor = shape.chains * (shape.rounds(probe) * shape.steps(probe) if name == "sum" else 1)
    words = {
        **_words(WORDS[target.dialect]),
        "TYPE": f"{probe.type}{shape.lanes if shape.lanes > 1 else ''}",
        "CHAINS": shape.chains,
        "STEPS": shape.steps(probe),
        "THREADS": shape.threads,
        "BLOCKS": shape.blocks,
        "ROUNDS": shape.rounds(probe),
        "LINKS": shape.links,
        "RESULTS": RESULTS // shape.lanes,
        "DIVISOR": divisor,
        "COVERED": shape.covered(probe) // shape.lanes,
        "ELEMENTS": probe.elements // shape.lanes,
    }
    text = re.sub("|".join(rf"\b{word}" + ("" if word.endswith(" ") else r"\b") for word in words),
                  lambda match: str(words[match.group()]), text)
    header = WORDS[target.dialect].double_preamble if probe.type == "double" else ""
    made = Kernel(
        "probe",
        ("S0",),
        ("A", "B", "C"),
        (),
        (),
        kernel.block,
        0,
        KernelText(f"{WORDS[target.dialect].entry} void ", text),
    )
    return Variant(plan, target.dialect, header, (made,), (Launch("probe", (Int(shape.blocks),), ()),))
