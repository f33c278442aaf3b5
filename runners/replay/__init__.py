"""Recorded measurements served as if they were a device.

Read in this order: `recording.py` (what a recording is, whatever file it came from), `reading.py` (any file becomes a
Recording), the formats `kernel_tuner.py` (cache files), `t4.py` (the T4 result format) and `walks_file.py` (our own,
read and written), `fields.py` (how they refuse what is wrong), `t1.py` (the parameters and restrictions of a T1 file),
`runner.py` (the runner).

A recording lets explorers be compared on real measurements of GPUs without a GPU. Like the rest of `runners`, this
room may import `metrics`, `graph` and `generator`.
"""
