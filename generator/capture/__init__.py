"""Capture: the data of the sequential program at the SCoP's entry and exit, and its time.

An instrumented copy of the user's file runs once; repeats with other rounding show which results depend on rounding
errors (`generator.rounding`). Read in this order: `record.py` (`capture`, all steps), `baselines.py` (the timed builds:
plain, for this machine, with OpenMP), `programs.py` (builds the programs), `instrument.py` (the text around the SCoP),
`lvalues.py` (the names of variables in it), `harness.py` (a generated `main` for a function without a program),
`build.py` (compiler and linker), `execute.py` (a child process with a time limit), `dump.py` (reads the output of the
run), `runtime.c` (the C half: dumps, repeats, clock, seeded data), `blocks.c` (the size of the memory behind a
pointer).

May import `generator.errors`, `generator.program`, `generator.problem`, `generator.rounding` and the syntactic half of
`generator.frontend_c`; never isl.
"""

from generator.capture.record import Captured, Resolve, capture

__all__ = ["Captured", "Resolve", "capture"]
