"""The kit of all pictures: `palette.py` (colours for light and dark paper), `stills.py` (files by matplotlib),
`canvas.py` (pieces that become SVG or a matplotlib picture), `layers.py` (where the boxes of a directed graph go).

Knows nothing of runs. May import `experiments/files.py` only.
"""
