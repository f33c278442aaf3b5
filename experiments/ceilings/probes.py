"""Kernels that only compute, or only move data, in OpenCL and CUDA.

They are hand-written programs with a reference, measured by the same runner as everything else: a probe with wrong
results has no rate. Every block works on a range of its own, neighbouring threads on neighbouring elements. CPUs need
one thread per block, whose loop is vectorised; GPUs need many. Chains stay in registers if their loop is unrolled,
which PoCL does only on request (otherwise it reaches a third of the operations per second).
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
"""The fewest multiply-adds per chain of the probe fma; x -> 0.5 x + 1 converges to 2."""
OPERATIONS = 1 << 29
"""The fewest operations per launch of fma, milliseconds on a CPU, whose cores may wake up late."""
MOST_LANES = 16
RESULTS = 4096
"""The number of results of `sum` and `fma`, so that compilers cannot remove any work."""
MOVED = 1 << 27
"""The fewest bytes that a launch of the other probes moves; small working sets are read many times."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe: `sum` reads an array, `triad` reads two and writes one, `fma` computes.

    `working_set` is in bytes, over all arrays that are read or written (unused for fma).
    """

    name: ProbeName
    type: ElementType
    working_set: int = 0

    @property
    def arrays(self) -> int:
        """The number of arrays that a round reads or writes."""
        return {"sum": 1, "triad": 3, "fma": 0}[self.name]

    @property
    def elements(self) -> int:
        """The elements of each array, a multiple of all vector lengths."""
        if not self.arrays:
            return RESULTS
        return self.working_set // (self.arrays * ELEMENT_BYTES[self.type]) // MOST_LANES * MOST_LANES


@dataclass(frozen=True, slots=True)
class Shape:
    """The distribution of a probe: `chains` are independent accumulators, or elements in flight, per thread.

    `lanes`: elements per vector (OpenCL only), because compilers for CPUs do not always vectorise.
    """

    threads: int
    blocks: int
    chains: int
    lanes: int = 1

    def steps(self, probe: Probe) -> int:
        """Return how often a thread goes through its chains in a round; 0 if the data are too few for this shape."""
        return probe.elements // self._accumulators

    def rounds(self, probe: Probe) -> int:
        """Return the number of rounds of a launch."""
        return max(1, MOVED // self._round_bytes(probe))

    def work(self, probe: Probe) -> float:
        """Return the bytes that a launch moves, or its operations (two per multiply-add)."""
        if probe.name == "fma":
            return 2.0 * self.links * self._accumulators
        return float(self._round_bytes(probe)) * self.rounds(probe)

    @property
    def links(self) -> int:
        """The number of multiply-adds per chain of a launch of fma."""
        return max(LINKS, OPERATIONS // (2 * self._accumulators))

    def covered(self, probe: Probe) -> int:
        """Return the number of elements of an array that the rounds cover."""
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
  for (int i = thread % RESULTS; i < RESULTS; i += BLOCKS * THREADS) B[i] = total / DIVISOR; // every thread has one
}
"""
_BODIES: dict[ProbeName, str] = {
    "sum": """  TYPE x[CHAINS];
  for (int c = 0; c < CHAINS; c++) x[c] = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < STEPS; k++)
      #pragma unroll
      for (int c = 0; c < CHAINS; c++) x[c] += A[first + (k * CHAINS + c) * THREADS];
    AGAIN
  }""" + _RESULT,
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
    """Return the program of `probe` with its data: arrays of ones, so that all results are small numbers."""
    dtype, results = NUMPY_TYPES[probe.type], probe.elements if probe.name == "triad" else RESULTS
    ones = np.ones(probe.elements, dtype)
    expected = {"sum": 1.0, "triad": 3.0, "fma": 2.0}[probe.name]
    third = ones if probe.name == "triad" else ones[:1]
    inputs = {"A": ones, "B": np.zeros(results, dtype), "C": third}
    return Problem(_program(probe, results, len(third)),
                   Reference(inputs, {"B": np.full(results, expected, dtype)}, (), "harness", "", ()))


def _program(probe: Probe, results: int, third: int) -> Program:
    """Return a program with the arrays of the probe; its one statement stands for the kernel's work."""
    domain = f"{{ S0[i] : 0 <= i < {results} }}"
    body = Assignment(Load("B", (Name("i"),), 1), "", Load("A", (Int(0),), 0))
    accesses = (Access("A", "{ S0[i] -> A[0] }", "read"), Access("B", "{ S0[i] -> B[i] }", "write"))
    statement = Statement("S0", ("i",), domain, body, accesses, probe.name, 1)
    arrays = (Array("A", probe.type, (probe.elements,), "in"), Array("B", probe.type, (results,), "out"),
              Array("C", probe.type, (third,), "in"))
    schedule = f'{{ domain: "{domain}", child: {{ schedule: "[{{ S0[i] -> [(i)] }}]" }} }}'
    return Program(probe.name, "probe", arrays, (statement,), schedule, (), (Box("B", (0,), (results - 1,)),))


def probe_plan(probe: Probe, shape: Shape) -> Plan:
    """Return a Plan that encodes the shape of a probe."""
    return Plan(ScheduleChoice(), (KernelPlan(("S0",), (shape.blocks,), (shape.threads,), unroll=shape.chains),),
                parameters=(("lanes", shape.lanes), ("probe", probe.name), ("working set", probe.working_set)))


def lower_probe(program: Program, plan: Plan, target: Target) -> Variant:
    """Return the kernel for a Plan of `probe_plan`; replaces the lowering of real programs."""
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
        # otherwise a compiler for GPUs keeps a thread's few elements in registers over all rounds
        "AGAIN": WORDS[target.dialect].array_barrier if shape.threads > 1 else "",
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
