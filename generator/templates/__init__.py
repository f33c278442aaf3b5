"""Kernel templates: a user's kernel in OpenCL C, CUDA or HIP, with named parameters to tune.

This is the third front end, beside C and the pipeline language, and builds its own variants: the text does not change,
the values of the parameters become macros, and expressions over them describe the launch.

Read in this order: `template.py` (the Template), `expressions.py` (expressions over parameters), `variants.py` (from a
plan to text and launch), `signature.py` (the arguments in the text), `building.py` (a template from Python, with data
and answer), `t1.py` with `t1_space.py` (from a T1 file) and `checking.py` (from a store); `explaining.py` (a template
in words). The space of a template is in `graph.template`.
"""
