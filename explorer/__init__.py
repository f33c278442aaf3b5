"""Explorers: which walk to try next, given what the walks so far have cost.

Read in this order: `base` (the contract: ask and tell), `random_walk` (the simplest one), `unseen` (no walk is asked
twice, and a small space is used up completely), `colony` (the ants) with `pheromone` (their trails), `roulette` (how
they draw), `ant_systems` (the update rules) and `best` (what they remember), then what else guides them: `desirability`
(metrics), `foresight` (costs that a model foretells), `experience` and `attributes` (walks as rows of numbers),
`tree_filter` (a regression tree), `screening`, `gaussian_process`, `threads` (which candidates are worth measuring).
Other methods: `variation` (walks as genes), `genetic` with `credit` (which operators pay) and `resemblance` (which
children are worth measuring), `local`, `exhaustive`, and `portfolio`, which shares the budget among them (over a
`memoized` space). `halide_ga` is the search of Halide's prototype as published: `halide_options` (its numbers),
`halide_lists` (a walk as a list per stage), `halide_schedules` (what it begins with), `halide_mutations`. Both
evolutions share a `fitness`. `beam` extends prefixes of walks (`beam_pass`), guided by what a space says of them, or by
`hindsight`. `registry` has explorers by name, `others` those that other packages bring, `frozen` writes the state of
any of them as text.
"""
