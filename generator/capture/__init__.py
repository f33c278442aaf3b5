"""Capture: what the sequential program really does - its data at the SCoP's entry and exit, and its time.

An instrumented copy of the user's file runs once; repeats with other rounding show which results rounding errors
decide (`generator.rounding`). Read in this order: `record.py` (`capture`, the whole story), `baselines.py` (the builds
that are timed: plain, for this machine, with OpenMP), `programs.py` (making what is run), `instrument.py` (the text put
around the SCoP), `lvalues.py` (what it calls variables), `harness.py` (a generated `main` for a function without a
program), `build.py` (compiler and linker), `execute.py` (a child process with a time limit), `dump.py` (what the run
left), `runtime.c` (the C half: dumps, repeats, clock, seeded data), `blocks.c` (how much memory lies behind a pointer).

May import `generator.errors`, `generator.program`, `generator.problem`, `generator.rounding` and the
syntactic half of `generator.frontend_c`; never isl.
"""

from generator.capture.record import Captured, Resolve, capture

__all__ = ["Captured", "Resolve", "capture"]
