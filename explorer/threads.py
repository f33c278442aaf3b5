"""Linear algebra in one thread: the models' matrices are small.

Threads of BLAS spin while they wait for work, which disturbs measurements, and starting them costs more than the
computation: on two busy cores, a colony needed three times the processor time per `ask`, a beam search by the learned
cost model two and a half times. With several threads, results would also depend on the machine's number of cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit NumPy and SciPy to one thread inside this context."""
    with _libraries().limit(limits=1):
        yield


@cache  # finding them takes a millisecond
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries. SciPy's own BLAS is loaded first, because a limit only affects loaded libraries."""
    import scipy.linalg  # noqa: F401  it loads that library
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
