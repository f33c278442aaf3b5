"""isl objects from a program's texts and back.

Read `affine.py` (expressions and conditions over iterators), `wrapping.py` (C's unsigned arithmetic), `regions.py`
(boxes of coordinates), `parsed.py` (texts as isl objects), `readdressed.py` (statements with other accesses),
`plain.py` (subscripts that need no isl), `members.py` (facts about band members), `tree.py` (schedule trees as values),
`ast.py` (loops and expressions from isl) with `ast_order.py` (the check of their order) and `context.py` (isl's
options), `points.py` (the number of points of a set), `components.py` (strongly connected components of a graph of
names), `limited.py` (calls with a time limit) and `memoized.py` (a cache that also keeps refusals).
"""
