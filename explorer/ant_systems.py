"""The ant systems: which walks deposit how much pheromone after an iteration, and the bounds of the trails.

Let F(s) = t_ref / t(s), where t(s) is the time of walk s and t_ref the best time of the first iteration with a
success. All systems but Ant Colony System update all trails by (eq. 3 of Coding Ants)

    plain        tau = (1 - rho) tau + sum_s w_s F(s)                      over the edges of the rewarded walks s
    hyper-cube   tau = (1 - rho) tau + rho sum_s w_s F(s) / sum_s w_s F(s)  (Blum & Dorigo 2004; tau stays in [0, 1])

They differ in the walks s and their weights w_s:

    AntSystem            all ants of the iteration: 1                                    (Dorigo et al. 1996)
    ElitistAntSystem     all ants: 1; the best so far: `elite`                           (Dorigo et al. 1996)
    RankBasedAntSystem   the best `ranks` - 1 ants: `ranks` - r; the best so far: `ranks`  (Bullnheimer et al. 1999)
    MaxMinAntSystem      the iteration's best and the best so far, whose share grows     (Stützle & Hoos 2000)
    AntColonySystem      the best so far, on its own edges only: tau = (1 - rho) tau + rho F. After its walk, each ant
                         moves its edges towards tau_0: tau = (1 - xi) tau + xi tau_0 (local update). With
                         probability q0 an ant takes the strongest option (Dorigo & Gambardella 1997)

The plain forms in ANT_SYSTEMS have the parameters of Dorigo & Stützle, "Ant Colony Optimization" (2004), box 3.1 (rho
0.5, 0.5, 0.1, 0.02, 0.1). The hyper-cube forms have rho = 0.1, as in Coding Ants, for at most a few dozen iterations.
The update of Ant Colony System is a weighted mean already, so it has no hyper-cube form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, assert_never

from explorer.best import Scored
from explorer.pheromone import NOTHING, Bounds, Trails
from graph.prefixes import Path

Form: TypeAlias = Literal["plain", "hypercube"]
Weighted: TypeAlias = list[tuple[Scored, float]]


@dataclass(frozen=True, slots=True)
class AntSystem:
    """Ant System (AS). Plain trails start at the number of ants."""

    form: Form = "hypercube"
    rho: float = 0.1


@dataclass(frozen=True, slots=True)
class ElitistAntSystem:
    """Elitist Ant System (EAS). Plain trails start at (elite + ants) / rho. `elite`: None means the number of ants."""

    form: Form = "hypercube"
    rho: float = 0.1
    elite: float | None = None


@dataclass(frozen=True, slots=True)
class RankBasedAntSystem:
    """Rank-based Ant System (AS_rank), w = `ranks`. Plain trails start at 0.5 w (w - 1) / rho."""

    form: Form = "hypercube"
    rho: float = 0.1
    ranks: int = 6


@dataclass(frozen=True, slots=True)
class MaxMinAntSystem:
    """Max-Min Ant System (MMAS).

    The first `early` updates reward the iteration's best ant only. Then the share of the best so far rises linearly to
    1 within `ramp` updates.

    In the hyper-cube, trails of a node with n options start at 1 / n and stay between `floor` / n and `ceiling`. Plain
    trails start at tau_max = F(best) / rho and stay below it; tau_min is that of equation 11 of Stützle & Hoos, where
    `decided` is the probability that a converged ant repeats the best walk.
    """

    form: Form = "hypercube"
    rho: float = 0.1
    early: int = 2
    ramp: int = 3
    floor: float = 0.1
    ceiling: float = 0.95
    decided: float = 0.05


@dataclass(frozen=True, slots=True)
class AntColonySystem:
    """Ant Colony System (ACS). Trails start at tau_0 = 1 / (number of decisions)."""

    rho: float = 0.1
    xi: float = 0.1
    q0: float = 0.9


AntRule: TypeAlias = AntSystem | ElitistAntSystem | RankBasedAntSystem | MaxMinAntSystem | AntColonySystem

ANT_SYSTEMS: Mapping[str, AntRule] = MappingProxyType(
    {
        "as": AntSystem("plain", 0.5),
        "elitist": ElitistAntSystem("plain", 0.5),
        "rank": RankBasedAntSystem("plain", 0.1),
        "acs": AntColonySystem(),
        "mmas": MaxMinAntSystem("plain", 0.02),
        "as-hcf": AntSystem(),
        "elitist-hcf": ElitistAntSystem(),
        "rank-hcf": RankBasedAntSystem(),
        "mmas-hcf": MaxMinAntSystem(),
    }
)
"""The ant systems by explorer name: plain forms with their published parameters, then hyper-cube forms."""


def weights(rule: AntRule, iteration: Sequence[Scored], best: Scored, updates: int, ants: int) -> Weighted:
    """Return the rewarded walks with their weights.

    `iteration`: its successful ants, best first, at least one. `best`: the best so far. `updates`: the number of
    updates before this one. `ants`: the number of all ants of the iteration, failed ones included.
    """
    match rule:
        case AntSystem():
            return [(ant, 1.0) for ant in iteration]
        case ElitistAntSystem():
            elite = float(ants) if rule.elite is None else rule.elite
            return [*((ant, 1.0) for ant in iteration), (best, elite)]
        case RankBasedAntSystem():
            ranked = [(ant, float(rule.ranks - rank)) for rank, ant in enumerate(iteration[: rule.ranks - 1], 1)]
            return [*ranked, (best, float(rule.ranks))]
        case MaxMinAntSystem():
            share = min(1.0, max(0.0, (updates - rule.early + 1) / rule.ramp)) if rule.ramp else 1.0
            shares = [(iteration[0], 1.0 - share), (best, share)] if updates >= rule.early else [(iteration[0], 1.0)]
            return [(ant, weight) for ant, weight in shares if weight > 0]
        case AntColonySystem():
            return [(best, 1.0)]
        case _:
            assert_never(rule)


def bounds(rule: AntRule, ants: int, best: Path, gain: float) -> Bounds:
    """Return the start and the bounds of trails. `best`: path of the best walk so far; `gain`: its F (1 at first)."""
    match rule:
        case MaxMinAntSystem(form="hypercube"):
            return Bounds(1.0, rule.floor, rule.ceiling, shared=True)
        case AntSystem(form="hypercube") | ElitistAntSystem(form="hypercube") | RankBasedAntSystem(form="hypercube"):
            return Bounds(1.0, NOTHING, 1.0, shared=True)
        case MaxMinAntSystem():
            return _max_min(rule, best, gain)
        case AntSystem():
            return Bounds(float(ants))
        case ElitistAntSystem():
            return Bounds(((ants if rule.elite is None else rule.elite) + ants) / rule.rho)
        case RankBasedAntSystem():
            return Bounds(0.5 * rule.ranks * (rule.ranks - 1) / rule.rho)
        case AntColonySystem():
            return Bounds(1.0 / max(1, len(best)))
        case _:
            assert_never(rule)


def _max_min(rule: MaxMinAntSystem, best: Path, gain: float) -> Bounds:
    """Return bounds with which a converged ant repeats the best walk with probability `decided` (their eq. 11).

    Stützle & Hoos use half of the cities as the mean number of options, because a tour uses cities up. Here the
    options of a node do not become fewer, so it is the mean over the nodes of `best`.
    """
    high = gain / rule.rho
    options = [len(node.options) for node, _ in best if len(node.options) > 1]
    if not options:
        return Bounds(high, NOTHING, high)
    each = rule.decided ** (1.0 / len(options))
    others = sum(options) / len(options) - 1.0
    return Bounds(high, min(high, high * (1.0 - each) / (others * each)), high)


def deposit(rule: AntRule, trails: Trails, rewarded: Sequence[tuple[Path, float]]) -> None:
    """End an iteration: evaporate, and deposit w_s F(s) on the rewarded paths."""
    if isinstance(rule, AntColonySystem):
        for path, amount in rewarded:
            trails.approach(path, amount, rule.rho)
        return
    share = rule.rho / sum(amount for _, amount in rewarded) if rule.form == "hypercube" else 1.0
    trails.evaporate()
    for path, amount in rewarded:
        trails.reward(path, share * amount)


def deposit_inside(rule: AntRule, trails: Trails, path: Path, share: float, gain: float) -> None:
    """Reward a part of a walk with `share` times the reward of the program's best walk, without evaporation."""
    match rule:
        case AntColonySystem():
            trails.approach(path, gain, share * rule.rho)
        case _ if rule.form == "hypercube":
            trails.reward(path, share * rule.rho)
        case _:
            trails.reward(path, share * gain)
