"""Policies: functions that pick an option at a node. They compose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graph.optimization_graph import Node, Policy
from graph.space import Option
from graph.walk import Choice

Preferences: TypeAlias = Mapping[tuple[str, tuple[str, ...]], Option]
"""Preferred options by (decision name, subject). What the options depend on is left out on purpose, so that
choices carry over to walks that came another way. An option under an empty subject is preferred for all subjects."""


def preferences(choices: Iterable[Choice]) -> dict[tuple[str, tuple[str, ...]], Option]:
    """The options of `choices` as Preferences."""
    return {(choice.decision.name, choice.decision.subject): choice.option for choice in choices}


def uniform(rng: np.random.Generator) -> Policy:
    """Every allowed option with the same probability."""

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        return int(allowed[rng.integers(allowed.size)])

    return choose


def first(node: Node, allowed: NDArray[np.intp]) -> int:
    """The first allowed option."""
    return int(allowed[0])


def prefer(preferred: Preferences, otherwise: Policy) -> Policy:
    """Take the preferred option where it is on offer, else ask `otherwise`.

    This one operation serves replay, crossover, mutation, the combine ant and seeding from somebody's best.
    """

    def choose(node: Node, allowed: NDArray[np.intp]) -> int:
        name, subject = node.decision.name, node.decision.subject
        option = preferred.get((name, subject))
        if option is None:
            option = preferred.get((name, ()))
        if option is not None and option in node.options:
            index = node.options.index(option)
            if allowed.size == len(node.options) or index in allowed:  # mostly all are
                return index
        return otherwise(node, allowed)

    return choose


def replay(choices: Iterable[Choice], otherwise: Policy) -> Policy:
    """Take the options of `choices` again, else ask `otherwise`.

    A walk may be asked the same about the same subject in two places (a group that stays whole is arranged again one
    loop further in); Preferences cannot tell these apart. So what a decision depends on counts here, where it is the
    same.
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
