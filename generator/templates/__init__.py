"""Kernel templates: a kernel that somebody wrote, in OpenCL C, CUDA or HIP, with named parameters to tune.

The third front end beside C and the pipeline language, with a maker of variants of its own: the text stays as it is,
the values of the parameters become macros, expressions over them say how it is launched.

Read in this order: `template.py` (the Template), `expressions.py` (what may be computed from parameters),
`variants.py` (from a plan to text and launch), `signature.py` (what the text says of its arguments), `building.py` (a
template from Python, with data and answer), `t1.py` with `t1_space.py` (from a T1 file) and `checking.py` (from a
store); `explaining.py` (a template in words). The space of a template is
`graph.template`.
"""
