"""Policies: functions that choose an option at a node. They can be combined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph.node import Node, Policy
from graph.space import Option
from graph.walk import Choice

Preferences: TypeAlias = Mapping[tuple[str, tuple[str, ...]], Option]
"""Preferred options by (decision name, subject). `depends` is ignored on purpose, so that choices carry over to
walks with other earlier choices. An option with an empty subject applies to all subjects without one of their own."""


def preferences(choices: Iterable[Choice]) -> dict[tuple[str, tuple[str, ...]], Option]:
    """Return the options of `choices` as Preferences."""
    return {(choice.decision.name, choice.decision.subject): choice.option for choice in choices}


def uniform(rng: np.random.Generator) -> Policy:
    """Return a policy that draws every allowed option with the same probability."""

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        return int(allowed[rng.integers(allowed.size)])

    return choose


def first(node: Node, allowed: NDArray[np.intp]) -> int:
    """A policy that chooses the first allowed option."""
    return int(allowed[0])


def prefer(preferred: Preferences, otherwise: Policy) -> Policy:
    """Return a policy that chooses the preferred option if it is allowed, and else asks `otherwise`.

    Used for replay, crossover, mutation, the combine ant, and searches that begin with known good walks.
    """

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        name, subject = node.decision.name, node.decision.subject
        option = preferred.get((name, subject))
        if option is None:
            option = preferred.get((name, ()))
        if option is not None and option in node.options:
            index = node.options.index(option)
            if allowed.size == len(node.options) or index in allowed:  # mostly all options are allowed
                return index
        return otherwise(node, allowed)

    return choose


def replay(choices: Iterable[Choice], otherwise: Policy) -> Policy:
    """Return a policy that repeats the options of `choices`, and else asks `otherwise`.

    A walk may meet a decision with the same name and subject in two places (a group that is not split is ordered again
    one loop further in). Preferences cannot distinguish them. So an equal Decision, with equal `depends`, goes first;
    name and subject decide only if there is none.
    """
    given = tuple(choices)
    exactly = {choice.decision: choice.option for choice in given}
    likewise = prefer(preferences(given), otherwise)

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        option = exactly.get(node.decision)
        if option is not None and option in node.options and (index := node.options.index(option)) in allowed:
            return index
        return likewise(node, allowed)

    return choose
