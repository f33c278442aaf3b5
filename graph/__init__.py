"""The optimization graph: decisions, their options, and statistics about every choice.

Read in this order: `space` (a Space asks decisions and returns a Plan), `walk` (the choices and their Plan), `node` (a
reached decision), `optimization_graph` (nodes shared by all walks, walking with a policy) with `knowledge` (statistics
per edge) and `interning` (shared parts of nodes), `policies` (ready-made policies, among them preferences), `prefixes`
(exhausted walks), `reaching` (the walk that reaches a given plan), `o1`, `o2` and `o3` (the spaces of the levels;
`o3_rows`: the rows of the last one, `o3_answers`: its inverse), `time_steps` (time loops, before these), `states`
(walks state by state, as immutable values), `kernel_states` (states about kernels) with `askings` (their questions,
found once), `pipeline` (the space of image pipelines, walked through its states) with `stage_graph` (its stages for
explorers), `storage` (storage orders), `together` (arrays that share a kernel), `deep` (loops around launches),
`inlining` (text size after inlining), `tables` (stages whose elements data choose), `stage_costs` and `stage_openings`
(which stages are stored at first), `foretelling` (cost predictions for walks), `guiding` (costs and hashes of prefixes
of walks), `tiles` (the default plan's tile size), `placement` and `kernels` (common decisions; the decisions about a
kernel are in `generator.decisions`), `template` (the space of named parameters) and `recorded` (the space of recorded
measurements).

This room is independent of search, and uses only the limits of devices. It may import `generator`, but never isl.
"""
