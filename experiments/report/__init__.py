"""The report: one HTML page, and a picture file of each of its plots, that explain a run to readers who did not see it.

Read `page.py` first: it combines the sections; `plots.py` writes their pictures. A section is a module - `overview.py`,
`finals.py`, `convergence.py`, `failures.py`, `importance.py` (of `permutation.py`), `effects.py`, `coordinates.py`,
`tree_picture.py` (of `tree.py`), `pheromone.py`, `pipeline.py`, `kernels.py`, `metrics.py`, `predictions.py`,
`roofline.py`, `source.py`, `code_columns.py`, `evaluations.py`, `environment.py` - that converts the `Facts` of a run
(`facts.py`) to numbers, and these to plots of plotly on the page (`plotly.py`) and of matplotlib in files
(`stills.py`). Without data, a section is a sentence. `style.css`, `page.js` and `palette.py` define the design;
`live.py` and `live.js` serve the page during the run.
"""
