"""Plans chosen without measuring.

Read `neighbours.py` (the x dimension), `default.py` (PPCG's plan), `usual.py` (the default plan on a device),
`starts.py` with `row_sums.py`, `split_sums.py`, `common_passes.py`, `filling.py`, `depths.py`, `warps.py`, `tensor.py`,
`streams.py`, `few_rows.py` and `even_rows.py` (plans to measure first).

May import `lowering.core` and `lowering.analysis`.
"""
