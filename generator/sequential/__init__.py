"""Programs as sequential C: their results, their times, and how far rounding errors decide the results.

Read in this order: `pipeline.py` with `sequential.h` (a pipeline, its stages one after the other: expected results,
times, and results with other roundings), `error_bounds.py` (expressions with running error bounds), `jumps.py` with
`jumps.h` (runs that find which truncations and comparisons rounding decides), `bounded.py` (the same for C programs,
whose own run is the reference).

May import `generator.capture` (the system's compiler), `generator.emit` (C text), `generator.polyhedral` (the original
order of statements) and the value types of `generator`.
"""
