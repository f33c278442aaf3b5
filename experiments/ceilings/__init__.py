"""The ceilings of a device - how fast it computes and moves data at most - and how far below them runs stay.

Read `probes.py` (the measuring kernels), `measure.py` (running them), `files.py` (what was measured is kept),
`placed.py` (runs beside the ceilings of their device). `stage_probes.py` are kernels of single stages,
`stage_times.py` their times on a device, `stage_registers.py` their registers.
"""
