"""Common parts of all pictures: `palette.py` (colours for light and dark paper), `stills.py` (files by matplotlib),
`canvas.py` (shapes that become SVG or a matplotlib picture), `layers.py` (places of the boxes of a directed graph).

Independent of runs. May import `experiments/files.py` only.
"""
