"""Walks beside a known one, for searches that begin with wisdom.

The best plan of a near size is seldom the best one here, but the best one is seldom far from it. What a usual search
begins with, on the other hand, was tried when that plan was found. So the neighbours of the known plan, which differ in
one decision, take turns with the usual starts.
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
"""Neighbours that are tried, in a small budget."""
_STREAM = 31


def neighbours(walk: Walk, space: Space, seed: int, most: int = NEAR) -> Sequence[Walk]:
    """At most `most` walks of `space` that differ from `walk` in a decision, and in what that entails; which ones
    follows from `seed`.
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
