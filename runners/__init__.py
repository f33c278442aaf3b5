"""Runners turn Plans into Outcomes: lower, compile, check against the reference, time.

Read in this order: `base.py` (the contract), `deterministic.py` (the smallest runner: no device at all), `batch.py`
(the road of one evaluation) and `limits.py` (how long it may take), then the parts of the runner of real devices:
`processes.py` and `worker_main.py` (killable worker processes, both ends), `resident.py` (their memory),
`compile_worker.py` and `device_worker.py` (what runs inside them), `driver.py` (what these need of a device),
`kernel_codes.py` (compiled kernels are kept), `memory.py` (arrays between guard zones), the rooms `opencl/`, `gpu/`
(what CUDA and HIP share), `cuda/` and `hip/`, `backend.py` and `backends.py` (the drivers by dialect), `rating.py`
(metrics by the static model), `check.py` (comparison with the reference), `repeats.py` (when to stop timing),
`rematch.py` and `interleaved.py` (timing several in turns), `caches.py` (flushing them), `devices.py` (which devices
exist, and work: `trial.py`), `pool_runner.py` (the runner). `pools.py` and `many.py` are for several devices,
`cluster/` for many machines, `profiling/` counts what kernels do to the machine. `registry.py` opens a runner by the
name a user gives. `calls.py` and `function.py` are for tuned code that a user calls in a process of theirs. `replay/`
serves recorded measurements as if they were a device.

A bad variant never raises and never harms the caller: all generated code, and all of a driver, lives in worker
processes that are killed when they hang and replaced when they die. This room may import `metrics`, `graph` and
`generator`; pyopencl and the bindings of CUDA and HIP are imported inside the workers only, and where a user calls
tuned code.
"""
