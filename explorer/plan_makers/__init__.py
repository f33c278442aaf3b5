"""Plan makers: the choice of the stages that share a kernel, by a cost model alone.

Read `choices.py` (the types of choices), `trivial.py` (stages that are always inlined), then `fusion.py` (dynamic
programming over all ways to group the nodes of a graph), `dynamic.py` (PolyMage-GPU's fusion with it), `greedy.py` and
`nesting.py` (Sioutas' scheduler), `apart.py` (stages that a model cannot judge in the kernels that read them),
`products.py` (sums of products on CPUs) and `words.py` (reasons in words). `experiments.search.modelled` makes Plans of
the choices.
"""
