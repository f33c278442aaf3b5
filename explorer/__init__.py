"""Explorers: which walk to try next, given what the walks so far have cost.

Read in this order: `base` (the contract: ask and tell), `random_walk` (the simplest one), `unseen` (no walk is
asked twice, and a small space is used up completely), `pheromone` (the trails), `colony` (the ants),
`registry` (explorers by name). An explorer sees decisions, options and costs, never loops or devices; it may import
`graph` and `metrics`, and from `generator` only the errors.
"""
