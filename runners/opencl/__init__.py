"""OpenCL, through pyopencl: PoCL, Intel's CPU runtime, and the drivers of GPUs.

Read `backend.py` (how antune finds and opens devices), `platforms.py` (registering drivers that pip installed, before
they are loaded), `probe.py` (the list of devices), `session.py` (contexts and built programs), `memory.py` (arrays)
with `images.py` (textures) and `written.py` (textures over arrays that kernels write), `device.py` (launches) with
`flush.py` (cold caches), `caller.py` (tuned code on a caller's arrays), `sub_groups.py` (their sizes), `asking.py`
(queries that pyopencl lacks), `errors.py` (messages), `cpu_name.py` (PoCL on CPUs that its compiler does not know).

Only worker processes import the modules that load a driver, and processes that call tuned code.
"""
