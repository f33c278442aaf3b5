"""Few walks are computed with as many are, and without SciPy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from explorer.small_algebra import FEW, city_block, normal_distribution, solve_triangular
from tests.support.paths import ROOT
from tests.support.slow import in_turn

LEARNS = """
import sys
import numpy as np
from explorer.gaussian_process import Coordinates, GaussianProcess
count = int(sys.argv[1])
points, owner = np.linspace(0, 1, 2 * (count + 5)).reshape(-1, 2), np.arange(2)
process = GaussianProcess()
process.fit(Coordinates(points[:count], owner), np.linspace(-1, 1, count), 2)
posterior = process.posterior(Coordinates(points[count:], owner))
posterior.measure(0)
assert np.isfinite(posterior.deviation()).all()
print("scipy" in sys.modules)
"""


@pytest.mark.parametrize("count", range(FEW + 1))
def test_it_is_what_scipy_says(count: int) -> None:
    from scipy.linalg import solve_triangular as scipy_solve
    from scipy.spatial.distance import cdist
    from scipy.special import ndtr

    rng = np.random.default_rng(count)
    for coordinates in (1, 7, 8, 50):
        some, others = rng.random((count, coordinates)), rng.random((20, coordinates))
        assert np.array_equal(city_block(some, others), cdist(some, others, "cityblock"))
        matrix = np.exp(-city_block(some, some)) + 0.01 * np.eye(count)
        root = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        for right in (rng.random(count), rng.random((count, 6))):
            assert np.allclose(root @ solve_triangular(root, right, lower=True), right, rtol=1e-13)
            assert np.allclose(root.T @ solve_triangular(root.T, right, lower=False), right, rtol=1e-13)
            if count:
                assert solve_triangular(root, right, lower=True) == pytest.approx(scipy_solve(root, right, lower=True))
    values = np.concatenate([rng.normal(size=500, scale=4), [-40.0, 0.0, 40.0]])
    assert normal_distribution(values) == pytest.approx(ndtr(values), rel=1e-12, abs=1e-300)


@in_turn
@pytest.mark.parametrize(("count", "loaded"), [(0, "False"), (FEW, "False"), (FEW + 1, "True")])
def test_a_search_that_has_learned_from_a_few_walks_has_not_loaded_scipy(count: int, loaded: str) -> None:
    done = subprocess.run([sys.executable, "-c", LEARNS, str(count)], capture_output=True, text=True, cwd=ROOT,
                          check=True)
    assert done.stdout.strip() == loaded
