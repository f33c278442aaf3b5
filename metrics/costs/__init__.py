"""Cost models: the cost of a kernel under a Plan on a device, from models alone, as named terms and one number.

Read `base.py` (the interface of a model), `groups.py` (a kernel that computes several stages: regions, loads) with
`reaches.py` (reads as matrices), `distances.py` (whether all its tiles need equally large ones), `device.py` (the
constants of devices). Then the models: `static.py` (the metrics of the generated text, `metrics.static_model`),
`sioutas.py` with `tile_sizes.py` (Sioutas et al. 2020) and `polymage.py` with `configurations.py` and `split.py`
(Jangda & Guha 2020). `models.py` has them by name. `agreement.py` compares costs with times, `calibration.py` fits the
constants of a device (`constants.py`) to measured plans. docs/model_formulas.md explains the formulas. Everything is a
pure function; nothing reads a device or a clock.
"""
