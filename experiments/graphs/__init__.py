"""Pictures of what a search did: its optimization graph, and the pipeline that it tuned.

Read `history.py` (what the explorer of a stored run knows), `collapse.py` (the graph by decision, as values),
`words.py`, `figure.py` (SVG or page), then `pipeline.py` (which stages share kernels).

May import `experiments.search`, `experiments.store`, `experiments.values` and `experiments.pictures`.
"""
