"""OpenCL, through pyopencl: PoCL, Intel's CPU runtime, and the drivers of GPUs.

Read `backend.py` (how antune finds and opens devices), `platforms.py` (registering what pip installed, before a driver
is loaded), `probe.py` (what a device can do), `session.py` (contexts and built programs), `memory.py` (arrays) with
`images.py` (textures) and `written.py` (those over arrays that kernels write), `device.py` (launches) with `flush.py`
(cold caches), `caller.py` (tuned code on a caller's arrays),
`sub_groups.py` (their sizes), `errors.py` (messages for people), `cpu_name.py` (PoCL on CPUs that its compiler does not
know).

Only worker processes import the modules that load a driver, and processes that call tuned code.
"""
