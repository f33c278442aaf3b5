"""Runners turn Plans into Outcomes: lower, compile, check against the reference, time.

Read in this order: `base.py` (the contract), `deterministic.py` (the smallest runner: no device at all),
`batch.py` (the road of one evaluation), then the parts of the OpenCL runner: `processes.py` and `worker_main.py`
(killable worker processes, both ends), `compile_worker.py` and `device_worker.py` (what runs inside them),
`rating.py` (metrics by the static model), `opencl_device.py` (context, buffers, launches), `check.py` (comparison
with the reference), `repeats.py` (when to stop timing), `opencl_platforms.py` (which devices exist), `opencl.py` (the
runner). `registry.py` opens a runner by the name a user gives. `replay/` serves recorded measurements as if they were a
device.

A bad variant never raises and never harms the caller: all generated code, and all of a driver, lives in worker
processes that are killed when they hang and replaced when they die. This room may import `metrics`, `graph` and
`generator`; pyopencl is imported inside the workers only.
"""
