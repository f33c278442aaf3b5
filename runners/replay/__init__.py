"""Recorded measurements used like a device.

Read in this order: `recording.py` (recordings, independent of their format), `reading.py` (any file to a Recording),
the formats `kernel_tuner.py` (cache files), `t4.py` (the T4 result format) and `walks_file.py` (antune's own, read and
written), `fields.py` (errors in files), `t1.py` (the parameters and restrictions of a T1 file), `runner.py` (the
runner).

With recordings, explorers can be compared on real measurements of GPUs without a GPU. Like the rest of `runners`, this
room may import `metrics`, `graph` and `generator`.
"""
