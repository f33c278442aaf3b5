"""The sum of two vectors, as a kernel with parameters: `antune tune docs/templates/vector_add.py`."""

from pathlib import Path

import numpy as np

from antune.template import Tunable, output, template


def build(n: int = 1_000_000) -> Tunable:
    """The template with `n` elements."""
    rng = np.random.default_rng(0)
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    return template(
        Path(__file__).with_name("vector_add.cl"), "vector_add", {"block_size_x": [32, 64, 128, 256, 512]},
        {"c": output(n), "a": a, "b": b, "n": np.int32(n)},
        grid=f"ceil({n} / block_size_x)", block="block_size_x", answer={"c": a + b})
