"""The learned cost model: a formula whose coefficients for each stage of a kernel come from a small network.

Anderson, Adams, Ma, Li, Jin & Ragan-Kelley, "Efficient Automatic Scheduling of Imaging and Vision Pipelines for the
GPU" (2021). Read in this order: `names` (of all features), `layout` (a kernel as loops: blocks, threads, regions),
`lanes` (memory transactions of a warp), `reading` (the reads of stages), `features` (the numbers).
"""
