"""Programs that sweep over the same arrays again and again.

Read `time_steps.py` (what such a program is, and the margins of a tile that runs several steps), `time_relations.py`
(its instances in tiles, for the exact check).

May import all rooms of `polyhedral`.
"""
