"""Profilers: what a kernel does to the machine while it runs, counted apart from any timing.

`perf_events.py` counts on the host's cores (Linux perf events), `ncu.py` asks Nsight Compute on NVIDIA devices;
`profile.py` runs a variant kernel by kernel under whichever there is. What the numbers mean is in `metrics.measured`.
This room may import what `runners` may; it is used inside device workers.
"""
