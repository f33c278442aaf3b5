"""Runners turn Plans into Outcomes: lower, compile, check against the reference, time.

Read in this order: `base.py` (the contract), `deterministic.py` (the smallest runner, without a device), `batch.py`
(the steps of one evaluation) and `limits.py` (their time limits), then the parts of the runner for real devices:
`processes.py` and `worker_main.py` (killable worker processes, both ends), `fork_server.py` and `fork_server_main.py`
(which start them), `resident.py` (their memory), `compile_worker.py` and `device_worker.py` (the code inside them),
`driver.py` (the interface of a device), `kernel_codes.py` (the cache of compiled kernels) and `shares.py` (one plan,
several compilers), `memory.py` (arrays between guard zones), the rooms `opencl/`, `gpu/` (common parts of CUDA and
HIP), `cuda/` and `hip/`, `backend.py` and `backends.py` (the drivers by dialect), `rating.py` (metrics by the static
model), `check.py` (comparison with the reference), `repeats.py` (when to stop timing), `realtime.py` (at which
priority), `rematch.py` and `interleaved.py` (timing several plans in turns), `caches.py` (flushing them), `devices.py`
(lists working devices; `trial.py` tests them), `pool_runner.py` (the runner). `pools.py` and `many.py` are for several
devices, `cluster/` for several machines; `profiling/` reads hardware counters. `registry.py` opens a runner by its
name. `calls.py`, `own_data.py` and `function.py` run tuned code in the user's process. `replay/` serves recorded
measurements as a device.

A bad variant never raises and never harms the caller: generated code and drivers run only in worker processes, which
are killed when they hang and replaced when they die. This room may import `metrics`, `graph` and `generator`; pyopencl
and the bindings of CUDA and HIP are imported only inside the workers, and where a user calls tuned code.
"""
