"""The formula of the learned model: a stage's time is a sum of terms, each with a coefficient (Anderson et al. 2021,
appendix B, in the form of its implementation). All terms are linear in their coefficients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metrics.costs.learned.names import FEATURES

COEFFICIENTS = 30
_PLACE = {name: k for k, name in enumerate(FEATURES)}
_READ = ("unique_{}_lines_read_per_{}", "unique_{}_bytes_read_per_{}")
_REALIZED = {("global", 0): 5, ("shared", 0): 16, ("register", 0): 8, ("global", 1): 6, ("shared", 1): 20,
             ("register", 1): 7}  # fmt: skip
_PER_THREAD = {("global", 0): 18, ("shared", 0): 17, ("register", 0): 2, ("global", 1): 13, ("shared", 1): 11,
               ("register", 1): 0}  # fmt: skip
Array = NDArray[np.float64]


def terms(features: Array, units: int) -> Array:
    """Return the factor of each coefficient: rows of features to rows of COEFFICIENTS terms.

    `units` of the device. The paper does not use term 23; here it is the operations of all points.
    """
    rows = features.reshape(-1, len(FEATURES))

    def of(name: str) -> Array:
        column: Array = rows[:, _PLACE[name]]
        return column

    found = np.zeros((len(rows), COEFFICIENTS))
    inlined = of("inlined_calls") > 0
    tasks = np.maximum(1.0, of("inner_parallelism") * of("outer_parallelism"))
    blocks, threads = np.maximum(1.0, of("num_blocks")), of("num_threads_per_block")
    _compute(found, of("num_scalars"), blocks * threads * of("points_computed_per_thread"), inlined,
             np.ceil(tasks / units) / np.maximum(1.0, tasks / units), 1.0 - of("idle_lane_wastage"))
    for (place, kind), k in _REALIZED.items():
        found[:, k] = of("num_realizations") * of(_READ[kind].format(place, "realization"))
    for (place, kind), k in _PER_THREAD.items():
        found[:, k] = blocks * threads * of(_READ[kind].format(place, "thread"))
    found[:, 10] = of("num_scalars") * of("unique_bytes_read_per_point")
    found[:, 12] = of("num_scalars") * of("unique_lines_read_per_point")
    found[:, 14] = tasks * of("unique_bytes_read_per_task")
    found[:, 15] = tasks * of("unique_lines_read_per_task")
    found[:, 28] = blocks * of("num_global_mem_loads_per_block") / _used(of("global_mem_load_efficiency"), inlined)
    found[:, 27] = blocks * of("num_shared_mem_loads_per_block")
    found[:, 29] = blocks * of("num_shared_mem_stores_per_block")
    found[:, 21] = blocks * of("num_global_mem_stores_per_block") / _used(of("global_mem_store_efficiency"), inlined)
    parallel = of("inner_parallelism") > 1
    found[:, 22] = parallel * of("num_scalars") / np.maximum(1.0, of("global_innermost_bytes_at_task"))
    found[:, 23] = of("num_scalars") * of("arithmetic_per_point")
    found[:, 24] = of("num_realizations")
    found[:, 25] = of("num_productions") * parallel
    found[:, 26] = of("num_productions") * np.maximum(0.0, of("inner_parallelism") - 1.0)
    found[:, 9] = of("working_set")
    return found.reshape(*features.shape[:-1], COEFFICIENTS)


def _compute(found: Array, scalars: Array, steps: Array, inlined: NDArray[np.bool_], waiting: Array,
             busy: Array) -> None:
    """Compute terms 1, 19 (loops) and 3, 4 (inlined): points, and points of all threads, including idle ones."""
    slowed = np.where(inlined, waiting, waiting / np.maximum(busy, 1e-3))
    found[:, 1], found[:, 19] = np.where(inlined, 0.0, scalars * slowed), np.where(inlined, 0.0, steps * slowed)
    found[:, 3], found[:, 4] = np.where(inlined, scalars * slowed, 0.0), np.where(inlined, steps * slowed, 0.0)


def _used(efficiency: Array, inlined: NDArray[np.bool_]) -> Array:
    return np.where(inlined, 1.0, np.maximum(efficiency, 1e-3))
