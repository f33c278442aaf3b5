"""Explorers choose the next walks, given the costs of all previous walks.

Read in this order: `base` (the contract: ask and tell), `random_walk` (the simplest explorer), `unseen` (requests no
walk twice and exhausts small spaces), `colony` (the ants) with `pheromone` (their trails), `roulette` (sampling),
`ant_systems` (the update rules) and `best` (the best walks so far), then the parts that guide the ants: `desirability`
(metrics), `foresight` (costs predicted by a model), `experience` and `attributes` (walks as rows of numbers),
`tree_filter` (a regression tree), `screening`, `gaussian_process`, `threads` (selecting candidates to measure). Other
methods: `variation` (walks as genes), `genetic` with `credit` (credit of operators) and `resemblance` (selecting
children to measure), `local`, `exhaustive`, and `portfolio`, which shares the budget among them (over a `memoized`
space). `halide_ga` is the search of Halide's prototype as published: `halide_options` (its numbers), `halide_lists` (a
walk as a list per stage), `halide_schedules` (its seeds), `halide_mutations`. Both evolutions use `fitness`. `beam`
extends prefixes of walks (`beam_pass`), guided by the space, or by `hindsight` (measured walks). `registry` lists
explorers by name, `others` loads those of other packages, `frozen` writes the state of any explorer as text.
"""
