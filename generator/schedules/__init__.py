"""The kinds of schedules that a Plan may hold, one file each: all that is said about a kind is said there.

A file holds the values, how they are read from JSON and what is refused, their line for people (`words`), and what
`antune explain` prints of them (`lines`). `schedule` is the union of the kinds and asks each of them. What a schedule
does to a program is in `generator.polyhedral.schedules`, `pipelines` and `time`; what is on offer, in `graph`.

Read in this order: `choice` (isl's scheduler decides), `partition` (which statements share loops), `hyperplanes` (the
loops themselves), `stages` (image pipelines), `time_tiles` (sweeps over time), then `schedule`. The room imports
`generator.forms`, expressions and values of `generator.program`.
"""
