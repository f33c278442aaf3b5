"""Exports: a plan of a run as code that works without antune, and a run's results in other programs' formats.

Read in this order: `chosen.py` (what is exported), `c_names.py` (names that C allows there), `kinds.py` and `write.py`
(the kinds), `sizes.py` and `resized.py` (the same plan for other sizes, checked there on a device), then for code
`signature.py` (what the exported function is called with), `told_apart.py` (which parameters tell the size),
`versions.py` (the code of all sizes), `own_data.py` (data of the program itself), `interface.py` (its text in C),
`memory.py` (what lies where on the device), `host_program.py` (launches as C and as Python), and the kinds `opencl.py`,
`c_header.py`, `runtime_api.py` (with `cuda.py` and `hip.py`), `python.py`; `selfcheck.py` is the program that compares
with sequential code. `function.py` makes a function of this process instead of files. For results: `flat.py` (a plan as
a row of decisions), `csv_table.py`, `json_facts.py`, `t4.py` with its schema, `kernel_tuner.py`. Files `*.in` are the
parts of exported text that are the same for all programs; `templates.py` fills them in.

Every kind is a function from a Chosen, or for code from one per size, to files; only `resized.py` needs a device.
"""
