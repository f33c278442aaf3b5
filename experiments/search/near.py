"""Neighbours of a known walk, for searches that begin with wisdom.

The best plan for a similar size is seldom the best one here, but the best one is seldom far from it. The usual start
plans were already tried when that plan was found. So the search alternates between them and the known plan's
neighbours, which differ from it in one decision.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.unseen import UnseenWalks
from explorer.variation import Neighbours, Scales, repaired
from graph.policies import first, replay
from graph.space import Space
from graph.walk import Walk

NEAR = 6
"""The number of neighbours that are tried: few, so that small budgets suffice."""
_STREAM = 31


def neighbours(walk: Walk, space: Space, seed: int, most: int = NEAR) -> Sequence[Walk]:
    """Return at most `most` walks of `space` that differ from `walk` in one decision and its consequences.

    `seed` determines which ones.
    """
    rng, walks = np.random.default_rng((seed, _STREAM)), UnseenWalks(space)
    known = walks.draw_once(replay(walk.choices, first))
    if known is None:
        return ()
    found = list[Walk]()
    for wanted in Neighbours(walks.graph.path(known), Scales(), rng):
        if (near := walks.draw_once(repaired(wanted, rng))) is not None:
            found.append(near)
        if len(found) == most:
            break
    return tuple(found)
