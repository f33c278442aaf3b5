"""The report: one HTML page, and a picture file of each of its plots, that explain a run to somebody who was not there.

Read `page.py` first: it puts the sections together; `plots.py` writes their pictures. A section is a module -
`overview.py`, `finals.py`, `convergence.py`, `failures.py`, `importance.py` (of `permutation.py`), `effects.py`,
`coordinates.py`, `tree_picture.py` (of `tree.py`), `pheromone.py`, `pipeline.py`, `kernels.py`, `metrics.py`,
`predictions.py`, `roofline.py`, `source.py`, `code_columns.py`, `evaluations.py`, `environment.py` - that turns the
`Facts` of a run (`facts.py`) into numbers, and the numbers into what plotly draws on the page (`plotly.py`) and
matplotlib into files (`stills.py`). What a run has no data for is a sentence. `style.css`, `page.js` and `palette.py`
are the looks; `live.py` and `live.js` serve the page while the run goes on.
"""
