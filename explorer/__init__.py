"""Explorers: which walk to try next, given what the walks so far have cost.

Read in this order: `base` (the contract: ask and tell), `random_walk` (the simplest one), `unseen` (no walk is
asked twice, and a small space is used up completely), `colony` (the ants) with `pheromone` (their trails),
`ant_systems` (the update rules) and `best` (what they remember), then what else guides them: `desirability` (metrics),
`experience` and `attributes` (walks as rows of numbers), `tree_filter` (a regression tree), `screening` and
`gaussian_process` (which candidates are worth measuring), `registry` (explorers by name).

An explorer sees decisions, options and costs, never loops or devices. This room may import `graph` and `metrics`,
and from `generator` only the errors.
"""
