"""Plan makers: which stages share a kernel, by a cost model alone.

Read `choices.py` (what is chosen), `trivial.py` (stages that are inlined in any case), then `fusion.py` (dynamic
programming over all ways to group the nodes of a graph), `dynamic.py` (PolyMage-GPU's fusion with it), `greedy.py` and
`nesting.py` (Sioutas' scheduler) and `words.py` (reasons for people). What becomes of a choice is the caller's:
`experiments.search.modelled` makes Plans of it.
"""
