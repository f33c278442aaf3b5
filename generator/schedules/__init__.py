"""The kinds of schedules of a Plan, one file each.

A file contains the values, how they are read from JSON and which are refused, their line for users (`words`), and the
output of `antune explain` (`lines`). `schedule` is the union of the kinds and dispatches to them. The effect of a
schedule on a program is in `generator.polyhedral.schedules`, `pipelines` and `time`; the options are in `graph`.

Read in this order: `choice` (isl's scheduler decides), `partition` (which statements share loops), `hyperplanes` (the
schedule matrix), `stages` (image pipelines), `time_tiles` (sweeps over time), then `schedule`. The room imports
`generator.forms`, expressions and values of `generator.program`.
"""
