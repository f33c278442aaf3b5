"""The optimization graph: what may be decided, and what is known about every choice.

Read in this order: `space` (the questions: a Space asks decisions and returns a Plan), `walk` (the answers:
choices and their Plan), `optimization_graph` (nodes shared by all walks, statistics per edge, walking with a
policy), `policies` (ready-made policies, among them preferences), `prefixes` (which walks are used up), `o1` and
`o2` (the spaces of both levels), `placement`, `kernels` and `ladders` (decisions they have in common).

This room knows nothing of search, and of devices only their limits. It may import `generator`, but never isl.
"""
