"""Measured plans as training data, and the training of `metrics.costs.learned` on a device.

Read in this order: `programs/random_dag.py` (a program: random pipelines; beside it, `random_integers`,
`random_layers`, `random_images`, `random_pixels`, `random_lookups`: other kinds of them), `random_plans` (random plans
of one), `samples` (plans that a model finds), `database` (measured plans, one file per device), `collect` (measures:
`python -m experiments.learning.collect`), `recording` (databases as one small file; `measured/` has ours), `dataset`
(measured plans as features and times), `recorded_device` (the devices of recordings, also of other machines), `quality`
(how well models rank them; `python -m experiments.learning.judge`), `train` (`python -m experiments.learning.train`),
`spilling` (plans whose kernels do not spill registers), `autotune` (rounds of samples, measurement and training).
"""
