"""The guide of the space `pipeline`: what prefixes of its walks cost by a model, and what they have in common.

Read `candidates` (ways to cut a kernel), `tables` (what they cost), `grouping` (which kernels a prefix has so far),
`sizing` (what a prefix says of the sizes of the kernel that it decides about), `stage_guide`, `settings` (of --beam).
"""
