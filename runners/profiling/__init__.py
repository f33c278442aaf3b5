"""Profilers: hardware counters of kernels, measured separately from times.

`perf_events.py` counts on the host's cores (Linux perf events), `ncu.py` uses Nsight Compute on NVIDIA devices;
`profile.py` runs a variant kernel by kernel under one of them. `metrics.measured` converts the counts to metrics. This
room may import what `runners` may; it is used inside device workers.
"""
