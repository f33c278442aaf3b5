"""Suites: sets of programs that are tuned and compared as a whole; `polybench` and `everyday` hold C programs,
`pipelines` image pipelines in Python (`image_pipelines.py` lists them).

May import what `experiments` may.
"""
