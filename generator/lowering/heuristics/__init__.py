"""Plans chosen without measuring.

Read `neighbours.py` (the x dimension), `default.py` (PPCG's plan), `usual.py` (the default plan on a device),
`starts.py` with `styled.py` (a kernel of a style), `cpu_starts.py`, `row_sums.py`, `rows_together.py`, `split_sums.py`,
`common_passes.py`, `filling.py`, `depths.py`, `warps.py`, `tensor.py`, `streams.py`, `few_rows.py`, `even_rows.py`,
`wide_points.py`, `few_threads.py`, `histograms.py`, `own_lines.py`, `styles.py`, `colours.py` and `whole_words.py`
(plans to measure first), `serial_loops.py` (loops in one thread), `far_points.py` (points one by one) and
`orders.py` (storage orders).

May import `lowering.core` and `lowering.analysis`.
"""
