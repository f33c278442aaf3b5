"""isl objects from a program's texts and back.

Read `affine.py` (expressions and conditions over iterators), `wrapping.py` (C's unsigned arithmetic), `regions.py`
(boxes of coordinates), `parsed.py` (texts as isl objects), `members.py` (facts about band members), `tree.py` (schedule
trees as values), `ast.py` (loops and expressions out of isl) with `context.py` (isl's options), `points.py` (how many
points a set has), `components.py` (strongly connected ones of a graph of names), `limited.py` (calls that may not end)
and `memoized.py` (a cache that keeps refusals, too).
"""
