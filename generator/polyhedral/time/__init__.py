"""Programs that sweep repeatedly over the same arrays.

Read `time_steps.py` (the definition of such programs, and the margins of a tile that runs several steps),
`time_relations.py` (its instances in tiles, for the exact check).

May import all rooms of `polyhedral`.
"""
