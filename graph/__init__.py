"""The optimization graph: what may be decided, and what is known about every choice.

Read in this order: `space` (the questions: a Space asks decisions and returns a Plan), `walk` (the answers: choices and
their Plan), `optimization_graph` (nodes shared by all walks, walking with a policy) with `knowledge` (statistics per
edge) and `interning` (what nodes share), `policies` (ready-made policies, among them preferences), `prefixes` (which
walks are used up), `reaching` (the walk that reaches a given plan), `o1`, `o2` and `o3` (the spaces of the levels;
`o3_rows`: what the last one knows of rows, `o3_answers`: its inverse), `time_steps` (of loops over time, before these),
`states` (walks state by state,
as immutable values), `kernel_states` (those about kernels), `pipeline` (that of image pipelines, which is walked
through its states) with `stage_graph` (its stages as explorers see them), `together` (which of them share a kernel) and
`inlining` (how much text they would become where they are read), `foretelling` (what else foretells the cost of a
walk), `guiding` (what is known of prefixes of walks), `tiles` (the default plan's tile size), `placement` and `kernels`
(decisions they have in common; what may be decided about a kernel is in `generator.decisions`), `template` (the space
of named parameters) and `recorded` (the space of what was measured before).

This room knows nothing of search, and of devices only their limits. It may import `generator`, but never isl.
"""
