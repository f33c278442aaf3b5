"""Suites: sets of programs that are tuned and compared as a whole; `polybench` holds C programs,
`pipelines` image pipelines.

May import what `experiments` may.
"""
